"""Locally linear regression on anchors that stay where they are."""

from numbers import Integral

import numpy as np

from locallin.coding import Coding
from locallin.engine.sklearn_api import HasMethods, Interval, StrOptions
from locallin.methods.anchored_regressor import AnchoredRegressor
from locallin.methods.preparation import (
    CODINGS,
    FitInput,
    Rules,
    check_coding,
    check_feature_map,
    fit_space,
)
from locallin.methods.skeleton import FitMonitor
from locallin.solvers.convex import Solution, solve_dual
from locallin.solvers.dual_numbers import NumberDescent
from locallin.solvers.newton import solve_newton

# Losses with a curvature are for Newton's method, those with kinks for the dual.
_SMOOTH = {"squared", "huber", "squared_epsilon_insensitive"}
_KINKED = {"absolute", "epsilon_insensitive", "pinball"}
_REMEDY = "Raise max_iter, alpha or tol, or scale the features."


def convex_regression_alpha(n_rows: int, n_classes: int) -> float:
    """Alpha of a convex machine whose loss is half a square."""
    return 0.5 * np.clip((300 / n_rows) ** 1.25, 0.01, 1.0)


class LLSVMRegressor(AnchoredRegressor):
    """Locally linear regression: linear models at anchors, mixed by local coordinates.

    The model of :class:`~locallin.LLSVMClassifier` with numbers in place of classes::

        f_c(x) = sum_j g_j(x) (w_jc . x + b_jc)

    with local coordinates g that sum to one. Anchors and coordinates are chosen
    without y, the weights minimise::

        alpha/2 sum_c (|W_c|^2 + |b_c|^2 / B^2)
            + 1/S sum_i s_i sum_c loss(f_c(x_i) - y_ic)

    where s_i are the rows' weights, S their sum, and y_c the target without its offset,
    in units of its scale. The problem is convex. Newton's method solves it where the
    loss is smooth, and dual coordinate descent where it has kinks; one anchor is ridge
    regression, or a linear support vector machine.

    The data should be scaled: standardise the features.

    Parameters
    ----------
    n_anchors : int or None, default=None
        Number of anchors (m). None is one for every 25 rows, at most 100, or the
        length of ``anchors`` where that is an array.
    n_neighbors : int or None, default=None
        Number of nearest anchors that speak for a row (k). It is for the codings that
        have it. None is 16 for "soft", 8 for "inverse-distance", at most ``n_anchors``.
    coding : {"adaptive", "soft", "inverse-distance"} or coding object, \
            default="adaptive"
        Local coordinates. They are those of :class:`~locallin.LLSVMClassifier`.
    n_probes : int or None, default=None
        Number of groups of anchors that a row looks at. Its neighbours are the nearest
        among their anchors, found at a cost that grows with the root of ``n_anchors``;
        8 are enough for nearly all that are nearest. None looks at all anchors. Groups
        pay from about 2000 anchors on.
    anchors : {"kmeans", "random"} or array-like of shape (n_anchors, n_dimensions), \
            default="kmeans"
        Where the anchors are: see :func:`locallin.anchors.choose_anchors`.
    local_model : {"linear", "constant"}, default="linear"
        "constant" drops w and keeps b: a mean of the values of the anchors.
    feature_map : transformer or None, default=None
        A finite feature map phi; local models see phi(x) in place of x.
    coding_space : {"input", "mapped"}, default="input"
        Whether local coordinates are computed from x or from phi(x).
    loss : {"squared", "huber", "squared_epsilon_insensitive", "absolute", \
            "epsilon_insensitive", "pinball"}, default="squared"
        The loss. Of a residual r of y, in units of its scale (``target_scale_``), it is
        r^2 / 2; the same up to ``epsilon`` and linear beyond it; max(0, abs(r) -
        ``epsilon``)^2 / 2; abs(r); max(0, abs(r) - ``epsilon``), that of support vector
        regression; or that of a ``quantile``.
    epsilon : float or None, default=None
        Size of residuals, in units of the scale of y. "huber" becomes linear there, and
        the losses that are insensitive leave smaller ones alone; None is 0.5 and 0.1.
    quantile : float or array-like of shape (n_quantiles,), default=0.5
        The quantile of y that ``loss="pinball"`` predicts. Several, in ascending order,
        are predicted side by side and do not cross.
    alpha : float or "auto", default="auto"
        Strength of the penalty (lambda), in the scale of the data. "auto" is
        ``mean |x|^2 / n`` times (300 / n)^1.25 / 2, cut to [0.005, 0.5].
    intercept_scaling : float or "auto", default="auto"
        B, the constant feature behind the intercepts: see
        :class:`~locallin.LLSVMClassifier`.
    max_iter : int, default=2000
        Largest number of Newton steps, or of passes over the rows in the dual.
    tol : float, "auto" or None, default="auto"
        Steps end when the duality gap is this share of the objective; with None where
        rounding keeps the objective from falling, and in the dual after ``max_iter``.
        "auto" is 1e-4 for Newton's method, and 1e-2 in the dual, which is slow to get
        much closer where ``alpha`` is small.
    early_stopping : bool, default=False
        Whether to stop on the accuracy of held-out rows and keep the best model. It is
        measured by the loss.
    validation_fraction : float, default=0.1
        Fraction of the rows that is held out, unless ``fit`` is given others.
    n_iter_no_change : int, default=5
        Epochs without improvement before stopping. An epoch is a Newton step or a pass.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the last call. It then starts from its anchors and
        weights; the dual from its variables, where the number of rows is the same.
    n_jobs : int or None, default=None
        Number of threads. They share the targets when learning, and the rows when
        predicting. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The anchors, the held-out rows and the order of
        visits in the dual depend on it.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per step, 2 is lines everywhere.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_dimensions)
        The anchors.
    coef_ : ndarray of shape (n_anchors, n_targets, n_local_features)
        Weights of the local models, in the unit of y.
    intercept_ : ndarray of shape (n_anchors, n_targets)
        Intercepts of the local models, in the unit of y.
    target_offset_, target_scale_ : ndarray of shape (n_targets,)
        Where y lies and how far it spreads: mean and standard deviation where the loss
        grows like a square, else the median (or each quantile) and the distance of the
        quartiles over 1.349. The weights contain them; ``predict`` needs them no more.
    feature_map_ : transformer or None
        The fitted feature map.
    coding_ : coding object
        The fitted coding.
    alpha_, intercept_scaling_ : float
        The values in use.
    n_iter_ : int
        Number of steps made.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each step, y in units of its scale; in the dual its value plus
        the gap met on the way.
    validation_history_ : ndarray of shape (n_iter_,)
        1 - loss / loss of ``target_offset_`` on held-out rows after each step, with
        ``early_stopping``.
    dual_gap_ : float
        Duality gap relative to the objective.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    DULLSVMRegressor : Anchors that learn together with the local models.
    LocallyLinearRegressor : Chooses settings, and takes tables.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin import LLSVMRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-3, 3, size=(500, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> reg = LLSVMRegressor(20, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.95
    True
    """

    _parameter_constraints: dict = {
        **AnchoredRegressor._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "n_probes": [Interval(Integral, 1, None, closed="left"), None],
        "coding": [StrOptions(set(CODINGS)), Coding],
        "local_model": [StrOptions({"linear", "constant"})],
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "coding_space": [StrOptions({"input", "mapped"})],
        "loss": [StrOptions(_SMOOTH | _KINKED)],
        "tol": [*AnchoredRegressor._parameter_constraints["tol"], StrOptions({"auto"})],
    }

    rules = Rules(alpha=convex_regression_alpha)

    def __init__(
        self,
        n_anchors: int | None = None,
        *,
        n_neighbors: int | None = None,
        coding="adaptive",
        n_probes: int | None = None,
        anchors="kmeans",
        local_model: str = "linear",
        feature_map=None,
        coding_space: str = "input",
        loss: str = "squared",
        epsilon: float | None = None,
        quantile=0.5,
        alpha: float | str = "auto",
        intercept_scaling: float | str = "auto",
        max_iter: int = 2000,
        tol: float | str | None = "auto",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
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
        self.epsilon = epsilon
        self.quantile = quantile
        self.alpha = alpha
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, given: FitInput) -> bool:
        problem = self._convex_problem(fit_space(self, given))
        monitor = FitMonitor(self, given)
        is_smooth = self.loss in _SMOOTH
        tol = self.tol
        if isinstance(tol, str):
            tol = 1e-4 if is_smooth else 1e-2
        settings: dict = {"max_iter": self.max_iter, "tol": tol, "monitor": monitor}
        if is_smooth:
            start = self._in_unit_of_solver() if given.resume else None
            solution = solve_newton(problem, start=start, **settings)
            self._learning = {}
        else:
            solution = self._solve_dual(problem, given, settings)
        self.dual_gap_ = solution.gap
        monitor.finish(solution, _REMEDY)
        return solution.interrupted

    def _solve_dual(self, problem, given: FitInput, settings: dict) -> Solution:
        dual = self._learning.get("dual") if given.resume else None
        if dual is not None and dual.shape != problem.target.labels.shape:
            dual = None
        solution = solve_dual(
            problem, rng=given.rng, dual=dual, descent_of=NumberDescent, **settings
        )
        self._learning = {}
        if self.warm_start and solution.dual is not None:
            self._learning["dual"] = solution.dual
        return solution

    def _is_stream_method(self) -> bool:
        raise AttributeError(
            "LLSVMRegressor needs all rows at once: use fit, or DULLSVMRegressor."
        )

    def _check_choices(self) -> None:
        super()._check_choices()
        check_feature_map(self)
        check_coding(self)
