"""Support vector machines on the charts of an atlas (Pitelis et al., ECML 2014)."""

from copy import copy
from threading import Event

import numpy as np
from sklearn.utils import check_random_state

from locallin.charts.affine import (
    ChartedRows,
)
from locallin.charts.machines import (
    machines_of,
    votes,
)
from locallin.engine.input import checked_data
from locallin.engine.invariants import (
    Rule,
    count_of,
)
from locallin.engine.parallel import single_threaded_blas
from locallin.engine.sklearn_api import (
    StrOptions,
    check_sample_weight,
    interruptible,
    with_callbacks,
)
from locallin.kernels.linear import Target
from locallin.kernels.losses import LOSSES
from locallin.methods.base import (
    ScoringClassifier,
    encode_classes,
    weights_of_classes,
)
from locallin.methods.calibration import calibrate, draw_folds
from locallin.methods.chart_machines import (
    MachineSteps,
    charted_rows,
)
from locallin.methods.charted import ChartedEstimator
from locallin.methods.preparation import FitInput, make_target
from locallin.methods.skeleton import check_parameters, row_weights
from locallin.solvers.chart_machines import (
    solve_kernel_machines,
    solve_linear_machines,
)


class AtlasClassifier(ChartedEstimator, ScoringClassifier):
    """Support vector machine on the charts of an :class:`~locallin.Atlas`.

    The atlas is learned from all rows, labelled or not. A row has weights
    w_i = exp(-E_i / gamma^2) on its nearest charts and coordinates p_i in each; rows
    are compared chart by chart, along the manifold (eq. 5)::

        K(x, y) = sum_i w_i(x) w_i(y) K_i(p_i(x), p_i(y))

    where K_i is an RBF kernel (eq. 8), or the product of explicit features: [1, p],
    [1, p, p^2] or [1, p, all products of two] (eq. 13-15). By default the kernel is
    divided by sqrt(K(x, x) K(y, y)).

    Rows of class -1 are unlabelled, as everywhere in scikit-learn: they shape the
    charts and nothing else. (Where y has but two values -1 is a class like any other.)

    Parameters
    ----------
    atlas : Atlas, FrozenEstimator of a fitted Atlas, or None, default=None
        The charts. An Atlas is cloned and fitted to all rows; one in a
        :class:`sklearn.frozen.FrozenEstimator` is used as it is, so that one atlas
        serves many label sets and settings. None is ``Atlas()``.
    kernel : {"rbf", "linear", "quadratic", "quadratic-cross"}, default="rbf"
        The kernel within a chart. The last three are linear models per chart, trained
        by dual coordinate descent on features that are made when they are needed.
    assignment : {"soft", "hard"}, default="soft"
        "hard" compares rows in the charts that both belong to (eq. 6), with a weight of
        1: ``gamma`` plays no part.
    n_nearest : int or "auto", default="auto"
        Number of nearest charts of a row. "auto" is twice the root of the number of
        charts, at least 10 (the paper's number); one with hard assignment, where more
        are charts that overlap.
    gamma : float or "auto", default="auto"
        Bandwidth of the weights exp(-E / gamma^2), a length in the unit of the data.
        "auto" spreads a row's weight over 60 % of its nearest charts on average.
    sigma : float or "auto", default="auto"
        Bandwidth of the RBF kernel ``exp(-|p - q|^2 / sigma^2)``, a length in the unit
        of the data. "auto" is the root mean square of ``|p|`` in the nearest chart,
        times 2 (1000 / n)^(1/4) for n labelled rows, cut to [1, 4]: few labels must
        reach far.
    normalize : bool, default=True
        Whether every row has K(x, x) = 1.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The loss. "hinge" with ``kernel="rbf"`` is LIBSVM's machine.
    alpha : float or "auto", default="auto"
        Strength of the penalty (lambda), in the scale of the data. The C of an SVM on n
        labelled rows is 1 / (alpha n). "auto" is C = 10 for a kernel of K(x, x) = 1 on
        average.
    intercept_scaling : float or "auto", default="auto"
        B, the constant feature behind the intercepts: for linear kernels, in units of
        the coordinates' root mean square norm in each chart. "auto" is 1. (The RBF
        machine has one intercept, which is free.)
    multi_class : {"ovr", "ovo"}, default="ovr"
        One-vs-rest, or one-vs-one by votes (the paper's choice for "rbf"), which
        trains faster on many rows and is worse where labels are few.
    max_iter : int, default=1000
        Largest number of passes over the data. It holds for each machine; "rbf" counts
        working sets.
    tol : float or "auto", default="auto"
        "rbf": violation of the optimality conditions at which to stop, as LIBSVM's;
        "auto" is 1e-3. Linear kernels: duality gap relative to the objective; "auto"
        is 1e-2.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    probability : bool, default=False
        Whether ``predict_proba`` is calibrated on held-out rows. They are held out from
        machines on the same charts: in five folds of the labelled rows, or a fifth of
        them where there are more than 1,000.
    n_jobs : int or None, default=None
        Number of threads. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The atlas, where it has no seed of its own, and
        the order of visits depend on it.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per machine, 2 is lines everywhere.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, without the -1 of unlabelled rows.
    atlas_ : Atlas
        The atlas in use.
    n_nearest_, gamma_, sigma_, alpha_ : int and floats
        Values in use; ``sigma_`` for the RBF kernel only.
    coef_ : ndarray of shape (n_charts, n_machines, n_chart_features)
        Linear kernels: weights of each chart's features, which are made of
        coordinates in units of ``scale_``.
    intercept_ : ndarray of shape (n_charts, n_machines) or (n_machines,)
        Intercepts, of every chart for the linear kernels.
    support_ : ndarray of shape (n_support,)
        RBF kernel: rows of X that are support vectors.
    dual_coef_ : ndarray of shape (n_support, n_machines)
        RBF kernel: their signed dual variables.
    support_starts_, support_rows_, support_points_ : ndarray
        RBF kernel: the support vectors sorted by chart, as the kernel takes them.
    proba_scale_, proba_offset_ : float and ndarray of shape (n_classes,)
        With ``probability=True``: probabilities are the softmax of scores times the
        scale plus the offset.
    conformity_, conformity_counts_ : ndarray of shape (n_classes + 1, 500) and \
            (n_classes + 1,)
        What ``predict_set`` goes by: levels of one less the probability of the true
        class, over all held-out rows and those of each class, and their numbers. Not
        there where no rows were held out.
    n_iter_ : int
        Largest number of passes of any machine.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    Atlas : The charts that it learns first, as a transformer.
    DULLSVMClassifier : Local models at anchors, for data with many labels.
    locallin.inspection.ChartDisplay : A picture of the charts.

    Notes
    -----
    Transductive use: pass the rows to be predicted to ``fit``, too, with class -1;
    they then help to shape the charts. Inductive use: pass the training rows only. The
    paper's tables are transductive, and part of their gain comes from that.

    The smallest error of a row is taken off before exp where the kernel is
    normalised, which leaves it the same and keeps rows far from every chart within
    range. Without normalisation such rows have weights of zero, and the intercept
    alone decides.

    References
    ----------
    .. [1] Pitelis, Russell and Agapito, Semi-supervised Learning Using an
       Unsupervised Atlas, ECML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from locallin import AtlasClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.full(len(y), -1)
    >>> few[:100] = y[:100]
    >>> clf = AtlasClassifier(random_state=0).fit(X / 16, few)
    >>> clf.score(X[100:] / 16, y[100:]) > 0.85
    True
    """

    _parameter_constraints: dict = {
        **ScoringClassifier._parameter_constraints,
        **ChartedEstimator._parameter_constraints,
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "multi_class": [StrOptions({"ovr", "ovo"})],
    }

    def _invariants(self) -> dict[str, Rule]:
        n_classes = count_of(self, "classes_")
        machines = 1 if n_classes == 2 else n_classes
        if self.multi_class == "ovo":
            machines = n_classes * (n_classes - 1) // 2
        return {**super()._invariants(), **self._machine_invariants(machines)}

    def __init__(
        self,
        atlas=None,
        *,
        kernel: str = "rbf",
        assignment: str = "soft",
        n_nearest: int | str = "auto",
        gamma: float | str = "auto",
        sigma: float | str = "auto",
        normalize: bool = True,
        loss: str = "squared_hinge",
        alpha: float | str = "auto",
        intercept_scaling: float | str = "auto",
        multi_class: str = "ovr",
        max_iter: int = 1000,
        tol: float | str = "auto",
        class_weight=None,
        probability: bool = False,
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
    ):
        self.atlas = atlas
        self.kernel = kernel
        self.assignment = assignment
        self.n_nearest = n_nearest
        self.gamma = gamma
        self.sigma = sigma
        self.normalize = normalize
        self.loss = loss
        self.alpha = alpha
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.probability = probability
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Learn the charts from all rows, and the machines from the labelled ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. float32 and float64 are used as they are.
        y : array-like of shape (n_samples,)
            Classes; -1 for unlabelled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labelled rows in the objective. They do not shape the
            charts.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with interruptible(self) as run:
            check_parameters(self)
            X, y = checked_data(self, X, y, reset=True)
            run.interrupted = self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight) -> bool:
        rng = check_random_state(self.random_state)
        labelled = self._labelled(y)
        name = type(self).__name__
        self.classes_, encoded = encode_classes(y[labelled], None, name)
        weights = check_sample_weight(sample_weight, X)[labelled]
        by_class = weights_of_classes(self.class_weight, self.classes_, encoded)
        weights = row_weights(X[labelled], encoded, weights, by_class)
        # A row of weight zero is not there; what is left must have two classes.
        given = FitInput(
            X, y, self.classes_, encoded, weights, rng, False, None,
            class_weights=by_class,
        )  # fmt: skip
        target, visits = make_target(self, given)
        rows = np.flatnonzero(labelled)[visits]
        target = Target(target.labels[visits], target.positive, target.weights[visits])
        machines = machines_of(len(self.classes_), self.multi_class)
        together = self.kernel != "rbf" and machines[0][1] is None
        steps = MachineSteps(self, 1 if together else len(machines), X, y)
        self._charts_for(X, rng, steps)
        self._choose_bandwidths(X, len(rows), rng)
        stop = Event()
        settings = {"report": steps.report, "stop": stop, "max_iter": self.max_iter}
        # One thread of BLAS in each of ours: the same sums for any number of them.
        with single_threaded_blas():
            charted = charted_rows(self, X[rows], self.n_jobs)
            if self.kernel != "rbf":
                settings["rng"] = rng
            solutions = self._fit_machines(charted, rows, target, machines, settings)
        self.n_iter_ = max(s.n_iter for s in solutions)
        found = None
        if self.probability and not stop.is_set():
            settings["report"] = lambda *_: None
            given = given._replace(
                X=X[rows], encoded=target.labels, weights=weights[visits]
            )
            found = self._calibration(given, charted, target, machines, settings)
        self._set_calibration(found, None)
        self._end_fit(steps, solutions, stop)
        return stop.is_set()

    @staticmethod
    def _labelled(y) -> np.ndarray:
        """Mask of the rows that have a class."""
        everything = np.ones(len(y), bool)
        if y.dtype.kind not in "iuf" or len(np.unique(y)) <= 2:
            return everything
        return y != -1

    def _fit_machines(self, charted: ChartedRows, rows, target, *more) -> list:
        if self.kernel == "rbf":
            return self._fit_rbf(charted, rows, target, *more)
        return self._fit_linear(charted, target, *more)

    def _calibration(self, given: FitInput, charted, target, *more):
        """What machines of the same charts tell of rows that they have not seen."""
        folds = draw_folds(given.encoded, given.weights, given.rng)
        scores = []
        with single_threaded_blas():
            for held in folds:
                rows = np.setdiff1d(np.arange(len(target.labels)), held)
                part = Target(
                    target.labels[rows], target.positive, target.weights[rows]
                )
                model = copy(self)
                model._fit_machines(charted[rows], rows, part, *more)
                scores.append(model._scores(given.X[held]))
        if more[-1]["stop"].is_set():
            return None
        held = np.concatenate(folds)
        labels, weights = given.encoded[held], given.weights[held]
        return calibrate(given, np.concatenate(scores), labels, weights)

    def _fit_rbf(self, charted: ChartedRows, rows, target, machines, settings) -> list:
        self._check_lengths(charted)
        solutions = solve_kernel_machines(
            charted,
            len(self.atlas_.means_),
            target,
            machines,
            self.alpha_,
            n_jobs=self.n_jobs,
            squared=self.loss == "squared_hinge",
            tol=1e-3 if self.tol == "auto" else self.tol,
            **settings,
        )
        self._keep_support(charted, rows, solutions)
        return solutions

    def _fit_linear(self, charted: ChartedRows, target, machines, settings) -> list:
        problem = self._linear_problem(charted, target, loss=LOSSES[self.loss])
        tol = 1e-2 if self.tol == "auto" else self.tol
        solutions = solve_linear_machines(problem, machines, tol=tol, **settings)
        self.coef_ = np.concatenate([s.coef for s in solutions], axis=1)
        self.intercept_ = np.concatenate([s.intercept for s in solutions], axis=1)
        return solutions

    def _scores(self, X) -> np.ndarray:
        scores = self._machine_scores(X)
        n_classes = len(self.classes_)
        if n_classes > 2 and self.multi_class == "ovo":
            return votes(scores, machines_of(n_classes, "ovo"), n_classes)
        return scores

    def _is_linear(self) -> bool:
        if self.kernel != "rbf" and self.multi_class == "ovo":
            raise AttributeError(
                "local_coef and local_intercept explain scores, but multi_class='ovo' "
                "counts votes: use multi_class='ovr'."
            )
        return super()._is_linear()
