"""The three codings: by inverse distance, by a soft assignment, adaptive."""

from numbers import Integral, Real

from locallin.coding.base import Coding
from locallin.engine.sklearn_api import (
    Interval,
)
from locallin.kernels.coding import (
    ADAPTIVE,
    INVERSE_DISTANCE,
    SOFT_ASSIGNMENT,
)


class _NearestCoding(Coding):
    """Weights on a fixed number of nearest anchors."""

    _parameter_constraints: dict = {
        **Coding._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def _check_choices(self) -> None:
        super()._check_choices()
        if isinstance(self.anchors, str) and self.n_neighbors > self.n_anchors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than n_anchors="
                f"{self.n_anchors}: lower n_neighbors or raise n_anchors."
            )

    def choose_neighbors(self) -> None:
        """Set ``n_neighbors_``, at most the number of anchors."""
        if not isinstance(self.anchors, str) and self.n_neighbors > len(self.anchors_):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than the "
                f"{len(self.anchors_)} anchors given: lower n_neighbors."
            )
        self.n_neighbors_ = min(int(self.n_neighbors), len(self.anchors_))


class InverseDistanceCoding(_NearestCoding):
    """Weights in inverse proportion to the distance of the k nearest anchors.

    g_j(x) is proportional to ``1 / |x - v_j|`` over the ``n_neighbors`` nearest anchors
    v_j and 0 elsewhere (van Gemert et al. 2008; the coding of the LL-SVM paper
    [1]_, section 4). A point on an anchor has weight 1 there.

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors (m). Not used where ``anchors`` is an array.
    n_neighbors : int, default=8
        Number of nearest anchors that speak for a row (k).
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_components), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`. Given
        ones stand behind the metric.
    metric : array-like of shape (n_features,) or (n_components, n_features), or None, \
            default=None
        What stands in front of the distances: a scale of each feature, or a linear map
        M, with which distances are ``|M x - v_j|``. None is the Euclidean distance.
    n_probes : int or None, default=None
        Number of groups of anchors that a row looks at. Its neighbours are the nearest
        among their anchors, found at a cost that grows with the root of ``n_anchors``;
        8 are enough for nearly all that are nearest. None looks at all anchors. Groups
        pay from about 2000 anchors on.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The choice of anchors depends on it.
    n_jobs : int or None, default=None
        Number of threads. ``transform`` uses them.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_components)
        The anchors, behind the metric: n_components is n_features where that is no
        linear map. Fewer than asked for where the data has fewer distinct rows.
    metric_ : ndarray of shape (n_features,) or (n_components, n_features), or None
        The metric in use.
    group_centers_ : ndarray of shape (n_groups, n_components)
        With ``n_probes``: centres of the groups of anchors, about ``2 sqrt(n_anchors)``
        of them.
    anchor_groups_ : ndarray of shape (n_anchors,)
        With ``n_probes``: the group of each anchor. A row looks at its ``n_probes``
        nearest groups, and at further ones until it has its ``n_neighbors_`` anchors.
    n_neighbors_ : int
        Number of nearest anchors in use, at most ``len(anchors_)``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    SoftAssignmentCoding : Weights by a Gaussian of the distance.
    AdaptiveCoding : As many anchors per row as it needs.
    locallin.LLSVMClassifier : A classifier that takes a coding.

    References
    ----------
    .. [1] Ladicky and Torr, Locally Linear Support Vector Machines, ICML 2011.

    Examples
    --------
    >>> from locallin.coding import InverseDistanceCoding
    >>> coding = InverseDistanceCoding(n_neighbors=2, anchors=[[0.0], [1.0], [9.0]])
    >>> coding.fit([[0.5]]).transform([[0.25], [1.0]]).toarray()
    array([[0.75, 0.25, 0.  ],
           [0.  , 1.  , 0.  ]])
    """

    kind = INVERSE_DISTANCE

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        n_neighbors: int = 8,
        anchors="kmeans",
        metric=None,
        n_probes: int | None = None,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.anchors = anchors
        self.metric = metric
        self.n_probes = n_probes
        self.random_state = random_state
        self.n_jobs = n_jobs


class SoftAssignmentCoding(_NearestCoding):
    """Softmax of the squared distances to the k nearest anchors.

    g_j(x) is proportional to ``exp(-beta |x - v_j|^2)`` over the ``n_neighbors``
    nearest anchors v_j and 0 elsewhere (eq. 2 of the LLC-SAPL paper [1]_).

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors (m). Not used where ``anchors`` is an array.
    n_neighbors : int, default=16
        Number of nearest anchors that speak for a row (k).
    perplexity : float or None, default=None
        Average effective number of anchors per row. It is exp(entropy of g), and the
        bandwidth is chosen for it; at least 1 and at most ``n_neighbors``. None stands
        for half of ``n_neighbors``. Used where ``beta`` is None.
    beta : float or None, default=None
        The bandwidth. None chooses it at fit so that ``perplexity`` is met, which
        carries over between data sets as no fixed number does; it is then frozen.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_components), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`. Given
        ones stand behind the metric.
    metric : array-like of shape (n_features,) or (n_components, n_features), or None, \
            default=None
        What stands in front of the distances: a scale of each feature, or a linear map
        M, with which distances are ``|M x - v_j|``. None is the Euclidean distance.
    n_probes : int or None, default=None
        Number of groups of anchors that a row looks at. Its neighbours are the nearest
        among their anchors, found at a cost that grows with the root of ``n_anchors``;
        8 are enough for nearly all that are nearest. None looks at all anchors. Groups
        pay from about 2000 anchors on.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The choice of anchors depends on it.
    n_jobs : int or None, default=None
        Number of threads. ``transform`` uses them.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_components)
        The anchors, behind the metric: n_components is n_features where that is no
        linear map. Fewer than asked for where the data has fewer distinct rows.
    metric_ : ndarray of shape (n_features,) or (n_components, n_features), or None
        The metric in use.
    group_centers_ : ndarray of shape (n_groups, n_components)
        With ``n_probes``: centres of the groups of anchors, about ``2 sqrt(n_anchors)``
        of them.
    anchor_groups_ : ndarray of shape (n_anchors,)
        With ``n_probes``: the group of each anchor. A row looks at its ``n_probes``
        nearest groups, and at further ones until it has its ``n_neighbors_`` anchors.
    bandwidth_ : float
        The beta in use.
    n_neighbors_ : int
        Number of nearest anchors in use, at most ``len(anchors_)``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    InverseDistanceCoding : Weights by the inverse of the distance.
    AdaptiveCoding : As many anchors per row as it needs.
    locallin.SAPLClassifier : Learns the anchors of this coding, and its bandwidth.

    References
    ----------
    .. [1] Mao, Fu, Wu and Hu, Optimizing Locally Linear Classifiers with Supervised
       Anchor Point Learning, IJCAI 2015.

    Examples
    --------
    >>> from locallin.coding import SoftAssignmentCoding
    >>> coding = SoftAssignmentCoding(
    ...     n_neighbors=2, beta=2.0, anchors=[[0.0], [1.0], [9.0]]
    ... )
    >>> coding.fit([[0.5]]).transform([[0.5], [1.0]]).toarray().round(3)
    array([[0.5  , 0.5  , 0.   ],
           [0.119, 0.881, 0.   ]])
    """

    kind = SOFT_ASSIGNMENT
    _bandwidth_name = "beta"
    _parameter_constraints: dict = {
        **_NearestCoding._parameter_constraints,
        "perplexity": [Interval(Real, 1, None, closed="left"), None],
        "beta": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        n_neighbors: int = 16,
        perplexity: float | None = None,
        beta: float | None = None,
        anchors="kmeans",
        metric=None,
        n_probes: int | None = None,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.perplexity = perplexity
        self.beta = beta
        self.anchors = anchors
        self.metric = metric
        self.n_probes = n_probes
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_choices(self) -> None:
        super()._check_choices()
        if self.perplexity is not None and self.perplexity > self.n_neighbors:
            raise ValueError(
                f"perplexity={self.perplexity} is more than n_neighbors="
                f"{self.n_neighbors}: an average over k anchors is at most k."
            )


class AdaptiveCoding(Coding):
    """Weights on as many near anchors as each row needs.

    g(x) minimises ``|g|_2 + mu sum_j g_j |x - v_j|`` over the simplex (eq. 9 of the
    DU-LLSVM paper [1]_, with mu = L/C): noise against bias. The solution is
    ``g_j = (lambda - mu |x - v_j|)+`` up to scale (eq. 10), with a threshold lambda
    that Algorithm 1 of the paper finds by adding anchors in the order of their
    distance. The number of active anchors differs from row to row. This is the
    k*-nearest-neighbours rule of Anava & Levy (2016).

    Parameters
    ----------
    n_anchors : int, default=100
        Number of anchors (m). Not used where ``anchors`` is an array.
    perplexity : float or None, default=None
        Average effective number of anchors per row. It is exp(entropy of g), and mu is
        chosen for it. None stands for 8, or half of the anchors where there are fewer
        than 16. Used where ``mu`` is None.
    mu : float or None, default=None
        Price of distance: the larger, the fewer anchors. None chooses it at fit so
        that ``perplexity`` is met.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_components), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`. Given
        ones stand behind the metric.
    metric : array-like of shape (n_features,) or (n_components, n_features), or None, \
            default=None
        What stands in front of the distances: a scale of each feature, or a linear map
        M, with which distances are ``|M x - v_j|``. None is the Euclidean distance.
    n_probes : int or None, default=None
        Number of groups of anchors that a row looks at. Its neighbours are the nearest
        among their anchors, found at a cost that grows with the root of ``n_anchors``;
        8 are enough for nearly all that are nearest. None looks at all anchors. Groups
        pay from about 2000 anchors on.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The choice of anchors depends on it.
    n_jobs : int or None, default=None
        Number of threads. ``transform`` uses them.

    Attributes
    ----------
    anchors_ : ndarray of shape (n_anchors, n_components)
        The anchors, behind the metric: n_components is n_features where that is no
        linear map. Fewer than asked for where the data has fewer distinct rows.
    metric_ : ndarray of shape (n_features,) or (n_components, n_features), or None
        The metric in use.
    group_centers_ : ndarray of shape (n_groups, n_components)
        With ``n_probes``: centres of the groups of anchors, about ``2 sqrt(n_anchors)``
        of them.
    anchor_groups_ : ndarray of shape (n_anchors,)
        With ``n_probes``: the group of each anchor. A row looks at its ``n_probes``
        nearest groups, and at further ones until one of them has an anchor.
    bandwidth_ : float
        The mu in use.
    n_neighbors_ : int
        Largest number of active anchors: all of them.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    SoftAssignmentCoding : The same number of anchors for every row.
    InverseDistanceCoding : Weights by the inverse of the distance.
    locallin.DULLSVMClassifier : Learns the anchors of this coding.

    References
    ----------
    .. [1] Liu, Zhang, Zhao, Sun and Hoi, Unified Locally Linear Classifiers with
       Diversity-Promoting Anchor Points, AAAI 2018.

    Examples
    --------
    >>> from locallin.coding import AdaptiveCoding
    >>> coding = AdaptiveCoding(mu=1.0, anchors=[[0.0], [1.0], [9.0]])
    >>> coding.fit([[0.5]]).transform([[0.5], [0.2]]).toarray().round(3)
    array([[0.5  , 0.5  , 0.   ],
           [0.734, 0.266, 0.   ]])
    """

    kind = ADAPTIVE
    _bandwidth_name = "mu"
    _usual_perplexity = 8.0
    _parameter_constraints: dict = {
        **Coding._parameter_constraints,
        "perplexity": [Interval(Real, 1, None, closed="left"), None],
        "mu": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_anchors: int = 100,
        *,
        perplexity: float | None = None,
        mu: float | None = None,
        anchors="kmeans",
        metric=None,
        n_probes: int | None = None,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_anchors = n_anchors
        self.perplexity = perplexity
        self.mu = mu
        self.anchors = anchors
        self.metric = metric
        self.n_probes = n_probes
        self.random_state = random_state
        self.n_jobs = n_jobs
