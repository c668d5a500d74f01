"""Unified locally linear SVM with diverse anchors (U-LLSVM and DU-LLSVM, 2018)."""

from numbers import Real

from locallin.engine.sklearn_api import Interval
from locallin.methods.joint import JointClassifier, joint_rules


class DULLSVMClassifier(JointClassifier):
    """Locally linear SVM that learns anchors and how many speak for each row.

    As :class:`~locallin.SAPLClassifier`, with two differences ([1]_). The local
    coordinates are those of :class:`~locallin.coding.AdaptiveCoding`: each row has as
    many active anchors as it needs. And a term is added to the objective (eq. 7-8)
    that keeps the local models apart, and as long as their anchors matter::

        diversity/2 R(W),   R(W) = -tr(Q log(G / tr G))

    with G the Gram matrix of the local models and Q the anchors' shares of the coding
    weight. ``diversity=0`` is U-LLSVM.

    Parameters
    ----------
    n_anchors : int, "auto" or None, default=None
        Number of anchors (m). None is one for every 12 rows, at least one per class
        and at most 100, or the length of ``anchors`` where that is an array. "auto"
        adds anchors where rows are wrong and keeps the fewest that held-out rows are
        content with, 200 at most; it costs a few fits of as many anchors, on at
        most 20,000 rows.
    perplexity : float or None, default=None
        Average effective number of anchors per row. The first mu is chosen for it. None
        is 8, or half of the anchors where there are fewer than 16.
    mu : float or None, default=None
        The first price of distance (eq. 9, mu = L/C), in place of ``perplexity``.
    bandwidth : {"auto", "fixed", "shared", "per-anchor"}, default="auto"
        Whether mu is learned: not, one for all anchors, or one for each, so that an
        anchor can speak for a dense group of rows or for all that is far from others.
        "auto" is "per-anchor" with ``solver="adam"``, "fixed" with ``solver="sgd"``.
    n_probes : int or None, default=None
        Number of groups of anchors that a row looks at. Its neighbours are the nearest
        among their anchors, found at a cost that grows with the root of ``n_anchors``;
        8 are enough for nearly all that are nearest. None looks at all anchors. Groups
        pay from about 2000 anchors on. Needs ``solver="adam"``.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_dimensions), default="kmeans"
        Where the anchors start: see :func:`locallin.anchors.choose_anchors`. Given
        ones stand behind the metric.
    metric : {"scale", "linear"} or None, default=None
        What is learned in front of the distances, with everything else: a scale of
        each feature, which starts at one, or a linear map M to ``n_dimensions``
        dimensions, in which ``|M x - v_j|`` are the distances. It starts at the
        identity, or at the first principal components where it has fewer dimensions
        than features. Local models see x as it is. None, as in the paper, leaves the
        Euclidean distance. Needs ``solver="adam"``.
    n_dimensions : int or None, default=None
        Dimensions behind ``metric="linear"``. None is 64, at most the number of
        features.
    feature_map : transformer or None, default=None
        A finite feature map phi; local models see phi(x) in place of x, for example
        :class:`~locallin.encoding.PiecewiseLinearEncoder`. "adam" maps the rows of a
        batch when it comes to them, and never holds all of phi(X).
    coding_space : {"input", "mapped"}, default="input"
        Whether local coordinates are computed from x or from phi(x).
    diversity : float, default=1e-3
        Weight of the diversity term (lambda_2); 0 is U-LLSVM.
    loss : {"squared_hinge", "hinge", "logistic", "multinomial"}, \
            default="squared_hinge"
        The loss. "logistic" has ``predict_proba``, and so has "multinomial", the loss
        of the softmax of all scores; for two classes they are the same.
    alpha : float or "auto", default="auto"
        Strength of the penalty (lambda), in the scale of the data. "auto" is
        ``mean |x|^2 / n`` times 300 / (n (n_classes - 1)), cut to [0.02, 1], times
        sqrt(9000 / n), cut to [1, 3].
    intercept_scaling : float or "auto", default="auto"
        B, the constant feature behind the intercepts: see
        :class:`~locallin.LLSVMClassifier`.
    solver : {"adam", "sgd"}, default="adam"
        "adam" takes mini-batches with adaptive steps; "sgd" is the paper's algorithm,
        one row at a time, averaged, which also works on streams.
    init : {"zeros", "convex"}, default="zeros"
        Whether the local models start at zero or at the convex solution for the first
        anchors. The paper does not say where they start.
    max_iter : int, default=30
        Largest number of passes over the data. "adam" plans its steps for all of them.
    tol : float or None, default=None
        "sgd" stops when the objective met in an epoch has not fallen by a factor
        ``1 - tol`` for ``n_iter_no_change`` epochs. None runs all passes.
    batch_size : int or "auto", default="auto"
        Rows per step of "adam". "auto" is n/64, at least 8 and at most 256; up to 1024
        where 256 would make more than 7,200 steps in all passes.
    learning_rate : float, default=0.2
        Largest step of "adam" for the weights, for rows of norm one; it rises over the
        first 5 % of the steps and falls along a cosine to zero.
    anchor_rate : float or "auto", default="auto"
        Step of the anchors; 0 freezes them. "adam": largest step of a coordinate in
        units of the median distance between neighbouring anchors over the root of its
        dimensions ("auto" is 0.12; 0.05 per pass where there are fewer than three, as
        in streams). "sgd": first step along the gradient, in units of the square of
        that distance ("auto" is 0.01); no anchor moves further than 7.5 % of it in one
        step.
    metric_rate : float or "auto", default="auto"
        Largest step of an entry of the metric, for rows of norm one, in the same units;
        0 freezes it ("auto" is 0.08).
    t0 : float or "auto", default="auto"
        "sgd" steps by 1 / (alpha (t + t0)). "auto" finds t0 by trying first steps.
    average : bool, default=True
        Whether "sgd" returns an average of its iterates that favours the late ones.
    shuffle : bool, default=True
        Whether rows are visited in a new random order in every epoch.
    early_stopping : bool, default=False
        Whether to stop on the accuracy of held-out rows and keep the best model.
    validation_fraction : float, default=0.1
        Fraction of the rows that is held out, unless ``fit`` is given others.
    n_iter_no_change : int, default=10
        Epochs without improvement before stopping.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    probability : bool, default=False
        Whether ``predict_proba`` is calibrated on held-out rows. Up to 1,000 rows five
        fits more hold out each row once; of more a fifth is held out from a first fit,
        and a short one to all rows goes on from it.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the last call. It then starts from its anchors and
        models.
    n_jobs : int or None, default=None
        Number of threads. They share the rows when predicting and, with "adam", the
        rows of a batch and the anchors when learning. The result is the same for any
        number.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The first anchors, the order of visits and the
        held-out rows depend on it.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per epoch, 2 is lines everywhere.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    anchors_ : ndarray of shape (n_anchors, n_dimensions)
        The learned anchors, behind the metric. An anchor that no row uses stays where
        it is: k-means puts every first anchor among rows, and an idle one costs a
        distance only.
    coef_ : ndarray of shape (n_anchors, n_scores, n_local_features)
        Weights of the local models; n_scores is 1 for two classes.
    intercept_ : ndarray of shape (n_anchors, n_scores)
        Intercepts of the local models.
    anchor_path_ : ndarray of shape (n_stages, 3)
        With ``n_anchors="auto"``: numbers of anchors that were tried, the share of
        held-out rows that were wrong, and its standard error.
    feature_map_ : transformer or None
        The fitted feature map.
    coding_ : coding object
        The coding with the learned anchors, bandwidth and metric (``metric_``).
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
        Number of passes made.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective per epoch, from the losses met on the way.
    active_history_, perplexity_history_ : ndarray of shape (n_iter_,)
        Average number of anchors with a positive weight, and of exp(entropy of the
        weights), per epoch.
    validation_history_ : ndarray of shape (n_iter_,)
        Held-out accuracy per epoch, with ``early_stopping``.
    t_, t0_ : float
        Clock of ``solver="sgd"``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    SAPLClassifier : The same number of anchors for every row, and no diversity.
    LLSVMClassifier : Anchors that stay where they are: a convex problem.
    locallin.inspection.explain : Exact contributions behind a prediction.
    locallin.export.save : A file that is safe to load.

    Notes
    -----
    The gradient through the coding moves the threshold lambda with the anchors, and
    that of the diversity term holds for any Q; the printed ones (eq. 12-13, 16) do
    neither.

    References
    ----------
    .. [1] Liu, Zhang, Zhao, Sun and Hoi, Unified Locally Linear Classifiers with
       Diversity-Promoting Anchor Points, AAAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import DULLSVMClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = DULLSVMClassifier(6, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    """

    coding = "adaptive"
    rules = joint_rules("perplexity", "mu")
    _parameter_constraints: dict = {
        **JointClassifier._parameter_constraints,
        "mu": [Interval(Real, 0, None, closed="neither"), None],
        "diversity": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_anchors: int | str | None = None,
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
        loss: str = "squared_hinge",
        alpha: float | str = "auto",
        intercept_scaling: float | str = "auto",
        solver: str = "adam",
        init: str = "zeros",
        max_iter: int = 30,
        tol: float | None = None,
        batch_size: int | str = "auto",
        learning_rate: float = 0.2,
        anchor_rate: float | str = "auto",
        metric_rate: float | str = "auto",
        t0: float | str = "auto",
        average: bool = True,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        class_weight=None,
        probability: bool = False,
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
        self.alpha = alpha
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.anchor_rate = anchor_rate
        self.metric_rate = metric_rate
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
