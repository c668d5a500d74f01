"""The chart learner: energy and cuts against enumeration, degenerate data, use."""

import itertools
import pickle

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from locallin import Atlas
from locallin.charts.affine import Charts, principal_chart
from locallin.charts.labelling import (
    expansion_candidates,
    expansion_network,
    memberships,
    neighbor_graph,
    new_labelling,
)
from locallin.charts.max_flow import minimum_cut
from locallin.kernels.charts import delete_charts, energy, relabel
from locallin.kernels.expansion import FIRST, SINK, SOURCE

BACKENDS = ["scipy", "ortools"]


def circle(n=400, noise=0.02, seed=0):
    rng = np.random.RandomState(seed)
    angle = rng.uniform(0, 2 * np.pi, size=n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * rng.normal(size=X.shape)


def random_problem(rng, n=7, m=3, k=2):
    neighbors = np.array(
        [
            rng.choice([x for x in range(n) if x != y], k, replace=False)
            for y in range(n)
        ]
    ).astype(np.int32)
    errors = rng.exponential(size=(m, n)) * (rng.uniform(size=(m, n)) < 0.9)
    labels = rng.randint(m, size=n).astype(np.int32)
    return neighbors, errors, labels, rng.choice([0.0, 0.3, 2.0])


def cut_value(arcs, side):
    tails, heads, capacities = arcs
    return capacities[~side[tails] & side[heads]].sum()


def test_energy_is_that_of_the_definition():
    rng = np.random.RandomState(0)
    for _ in range(50):
        neighbors, errors, labels, mdl = random_problem(rng)
        graph = neighbor_graph(neighbors)
        expected = reference.atlas_energy(errors, labels, neighbors, mdl)
        assert_allclose(
            energy(errors, graph, new_labelling(labels.copy(), 3), mdl), expected
        )


@pytest.mark.parametrize("backend", BACKENDS)
def test_expansion_is_the_best_of_all_moves(backend):
    """The cut's capacity is the energy of its labels, and no other move is lower."""
    if backend == "ortools":
        pytest.importorskip("ortools")
    rng = np.random.RandomState(1)
    for trial in range(150):
        neighbors, errors, labels, mdl = random_problem(rng)
        graph = neighbor_graph(neighbors)
        state = new_labelling(labels.copy(), 3)
        alpha = rng.randint(3)
        able = np.flatnonzero(labels != alpha)
        candidates = able[rng.uniform(size=len(able)) < 0.8].astype(np.int32)
        if trial % 2:
            candidates = able.astype(np.int32)
        if not len(candidates):
            continue
        n_nodes, arcs, constant = expansion_network(
            alpha, candidates, errors, graph, state, mdl
        )
        # Points that no candidate touches cost the same in every move.
        touched = set(candidates) | set(neighbors[candidates].ravel())
        charts_of = memberships(graph, labels, 3)
        elsewhere = sum(
            errors[i, x]
            for i in range(3)
            for x in charts_of[1][charts_of[0][i] : charts_of[0][i + 1]]
            if x not in touched
        )
        best = np.inf
        for choice in itertools.product([False, True], repeat=len(candidates)):
            moved = labels.copy()
            moved[candidates[list(choice)]] = alpha
            best = min(best, reference.atlas_energy(errors, moved, neighbors, mdl))
        side = minimum_cut(n_nodes, arcs, backend)
        assert side[SINK]
        assert not side[SOURCE]
        moved = labels.copy()
        moved[candidates[side[FIRST : FIRST + len(candidates)]]] = alpha
        found = reference.atlas_energy(errors, moved, neighbors, mdl)
        assert_allclose(found, best, atol=1e-6)
        value = cut_value(arcs, side) + constant + elsewhere
        assert_allclose(value, found, atol=1e-6)
        assert found <= reference.atlas_energy(errors, labels, neighbors, mdl) + 1e-9


def test_relabel_takes_only_what_lowers_the_energy():
    rng = np.random.RandomState(2)
    for _ in range(100):
        neighbors, errors, labels, mdl = random_problem(rng)
        graph = neighbor_graph(neighbors)
        state = new_labelling(labels.copy(), 3)
        points = np.flatnonzero(rng.uniform(size=7) < 0.5).astype(np.int32)
        new = rng.randint(3, size=len(points)).astype(np.int32)
        before = energy(errors, graph, state, mdl)
        wanted = labels.copy()
        wanted[points] = new
        change = reference.atlas_energy(errors, wanted, neighbors, mdl) - before
        found = relabel(points, new, errors, graph, state, mdl)
        assert_allclose(found, min(change, 0.0), atol=1e-9)
        assert_array_equal(state.labels, wanted if change < -1e-9 else labels)
        assert_array_equal(state.counts, np.bincount(state.labels, minlength=3))


def test_deleting_charts_never_raises_the_energy():
    rng = np.random.RandomState(3)
    for _ in range(50):
        neighbors, errors, labels, mdl = random_problem(rng, n=12, m=5)
        graph = neighbor_graph(neighbors)
        state = new_labelling(labels.copy(), 5)
        before = energy(errors, graph, state, mdl)
        best = errors.argsort(axis=0)[:2].T.astype(np.int32)
        order = np.arange(5, dtype=np.int32)
        change = delete_charts(order, best, errors, graph, state, mdl)
        assert change <= 0
        assert_allclose(energy(errors, graph, state, mdl), before + change, atol=1e-9)


def test_whole_charts_become_candidates():
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 2], np.int32)
    state = new_labelling(labels.copy(), 3)
    listed = np.array([0, 3, 7], np.int32)  # a third of chart 0, a quarter of chart 1
    found = expansion_candidates(2, listed, 0.3, state)
    assert sorted(found) == [0, 1, 2, 3]


def test_cuts_without_a_way_through():
    """No arc out of the source, or none into the sink, leaves nothing to weigh."""
    node, cost = np.array([FIRST], np.int32), np.array([1.0])
    for backend in BACKENDS:
        if backend == "ortools":
            pytest.importorskip("ortools")
        stay = minimum_cut(3, (np.array([SOURCE]), node, cost), backend)
        assert stay.tolist() == [False, True, False]
        switch = minimum_cut(3, (node, np.array([SINK]), cost), backend)
        assert switch.tolist() == [False, True, True]


@pytest.mark.parametrize("shape", [(30, 6), (5, 9), (200, 3)])
def test_principal_chart_is_pca(shape):
    from sklearn.decomposition import PCA

    X = np.random.RandomState(0).normal(size=shape) * np.arange(1, shape[1] + 1)
    d = min(3, *shape)
    mean, basis = principal_chart(X, d)
    pca = PCA(d).fit(X)
    assert_allclose(mean, pca.mean_, atol=1e-12)
    assert_allclose(basis @ basis.T, np.eye(d), atol=1e-9)
    assert_allclose(basis.T @ basis, pca.components_.T @ pca.components_, atol=1e-8)


def test_principal_chart_of_low_rank_is_padded_with_zeros():
    line = np.outer(np.arange(4.0), [1.0, 2.0, 0.0, 0.0, 0.0])
    for X in (line, np.ones((6, 5)), np.ones((2, 5)), np.ones((1, 5)), line[:2]):
        _, basis = principal_chart(X, 3)
        lengths = np.linalg.norm(basis, axis=1)
        rank = np.linalg.matrix_rank(X - X.mean(axis=0))
        assert_allclose(lengths[:rank], 1, atol=1e-12)
        X = X - X.mean(axis=0)
        assert_allclose(X @ basis.T @ basis, X, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_are_those_of_the_definition(dtype):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(40, 6)).astype(dtype)
    means = rng.normal(size=(5, 6)).astype(dtype)
    bases = np.array([np.linalg.qr(rng.normal(size=(6, 2)))[0].T for _ in range(5)])
    charts = Charts(np.zeros(6, dtype), means, bases.astype(dtype))
    expected = reference.chart_errors(X, means, bases)
    found = charts.errors(X)
    assert found.dtype == dtype
    assert_allclose(found, expected, atol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.in_turn
@pytest.mark.parametrize("max_flow", BACKENDS)
@pytest.mark.parametrize("n_neighbors", [0, 2, 5])
def test_energy_never_rises_and_is_that_of_the_atlas(max_flow, n_neighbors):
    if max_flow == "ortools":
        pytest.importorskip("ortools")
    X = circle()
    atlas = Atlas(
        1, mdl=1.0, n_neighbors=n_neighbors, max_flow=max_flow, random_state=0
    )
    atlas.fit(X)
    history = atlas.energy_history_
    assert (np.diff(history) <= 1e-9 * history[0]).all()
    assert atlas.stage_history_[:4].tolist() == ["start", "expand", "delete", "refit"]
    assert len(history) == 1 + 3 * atlas.n_iter_
    neighbors = np.empty((len(X), 0), int)
    if n_neighbors:
        search = NearestNeighbors(n_neighbors=n_neighbors).fit(X)
        neighbors = search.kneighbors(return_distance=False)
    errors = reference.chart_errors(X, atlas.means_, atlas.components_).T
    expected = reference.atlas_energy(errors, atlas.labels_, neighbors, atlas.mdl_)
    assert_allclose(atlas.energy_, expected, rtol=1e-9)
    assert atlas.max_flow_ == max_flow


def test_members_are_the_charts_of_holders():
    X = circle(100)
    atlas = Atlas(1, mdl=1.0, random_state=0).fit(X)
    neighbors = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(return_distance=False)
    for chart in range(len(atlas.means_)):
        interior = np.flatnonzero(atlas.labels_ == chart)
        expected = set(interior) | set(neighbors[interior].ravel())
        assert set(atlas.members(chart)) == expected
        assert atlas.sizes_[chart] == len(expected)
        mean, basis = principal_chart(X[sorted(expected)], 1)
        assert_allclose(atlas.means_[chart], mean, atol=1e-9)
        assert_allclose(abs(atlas.components_[chart] @ basis.T), 1, atol=1e-9)


def test_dearer_charts_are_fewer_and_coarser():
    X = circle(600)
    counts, errors = [], []
    for mdl in (0.3, 3.0, 30.0):
        atlas = Atlas(1, mdl=mdl, random_state=0).fit(X)
        counts.append(len(atlas.means_))
        errors.append(atlas.reconstruction_errors(X).min(axis=1).mean())
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[2]
    assert errors == sorted(errors)


def test_a_sphere_has_charts_all_around():
    X = np.random.RandomState(0).normal(size=(800, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    atlas = Atlas(2, mdl=2.0, random_state=0).fit(X)
    assert 6 <= len(atlas.means_) <= 60
    nearest = atlas.reconstruction_errors(X).min(axis=1)
    assert nearest.mean() < 0.01
    # Every chart lies flat on the sphere: its normal points from the middle outward.
    for mean, basis in zip(atlas.means_, atlas.components_, strict=True):
        assert np.linalg.norm(basis @ mean) < 0.3 * np.linalg.norm(mean)


def test_transform_gives_weights_and_coordinates(digits):
    X = digits[0][:400]
    atlas = Atlas(5, random_state=0, n_nearest=4, gamma=1.5).fit(X)
    weights = atlas.transform(X)
    assert weights.shape == (400, len(atlas.means_))
    assert weights.dtype == X.dtype
    expected = reference.chart_weights(atlas.reconstruction_errors(X), 1.5, 4)
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(weights.toarray(), expected, atol=1e-12)
    assert len(atlas.get_feature_names_out()) == weights.shape[1]

    atlas.set_params(output="coordinates")
    coordinates = atlas.transform(X)
    assert coordinates.shape == (400, 6)
    assert len(atlas.get_feature_names_out()) == 6
    errors = atlas.reconstruction_errors(X)
    assert_array_equal(coordinates[:, 0], errors.argmin(axis=1))
    back = atlas.inverse_transform(coordinates)
    assert_allclose(((X - back) ** 2).sum(axis=1), errors.min(axis=1), atol=1e-10)
    # A point of a chart keeps its coordinates.
    again = coordinates.copy()
    again[:, 1:] = [
        atlas.components_[int(i)] @ (x - atlas.means_[int(i)])
        for i, x in zip(coordinates[:, 0], back, strict=True)
    ]
    assert_allclose(again, coordinates, atol=1e-10)


def test_inverse_transform_says_what_it_takes():
    atlas = Atlas(1, random_state=0).fit(circle(60))
    with pytest.raises(ValueError, match="columns, but coordinates have 2"):
        atlas.inverse_transform(np.zeros((3, 5)))
    for chart in (0.5, -1, len(atlas.means_)):
        with pytest.raises(ValueError, match="numbers of charts"):
            atlas.inverse_transform([[chart, 0.0]])


def test_rows_far_from_every_chart_have_weights():
    atlas = Atlas(1, random_state=0).fit(circle(200))
    far = np.array([[1e6, -1e6], [1e12, 0.0]])
    for dtype in (np.float32, np.float64):
        weights = atlas.transform(far.astype(dtype)).toarray()
        assert np.isfinite(weights).all()
        assert_allclose(weights.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.in_turn
@pytest.mark.parametrize("init", ["random", "kmeans"])
@pytest.mark.parametrize(
    ("X", "d"),
    [
        (np.ones((20, 3)), 2),  # nothing but duplicates
        (np.repeat(circle(5), 8, axis=0), 1),
        (np.c_[circle(60), np.full(60, 3.0)], 2),  # a constant feature
        (circle(4), 30),  # fewer rows than dimensions, d > D
        (circle(1), 1),
        (circle(2), 1),
        (np.random.RandomState(0).normal(size=(6, 40)), 10),  # n < d < D
        (np.arange(30.0)[:, None], 1),
        (np.zeros((10, 4)), 2),
    ],
    ids=lambda value: None if isinstance(value, int) else str(value.shape),
)
def test_degenerate_data(X, d, init):
    atlas = Atlas(d, init=init, random_state=0).fit(X)
    m = len(atlas.means_)
    assert atlas.n_components_ == min(d, X.shape[1])
    assert atlas.sizes_.min() > 0
    for array in (atlas.means_, atlas.components_, atlas.energy_history_):
        assert np.isfinite(array).all()
    weights = atlas.transform(X).toarray()
    assert weights.shape == (len(X), m)
    assert_allclose(weights.sum(axis=1), 1)
    assert (atlas.reconstruction_errors(X) >= 0).all()


def test_charts_of_few_points_do_not_pay():
    """At no price for charts, those through d + 1 points would have no error."""
    X = np.random.RandomState(0).normal(size=(300, 4))
    atlas = Atlas(2, mdl=0.0, n_neighbors=0, random_state=0).fit(X)
    assert atlas.energy_ > 0
    assert (np.diff(atlas.energy_history_) <= 1e-9).all()


def test_the_unit_of_the_data_does_not_matter():
    X = circle(200)
    one = Atlas(1, random_state=0).fit(X)
    for scale in (1e-20, 1e20):
        other = Atlas(1, random_state=0).fit(X * scale)
        assert_array_equal(one.labels_, other.labels_)
        assert_allclose(other.gamma_, one.gamma_ * scale, rtol=1e-5)
    shifted = Atlas(1, random_state=0).fit((X + 1000).astype(np.float32))
    assert_allclose(shifted.energy_, one.energy_, rtol=0.2)


def test_numbers_out_of_range_are_refused():
    with pytest.raises(ValueError, match="scale the features"):
        Atlas(1).fit(circle(50).astype(np.float32) * np.float32(1e25))


def test_same_bits_for_any_number_of_threads(digits):
    X = digits[0].astype(np.float32)
    one = Atlas(8, random_state=0, n_jobs=1).fit(X)
    two = Atlas(8, random_state=0, n_jobs=2).fit(X)
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.means_, two.means_)
    assert_array_equal(one.components_, two.components_)
    assert one.gamma_ == two.gamma_


def test_sparse_data_gives_the_same_atlas(digits):
    X = digits[0][:500]
    dense = Atlas(6, random_state=0).fit(X)
    from_csr = Atlas(6, random_state=0).fit(sparse.csr_matrix(X))
    assert_array_equal(dense.labels_, from_csr.labels_)
    assert_allclose(dense.means_, from_csr.means_, atol=1e-10)
    assert_allclose(
        dense.transform(X).toarray(),
        dense.transform(sparse.csr_matrix(X)).toarray(),
        atol=1e-12,
    )


def test_graph_can_be_given(digits):
    X = digits[0][:300]
    found = Atlas(4, random_state=0).fit(X)
    neighbors = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(return_distance=False)
    for graph in (neighbors, kneighbors_graph(X, 2)):
        given = Atlas(4, random_state=0).fit(X, graph=graph)
        assert_array_equal(given.labels_, found.labels_)
    uneven = sparse.csr_matrix((np.ones(3), ([0, 0, 1], [1, 2, 2])), shape=(300, 300))
    for graph, message in [
        (neighbors[:-1], "300 rows of them"),
        (neighbors + 299, "from 0 to 299"),
        (np.tile(np.arange(300)[:, None], 2), "own neighbours"),
        (neighbors.astype(float), "must hold row numbers"),
        (uneven, "same number of entries"),
    ]:
        with pytest.raises(ValueError, match=message):
            Atlas(4).fit(X, graph=graph)


@pytest.mark.slow
def test_approximate_neighbors_do_nearly_as_well(digits):
    pytest.importorskip("pynndescent")
    X = digits[0][:600].astype(np.float32)
    exact = Atlas(6, random_state=0).fit(X)
    near = Atlas(6, random_state=0, neighbors="approximate").fit(X)
    assert near.energy_ < 1.1 * exact.energy_


def test_missing_libraries_are_named(monkeypatch):
    monkeypatch.setattr("locallin.charts.max_flow.SimpleMaxFlow", None)
    assert Atlas(1, random_state=0).fit(circle(50)).max_flow_ == "scipy"
    with pytest.raises(ImportError, match=r"pip install '\.\[atlas\]'"):
        Atlas(1, max_flow="ortools").fit(circle(50))
    monkeypatch.setitem(__import__("sys").modules, "pynndescent", None)
    with pytest.raises(ImportError, match="pip install pynndescent"):
        Atlas(1, neighbors="approximate").fit(circle(50))


def test_progress_and_pickles(capsys):
    X = circle(100)
    atlas = Atlas(1, random_state=0, verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(atlas.energy_history_)
    assert "energy" in lines[-1]
    again = pickle.loads(pickle.dumps(atlas))
    assert_array_equal(again.transform(X).toarray(), atlas.transform(X).toarray())


def test_callbacks_see_sweeps_and_can_stop():
    pytest.importorskip("sklearn.callback")
    X = circle(300)
    seen = []

    class Recorder:
        last = 1000

        def setup(self, estimator, context):
            seen.append("setup")

        def teardown(self, estimator, context):
            seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            seen.append(f"begin {context.task_name}")

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            atlas = fitted_estimator
            seen.append((context.task_name, atlas.energy_, atlas.transform(X).shape))
            return atlas.n_iter_ == self.last

    plain = Atlas(1, mdl=0.5, random_state=0).fit(X)
    recorder = Recorder()
    atlas = Atlas(1, mdl=0.5, random_state=0).set_callbacks(recorder).fit(X)
    assert_array_equal(atlas.components_, plain.components_)
    assert seen[:3] == ["setup", "begin fit", "begin sweep"]
    assert seen[-1] == "teardown"
    sweeps = [entry for entry in seen if entry[0] == "sweep"]
    assert len(sweeps) == atlas.n_iter_ > 1
    assert [energy for _, energy, _ in sweeps] == list(atlas.energy_history_[3::3])
    assert seen[-2] == ("fit", atlas.energy_, (300, len(atlas.means_)))
    recorder.last = 1
    assert atlas.fit(X).n_iter_ == 1


def test_warnings_point_to_the_callers_line():
    with pytest.warns(ConvergenceWarning) as found:
        Atlas(1, mdl=0.5, max_iter=1, random_state=0).fit(circle())
    assert found[0].filename == __file__


def test_interrupt_leaves_a_usable_atlas(monkeypatch):
    calls = []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return 0.0

    monkeypatch.setattr("locallin.charts.learner.delete_charts", interrupted)
    atlas = Atlas(1, mdl=1.0, random_state=0)
    X = circle(200)
    with pytest.raises(KeyboardInterrupt):
        atlas.fit(X)
    assert atlas.n_iter_ == 1
    assert_allclose(atlas.transform(X).sum(axis=1), 1)


def test_stopping_early_is_said():
    with pytest.warns(UserWarning, match="did not converge in max_iter=1 sweeps: the"):
        Atlas(1, mdl=0.5, max_iter=1, random_state=0).fit(circle())
