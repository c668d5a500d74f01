"""Regression on the charts of an atlas."""

from numbers import Real
from threading import Event

import numpy as np
from sklearn.utils import check_random_state

from locallin.atlas import Atlas
from locallin.charts.affine import ChartedRows
from locallin.engine.input import checked_data
from locallin.engine.invariants import Array, Rule
from locallin.engine.parallel import single_threaded_blas
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
    check_sample_weight,
    interruptible,
    with_callbacks,
)
from locallin.kernels.linear import Target
from locallin.kernels.losses import EPSILON_INSENSITIVE, HUBER
from locallin.methods.chart_machines import MachineSteps, charted_rows
from locallin.methods.charted import ChartedEstimator
from locallin.methods.regression import ScoringRegressor
from locallin.methods.skeleton import check_parameters
from locallin.methods.targets import target_scale
from locallin.solvers.chart_machines import solve_linear_machines
from locallin.solvers.dual_numbers import NumberDescent
from locallin.solvers.kernel_regression import solve_kernel_ridge, solve_kernel_svr

# Rows whose Gram matrix is factorised at the most, 800 MB.
_MOST_ROWS = 10_000
_EPSILON = 0.1
# Of the charts of an RBF kernel, where no atlas is given.
_MOST_DIMENSIONS = 16


class AtlasRegressor(ChartedEstimator, ScoringRegressor):
    """Kernel ridge, or support vector, regression on the charts of an atlas.

    The kernels of :class:`~locallin.AtlasClassifier` with numbers in place of classes.
    The atlas is learned from all rows, those without a number included; rows are then
    compared chart by chart, along the manifold::

        K(x, y) = sum_i w_i(x) w_i(y) K_i(p_i(x), p_i(y))

    where K_i is an RBF kernel, or the product of explicit features: [1, p], [1, p, p^2]
    or [1, p, all products of two] of the coordinates p_i in a chart. With these the
    prediction is a mean of the charts' linear or quadratic functions.

    Rows whose y is NaN have no number: they shape the charts and nothing else.

    Parameters
    ----------
    atlas : Atlas, FrozenEstimator of a fitted Atlas, or None, default=None
        The charts. An Atlas is cloned and fitted to all rows; one in a
        :class:`sklearn.frozen.FrozenEstimator` is used as it is, so that one atlas
        serves many targets and settings. None is ``Atlas()``, for ``kernel="rbf"`` with
        as many dimensions as there are features, at most 16: rows of tables fill their
        space, and one chart of it then makes this a kernel machine.
    kernel : {"rbf", "linear", "quadratic", "quadratic-cross"}, default="rbf"
        The kernel within a chart. The last three are linear models per chart, trained
        by dual coordinate descent on features that are made when they are needed.
    assignment : {"soft", "hard"}, default="soft"
        "hard" compares rows in the charts that both belong to (eq. 6), with a weight of
        1: ``gamma`` plays no part.
    n_nearest : int or "auto", default="auto"
        Number of nearest charts of a row. "auto" is twice the root of the number of
        charts, at least 10; one with hard assignment, where more are
        charts that overlap.
    gamma : float or "auto", default="auto"
        Bandwidth of the weights exp(-E / gamma^2), a length in the unit of the data.
        "auto" spreads a row's weight over 60 % of its nearest charts on average.
    sigma : float or "auto", default="auto"
        Bandwidth of the RBF kernel ``exp(-|p - q|^2 / sigma^2)``, a length in the unit
        of the data. "auto" is the root mean square of ``|p|`` in the nearest chart,
        times (1000 / n)^(1/4) for n rows with a number, cut to [0.5, 2].
    normalize : bool, default=True
        Whether every row has K(x, x) = 1. With a linear kernel, whether its weights on
        charts add up to one; without it they are exp(-E / gamma^2) as they are.
    loss : {"squared", "epsilon_insensitive"}, default="squared"
        The loss. Of a residual r of y, in units of its scale (``target_scale_``), it is
        r^2 / 2, kernel ridge regression, with "rbf" in closed form for at most 10,000
        rows; or max(0, abs(r) - ``epsilon``), LIBSVM's machine.
    epsilon : float or None, default=None
        Size of residuals, in units of the scale of y. "epsilon_insensitive" leaves
        smaller ones alone; None is 0.1.
    alpha : float or "auto", default="auto"
        Strength of the penalty (lambda), in the scale of the data. The C of a machine
        on n rows is 1 / (alpha n). "auto" is C = 10 for a kernel of K(x, x) = 1 on
        average.
    intercept_scaling : float or "auto", default="auto"
        B, the constant feature behind the intercepts: for linear kernels, in units of
        the coordinates' root mean square norm in each chart. "auto" is 1. (The RBF
        machine has one intercept, which is free.)
    max_iter : int, default=1000
        Largest number of passes over the data. It holds for each machine; "rbf" counts
        working sets.
    tol : float or "auto", default="auto"
        "rbf": violation of the optimality conditions at which to stop, as LIBSVM's.
        Linear kernels: duality gap relative to the objective. "auto" is 1e-3, of the
        gap 1e-2 with "epsilon_insensitive".
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
    atlas_ : Atlas
        The atlas in use.
    n_nearest_, gamma_, sigma_, alpha_ : int and floats
        Values in use; ``sigma_`` for the RBF kernel only.
    coef_ : ndarray of shape (n_charts, n_targets, n_chart_features)
        Linear kernels: weights of each chart's features, which are made of coordinates
        in units of ``scale_``, in the unit of y.
    intercept_ : ndarray of shape (n_charts, n_targets) or (n_targets,)
        Intercepts, of every chart for the linear kernels; ``target_offset_`` is added.
    support_ : ndarray of shape (n_support,)
        RBF kernel: rows of X that are support vectors.
    dual_coef_ : ndarray of shape (n_support, n_targets)
        RBF kernel: their dual variables, in the unit of y.
    support_starts_, support_rows_, support_points_ : ndarray
        RBF kernel: the support vectors sorted by chart, as the kernel takes them.
    target_offset_, target_scale_ : ndarray of shape (n_targets,)
        Where y lies and how far it spreads: mean and standard deviation with
        ``loss="squared"``, else the median and the distance of the quartiles over
        1.349.
    n_iter_ : int
        Largest number of passes of any machine.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    Atlas : The charts that it learns first, as a transformer.
    AtlasClassifier : The same for classes.
    DULLSVMRegressor : Local models at anchors, for data with many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin import Atlas, AtlasRegressor
    >>> rng = np.random.RandomState(0)
    >>> t = rng.uniform(0, 6, size=500)
    >>> X = np.column_stack([np.cos(2 * t), np.sin(2 * t), t / 2])  # a helix
    >>> y = np.full(500, np.nan)
    >>> y[:60] = np.sin(2 * t[:60])  # few rows have a number
    >>> reg = AtlasRegressor(Atlas(1, mdl=0.5), random_state=0).fit(X, y)
    >>> reg.score(X[60:], np.sin(2 * t[60:])) > 0.9
    True
    """

    _parameter_constraints: dict = {
        **ChartedEstimator._parameter_constraints,
        "loss": [StrOptions({"squared", "epsilon_insensitive"})],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
    }

    # A mean of functions has weights that add up to one.
    normalizes_features = False

    # Numbers vary faster along the data than classes do.
    reach = 1.0

    def _invariants(self) -> dict[str, Rule]:
        return {
            **super()._invariants(),
            "target_offset_": Array(("targets",)),
            "target_scale_": Array(("targets",), least=0.0),
            **self._machine_invariants("targets"),
        }

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
        loss: str = "squared",
        epsilon: float | None = None,
        alpha: float | str = "auto",
        intercept_scaling: float | str = "auto",
        max_iter: int = 1000,
        tol: float | str = "auto",
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
        self.epsilon = epsilon
        self.alpha = alpha
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Learn the charts from all rows, and the machines from those with a number.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. float32 and float64 are used as they are.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers; NaN for rows that have none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows with a number in the objective. They do not shape the
            charts.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        with interruptible(self) as run:
            check_parameters(self)
            filled, has_number = _without_gaps(y)
            checks = {"multi_output": True, "y_numeric": True}
            X, filled = checked_data(self, X, filled, reset=True, **checks)
            weights = check_sample_weight(sample_weight, X)
            rows = np.flatnonzero(weights > 0)
            if has_number is not None:
                rows = rows[has_number[rows]]
            if not len(rows):
                raise ValueError(
                    "No row has a number in y and a weight above zero: NaN marks rows "
                    "that shape the charts only."
                )
            targets = np.asarray(filled, float).reshape(len(filled), -1)[rows]
            run.interrupted = self._fit(X, rows, targets, weights[rows].astype(float))
        return self

    def _fit(self, X, rows: np.ndarray, y: np.ndarray, weights: np.ndarray) -> bool:
        rng = check_random_state(self.random_state)
        self.target_offset_, self.target_scale_ = target_scale(y, weights, self.loss)
        wanted = (y - self.target_offset_) / self.target_scale_
        weights = weights / weights.mean()
        one = self.kernel != "rbf" or self.loss == "squared"
        steps = MachineSteps(self, 1 if one else wanted.shape[1], X, y)
        self._charts_for(X, rng, steps)
        self._choose_bandwidths(X, len(rows), rng)
        stop = Event()
        settings = {"report": steps.report, "stop": stop, "max_iter": self.max_iter}
        # One thread of BLAS in each of ours: the same sums for any number of them.
        with single_threaded_blas():
            charted = charted_rows(self, X[rows], self.n_jobs)
            if self.kernel == "rbf":
                solutions = self._fit_rbf(charted, wanted, weights, settings)
                self._keep_support(charted, rows, solutions)
                dtype, scale = self.dual_coef_.dtype, self.target_scale_
                self.dual_coef_ = (self.dual_coef_ * scale).astype(dtype)
                self.intercept_ = (self.intercept_ * scale).astype(dtype)
            else:
                settings["rng"] = rng
                solutions = self._fit_linear(charted, wanted, weights, settings)
        self.n_iter_ = max(s.n_iter for s in solutions)
        self._end_fit(steps, solutions, stop)
        return stop.is_set()

    def _usual_atlas(self, n_features: int) -> Atlas:
        if self.kernel != "rbf":
            return Atlas()
        return Atlas(min(n_features, _MOST_DIMENSIONS))

    def _fit_rbf(self, charted: ChartedRows, wanted, weights, settings) -> list:
        self._check_lengths(charted)
        upper = weights / (self.alpha_ * len(charted))
        problem = charted, len(self.atlas_.means_), wanted, upper
        if self.loss == "squared":
            if len(charted) > _MOST_ROWS:
                raise ValueError(
                    f"loss='squared' with kernel='rbf' factorises the Gram matrix of "
                    f"at most {_MOST_ROWS} rows, but {len(charted)} have a number: "
                    "choose loss='epsilon_insensitive', or a linear kernel."
                )
            found = solve_kernel_ridge(*problem)
            settings["report"](0, f"{len(charted)} rows")
            return found
        tol = 1e-3 if self.tol == "auto" else self.tol
        return solve_kernel_svr(
            *problem, epsilon=self._epsilon(), tol=tol, n_jobs=self.n_jobs, **settings
        )

    def _fit_linear(self, charted: ChartedRows, wanted, weights, settings) -> list:
        n_targets = wanted.shape[1]
        code, parameter = HUBER, np.inf
        if self.loss == "epsilon_insensitive":
            code, parameter = EPSILON_INSENSITIVE, self._epsilon()
        problem = self._linear_problem(
            charted,
            Target(wanted, np.arange(n_targets), weights),
            loss=code,
            loss_parameters=np.full(n_targets, parameter),
        )
        tol = self.tol
        if tol == "auto":
            tol = 1e-3 if self.loss == "squared" else 1e-2
        (solution,) = solve_linear_machines(
            problem, [(0, None)], tol=tol, descent_of=NumberDescent, **settings
        )
        dtype, scale = solution.coef.dtype, self.target_scale_
        self.coef_ = (solution.coef * scale[:, None]).astype(dtype)
        self.intercept_ = (solution.intercept * scale).astype(dtype)
        return [solution]

    def _epsilon(self) -> float:
        return _EPSILON if self.epsilon is None else float(self.epsilon)

    def _check_choices(self) -> None:
        super()._check_choices()
        if self.epsilon is not None and self.loss != "epsilon_insensitive":
            raise ValueError(
                f"epsilon={self.epsilon} is a setting of loss='epsilon_insensitive', "
                f"but loss={self.loss!r}: leave epsilon=None."
            )

    def _scores(self, X) -> np.ndarray:
        scores = self._machine_scores(X)
        return (scores + self.target_offset_).astype(scores.dtype)

    def _local_model(self, X) -> tuple[np.ndarray, np.ndarray]:
        coef, intercept = super()._local_model(X)
        return coef, (intercept + self.target_offset_).astype(intercept.dtype)


def _without_gaps(y) -> tuple:
    """Y with numbers in place of NaN, and which rows have no NaN, if there are any."""
    values = np.asarray(y)
    if y is None or values.dtype.kind not in "fO" or values.ndim == 0:
        return y, None
    values = values.astype(float)
    missing = np.isnan(values)
    if not missing.any():
        return y, None
    has_number = ~missing.reshape(len(values), -1).any(axis=1)
    return np.where(missing, 0.0, values), has_number
