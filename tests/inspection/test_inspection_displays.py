"""Each display draws what it promises, where it is told to."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from locallin import (
    Atlas,
    AtlasClassifier,
    DULLSVMClassifier,
    IntersectionSampler,
    LLSVMClassifier,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.inspection import (
    BoundaryDisplay,
    ChartDisplay,
    ContributionDisplay,
    HistoryDisplay,
    RegionDisplay,
    WeightImageDisplay,
    explain,
    regions,
)

matplotlib.use("Agg")
import matplotlib.pyplot as plt

few = {"max_iter": 5, "random_state": 0}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fitted(digits):
    X, y, X_test, y_test = digits
    return LLSVMClassifier(20, random_state=0).fit(X, y), X_test, y_test


def drawn(display):
    """Draw for real, warnings being errors, and check the common attributes."""
    display.figure_.canvas.draw()
    for ax in np.asarray(display.ax_, dtype=object).flat:
        assert ax.figure is display.figure_
    return display


@pytest.mark.parametrize(
    ("clf", "n_lines"),
    [
        (LLSVMClassifier(6, random_state=0), 6),
        (SAPLClassifier(6, **few), 6),
        (DULLSVMClassifier(6, **few), 6),
        (AtlasClassifier(Atlas(1, random_state=0), kernel="linear"), None),
        (AtlasClassifier(Atlas(1, random_state=0)), 0),
        (LLSVMClassifier(6, local_model="constant", random_state=0), 0),
        (ML3Classifier(3, **few), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_boundary(clf, n_lines, moons):
    X, y = moons
    clf.fit(X, y)
    display = drawn(BoundaryDisplay.from_estimator(clf, X, y, grid_resolution=60))
    assert display.margins.shape == (2, 60, 60)
    if n_lines is None:
        assert len(display.lines) > 0
    else:
        assert n_lines == 0 or 1 <= len(display.lines) <= n_lines
        assert (display.lines is None) == (n_lines == 0)
    assert (display.anchors is None) == isinstance(clf, ML3Classifier)


def test_local_lines_are_those_of_the_local_models(moons):
    X, y = moons
    X = X * [1, 50]
    clf = LLSVMClassifier(6, random_state=0)
    pipeline = make_pipeline(StandardScaler(), clf).fit(X, y)
    display = drawn(BoundaryDisplay.from_estimator(pipeline, X, y))
    inside = pipeline[0].transform(display.lines.reshape(-1, 2)).reshape(-1, 2, 2)
    middle = inside.mean(axis=1)
    coef, intercept = clf.local_coef(middle)[:, 0], clf.local_intercept(middle)[:, 0]
    norms = np.linalg.norm(coef, axis=1)
    for ends in (inside[:, 0], inside[:, 1]):
        away = ((coef * ends).sum(axis=1) + intercept) / norms
        assert_allclose(away, 0, atol=0.02)
    assert_allclose(display.anchors, pipeline[0].inverse_transform(clf.anchors_))


def test_boundary_of_many_classes_and_frames(iris):
    X, y = iris
    X = X.iloc[:, 2:]
    clf = LLSVMClassifier(6, random_state=0).fit(X, y)
    _, ax = plt.subplots()
    display = drawn(
        BoundaryDisplay.from_estimator(clf, X, y, grid_resolution=50, ax=ax)
    )
    assert display.ax_ is ax
    assert ax.get_xlabel() == "petal length (cm)"
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["class 0", "class 1", "class 2", "local line", "anchor"]
    plain = drawn(BoundaryDisplay.from_estimator(clf, X, grid_resolution=50))
    texts = plain.ax_.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["rows", "local line", "anchor"]
    assert len(drawn(plain.plot(lines=False)).ax_.get_lines()) == 0


def test_what_has_no_place_in_the_plane_is_not_drawn(moons):
    X, y = moons
    X = X - X.min(axis=0)
    clf = LLSVMClassifier(6, random_state=0)
    mapped = LLSVMClassifier(6, feature_map=IntersectionSampler(), random_state=0)
    display = drawn(BoundaryDisplay.from_estimator(mapped.fit(X, y), X, margin=0))
    assert display.anchors is not None
    assert display.lines is None
    clusters = make_pipeline(KMeans(3, n_init=1, random_state=0), clf).fit(X, y)
    assert drawn(BoundaryDisplay.from_estimator(clusters, X)).anchors is None
    bent = make_pipeline(QuantileTransformer(n_quantiles=50), clf).fit(X, y)
    assert drawn(BoundaryDisplay.from_estimator(bent, X)).lines is not None
    with pytest.raises(ValueError, match="X has 3 features, but BoundaryDisplay draws"):
        BoundaryDisplay.from_estimator(clf, np.c_[X, X[:, 0]])


def test_contributions(iris):
    X, y = iris
    clf = LLSVMClassifier(8, random_state=0).fit(X, y)
    display = drawn(ContributionDisplay.from_estimator(clf, X, row=70, top=3))
    terms = explain(clf, X, top=3).ranked(70)
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == [contribution for *_, contribution in terms]
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names[0].startswith(f"{terms[0][0]}: ")
    assert names[-1] == "(bias)"
    assert display.ax_.get_title().startswith("Row 70: predicted 1, score of 1 = ")
    other = ContributionDisplay(explain(clf, X), row=70, class_label=2)
    _, ax = plt.subplots()
    assert drawn(other.plot(ax)).ax_ is ax
    assert ax.get_xlabel() == "contribution to the score of 2"
    last = ContributionDisplay.from_estimator(clf, X, row=-1)
    assert last.ax_.get_title().startswith("Row 149: ")
    with pytest.raises(IndexError, match="row=150, but X has 150 rows"):
        ContributionDisplay.from_estimator(clf, X, row=150)


@pytest.mark.parametrize("layout", [sparse.coo_array, np.ndarray.tolist])
def test_rows_are_taken_from_anything(layout, fitted):
    clf, X, _ = fitted
    given = layout(X[:5])
    display = drawn(ContributionDisplay.from_estimator(clf, given, row=4))
    expected = explain(clf, X[4:5])
    assert_allclose(display.explanation.contributions, expected.contributions)
    assert drawn(WeightImageDisplay.from_estimator(clf, given)).ax_.shape == (3, 5)


def test_weight_images(fitted):
    clf, X, _ = fitted
    display = drawn(WeightImageDisplay.from_estimator(clf, X, limit=3))
    assert display.ax_.shape == (3, 3)
    winners = clf.decision_function(X[:3]).argmax(axis=1)
    weights = clf.local_coef(X[:3])[np.arange(3), winners]
    assert_array_equal(display.weights.reshape(3, 64), weights)
    assert_array_equal(display.contributions.reshape(3, 64), weights * X[:3])
    assert display.titles[0] == f"predicted {clf.predict(X[:1])[0]}"
    own = clf.predict(X[:1])[0]
    other = drawn(
        WeightImageDisplay.from_estimator(
            clf, X[:1], shape=(4, 4, 4), class_label=(own + 1) % 10
        )
    )
    assert other.titles[0] == f"predicted {own}\nweights of {(own + 1) % 10}"
    with pytest.raises(ValueError, match=r"shape=\(8, 9\) does not hold 64 features"):
        WeightImageDisplay.from_estimator(clf, X, shape=(8, 9))
    with pytest.raises(ValueError, match="limit=0: choose an integer"):
        WeightImageDisplay.from_estimator(clf, X, limit=0)


def test_weight_images_of_two_classes(digits):
    X, y, *_ = digits
    clf = LLSVMClassifier(8, random_state=0).fit(X[y < 2], y[y < 2])
    zero = X[y == 0][:1]
    display = drawn(WeightImageDisplay.from_estimator(clf, zero))
    assert display.titles == ["predicted 0\nweights of 1"]


def test_histories(moons):
    X, y = moons
    sapl = SAPLClassifier(6, early_stopping=True, **few).fit(X, y)
    display = drawn(HistoryDisplay.from_estimator(make_pipeline(sapl)))
    axes = ["objective", "held-out accuracy", "anchors per row"]
    assert list(display.histories) == axes
    assert display.ax_.shape == (1, 3)
    assert_array_equal(
        display.histories["objective"]["objective"], sapl.objective_history_
    )
    assert len(display.histories["anchors per row"]) == 2
    dual = LLSVMClassifier(6, random_state=0).fit(X, y)
    assert drawn(HistoryDisplay.from_estimator(dual)).ax_.shape == (1, 1)
    atlas = Atlas(1, random_state=0).fit(X)
    assert drawn(HistoryDisplay.from_estimator(atlas)).unit == "stage"
    with pytest.raises(ValueError, match="LLSVMClassifier has recorded no history"):
        HistoryDisplay.from_estimator(LLSVMClassifier())


def test_axes_can_be_given(moons):
    X, y = moons
    sapl = SAPLClassifier(6, **few).fit(X, y)
    figure, ax = plt.subplots()
    display = drawn(HistoryDisplay.from_estimator(sapl, ax=ax))
    assert display.figure_ is figure
    assert display.ax_.shape == (1, 2)
    figure, axes = plt.subplots(2)
    display = drawn(HistoryDisplay.from_estimator(sapl, ax=axes))
    assert list(display.ax_.flat) == list(axes)
    figure, axes = plt.subplots(3)
    with pytest.raises(ValueError, match="ax has 3 axes, but 2 are needed"):
        HistoryDisplay.from_estimator(sapl, ax=axes)


@pytest.mark.parametrize("labelled", [True, False])
def test_region_map(labelled, fitted):
    clf, X, y = fitted
    y = y if labelled else None
    display = drawn(RegionDisplay.from_estimator(clf, X, y, limit=12))
    assert display.ax_.shape == (3, 1)
    counts, served, quality = display.ax_.flat
    expected = regions(clf, X, y)[:12]
    assert [bar.get_height() for bar in counts.patches] == [r.rows for r in expected]
    assert served.images[0].get_array().shape == (10, 12)
    assert_allclose(served.images[0].get_array().sum(axis=0), 1)
    assert len(quality.get_lines()) == (2 if labelled else 1)
    names = [text.get_text() for text in quality.get_xticklabels()]
    assert names == [str(region.model) for region in expected]


def test_region_map_of_ml3(iris):
    X, y = iris
    clf = ML3Classifier(3, **few).fit(X, y)
    display = drawn(RegionDisplay.from_estimator(clf, X, y, limit=None))
    names = [text.get_text() for text in display.ax_[2, 0].get_xticklabels()]
    assert len(names) == 9
    assert all("/" in name for name in names)


@pytest.mark.in_turn
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("n_features", "n_components", "dimensions", "expected"),
    [(2, 1, None, 2), (3, 2, None, 3), (6, 2, None, 3), (6, 1, 2, 2), (3, 2, 2, 2)],
)
def test_charts(n_features, n_components, dimensions, expected, layout, blobs):
    X = layout(blobs[0][:, :n_features])
    atlas = Atlas(n_components, mdl=1.0, random_state=0).fit(X)
    display = drawn(ChartDisplay.from_estimator(atlas, X, dimensions=dimensions))
    assert display.points.shape == (150, expected)
    assert hasattr(display.ax_, "get_zlim") == (expected == 3)
    assert len(display.outlines) == len(np.unique(display.labels))
    n_charts = len(atlas.means_)
    assert f"{n_charts} chart" in display.ax_.get_title()


def test_charts_of_a_classifier_in_a_pipeline(iris):
    X, y = iris
    clf = AtlasClassifier(Atlas(2, mdl=1.0, random_state=0), random_state=0)
    pipeline = make_pipeline(StandardScaler(), PCA(3), clf).fit(X, y)
    display = drawn(ChartDisplay.from_estimator(pipeline, X))
    assert display.axis_names[0] == "x0"
    alone = Atlas(2, mdl=1.0, random_state=0).fit(X.iloc[:, :3])
    display = drawn(ChartDisplay.from_estimator(alone, X.iloc[:, :3]))
    assert display.ax_.get_xlabel() == "sepal length (cm)"


def test_charts_of_the_training_rows(moons):
    X, _ = moons
    atlas = Atlas(1, mdl=1.0, random_state=0).fit(X)
    display = drawn(ChartDisplay.from_estimator(atlas, X, labels=atlas.labels_))
    assert_array_equal(display.labels, atlas.labels_)
    nearest = ChartDisplay.from_estimator(atlas, X).labels
    rows = np.arange(len(X))
    errors = atlas.reconstruction_errors(X)
    assert_allclose(errors[rows, nearest], errors.min(axis=1))


def test_wrong_arguments_of_charts(moons):
    X, y = moons
    atlas = Atlas(1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="labels must be numbers of charts, 0 to"):
        ChartDisplay.from_estimator(atlas, X, labels=np.full(len(X), -1))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ChartDisplay.from_estimator(atlas, X, labels=atlas.labels_[1:])
    with pytest.raises(ValueError, match="dimensions=3, but the data has 2 features"):
        ChartDisplay.from_estimator(atlas, X, dimensions=3)
    with pytest.raises(TypeError, match=r"needs an Atlas.*estimator=LLSVMClassifier"):
        ChartDisplay.from_estimator(LLSVMClassifier(4).fit(X, y), X)
    solid = np.c_[X, X[:, 0] ** 2]
    flat = plt.subplots()[1]
    with pytest.raises(ValueError, match="make it with projection='3d'"):
        ChartDisplay.from_estimator(Atlas(2, random_state=0).fit(solid), solid, ax=flat)
