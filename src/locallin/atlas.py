"""Charts of a manifold: overlapping affine pieces that together follow the data."""

from copy import deepcopy
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from locallin.charts.affine import (
    Charts,
    center_and_variance,
    chart_weights,
    codes_of,
    components_rule,
    empty_charts,
    gamma_rule,
    nearest_rule,
    sample_rows,
)
from locallin.charts.labelling import memberships, neighbor_graph
from locallin.charts.learner import (
    AtlasLearner,
    Fit,
    check_graph,
    cluster_groups,
    find_neighbors,
    random_groups,
)
from locallin.charts.max_flow import choose_backend
from locallin.engine.finite import all_finite
from locallin.engine.input import checked_data
from locallin.engine.invariants import (
    INPUT,
    Array,
    CheckedState,
    Number,
    Rule,
    Starts,
)
from locallin.engine.parallel import (
    ThreadTeam,
    openmp_after_fork,
    single_threaded_blas,
)
from locallin.engine.progress import Progress, warn_not_converged
from locallin.engine.sklearn_api import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sparse_output,
    interruptible,
    validate_parameters,
    with_callbacks,
)
from locallin.kernels.charts import NeighborGraph

__all__ = ["Atlas"]


class Atlas(
    CheckedState,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Learn a manifold as an atlas of overlapping affine charts.

    A chart is an affine subspace of dimension d: a mean mu_i and orthonormal
    directions C_i. It gives a row the coordinates C_i (x - mu_i) and the error
    E_i(x), the squared distance from the subspace (eq. 2-4 of [1]_). Every row is
    interior to one chart and takes its nearest neighbours along: a row belongs to
    its own chart and to the chart of every row that it is a neighbour of, so that
    charts overlap where they meet. The atlas minimises (eq. 1)::

        sum_x sum over the charts i of x of E_i(x) + lambda * (number of charts)

    It starts from many random charts and alternates two steps that both lower this
    energy: labels by alpha-expansion, each move a minimum cut, and charts by PCA of
    their members. Closed manifolds, such as a circle or a sphere, are no exception.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Dimension of the charts (d), at most the number of features. "auto" is twice
        the root of the number of features, at most 30.
    mdl : float, default=20.0
        Price of a chart, in units of the rows' mean squared distance from their
        mean: the paper's lambda is ``mdl`` times that (``mdl_``). The larger, the
        fewer charts.
    n_neighbors : int, default=2
        Neighbours that a row takes along into its chart (k). 0 makes every row
        belong to one chart.
    n_proposals : int or "auto", default="auto"
        Number of random charts at the start, or of charts with ``init="kmeans"``.
        "auto" is one for every 45 rows, at least 10 and at most 2000; with k-means
        the root of the number of rows.
    init : {"random", "kmeans"}, default="random"
        "random" is the paper's start: PCA of the rows nearest to random rows. "kmeans"
        takes the clusters of k-means as charts and cuts nothing: a fast start that
        ``mdl`` has no say in.
    neighbors : {"exact", "approximate"}, default="exact"
        Nearest neighbours by scikit-learn, or by pynndescent where it is installed.
        ``fit`` also takes a graph.
    max_flow : {"auto", "ortools", "scipy"}, default="auto"
        Library for minimum cuts. "auto" is OR-Tools where it is installed.
    max_iter : int, default=20
        Largest number of sweeps over all charts.
    output : {"weights", "coordinates"}, default="weights"
        What ``transform`` returns.
    n_nearest : int or "auto", default="auto"
        Number of nearest charts of a row. ``transform`` puts weight on these. "auto" is
        twice the root of the number of charts, at least 10.
    gamma : float or "auto", default="auto"
        Bandwidth of the weights exp(-E / gamma^2), a length in the unit of the data.
        "auto" spreads a row's weight over 60 % of its nearest charts on average.
    n_jobs : int or None, default=None
        Number of threads. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. Random charts and the order of moves depend on
        it.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per stage, 2 is lines everywhere.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Mean of all rows.
    means_ : ndarray of shape (n_charts, n_features)
        Means of the charts.
    components_ : ndarray of shape (n_charts, n_components_, n_features)
        Orthonormal directions of the charts, by falling variance. Where the members
        of a chart span fewer dimensions the last ones are zero.
    labels_ : ndarray of shape (n_samples,)
        The chart that each row is interior to.
    sizes_ : ndarray of shape (n_charts,)
        Number of members of each chart.
    member_rows_, member_starts_ : ndarray
        The members: chart i has the rows
        ``member_rows_[member_starts_[i] : member_starts_[i + 1]]``.
    n_components_ : int
        Dimension in use.
    mdl_ : float
        The paper's lambda, in squared units of the data.
    gamma_ : float
        Bandwidth in use.
    n_nearest_ : int
        Number of nearest charts in use.
    energy_ : float
        Energy of the atlas.
    energy_history_ : ndarray of shape (n_stages,)
        Energy after every stage; it never rises.
    stage_history_ : ndarray of shape (n_stages,)
        What the stages were: "start", then "expand", "delete" and "refit" in turn.
    n_iter_ : int
        Number of sweeps made.
    max_flow_ : str
        Library in use for minimum cuts.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    AtlasClassifier : Machines on the charts.
    AtlasRegressor : The same for numbers.
    locallin.inspection.ChartDisplay : A picture of the charts.
    sklearn.decomposition.PCA : One chart for all rows.

    Notes
    -----
    A chart of fewer than d + 2 members is not fitted again: it would pass through
    all of them without error, and pay for itself wherever it is. Duplicate rows,
    constant features and charts of lower rank are fine.

    Ctrl-C during ``fit`` stores the charts of the last completed sweep and raises
    KeyboardInterrupt.

    References
    ----------
    .. [1] Pitelis, Russell and Agapito, Semi-supervised Learning Using an
       Unsupervised Atlas, ECML 2014; Learning a Manifold as an Atlas, CVPR 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin import Atlas
    >>> angle = np.random.RandomState(0).uniform(0, 2 * np.pi, size=500)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> atlas = Atlas(n_components=1, mdl=1.0, random_state=0).fit(X)
    >>> atlas.transform(X).shape == (500, len(atlas.means_))
    True
    >>> bool(atlas.reconstruction_errors(X).min(axis=1).max() < 0.1)
    True
    """

    _parameter_constraints: dict = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "mdl": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 0, None, closed="left")],
        "n_proposals": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "init": [StrOptions({"random", "kmeans"})],
        "neighbors": [StrOptions({"exact", "approximate"})],
        "max_flow": [StrOptions({"auto", "ortools", "scipy"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "output": [StrOptions({"weights", "coordinates"})],
        "n_nearest": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        mdl: float = 20.0,
        n_neighbors: int = 2,
        n_proposals: int | str = "auto",
        init: str = "random",
        neighbors: str = "exact",
        max_flow: str = "auto",
        max_iter: int = 20,
        output: str = "weights",
        n_nearest: int | str = "auto",
        gamma: float | str = "auto",
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.mdl = mdl
        self.n_neighbors = n_neighbors
        self.n_proposals = n_proposals
        self.init = init
        self.neighbors = neighbors
        self.max_flow = max_flow
        self.max_iter = max_iter
        self.output = output
        self.n_nearest = n_nearest
        self.gamma = gamma
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _fitted_mark = "means_"

    def _invariants(self) -> dict[str, Rule]:
        return {
            **INPUT,
            "center_": Array(("features",)),
            "means_": Array(("charts", "features")),
            "components_": Array(("charts", "components", "features")),
            "n_components_": Number(Integral, 1, tells="components"),
            "n_nearest_": Number(Integral, 1, most="charts"),
            "gamma_": Number(above=True),
            "mdl_": Number(),
            "labels_": Array(("rows",), "i", least=0, below="charts"),
            "sizes_": Array(("charts",), "i", least=0),
            "member_rows_": Array(("members",), "i", least=0, below="rows"),
            "member_starts_": Starts("charts", "members"),
            "energy_history_": Array(("stages",)),
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.means_) if self.output == "weights" else self.n_components_ + 1

    @with_callbacks
    def fit(self, X, y=None, graph=None):
        """Learn the charts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.
        y : None
            Not used.
        graph : array of shape (n_samples, k) or sparse matrix, default=None
            Nearest neighbours to use in place of those that ``n_neighbors`` and
            ``neighbors`` describe: row numbers, or a matrix such as
            :func:`sklearn.neighbors.kneighbors_graph` returns, with the same number
            of entries in each row and no row among its own neighbours.

        Returns
        -------
        self : object
            The fitted atlas.
        """
        with interruptible(self) as run, openmp_after_fork():
            validate_parameters(self)
            X = checked_data(self, X, reset=True)
            run.interrupted = self._fit(X, graph)
        return self

    def _fit(self, X, graph) -> bool:
        rng = check_random_state(self.random_state)
        self.max_flow_ = choose_backend(self.max_flow)
        center, variance = center_and_variance(X)
        self.mdl_ = float(self.mdl * variance)
        self.n_components_ = components_rule(self.n_components, X.shape[1])
        progress = Progress(self, self.max_iter, X, unit="sweep")
        if graph is None:
            neighbors = find_neighbors(
                X, self.n_neighbors, self.neighbors, self.n_jobs, rng
            )
        else:
            neighbors = check_graph(graph, X.shape[0])
        progress.line(f"{neighbors.shape[1]} neighbours of {len(neighbors)} rows")
        fit = self._learn(X, center, neighbor_graph(neighbors), rng, progress)
        attributes = self._attributes(fit, X, rng)
        progress.end(lambda: attributes)
        for name, value in attributes.items():
            setattr(self, name, value)
        if not (fit.converged or fit.interrupted):
            warn_not_converged(
                self, "sweeps", "the energy still falls", "Raise max_iter."
            )
        return fit.interrupted

    def _learn(self, X, center, graph: NeighborGraph, rng, progress: Progress) -> Fit:
        def monitor(fit: Fit) -> bool:
            energy = f"energy {fit.energies[-1]:.6g}"
            text = f"{fit.stages[-1]}: {energy}, {fit.n_charts} charts"
            if fit.within_sweep:
                progress.line(text)
                return False
            # What a callback looks at changes nothing in what follows.
            return progress.step(
                fit.n_iter, text, lambda: self._attributes(fit, X, deepcopy(rng))
            )

        d = self.n_components_
        # One thread of BLAS in each of ours: the same sums for any number of them.
        with single_threaded_blas(), ThreadTeam(self.n_jobs, X.shape[0]) as crew:
            learner = AtlasLearner(
                X, graph, d, self.mdl_, self.max_flow_, crew, rng, monitor
            )
            if self.init == "kmeans":
                groups = cluster_groups(X, self.n_proposals, rng)
                return learner.fit_once(empty_charts(center, len(groups), d), groups)
            groups = random_groups(X, self.n_proposals, d, rng)
            charts = empty_charts(center, len(groups), d)
            learner.fit_to(charts, list(enumerate(groups)))
            progress.line(f"{len(groups)} random charts")
            return learner.run(charts, self.max_iter)

    def _attributes(self, fit: Fit, X, rng) -> dict:
        """Fitted attributes for the charts that the learner has reached."""
        charts = fit.charts
        starts, rows = memberships(fit.graph, fit.labels, len(charts))
        n_nearest, gamma = nearest_rule(self.n_nearest, len(charts)), self.gamma
        # As they will be read: means from zero, and back.
        means = charts.means + charts.center
        if gamma == "auto":
            stored = Charts(charts.center, means - charts.center, charts.bases)
            nearest = stored.nearest(sample_rows(X, rng), n_nearest, self.n_jobs)
            gamma = gamma_rule(nearest[1])
        return {
            "center_": charts.center,
            "means_": means,
            "components_": charts.bases,
            "labels_": fit.labels,
            "member_starts_": starts,
            "member_rows_": rows,
            "sizes_": np.diff(starts),
            "energy_history_": np.array(fit.energies),
            "stage_history_": np.array(fit.stages),
            "energy_": fit.energies[-1],
            "n_iter_": fit.n_iter,
            "n_nearest_": n_nearest,
            "gamma_": gamma,
        }

    def transform(self, X):
        """Weights on the nearest charts, or coordinates in the nearest.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        CSR matrix of shape (n_samples, n_charts) or ndarray of shape \
                (n_samples, 1 + n_components_)
            ``output="weights"``: weights exp(-E_i / gamma^2) on the ``n_nearest_``
            nearest charts, scaled to sum to one. ``output="coordinates"``: the
            number of the nearest chart, and C_i (x - mu_i).
        """
        check_is_fitted(self)
        X = checked_data(self, X, reset=False)
        charts = fitted_charts(self, X.dtype)
        if self.output == "weights":
            check_sparse_output(self)
            nearest, errors = charts.nearest(X, self.n_nearest_, self.n_jobs)
            codes = codes_of(*chart_weights(nearest, errors, self.gamma_))
            return sparse.csr_matrix(
                (codes.values, codes.indices, codes.indptr),
                shape=(X.shape[0], len(self.means_)),
            )
        nearest = charts.nearest(X, 1, self.n_jobs)[0]
        coordinates = charts.coordinates(X, nearest, self.n_jobs)[:, 0]
        return np.column_stack([nearest.astype(X.dtype), coordinates])

    def reconstruction_errors(self, X) -> np.ndarray:
        """Squared distances of the rows from all charts (eq. 4).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_charts)
            Errors E_i(x); the largest number of their type where they are larger.
        """
        check_is_fitted(self)
        X = checked_data(self, X, reset=False)
        charts = fitted_charts(self, X.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            errors = np.concatenate(charts.in_blocks(X, charts.errors, self.n_jobs))
        if all_finite(errors):
            return errors
        most = np.finfo(errors.dtype).max
        return np.nan_to_num(errors, copy=False, nan=most)

    def inverse_transform(self, X) -> np.ndarray:
        """Points of the data's space from a chart's number and coordinates (eq. 3).

        Parameters
        ----------
        X : array-like of shape (n_samples, 1 + n_components_)
            What ``transform`` returns with ``output="coordinates"``.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The points.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != 1 + self.n_components_:
            raise ValueError(
                f"X has {X.shape[1]} columns, but coordinates have "
                f"{1 + self.n_components_}: the number of a chart, and "
                f"{self.n_components_} coordinates, as transform returns them with "
                "output='coordinates'."
            )
        chart = X[:, 0].astype(np.intp)
        if (chart != X[:, 0]).any() or not (
            (chart >= 0) & (chart < len(self.means_))
        ).all():
            raise ValueError(
                f"The first column of X must hold numbers of charts, 0 to "
                f"{len(self.means_) - 1}."
            )
        bases = self.components_[chart]
        return np.einsum("nd,ndf->nf", X[:, 1:], bases) + self.means_[chart]

    def members(self, chart: int) -> np.ndarray:
        """Rows of the training data that belong to a chart.

        Parameters
        ----------
        chart : int
            Number of the chart.

        Returns
        -------
        ndarray of int
            Row numbers, ascending.
        """
        check_is_fitted(self)
        bounds = self.member_starts_[chart : chart + 2]
        return self.member_rows_[slice(*bounds)]


def fitted_charts(atlas: Atlas, dtype) -> Charts:
    """Charts of a fitted atlas, as numbers of the given kind."""
    parts = atlas.center_, atlas.means_ - atlas.center_, atlas.components_
    return Charts(*(part.astype(dtype, copy=False) for part in parts))
