"""Multiclass latent locally linear SVM (Fornoni, Caputo & Orabona, ACML 2013)."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from locallin.engine.invariants import (
    INTERCEPT_SCALING,
    Array,
    Arrays,
    Number,
    Rule,
    count_of,
)
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
)
from locallin.kernels.latent import (
    class_scores,
    dual_exponent,
    latent_weights_of_rows,
)
from locallin.kernels.products import row_sums
from locallin.methods.base import EpochClassifier
from locallin.methods.preparation import (
    FitInput,
    Rules,
    choose_scales,
    latent_alpha,
    make_target,
)
from locallin.methods.skeleton import FitMonitor, validated_rows
from locallin.solvers.latent import solve_cccp
from locallin.solvers.latent_problem import LatentProblem, Models, clustered_weights


class ML3Classifier(EpochClassifier):
    """Multiclass latent locally linear support vector machine (ML3).

    Each class has m linear models, and a row's weights over them are those that
    raise the score of the class most (eq. 7 of [1]_)::

        s_c(x) = max { sum_j beta_j (w_cj . x + b_cj) : beta >= 0, |beta|_p <= 1 }
               = |(W_c x + b_c)+|_q,    q = p / (p - 1)

    There are no anchors and no neighbours: a prediction is one matrix product and a
    norm, and a model may serve regions that are far apart. For ``p=1`` the best model
    speaks alone; the larger p, the more the positive ones count alike.

    ``fit`` minimises the loss of Crammer & Singer on these scores::

        alpha/2 (|W|^2 + |b|^2 / B^2)
            + 1/S sum_i s_i max(0, 1 + max_{c != y_i} s_c(x_i) - s_{y_i}(x_i))

    where s_i are the rows' weights and S their sum. The own class's score makes it
    non-convex; the concave-convex procedure freezes the latent weights of the own
    class and takes steps of SGD, an epoch in each iteration. One model per class is the
    linear machine of Crammer & Singer, with scores cut off at zero.

    The data should be scaled: standardise the features, or, for images and
    histograms, give every row the same norm.

    Parameters
    ----------
    n_models : int or "auto", default="auto"
        Number of linear models of each class (m). "auto" is one for every 30 rows
        per class, at least 10 and at most 100.
    p : float, default=1.5
        Norm that bounds the latent weights, at least 1.
    init : {"kmeans", "random"}, default="kmeans"
        Latent weights of the first epoch, in which they stay fixed. "random" draws
        them for each row and class, as the paper does; "kmeans" mixes the same
        weights half and half with a full weight on the nearest cluster of each class.
    alpha : float or "auto", default="auto"
        Strength of the penalty (lambda), in the scale of the data. "auto" is
        ``mean |x|^2 / n`` times a factor of 300 / n, cut to [0.1, 0.5].
    intercept_scaling : float or "auto", default="auto"
        B, the constant feature behind the intercepts: the larger, the weaker their
        penalty. "auto" is half the root mean square norm of the rows.
    max_iter : int, default=60
        Largest number of passes over the data. Each is an iteration of the
        concave-convex procedure, an epoch of SGD; one epoch more makes the start.
    average : bool, default=True
        Whether the last iteration returns the mean of its models. With
        ``early_stopping`` every iteration does.
    shuffle : bool, default=True
        Whether rows are visited in a new random order in every epoch.
    shrinking : bool, default=True
        Whether rows with room to spare are left out for one iteration, then for two,
        four and eight. About halves the time; False is the paper's algorithm.
    freeze_every : int or None, default=1536
        Rows after which the latent weights of the rows to come are frozen anew, at the
        models reached by then. In whole blocks of 192 rows, from 1536 on in multiples
        of that; None is the paper's algorithm, once in each iteration.
    early_stopping : bool, default=False
        Whether to stop on the accuracy of held-out rows and keep the best model.
    validation_fraction : float, default=0.1
        Fraction of the rows that is held out, unless ``fit`` is given others.
    n_iter_no_change : int, default=5
        Epochs without improvement before stopping.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    probability : bool, default=False
        Whether ``predict_proba`` is calibrated on held-out rows. Up to 1,000 rows five
        fits more hold out each row once; of more a fifth is held out from a first fit,
        and a short one to all rows goes on from it.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the last call. It then starts from its models and
        step size, with its number of models, alpha and B.
    n_jobs : int or None, default=None
        Number of threads. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. Latent weights, clusters, order of visits and
        held-out rows depend on it.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per iteration, 2 is lines everywhere.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (n_classes, n_models, n_features)
        Weights of the models; two classes have two sets of models.
    intercept_ : ndarray of shape (n_classes, n_models)
        Intercepts of the models.
    alpha_, intercept_scaling_, p_ : float
        The values in use.
    proba_scale_, proba_offset_ : float and ndarray of shape (n_classes,)
        What probabilities are made with: of scores times the scale, with the offset
        added to their logarithms. Where held-out rows or class weights have set them.
    conformity_, conformity_counts_ : ndarray of shape (n_classes + 1, 500) and \
            (n_classes + 1,)
        What ``predict_set`` goes by: levels of one less the probability of the true
        class, over all held-out rows and those of each class, and their numbers. Not
        there where no rows were held out.
    n_iter_ : int
        Number of iterations made.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective per iteration, from the losses met on the way. Rows that are left
        out count as having none.
    validation_history_ : ndarray of shape (n_iter_,)
        Held-out accuracy per iteration, with ``early_stopping``.
    t_ : int
        Clock of the steps: rows seen, each as often as there were iterations.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    DULLSVMClassifier : Local models at anchors that learn.
    LLSVMClassifier : Local models at fixed anchors, a convex problem.
    sklearn.svm.LinearSVC : One linear model per class.

    Notes
    -----
    SGD works on blocks of rows: their scores come from one matrix product, and the
    inner products of the rows say how each step moves the scores of the rows after
    it. The steps are those of the paper's Algorithm 2, one row at a time, to rounding.

    ``partial_fit`` takes one iteration on its block: latent weights are frozen at the
    models that the call begins with, and anew as in ``fit``; steps go on getting
    shorter from call to call, and with ``average`` the result is the mean over the
    last call. The first call makes a start as ``fit`` does; a class that is met later
    starts from random latent weights.

    A row for which all models of all classes are negative has scores of zero.

    Ctrl-C during ``fit`` stops after the current block, stores the models reached so
    far, and raises KeyboardInterrupt: the estimator is usable.

    References
    ----------
    .. [1] Fornoni, Caputo and Orabona, Multiclass Latent Locally Linear Support
       Vector Machines, ACML 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import ML3Classifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = ML3Classifier(random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    >>> clf.coef_.shape
    (2, 10, 2)
    """

    rules = Rules(alpha=latent_alpha, intercept_scaling=0.5)
    _parameter_constraints: dict = {
        **EpochClassifier._parameter_constraints,
        "n_models": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "p": [Interval(Real, 1, np.inf, closed="left")],
        "init": [StrOptions({"kmeans", "random"})],
        "shrinking": ["boolean"],
        "freeze_every": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_models: int | str = "auto",
        *,
        p: float = 1.5,
        init: str = "kmeans",
        alpha: float | str = "auto",
        intercept_scaling: float | str = "auto",
        max_iter: int = 60,
        average: bool = True,
        shuffle: bool = True,
        shrinking: bool = True,
        freeze_every: int | None = 1536,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight=None,
        probability: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
    ):
        self.n_models = n_models
        self.p = p
        self.init = init
        self.alpha = alpha
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.average = average
        self.shuffle = shuffle
        self.shrinking = shrinking
        self.freeze_every = freeze_every
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.probability = probability
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _invariants(self) -> dict[str, Rule]:
        count = count_of(self, "intercept_")
        learning = {
            "t": Array((), "fiu", least=0),
            "met": Array(("classes",), "b"),
            "iterate_coef": Array((count, "features")),
            "iterate_intercept": Array((count,)),
        }
        return {
            **super()._invariants(),
            "coef_": Array(("classes", "models", "features")),
            "intercept_": Array(("classes", "models")),
            "alpha_": Number(above=True),
            "intercept_scaling_": INTERCEPT_SCALING,
            "p_": Number(least=1.0),
            "_learning": Arrays(
                learning, (("t", "met"), ("iterate_coef", "iterate_intercept"))
            ),
        }

    def _fit(self, given: FitInput) -> bool:
        if not given.resume:
            self._choose_scales(given)
        clock = self._learning["t"].item() if given.resume else 0
        problem = self._problem(given)
        n_rows = len(problem.visits)
        monitor = FitMonitor(self, given)
        average_from = self.max_iter + 1
        if self.average:
            average_from = 1 if self.early_stopping else self.max_iter
        solution = solve_cccp(
            problem,
            self._models().copy() if given.resume else problem.zeros(),
            latent=None if given.resume else self._first_weights(problem, given.rng),
            offset=2.0 * (clock + n_rows),
            max_iter=self.max_iter,
            average_from=average_from,
            shuffle=self.shuffle,
            shrinking=self.shrinking,
            freeze_every=self.freeze_every,
            rng=given.rng,
            fresh=self._classes_not_met() if given.resume else (),
            monitor=monitor,
        )
        monitor.finish(solution)
        self._learning = {
            "t": np.asarray(clock + n_rows * solution.n_iter),
            "met": np.ones(len(self.classes_), bool),
        }
        return solution.interrupted

    def _begin_stream(self, given: FitInput, epochs: int) -> None:
        """Choose scales from a sample, and learn from it once with latent weights.

        Models of zero have no values that latent weights could follow.
        """
        if not given.resume:
            self._partial_fit(given._replace(last_pass=False))

    def _partial_fit(self, given: FitInput) -> bool:
        carried = self._learning
        if given.resume:
            clock = carried["t"].item()
        else:
            # Steps as long as those of a fit to all the rows that these stand for.
            clock = given.n_planned - np.count_nonzero(given.weights)
            self._choose_scales(given)
        problem = self._problem(given)
        models = problem.zeros()
        if "iterate_coef" in carried:
            models = Models(carried["iterate_coef"], carried["iterate_intercept"])
        elif given.resume:
            models = self._models()
        average = self.average and given.last_pass
        clock += len(problem.visits)
        solution = solve_cccp(
            problem,
            models,
            latent=None if given.resume else self._first_weights(problem, given.rng),
            offset=2.0 * clock,
            max_iter=1,
            average_from=1 if average else 2,
            shuffle=self.shuffle,
            shrinking=False,
            freeze_every=self.freeze_every,
            rng=given.rng,
            fresh=self._classes_not_met() if given.resume else (),
        )
        met = np.isin(np.arange(len(self.classes_)), given.encoded[problem.visits])
        if given.resume:
            met |= carried["met"]
        self._learning = {"t": np.asarray(clock), "met": met}
        if average:
            names = "iterate_coef", "iterate_intercept"
            self._learning |= zip(names, solution.iterate, strict=True)
        self._set(self._learned_attributes(*solution.learned))
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self.objective_history_ = np.append(
            getattr(self, "objective_history_", []), solution.objective_history
        )
        return solution.interrupted

    def _classes_not_met(self) -> np.ndarray:
        return np.flatnonzero(~self._learning["met"])

    def _choose_scales(self, given: FitInput) -> None:
        self.alpha_, self.intercept_scaling_, _ = choose_scales(self, given.X, given)

    def _problem(self, given: FitInput):
        target, visits = make_target(self, given)
        self.p_ = float(self.p)
        n_models: Any = self.n_models
        if given.resume:
            n_models = self.coef_.shape[1]
        elif n_models == "auto":
            per_class = (given.n_rows or len(visits)) // len(self.classes_)
            n_models = np.clip(per_class // 30, 10, 100)
        return LatentProblem(
            X=given.X,
            labels=given.encoded,
            weights=target.weights,
            visits=visits,
            n_classes=len(self.classes_),
            n_models=int(n_models),
            p=self.p_,
            alpha=float(self.alpha_),
            intercept_scaling=float(self.intercept_scaling_),
            seed=given.rng.randint(np.iinfo(np.int32).max),
            n_jobs=self.n_jobs,
        )

    def _first_weights(self, problem, rng):
        if self.init == "kmeans":
            return clustered_weights(problem, rng)
        return problem.random_weights

    def _models(self) -> Models:
        n_features = self.coef_.shape[2]
        return Models(self.coef_.reshape(-1, n_features), self.intercept_.ravel())

    def _scores_at(self, X, models: Models) -> np.ndarray:
        values = models.values_of_each(X)
        scores = np.empty((len(values), len(self.classes_)), values.dtype)
        class_scores(values, dual_exponent(self.p_), scores)
        return self._one_score_for_two(scores)

    @staticmethod
    def _one_score_for_two(by_class) -> np.ndarray:
        """Second class less first, where there are two."""
        if by_class.shape[1] > 2:
            return by_class
        return by_class[:, 1:] - by_class[:, :1]

    def _held_out_scores(self, X, coef, intercept) -> np.ndarray:
        flat = Models(coef.reshape(-1, coef.shape[2]), intercept.ravel())
        return self._in_blocks(X, lambda part: self._scores_at(part, flat))

    def _scores(self, X) -> np.ndarray:
        models = self._models()
        return self._in_blocks(X, lambda part: self._scores_at(part, models))

    def latent_weights(self, X) -> np.ndarray:
        """Weights beta of the models at each row (eq. 14-15).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes, n_models)
            Weights that raise the score of each class most; zero where all models of
            the class are negative.
        """
        return self._with_latent_weights(X, lambda beta: beta)

    def _with_latent_weights(self, X, function) -> np.ndarray:
        """Apply ``function`` to the latent weights of blocks of rows."""
        X = validated_rows(self, X, finite=False)
        models = self._models()

        def block(part):
            beta = models.values_of_each(part).reshape(-1, self.intercept_.shape[1])
            latent_weights_of_rows(beta, dual_exponent(self.p_), beta)
            return function(beta.reshape(-1, *self.intercept_.shape))

        return self._in_blocks(X, block)

    def _mixed(self, X, attribute: str) -> np.ndarray:
        """Combine a fitted table with the rows' latent weights, class by class."""

        def mix(beta):
            table = getattr(self, attribute)
            m = table.shape[1]
            by_class = [
                row_sums(np.ascontiguousarray(beta[:, c]), entries.reshape(m, -1))
                for c, entries in enumerate(table)
            ]
            mixed = np.stack(by_class, axis=1)
            shape = len(beta), len(table), *table.shape[2:]
            return self._one_score_for_two(mixed.reshape(shape))

        return self._with_latent_weights(X, mix)

    def local_coef(self, X) -> np.ndarray:
        """Effective weights sum_j beta_cj(x) w_cj of each row (eq. 14-15).

        With the row's latent weights held fixed they explain its score exactly:
        ``decision_function(X) == (local_coef(X) * X[:, None]).sum(-1) +
        local_intercept(X)`` to rounding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores, n_features)
            Weights; for two classes those of the second less those of the first.
        """
        return self._mixed(X, "coef_")

    def local_intercept(self, X) -> np.ndarray:
        """Effective intercepts sum_j beta_cj(x) b_cj of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            Intercepts; for two classes that of the second less that of the first.
        """
        return self._mixed(X, "intercept_")
