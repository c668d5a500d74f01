"""Locally linear regression with anchors that learn and differ."""

from numbers import Real

from locallin.engine.sklearn_api import Interval
from locallin.methods.joint import joint_rules
from locallin.methods.joint_regressor import JointRegressor, joint_regression_alpha


class DULLSVMRegressor(JointRegressor):
    """Locally linear regression with as many anchors per row as it needs.

    As :class:`~locallin.SAPLRegressor`, with the local coordinates of
    :class:`~locallin.coding.AdaptiveCoding`, whose number of active anchors depends on
    the row, and with the term of :class:`~locallin.DULLSVMClassifier` that keeps the
    local models apart.

    Parameters
    ----------
    n_anchors : int or None, default=None
        Number of anchors (m). None is one for every 12 rows, at most 100, or the
        length of ``anchors`` where that is an array.
    perplexity : float or None, default=None
        Average effective number of anchors per row. The first mu is chosen for it. None
        is 8, or half of the anchors where there are fewer than 16.
    mu : float or None, default=None
        The first price of distance, in place of ``perplexity``.
    bandwidth : {"auto", "fixed", "shared", "per-anchor"}, default="auto"
        Whether the bandwidth is learned: not, one for all anchors, or one for each.
        "auto" is "per-anchor".
    n_probes : int or None, default=None
        Number of groups of anchors that a row looks at. Its neighbours are the nearest
        among their anchors, found at a cost that grows with the root of ``n_anchors``;
        8 are enough for nearly all that are nearest. None looks at all anchors. Groups
        pay from about 2000 anchors on.
    anchors : {"kmeans", "random"} or array-like of shape (n_anchors, n_dimensions), \
            default="kmeans"
        Where the anchors start: see :func:`locallin.anchors.choose_anchors`. Given
        ones stand behind the metric.
    metric : {"scale", "linear"} or None, default=None
        What is learned in front of the distances, with everything else: a scale of
        each feature, or a linear map to ``n_dimensions`` dimensions, as for
        :class:`~locallin.DULLSVMClassifier`. None leaves the Euclidean distance.
    n_dimensions : int or None, default=None
        Dimensions behind ``metric="linear"``. None is 64, at most the number of
        features.
    feature_map : transformer or None, default=None
        A finite feature map phi; local models see phi(x) in place of x, for example
        :class:`~locallin.encoding.PiecewiseLinearEncoder`. The rows of a batch are
        mapped when it comes to them; phi(X) is never held.
    coding_space : {"input", "mapped"}, default="input"
        Whether local coordinates are computed from x or from phi(x).
    diversity : float, default=1e-3
        Weight of the diversity term (lambda_2); 0 leaves it out.
    loss : {"squared", "huber", "absolute", "epsilon_insensitive", "pinball", \
            "poisson", "gamma"}, default="squared"
        The loss. Of a residual r of y, in units of its scale (``target_scale_``), it is
        r^2 / 2; the same up to ``epsilon`` and linear beyond it; abs(r); max(0, abs(r)
        - ``epsilon``); or that of a ``quantile``. With "poisson" and "gamma" a score f
        is the logarithm of what is predicted, and the loss half the deviance: exp(f) -
        y f of counts and other y that are not negative, f + y exp(-f) of positive y,
        y in units of its mean.
    epsilon : float or None, default=None
        Size of residuals, in units of the scale of y. "huber" becomes linear there, and
        "epsilon_insensitive" leaves smaller ones alone; None is 0.5 and 0.1.
    quantile : float or array-like of shape (n_quantiles,), default=0.5
        The quantile of y that ``loss="pinball"`` predicts. Several, in ascending order,
        are predicted side by side and do not cross.
    alpha : float or "auto", default="auto"
        Strength of the penalty (lambda), in the scale of the data. y is in units of its
        own scale. "auto" is ``mean |x|^2 / n`` times 300 / n, cut to [0.02, 1], times
        sqrt(9000 / n) / 2, cut to [0.5, 1.5].
    intercept_scaling : float or "auto", default="auto"
        B, the constant feature behind the intercepts: see
        :class:`~locallin.LLSVMClassifier`.
    max_iter : int, default=30
        Number of passes over the data, for which the steps are planned.
    batch_size : int or "auto", default="auto"
        Rows per step of "adam". "auto" is n/64, at least 8 and at most 256; up to 1024
        where 256 would make more than 7,200 steps in all passes. It is the one solver.
    learning_rate : float, default=0.2
        Largest step of "adam" for the weights, for rows of norm one; it rises over the
        first 5 % of the steps, and falls along a cosine to zero.
    anchor_rate : float or "auto", default="auto"
        Step of the anchors; 0 freezes them. It is the largest of a coordinate, in units
        of the median distance between neighbouring anchors over the root of its
        dimensions ("auto" is 0.12; 0.05 per pass where there are fewer than three).
    metric_rate : float or "auto", default="auto"
        Largest step of an entry of the metric, for rows of norm one, in the same units;
        0 freezes it ("auto" is 0.08).
    shuffle : bool, default=True
        Whether rows are visited in a new random order in every epoch.
    early_stopping : bool, default=False
        Whether to stop on the accuracy of held-out rows and keep the best model. It is
        measured by the loss.
    validation_fraction : float, default=0.1
        Fraction of the rows that is held out, unless ``fit`` is given others.
    n_iter_no_change : int, default=10
        Epochs without improvement before stopping.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the last call. It then starts from its anchors and
        models.
    n_jobs : int or None, default=None
        Number of threads. They share the rows when predicting, and the rows of a batch
        and the anchors when learning. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The first anchors, the order of visits and the
        held-out rows depend on it.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per epoch, 2 is lines everywhere.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_dimensions)
        The learned anchors, behind the metric.
    coef_ : ndarray of shape (n_anchors, n_targets, n_local_features)
        Weights of the local models, in the unit of y; with a log link of its
        logarithm. Of several quantiles, each is a target.
    intercept_ : ndarray of shape (n_anchors, n_targets)
        Intercepts of the local models, in the same unit.
    target_offset_, target_scale_ : ndarray of shape (n_targets,)
        Where y lies and how far it spreads: mean and standard deviation with
        ``loss="squared"``, with a log link the logarithm of the mean and 1, else the
        median (or the quantile) and the distance of the quartiles over 1.349. The
        weights contain them; ``predict`` needs them no more.
    feature_map_ : transformer or None
        The fitted feature map.
    coding_ : coding object
        The coding with the learned anchors, bandwidth and metric (``metric_``).
    alpha_, intercept_scaling_ : float
        The values in use.
    n_iter_ : int
        Number of passes made.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective per epoch, from the losses met on the way, y in units of its scale.
    active_history_, perplexity_history_ : ndarray of shape (n_iter_,)
        Average number of anchors with a positive weight, and of exp(entropy of the
        weights), per epoch.
    validation_history_ : ndarray of shape (n_iter_,)
        1 - loss / loss of ``target_offset_`` on held-out rows per epoch, with
        ``early_stopping``; with ``loss="squared"`` about R2.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    SAPLRegressor : The same number of anchors for every row, and no diversity.
    LLSVMRegressor : Anchors that stay where they are: a convex problem.
    LocallyLinearRegressor : Chooses settings, and takes tables.
    locallin.inspection.explain : Exact contributions behind a prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin import DULLSVMRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-3, 3, size=(500, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> reg = DULLSVMRegressor(20, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.95
    True
    >>> reg.local_coef(X[:1]).shape
    (1, 1, 1)
    """

    coding = "adaptive"
    rules = joint_rules("perplexity", "mu", alpha=joint_regression_alpha)
    _parameter_constraints: dict = {
        **JointRegressor._parameter_constraints,
        "mu": [Interval(Real, 0, None, closed="neither"), None],
        "diversity": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_anchors: int | None = None,
        *,
        perplexity: float | None = None,
        mu: float | None = None,
        bandwidth: str = "auto",
        n_probes: int | None = None,
        anchors="kmeans",
        metric: str | None = None,
        n_dimensions: int | None = None,
        feature_map=None,
        coding_space: str = "input",
        diversity: float = 1e-3,
        loss: str = "squared",
        epsilon: float | None = None,
        quantile=0.5,
        alpha: float | str = "auto",
        intercept_scaling: float | str = "auto",
        max_iter: int = 30,
        batch_size: int | str = "auto",
        learning_rate: float = 0.2,
        anchor_rate: float | str = "auto",
        metric_rate: float | str = "auto",
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
    ):
        self.n_anchors = n_anchors
        self.perplexity = perplexity
        self.mu = mu
        self.bandwidth = bandwidth
        self.n_probes = n_probes
        self.anchors = anchors
        self.metric = metric
        self.n_dimensions = n_dimensions
        self.feature_map = feature_map
        self.coding_space = coding_space
        self.diversity = diversity
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.alpha = alpha
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.anchor_rate = anchor_rate
        self.metric_rate = metric_rate
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
