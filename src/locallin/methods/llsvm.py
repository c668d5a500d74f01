"""Locally linear support vector machine (Ladicky & Torr, ICML 2011)."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np

from locallin.coding import Coding
from locallin.engine.sklearn_api import (
    HasMethods,
    Interval,
    StrOptions,
)
from locallin.methods.alpha import choose_factor
from locallin.methods.anchored import AnchoredClassifier
from locallin.methods.preparation import (
    CODINGS,
    FitInput,
    LearningRows,
    check_coding,
    check_feature_map,
    fit_space,
)
from locallin.methods.skeleton import FitMonitor
from locallin.solvers.convex import Problem, solve_dual, solve_sgd
from locallin.solvers.newton import solve_newton


class LLSVMClassifier(AnchoredClassifier):
    """Locally linear support vector machine (LL-SVM).

    Anchor points cover the data; each has a linear model per score. A row is scored
    by its few nearest anchors (eq. 8 of [1]_)::

        f_c(x) = sum_j g_j(x) (w_jc . x + b_jc)

    with local coordinates g that sum to one. Anchors and coordinates are chosen
    without labels, the weights minimise (eq. 9)::

        alpha/2 sum_c (|W_c|^2 + |b_c|^2 / B^2)
            + 1/S sum_i s_i sum_c loss(y_ic f_c(x_i))

    where s_i are the rows' weights, S their sum and y_ic is 1 for the row's own class
    and -1 otherwise. The paper leaves b free, as ``intercept_scaling="free"`` does;
    else it carries liblinear's penalty, B being ``intercept_scaling``, so that all
    solvers have the same minimum. The problem is convex: one anchor is a linear SVM.

    The data should be scaled: standardise the features, or, for images and
    histograms, give every row the same norm.

    Parameters
    ----------
    n_anchors : int, "auto" or None, default=None
        Number of anchors (m). None is one for every 25 rows, at least one per class
        and at most 100, or the length of ``anchors`` where that is an array. "auto"
        adds anchors where rows are wrong and keeps the fewest that held-out rows are
        content with, 400 at most; it costs a few fits of as many anchors, on at
        most 20,000 rows.
    n_neighbors : int or None, default=None
        Number of nearest anchors that speak for a row (k). It is for the codings that
        have it. None is 16 for "soft", 8 for "inverse-distance", at most ``n_anchors``.
    coding : {"adaptive", "soft", "inverse-distance"} or coding object, \
            default="adaptive"
        Local coordinates. "adaptive" is :class:`~locallin.coding.AdaptiveCoding`,
        which chooses the number of neighbours for each row, "soft" is
        :class:`~locallin.coding.SoftAssignmentCoding` with a perplexity of k/2,
        "inverse-distance" the paper's own
        :class:`~locallin.coding.InverseDistanceCoding`. An object of one of these
        classes brings its own anchors and neighbours.
    n_probes : int or None, default=None
        Number of groups of anchors that a row looks at. Its neighbours are the nearest
        among their anchors, found at a cost that grows with the root of ``n_anchors``;
        8 are enough for nearly all that are nearest. None looks at all anchors. Groups
        pay from about 2000 anchors on.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_features), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`.
    local_model : {"linear", "constant"}, default="linear"
        "constant" drops w and keeps b: a linear SVM on the local coordinates, the
        LCC+SVM of eq. 15.
    feature_map : transformer or None, default=None
        A finite feature map phi; local models see phi(x) in place of x (eq. 16). With
        :class:`~locallin.feature_maps.IntersectionSampler` this is the locally
        additive SVM of the paper's Table 3.
    coding_space : {"input", "mapped"}, default="input"
        Whether local coordinates are computed from x or from phi(x).
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
        The loss. "logistic" has ``predict_proba``.
    alpha : float, "auto" or "scale", default="auto"
        Strength of the penalty (lambda), in the scale of the data. "scale" is
        ``mean |x|^2 / n`` times (300 / n)^1.25 / (n_classes - 1), cut to [0.01, 1].
        "auto" starts from 1000 times that, and lowers it to no less than that as long
        as the loss of held-out rows (a fifth, at most 5000) does not clearly rise. It
        is "scale" for less than 1000 rows, early stopping and ``solver="sgd"``.
    intercept_scaling : float, "auto" or "free", default="auto"
        B, the constant feature behind the intercepts: the larger, the weaker their
        penalty. "auto" is the root mean square norm of the rows, which makes the
        model indifferent to the unit of the data. "free" takes steps of that size, and
        has no penalty, as in the paper; it is for ``solver="sgd"``.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One-vs-rest, or the joint loss of Crammer & Singer on the margin to the best
        other class (hinge; with ``solver="sgd"`` also squared hinge).
    solver : {"dual", "newton", "sgd"}, default="dual"
        "dual" is coordinate descent in the dual to a duality gap, on features that
        are never formed. "newton" is a truncated Newton method to the same gap, for
        one-vs-rest with a loss other than "hinge"; it converges at penalties that
        are too weak for "dual". "sgd" is the paper's Algorithm 1; it also works on
        streams.
    max_iter : int, default=200
        Largest number of passes over the data. With "newton" it is that of steps, each
        of which makes many passes over the rows that still matter.
    tol : float or None, default=1e-2
        "dual" and "newton" stop at a duality gap of ``tol`` times the objective. "sgd"
        stops when the objective met in an epoch has not fallen by a factor ``1 - tol``
        for ``n_iter_no_change`` epochs. None runs all ``max_iter`` passes, with
        "newton" until rounding ends the fall.
    t0 : float or "auto", default="auto"
        "sgd" steps by 1 / (alpha (t + t0)). "auto" finds t0 by trying first steps on
        a sample of 1000 rows.
    average : bool, default=True
        Whether "sgd" returns an average of its iterates that favours the late ones.
    shuffle : bool, default=True
        Whether rows are visited in a new random order in every epoch. It is for "sgd".
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
        Whether ``fit`` goes on from the last call. It then keeps anchors, bandwidth,
        alpha and B, and starts from the solution. "dual" then also keeps its variables,
        one per row and score.
    n_jobs : int or None, default=None
        Number of threads. They share the scores when fitting and the rows when
        predicting. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. Anchors, order of visits and held-out rows
        depend on it.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per epoch, 2 is lines everywhere.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors.
    coef_ : ndarray of shape (n_anchors, n_scores, n_local_features)
        Weights of the local models; n_scores is 1 for two classes. The last axis is
        that of phi(x) with a feature map, and empty for constant local models.
    intercept_ : ndarray of shape (n_anchors, n_scores)
        Intercepts of the local models.
    anchor_path_ : ndarray of shape (n_stages, 3)
        With ``n_anchors="auto"``: numbers of anchors that were tried, the share of
        held-out rows that were wrong, and its standard error.
    alpha_path_ : ndarray of shape (n_alphas, 2)
        Where held-out rows have chosen alpha: the values that were tried, and the mean
        loss of these rows.
    coding_ : coding object
        The fitted coding.
    feature_map_ : transformer or None
        The fitted feature map.
    alpha_, intercept_scaling_ : float
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
        Number of passes made, or steps of "newton".
    objective_history_ : ndarray of shape (n_iter_,)
        Objective per epoch. "sgd": from the losses met on the way; "dual": dual
        value plus the gap met on the way; "newton": as it is after each step.
    validation_history_ : ndarray of shape (n_iter_,)
        Held-out accuracy per epoch, with ``early_stopping``.
    dual_gap_ : float
        Duality gap relative to the objective, with ``solver="dual"`` or "newton".
    t_, t0_ : float
        Clock of ``solver="sgd"``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    LLSVMClassifierCV : The same, with alpha chosen by cross-validation.
    DULLSVMClassifier : Anchors that learn together with the local models.
    locallin.coding.InverseDistanceCoding : One of the codings, as a transformer.
    locallin.feature_maps.IntersectionSampler : Makes local models additive.

    Notes
    -----
    The paper's own setting is ``LLSVMClassifier(100, n_neighbors=8,
    coding="inverse-distance", loss="hinge", solver="sgd", max_iter=10, tol=None,
    intercept_scaling="free", average=False)``.

    Ctrl-C during ``fit`` stops after the current piece of work, stores the weights
    reached so far, and raises KeyboardInterrupt: the estimator is usable.

    References
    ----------
    .. [1] Ladicky and Torr, Locally Linear Support Vector Machines, ICML 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifier(random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    >>> clf.local_coef(X[:1]).shape
    (1, 1, 2)
    """

    _parameter_constraints: dict = {
        **AnchoredClassifier._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "n_probes": [Interval(Integral, 1, None, closed="left"), None],
        "coding": [StrOptions(set(CODINGS)), Coding],
        "local_model": [StrOptions({"linear", "constant"})],
        "alpha": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto", "scale"}),
        ],
        "intercept_scaling": [
            *AnchoredClassifier._parameter_constraints["intercept_scaling"],
            StrOptions({"free"}),
        ],
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "coding_space": [StrOptions({"input", "mapped"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "solver": [StrOptions({"dual", "newton", "sgd"})],
    }

    def __init__(
        self,
        n_anchors: int | str | None = None,
        *,
        n_neighbors: int | None = None,
        coding="adaptive",
        n_probes: int | None = None,
        anchors="kmeans",
        local_model: str = "linear",
        feature_map=None,
        coding_space: str = "input",
        loss: str = "squared_hinge",
        alpha: float | str = "auto",
        intercept_scaling: float | str = "auto",
        multi_class: str = "ovr",
        solver: str = "dual",
        max_iter: int = 200,
        tol: float | None = 1e-2,
        t0: float | str = "auto",
        average: bool = True,
        shuffle: bool = True,
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
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.coding = coding
        self.n_probes = n_probes
        self.anchors = anchors
        self.local_model = local_model
        self.feature_map = feature_map
        self.coding_space = coding_space
        self.loss = loss
        self.alpha = alpha
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.t0 = t0
        self.average = average
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.probability = probability
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, given: FitInput) -> bool:
        rows = fit_space(self, given)
        problem = self._convex_problem(rows)
        start = None
        if self._looks_for_alpha(given):
            problem, start = self._find_alpha(problem, rows.views, given)
        monitor = FitMonitor(self, given)
        if start is not None and start.interrupted:
            solution = replace(start, n_iter=0)
            self.dual_gap_, self._learning = start.gap, {}
        else:
            solution = self._solve(problem, given, monitor, start)
        monitor.finish(solution)
        return solution.interrupted

    def _looks_for_alpha(self, given: FitInput) -> bool:
        if given.resume:
            return False
        if hasattr(self, "alpha_path_"):
            del self.alpha_path_
        return self.alpha == "auto" and self.solver != "sgd" and not self.early_stopping

    def _convex_problem(self, rows: LearningRows) -> Problem:
        problem = super()._convex_problem(rows)
        return replace(problem, free_intercept=self.intercept_scaling == "free")

    def _find_alpha(self, problem, views, given: FitInput) -> tuple:
        """The problem at the alpha that held-out rows choose, and a start, or None."""
        choice = choose_factor(self, problem, views, given)
        if choice is None:
            return problem, None
        self.alpha_path_ = choice.path * [self.alpha_, 1.0]
        self.alpha_ *= choice.factor
        return replace(problem, alpha=problem.alpha * choice.factor), choice.start

    def _growing_model(self):
        model = super()._growing_model()
        return model.set_params(alpha="scale") if self.alpha == "auto" else model

    def _solve(self, problem, given: FitInput, monitor, start=None):
        if self.solver == "sgd":
            return self._solve_sgd(problem, given, monitor)
        if self.solver == "newton":
            return self._solve_newton(problem, given, monitor, start)
        return self._solve_dual(problem, given, monitor, start)

    def _solve_sgd(self, problem, given: FitInput, monitor):
        start = problem.zeros()
        if given.resume:
            start = self.coef_.copy(), self.intercept_.copy()
        solution = solve_sgd(
            problem,
            start,
            max_iter=self.max_iter,
            tol=None if self.early_stopping else self.tol,
            n_iter_no_change=self.n_iter_no_change,
            average=self.average,
            shuffle=self.shuffle,
            rng=given.rng,
            clock=(0.0, self._given_t0()),
            monitor=monitor,
        )
        self._learning = solution.state_arrays(averaged=False)
        return solution

    def _given_t0(self) -> float | None:
        return None if isinstance(self.t0, str) else float(self.t0)

    def _solve_dual(self, problem, given: FitInput, monitor, start):
        dual = None if start is None else start.dual
        if given.resume:
            dual = self._learning.get("dual")
        if dual is not None and dual.shape != (len(given.encoded), problem.n_scores):
            dual = None
        solution = solve_dual(
            problem,
            max_iter=self.max_iter,
            tol=self.tol,
            rng=given.rng,
            dual=dual,
            monitor=monitor,
        )
        self.dual_gap_ = solution.gap
        self._learning = {}
        if self.warm_start and solution.dual is not None:
            self._learning["dual"] = solution.dual
        return solution

    def _solve_newton(self, problem, given: FitInput, monitor, start):
        first = None if start is None else start.learned
        if given.resume:
            first = self.coef_, self.intercept_
        solution = solve_newton(
            problem,
            max_iter=self.max_iter,
            tol=self.tol,
            start=first,
            monitor=monitor,
        )
        self.dual_gap_ = solution.gap
        self._learning = {}
        return solution

    def _begin_stream(self, given: FitInput, epochs: int) -> None:
        """Choose space, scales and first steps from a sample, and learn nothing yet."""
        problem = self._convex_problem(fit_space(self, given))
        if not given.resume:
            self.coef_, self.intercept_ = problem.zeros()
        start = self.coef_, self.intercept_
        t0 = self._first_clock(problem, start, given.rng)
        self._learning = {"t": np.asarray(0.0), "t0": np.asarray(t0)}

    def _partial_fit(self, given: FitInput) -> bool:
        problem = self._convex_problem(fit_space(self, given))
        carried = self._learning
        mean = None
        start = problem.zeros()
        if given.resume:
            mean = self.coef_, self.intercept_
            start = self.coef_.copy(), self.intercept_.copy()
        if "iterate_coef" in carried:
            start = carried["iterate_coef"], carried["iterate_intercept"]
        clock = 0.0, self._given_t0()
        if "t" in carried:
            clock = carried["t"].item(), carried["t0"].item()
        solution = solve_sgd(
            problem,
            start,
            max_iter=1,
            tol=None,
            n_iter_no_change=1,
            average=self.average,
            shuffle=self.shuffle,
            rng=given.rng,
            clock=clock,
            mean=mean if self.average else None,
        )
        self._learning = solution.state_arrays(self.average)
        self.coef_, self.intercept_ = solution.coef, solution.intercept
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self.objective_history_ = np.append(
            getattr(self, "objective_history_", []), solution.objective_history
        )
        return solution.interrupted

    def _check_choices(self) -> None:
        """Refuse arguments that are valid alone but not together."""
        if self.solver == "newton":
            self._check_newton()
        elif self.multi_class == "crammer_singer":
            allowed = {"dual": ("hinge",), "sgd": ("hinge", "squared_hinge")}
            if self.loss not in allowed[self.solver]:
                raise ValueError(
                    f"multi_class='crammer_singer' with solver={self.solver!r} has no "
                    f"loss={self.loss!r}: choose one of {allowed[self.solver]}, or "
                    "multi_class='ovr'."
                )
        if self.solver != "sgd" and self.t0 != "auto":
            raise ValueError(
                f"t0={self.t0} is a setting of solver='sgd', but solver="
                f"{self.solver!r}."
            )
        if self.solver != "sgd" and self.intercept_scaling == "free":
            raise ValueError(
                f"solver={self.solver!r} needs a penalty on the intercepts, and "
                "intercept_scaling='free' has none: choose solver='sgd', or a large "
                "number for intercept_scaling."
            )
        check_feature_map(self)
        check_coding(self)

    def _check_newton(self) -> None:
        if self.loss == "hinge":
            raise ValueError(
                "solver='newton' has no loss='hinge', which has no curvature: choose "
                "loss='squared_hinge' or 'logistic', or solver='dual'."
            )
        if self.multi_class == "crammer_singer":
            raise ValueError(
                "solver='newton' has no multi_class='crammer_singer', whose scores do "
                "not separate: choose multi_class='ovr', or solver='dual'."
            )
