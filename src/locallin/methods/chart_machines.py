"""Machines on charts: their rows, the steps of a fit, what must hold."""

from itertools import count
from threading import Lock

import numpy as np
from sklearn.frozen import FrozenEstimator

from locallin.atlas import Atlas, fitted_charts
from locallin.charts.affine import ChartedRows, chart_weights
from locallin.charts.machines import FEATURES
from locallin.engine.invariants import Array, Number, Rule, Starts
from locallin.engine.progress import Progress
from locallin.kernels.linear import feature_norms
from locallin.kernels.rows import Rows, n_expanded


def weight_bandwidth(classifier) -> float:
    """Bandwidth of the weights on charts; hard assignment has weights of 1 (eq. 6)."""
    return np.inf if classifier.assignment == "hard" else classifier.gamma_


def has_unit_length(classifier) -> bool:
    """Whether weights are divided by the length of what the machines see of a row."""
    rbf = classifier.kernel == "rbf"
    return classifier.normalize and (rbf or classifier.normalizes_features)


def charted_rows(classifier, X, n_jobs: int | None = None) -> ChartedRows:
    """Validated rows as the machines see them: on charts, in units of length."""
    charts = fitted_charts(classifier.atlas_, X.dtype)
    nearest, errors = charts.nearest(X, classifier.n_nearest_, n_jobs)
    width = weight_bandwidth(classifier)
    # It makes no difference to a kernel that is normalised.
    relative = classifier.normalize
    found, weights = chart_weights(nearest, errors, width, relative=relative)
    rbf = classifier.kernel == "rbf"
    points = charts.coordinates(X, found, n_jobs)
    with np.errstate(all="ignore"):  # what is not finite is found later
        points /= points.dtype.type(classifier.sigma_ if rbf else classifier.scale_)
    rows = ChartedRows(found, weights, points)
    if not has_unit_length(classifier):
        return rows
    if rbf:
        squares = np.square(weights).sum(axis=1)
    else:
        features = Rows(points, FEATURES[classifier.kernel], None)
        constant = classifier.intercept_scaling_**2
        squares = feature_norms(features, rows.codes, constant)
    lengths = np.sqrt(squares).astype(points.dtype)
    return ChartedRows(found, weights / lengths[:, None], points)


class MachineSteps:
    """Steps of a fit: the atlas, where it is not given, and then the machines."""

    def __init__(self, classifier, n_machines: int, X, y):
        given = isinstance(classifier.atlas, FrozenEstimator)
        n_steps = n_machines + (0 if given else 1)
        self.progress = Progress(classifier, n_steps, X, y, unit="machine")
        self._n_machines = n_machines
        self._numbers = count(1)
        self._lock = Lock()
        self._stopped = False

    def fit_atlas(self, atlas: Atlas, X) -> Atlas:
        """Fit the atlas as the first step."""
        with self.progress.passing_on(atlas):
            atlas.fit(X)
        self._end(f"{len(atlas.means_)} charts")
        return atlas

    def report(self, number: int, text: str) -> None:
        """Tell of a machine that is solved, from any thread."""
        with self._lock:
            self._end(f"machine {number + 1}/{self._n_machines}: {text}")

    def _end(self, text: str) -> None:
        # Without all machines there is no model: a callback that asks to stop is told
        # no more, and the work goes on.
        if self._stopped:
            self.progress.line(text)
        else:
            number = next(self._numbers)
            self._stopped = self.progress.step(number, text, lambda: None)


def machine_invariants(kernel: str, machines: int | str) -> dict[str, Rule]:
    """Shapes and ranges of what a fit with the kernel has learned."""
    if kernel != "rbf":
        features = "components", lambda d: n_expanded(d, FEATURES[kernel])
        return {
            "scale_": Number(above=True),
            "intercept_scaling_": Number(least=1e-100, most=1e100),
            "coef_": Array(("charts", machines, features)),
            "intercept_": Array(("charts", machines)),
        }
    width = "components", lambda d: d + 2
    return {
        "sigma_": Number(above=True),
        "dual_coef_": Array(("support vectors", machines)),
        "intercept_": Array((machines,)),
        "support_": Array(("support vectors",), "i", least=0),
        "support_rows_": Array(("entries",), "i", least=0, below="support vectors"),
        # The last column has squares.
        "support_points_": Array(("entries", width), squares=False),
        "support_starts_": Starts("charts", "entries"),
    }
