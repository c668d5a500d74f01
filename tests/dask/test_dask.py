"""Fits on a cluster: the scheme, its bits, and the collections it takes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd
from clusters import LOOPBACK, SETTINGS, assert_same, cut, in_one_process, make
from distributed import Client

import locallin
from locallin.dask import (
    BlockError,
    ClusterClassifier,
    _blocks,
    _fit,
    _scheme,
    _targets,
)
from locallin.engine.progress import Progress

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("name", SETTINGS)
def test_one_shard_is_the_local_stream(threads, rows, name):
    model = make(name, n_shards=1).fit(*cut(*rows))
    assert_same(model, in_one_process(name, *rows, n_shards=1))


@pytest.mark.parametrize("name", SETTINGS)
def test_one_block_is_the_local_stream(threads, rows, name):
    model = make(name).fit(*cut(*rows, size=350))
    assert_same(model, in_one_process(name, *rows, n_shards=1, block=350))


@pytest.mark.parametrize("name", SETTINGS)
def test_shards_are_averaged(threads, rows, name):
    model = make(name, n_shards=4).fit(*cut(*rows))
    assert_same(model, in_one_process(name, *rows, n_shards=4))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_large_blocks_are_cut_for_averages(threads, rows, name, monkeypatch):
    monkeypatch.setattr(_fit, "LEAST_ROWS", 40)
    monkeypatch.setattr(_fit, "BYTES_PER_BYTE_OF_MODELS", 0.0)
    X, y = rows[0][:320], rows[1][:320]
    model = make(name, n_shards=4).fit(*cut(X, y, size=80))
    assert_same(model, in_one_process(name, X, y, n_shards=4, pieces=2))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_blocks_are_not_cut_for_a_model_as_large(threads, rows, name, monkeypatch):
    monkeypatch.setattr(_fit, "LEAST_ROWS", 1)
    monkeypatch.setattr(_fit, "BYTES_PER_BYTE_OF_MODELS", 100.0)
    model = make(name, n_shards=4).fit(*cut(*rows))
    assert_same(model, in_one_process(name, *rows, n_shards=4))


def test_one_shard_needs_few_tasks_and_has_the_same_bits(threads, rows, monkeypatch):
    learned, n_blocks = [], []
    honest = _fit.ClusterFit._learn

    def counting(self, run, *given):
        n_blocks.append(len(run))
        return honest(self, run, *given)

    monkeypatch.setattr(_fit.ClusterFit, "_learn", counting)
    for limit in (0, 80 * rows[0][0].nbytes, 2**28):
        monkeypatch.setattr(_fit, "BYTES_OF_A_TASK", limit)
        model = make("SAPLClassifier", n_shards=1, max_iter=1).fit(*cut(*rows))
        learned.append(model)
    assert sorted(n_blocks) == [1] * 9 + [1] + [2] * 4 + [9]
    assert_same(learned[0], learned[1])
    assert_same(learned[0], learned[2])


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_bits_do_not_depend_on_workers_or_threads(client, rows, name, monkeypatch):
    monkeypatch.setattr(_fit, "SAMPLE_ROWS", 200)  # so that anchors are refined, too
    two = make(name, n_shards=4).fit(*cut(*rows))
    address = next(iter(client.nthreads()))
    with dask.annotate(workers=[address], allow_other_workers=False):
        one = make(name, n_shards=4).fit(*cut(*rows))
    assert_same(one, two)
    kind = {"processes": False, "n_workers": 1, "threads_per_worker": 4}
    with Client(**kind, **LOOPBACK) as other, other.as_current():
        assert_same(make(name, n_shards=4).fit(*cut(*rows)), two)
    assert two.score(*rows) > 0.8


def test_lloyd_moves_anchors_to_the_means_of_their_rows(threads, rows, monkeypatch):
    monkeypatch.setattr(_fit, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(_fit, "_SUMMANDS", 3)
    X, y = rows
    coarse, fine = (
        make("LLSVMClassifier", max_iter=1).fit(*cut(X, y)).estimator_.anchors_
        for _ in range(2)
        if monkeypatch.setattr(_fit, "LLOYD_ROUNDS", 20 * _) is None
    )

    def distortion(anchors):
        return ((X[:, None] - anchors) ** 2).sum(axis=2).min(axis=1).mean()

    assert distortion(fine) < distortion(coarse)
    nearest = ((X[:, None] - fine) ** 2).sum(axis=2).argmin(axis=1)
    means = [X[nearest == j].mean(axis=0) for j in range(len(fine))]
    np.testing.assert_allclose(fine, means, atol=1e-12)


def test_anchors_that_are_given_stay(threads, rows, monkeypatch):
    monkeypatch.setattr(_fit, "SAMPLE_ROWS", 200)
    X, y = rows
    model = make("LLSVMClassifier", n_anchors=None, anchors=X[:9]).fit(*cut(X, y))
    assert np.array_equal(model.estimator_.anchors_, X[:9])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("LLSVMClassifier", {"n_anchors": 20}),
        ("SAPLClassifier", {"n_anchors": 20}),
        ("SAPLClassifier", {"n_anchors": 20, "solver": "sgd"}),
        ("DULLSVMClassifier", {"n_anchors": 20}),
        ("DULLSVMClassifier", {"n_anchors": 20, "solver": "sgd"}),
        ("ML3Classifier", {"n_models": 10}),
    ],
)
def test_as_good_as_the_local_fit(threads, digits, name, more):
    X, y, X_test, y_test = digits
    model = make(name, max_iter=10, **more).fit(*cut(X, y, size=150))
    local = clone(model.estimator).fit(X, y)
    assert model.score(X_test, y_test) > local.score(X_test, y_test) - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_kinds_of_collections(threads, rows, name):
    X, y = rows
    words = np.array([f"digit {v}" for v in y])
    dense = make(name).fit(*cut(X, words))
    assert dense.classes_.tolist() == sorted(set(words))
    S = da.map_blocks(sparse.csr_matrix, cut(X)[0], dtype=float)
    S._meta = sparse.csr_matrix((0, X.shape[1]))
    from_sparse = make(name).fit(S, cut(words)[0])
    # Sums in another order: Adam makes something of the last bits.
    assert np.mean(from_sparse.predict(X) == dense.predict(X)) > 0.97
    names = [f"pixel {j}" for j in range(X.shape[1])]
    whole = pd.DataFrame(X, columns=names).assign(label=words)
    frame = dd.from_map(lambda s: whole[s : s + 40], range(0, 350, 40), meta=whole[:0])
    from_frame = make(name).fit(frame[names], frame["label"])
    assert_same(from_frame, dense)
    assert from_frame.feature_names_in_.tolist() == names
    assert not hasattr(dense, "feature_names_in_")
    unknown = (part[part[:, 0] >= 0] for part in cut(X, np.column_stack([y, y])))
    values, labels = unknown
    assert_same(make(name).fit(values, labels[:, 0]), make(name).fit(*cut(X, y)))
    predicted = from_frame.predict(frame[names])
    assert isinstance(predicted, dd.Series)
    found = predicted.compute()
    assert found.index.equals(whole.index)
    assert (found == from_frame.predict(whole[names])).all()
    scores = from_frame.decision_function(frame[names]).compute()
    assert list(scores.columns) == list(from_frame.classes_)
    assert from_frame.score(frame[names], frame["label"]) == pytest.approx(
        dense.score(X, words)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_float32(threads, rows, name):
    X, y = rows
    model = make(name, n_shards=3).fit(*cut(X.astype(np.float32), y))
    assert model.estimator_.coef_.dtype == np.float32


@pytest.mark.in_turn
@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("name", SETTINGS)
def test_lazy_predictions_are_the_local_ones(threads, rows, name, n_classes):
    X, y = rows[0], rows[1] % n_classes
    more = {} if name == "ML3Classifier" else {"loss": "logistic"}
    rows_there = cut(X, y)
    model = make(name, **more).fit(*rows_there)
    local = pickle.loads(pickle.dumps(model.estimator_))
    assert type(local) is getattr(locallin, name)
    methods = ["predict", "decision_function"]
    methods += ["predict_proba", "predict_log_proba"] if more else []
    for method in methods:
        lazy = getattr(model, method)(rows_there[0])
        assert isinstance(lazy, da.Array)
        wanted = getattr(local, method)(X)
        assert lazy.shape == wanted.shape
        assert lazy.dtype == wanted.dtype
        np.testing.assert_allclose(
            lazy.compute(), wanted, rtol=1e-12
        ) if lazy.dtype.kind == "f" else np.testing.assert_array_equal(lazy, wanted)
        assert np.array_equal(getattr(model, method)(X), wanted)
    assert hasattr(model, "predict_proba") == bool(more)
    assert model.score(*rows_there) == pytest.approx(local.score(X, y))
    weights = np.arange(len(y), dtype=float)
    lazy = model.score(*rows_there, sample_weight=da.from_array(weights, chunks=40))
    assert lazy == pytest.approx(local.score(X, y, weights))


def test_weights(threads, rows):
    X, y = rows
    weights = np.random.RandomState(0).randint(3, size=len(y)).astype(float)
    weights[:40] = 0.0  # a whole block
    parts = cut(X, y, weights)
    model = make("LLSVMClassifier").fit(*parts)
    assert_same(make("LLSVMClassifier").fit(*parts[:2], 2 * parts[2]), model)
    spoiled = np.where(weights[:, None] > 0, X, 7.0)
    assert_same(make("LLSVMClassifier").fit(*cut(spoiled, y, weights)), model)
    counts = np.bincount(y)
    by_hand = {c: len(y) / (10 * n) for c, n in enumerate(counts)}
    balanced, given = (
        make("LLSVMClassifier", class_weight=w).fit(*parts)
        for w in ("balanced", by_hand)
    )
    assert_same(balanced, given)
    assert not np.array_equal(balanced.estimator_.coef_, model.estimator_.coef_)
    without = {**dict.fromkeys(range(10), 1.0), 3: 0.0}
    model = make("LLSVMClassifier", class_weight=without).fit(*parts)
    assert 3 not in model.predict(X)


def test_blocks_without_rows_or_without_some_classes(threads, rows):
    X, y = (part[np.argsort(rows[1], kind="stable")] for part in rows)
    there = da.from_array(X, chunks=((0, 70, 0, 140, 140, 0), -1))
    labels = da.from_array(y, chunks=((0, 70, 0, 140, 140, 0),))
    model = make("DULLSVMClassifier").fit(there, labels)
    assert model.predict(there).compute().shape == y.shape
    assert_same(model, make("DULLSVMClassifier").fit(*cut_at(X, y, (70, 140, 140))))


def cut_at(X, y, sizes):
    return da.from_array(X, chunks=(sizes, -1)), da.from_array(y, chunks=(sizes,))


def test_settings_are_those_of_scikit_learn(rows):
    model = make("SAPLClassifier", n_shards=3, timeout=5.0)
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert copy.get_params()["n_shards"] == 3
    assert copy.get_params()["estimator__n_anchors"] == 6
    assert repr(ClusterClassifier(locallin.ML3Classifier(7), n_shards=3)) == (
        "ClusterClassifier(estimator=ML3Classifier(n_models=7), n_shards=3)"
    )
    with pytest.raises(TypeError, match="n_shard"):
        ClusterClassifier(locallin.ML3Classifier(), n_shard=2)
    with pytest.raises(NotFittedError):
        model.predict(cut(rows[0])[0])
    assert not hasattr(model, "partial_fit")


def test_the_estimator_that_is_given_stays_as_it_is(threads, rows):
    model = make("DULLSVMClassifier")
    before = vars(model.estimator).copy()
    model.fit(*cut(*rows))
    assert vars(model.estimator) == before
    assert model.estimator_.get_params() == model.estimator.get_params()


def test_a_fit_goes_on_from_the_last(threads, rows):
    parts = cut(*rows)
    model = make("SAPLClassifier", warm_start=True, max_iter=10).fit(*parts)
    first = model.estimator_
    again = model.fit(*parts).estimator_
    assert again.objective_history_[0] < first.objective_history_[0]
    assert first.anchors_.shape == again.anchors_.shape
    cold = make("SAPLClassifier", max_iter=10).fit(*parts)
    assert np.array_equal(cold.estimator_.objective_history_, first.objective_history_)
    assert_same(pickle.loads(pickle.dumps(cold)), cold)


def test_sgd_stops_when_the_objective_stalls(threads, rows, capsys):
    model = make("LLSVMClassifier", max_iter=200, tol=0.05, verbose=1).fit(*cut(*rows))
    assert model.estimator_.n_iter_ < 200
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.estimator_.n_iter_
    assert lines[0].startswith("[LLSVMClassifier] epoch 1/200: objective ")


def test_passes_that_are_not_enough_are_said_at_the_line_of_fit(threads, rows):
    model = make("LLSVMClassifier", max_iter=1, tol=1e-9)
    with pytest.warns(UserWarning, match="did not converge in max_iter=1") as met:
        model.fit(*cut(*rows))
    assert met[-1].filename == __file__


WRONG = {
    "features": (lambda X, y: (X.rechunk((40, 8)), y), "X.rechunk"),
    "rows": (lambda X, y: (X, y[:300]), "350 rows, but y has 300"),
    "no dask": (lambda X, y: (X.compute(), y), "from_array"),
    "labels": (lambda X, y: (X, y.compute()), "y must be a dask array"),
    "dtype": (lambda X, y: (X.astype("U8"), y), "dtype=<U8"),
    "objects": (lambda X, y: (X.astype(object), y), "dtype=object"),
    "one class": (lambda X, y: (X, 0 * y), "at least two"),
    "numbers": (lambda X, y: (X, y + 0.5), "Block 0 .*continuous"),
    "unknown": (
        lambda X, y: (X[X[:, 0] >= 0], y.rechunk(50)),
        "9 blocks, but y has 7",
    ),
    "one block": (
        lambda X, y: (X[X[:, 0] >= 0], y.rechunk(((40, 39, 41, *5 * [40], 30),))),
        r"Block 1: X has 40 rows, but y has 39",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_data_that_cannot_be_learned_from(threads, rows, name):
    spoil, message = WRONG[name]
    model = make("LLSVMClassifier")
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(*spoil(*cut(*rows)))
    assert not hasattr(model, "estimator_")
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "dual"}, "solver='sgd'"),
        ({"early_stopping": True}, "early_stopping"),
        ({"loss": "cubic"}, "loss"),
        ({"n_shards": 0}, "n_shards"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_settings_that_a_cluster_does_not_have(threads, rows, settings, message):
    with pytest.raises(ValueError, match=message):
        make("LLSVMClassifier", **settings).fit(*cut(*rows))


def test_without_a_client(rows):
    with pytest.raises(RuntimeError, match=r"distributed\.Client"):
        make("LLSVMClassifier").fit(*cut(*rows))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_in_a_block_with_a_name(threads, rows, value):
    X = rows[0].copy()
    X[130, 3] = value
    with pytest.raises(BlockError, match=r"Block 3 \(rows 120 to 159\).*NaN|infinity"):
        make("LLSVMClassifier").fit(*cut(X, rows[1]))


def test_ctrl_c_keeps_the_model_of_the_last_whole_epoch(threads, rows, monkeypatch):
    def interrupt(self, number, text, *more, **options):
        if number == 2:
            raise KeyboardInterrupt
        return False

    model = make("LLSVMClassifier")
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "step", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*cut(*rows))
    assert_same(model, make("LLSVMClassifier", max_iter=2).fit(*cut(*rows)))


def test_callbacks_hear_of_every_epoch(client, rows):
    pytest.importorskip("sklearn.callback")
    seen = []

    class Recorder:  # cannot be pickled
        def setup(self, estimator, context):
            seen.append("setup")

        def teardown(self, estimator, context):
            seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            seen.append(context.task_name)
            return seen.count("epoch") == 2

    model = make("SAPLClassifier", max_iter=5)
    model.estimator.set_callbacks(Recorder())
    model.fit(*cut(*rows))
    assert seen == ["setup", "epoch", "epoch", "fit", "teardown"]
    assert model.estimator_.n_iter_ == 2


def test_an_estimator_that_cannot_learn_from_blocks(threads, rows):
    model = ClusterClassifier(locallin.AtlasClassifier())
    with pytest.raises(TypeError, match="AtlasClassifier cannot learn"):
        model.fit(*cut(*rows))


def test_a_block_that_lies_anywhere_is_aligned(rows):
    X, y = rows
    raw = np.zeros(X.nbytes + 1, np.uint8)
    odd = raw[1:].view(X.dtype).reshape(X.shape)
    odd[...] = X
    assert not odd.flags.aligned
    block = _blocks.prepared(odd, y, None, _targets.Classes, X.shape[1])
    assert block.X.flags.aligned
    assert np.array_equal(block.X, X)


def test_a_first_step_that_is_given_is_taken(threads, rows):
    model = make("LLSVMClassifier", t0=50.0, n_shards=4).fit(*cut(*rows))
    assert model.estimator_.t0_ == 50.0


def test_rows_that_are_not_seen_are_an_error(threads, rows, monkeypatch):
    honest = _scheme.average

    def forgetful(start, *turns):
        return honest(start, *turns[1:])

    monkeypatch.setattr(_scheme, "average", forgetful)
    with pytest.raises(RuntimeError, match="rows, but there are 350"):
        make("LLSVMClassifier", n_shards=3).fit(*cut(*rows))
