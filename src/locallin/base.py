"""Bases for codings, methods and engines that are written outside of the package.

A coding is a subclass of :class:`Coding`, a method one of :class:`LocalMethod`; what
they get and return is described here and stays as it is within a version. An engine
that maps a function over parts of the rows trains with :class:`Rounds`.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from locallin.coding import Coding
from locallin.kernels.rows import Codes, Rows
from locallin.methods.anchored import AnchoredClassifier
from locallin.methods.preparation import FitInput, fit_space
from locallin.methods.rounds import Rounds, Turn

__all__ = [
    "Codes",
    "Coding",
    "LocalMethod",
    "LocalProblem",
    "Rounds",
    "Rows",
    "Turn",
]


class LocalProblem(NamedTuple):
    """What the local models of a method are learned from.

    Parameters
    ----------
    codes : CSR matrix of shape (n_samples, n_anchors)
        Local coordinates g of the rows.
    features : {ndarray, CSR matrix} of shape (n_samples, n_local_features)
        Rows as the local models see them.
    targets : ndarray of shape (n_samples, n_scores)
        1 for the class of a score and -1 for all others; one score for two classes.
    weights : ndarray of shape (n_samples,)
        Weights of the rows, with a mean of one over those that are not zero.
    alpha : float
        Strength of the penalty, in the scale of the data.
    intercept_scaling : float
        B, the constant feature behind the intercepts.
    rng : RandomState
        Source of random numbers.

    See Also
    --------
    LocalMethod : Learns from it.
    Coding : Makes its codes.
    """

    codes: sparse.csr_matrix
    features: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    alpha: float
    intercept_scaling: float
    rng: np.random.RandomState


class LocalMethod(AnchoredClassifier):
    """A classifier that learns the local models at its anchors by ``learn``.

    Anchors, coding and scales are chosen before, as for
    :class:`~locallin.LLSVMClassifier`; scores, classes, weights of rows and classes,
    sparse rows, ``local_coef``, inspection, export and files come with this base.

    A subclass has a constructor with the parameters that it offers, and ``learn``. The
    attributes below can be parameters; otherwise they stay as they are here.

    Attributes
    ----------
    n_anchors, n_neighbors, anchors, coding, local_model, feature_map, coding_space, \
alpha, intercept_scaling, class_weight, n_jobs, random_state
        As the parameters of :class:`~locallin.LLSVMClassifier`.

    See Also
    --------
    locallin.LLSVMClassifier : The convex machine on the same anchors.
    Coding : The base of local coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from locallin.base import LocalMethod
    >>> class LocalMean(LocalMethod):
    ...     n_anchors, random_state = 60, 0
    ...     def learn(self, problem):
    ...         codes, targets = problem.codes, problem.targets
    ...         means = (codes.T @ targets) / codes.sum(axis=0).A1[:, None]
    ...         return np.zeros((*means.shape, problem.features.shape[1])), means
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> LocalMean().fit(X, y).score(X, y) > 0.95
    True
    """

    n_anchors: int | str | None = None
    alpha: float | str = "auto"
    intercept_scaling: float | str = "auto"
    class_weight: dict | str | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    def learn(self, problem: LocalProblem) -> tuple[np.ndarray, np.ndarray]:
        """Learn the local models.

        Parameters
        ----------
        problem : LocalProblem
            Coded rows and their targets.

        Returns
        -------
        coef : ndarray of shape (n_anchors, n_scores, n_local_features)
            Weights of the local models.
        intercept : ndarray of shape (n_anchors, n_scores)
            Their intercepts.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method learn.")

    def _is_stream_method(self) -> bool:
        raise AttributeError(f"{type(self).__name__} needs all rows at once: use fit.")

    def _fit(self, given: FitInput) -> bool:
        (anchor_view, model_view), target, _ = fit_space(self, given)
        problem = LocalProblem(
            codes=self.coding_.transform(anchor_view),
            features=model_view,
            targets=np.where(given.encoded[:, None] == target.positive, 1.0, -1.0),
            weights=target.weights,
            alpha=float(self.alpha_),
            intercept_scaling=float(self.intercept_scaling_),
            rng=given.rng,
        )
        coef, intercept = self.learn(problem)
        shape = len(self.anchors_), len(target.positive)
        for name, found, wanted in (
            ("weights", np.shape(coef), (*shape, model_view.shape[1])),
            ("intercepts", np.shape(intercept), shape),
        ):
            if found != wanted:
                raise ValueError(
                    f"{type(self).__name__}.learn returned {name} of shape {found}: "
                    f"return one model for each anchor and score, shape {wanted}."
                )
        dtype = self.anchors_.dtype
        self.coef_ = np.ascontiguousarray(coef, dtype)
        self.intercept_ = np.ascontiguousarray(intercept, dtype)
        self.n_iter_ = 1
        return False
