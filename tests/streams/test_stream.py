"""Streams: fit_stream, its survey, its checkpoints; partial_fit with Adam."""

import pickle
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_moons

from locallin import (
    DULLSVMClassifier,
    LLSVMClassifier,
    ML3Classifier,
    SAPLClassifier,
)
from locallin.data import DataError
from locallin.methods.skeleton import StreamLearner
from locallin.streams.checkpoint import CheckpointError
from locallin.streams.run import Reservoir
from locallin.streams.state import LearningState

X, y = load_digits(return_X_y=True)
X = X / 16
ANCHORS = X[::90]
MODELS = {
    "ll": LLSVMClassifier(12, solver="sgd", random_state=0),
    "sapl": SAPLClassifier(12, random_state=0),
    "sapl-sgd": SAPLClassifier(12, solver="sgd", random_state=0),
    "du": DULLSVMClassifier(12, random_state=0),
    "du-sgd": DULLSVMClassifier(12, solver="sgd", random_state=0),
    "ml3": ML3Classifier(4, random_state=0),
}
ANCHORED = [name for name in MODELS if name != "ml3"]


def model_of(name, **settings):
    return pickle.loads(pickle.dumps(MODELS[name])).set_params(**settings)


def learned(model) -> list[np.ndarray]:
    arrays = [model.coef_, model.intercept_]
    if hasattr(model, "coding_"):
        arrays += [model.anchors_, np.asarray(model.coding_.bandwidth_)]
    return arrays


def assert_same_bits(one, other):
    for a, b in zip(learned(one), learned(other), strict=True):
        np.testing.assert_array_equal(a, b)


def blocks_of(*sizes):
    """The rows of the digits, cut into blocks of these sizes again and again."""
    start, blocks = 0, []
    while start < len(X):
        for size in sizes:
            rows = slice(start, start + size)
            if len(y[rows]):
                blocks.append((X[rows], y[rows]))
            start += size
    return blocks


@pytest.mark.parametrize("name", ANCHORED)
def test_one_buffer_is_one_epoch_of_fit(name):
    settings = {"anchors": ANCHORS, "n_anchors": None}
    if "sgd" in name or name == "ll":
        settings["t0"] = 100.0
    whole = model_of(name, max_iter=1, **settings)
    if name in ("ll", "sapl-sgd", "du-sgd"):
        whole.set_params(tol=None)
    stream = model_of(name, **settings).fit_stream(
        (X, y), classes=range(10), n_rows=len(X), scan=False, buffer_size=len(X)
    )
    whole.fit(X, y)
    for a, b in zip(learned(stream), learned(whole), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ANCHORED)
def test_a_pass_over_blocks_is_an_epoch_over_their_rows(name):
    rows = slice(0, 1536)
    settings = {"anchors": ANCHORS, "n_anchors": None, "shuffle": False}
    if name in ("sapl", "du"):
        settings |= {"batch_size": 64}
    else:
        settings |= {"t0": 100.0, "tol": None}
    if name.startswith("du"):
        settings["diversity"] = 0.0  # refreshed at the beginning of every block
    whole = model_of(name, max_iter=1, **settings).fit(X[rows], y[rows])
    stream = model_of(name, **settings).fit_stream(
        (X[rows], y[rows]), sample_size=2000, buffer_size=256
    )
    for a, b in zip(learned(stream), learned(whole), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_the_model_does_not_depend_on_the_cut(name):
    settings = {"epochs": 2, "buffer_size": 500, "sample_size": 300}
    expected = model_of(name).fit_stream((X, y), **settings)
    for sizes in ((1, 7, 200), (499, 2), (5000,)):
        found = model_of(name).fit_stream(blocks_of(*sizes), **settings)
        assert_same_bits(found, expected)
    assert expected.score(X, y) > 0.9
    assert expected.n_iter_ >= 2 * 4


@pytest.mark.parametrize("name", MODELS)
def test_csr_and_float32_streams(name):
    dense = model_of(name).fit_stream((X.astype(np.float32), y), epochs=3)
    assert dense.coef_.dtype == np.float32
    found = model_of(name).fit_stream(
        [(sparse.csr_matrix(A), b) for A, b in blocks_of(300)], epochs=3
    )
    assert found.score(X, y) > 0.9
    assert dense.score(X.astype(np.float32), y) > 0.9


def test_an_iterator_is_learned_from_without_a_first_pass():
    settings = {"classes": range(10), "n_rows": len(X), "sample_size": 400}
    found = model_of("du").fit_stream(iter(blocks_of(100)), **settings)
    expected = model_of("du").fit_stream(blocks_of(100), scan=False, **settings)
    assert_same_bits(found, expected)
    with pytest.raises(ValueError, match="classes and n_rows must be given"):
        model_of("du").fit_stream(iter(blocks_of(100)))
    with pytest.raises(ValueError, match=r"epochs=2, but .* only once"):
        model_of("du").fit_stream(iter(blocks_of(100)), epochs=2, **settings)


def test_sample_weights_of_blocks_count():
    weights = np.where(y < 5, 1.0, 0.0)
    few = model_of("du").fit_stream([(X, y, weights)], classes=range(10), epochs=5)
    assert (few.predict(X) < 5).all()
    ones = model_of("du").fit_stream([(X, y, np.ones(len(y)))])
    assert_same_bits(ones, model_of("du").fit_stream([(X, y)]))


def test_string_labels_and_classes_that_come_late():
    names = np.array([f"digit {c}" for c in range(10)])
    order = np.argsort(y, kind="stable")
    blocks = [(X[rows], names[y[rows]]) for rows in np.array_split(order, 12)]
    model = model_of("du").fit_stream(blocks, epochs=4, buffer_size=2000)
    assert model.score(X, names[y]) > 0.9
    with pytest.raises(ValueError, match="classes that are not among the known"):
        model_of("du").fit_stream(blocks, classes=names[:9])


@pytest.mark.parametrize("name", ["sapl", "du", "sapl-sgd", "ll"])
def test_warm_start_goes_on_and_a_second_call_begins_anew(name):
    model = model_of(name).fit_stream((X, y))
    first = learned(model)
    again = model.fit_stream((X, y))
    for a, b in zip(learned(again), first, strict=True):
        np.testing.assert_array_equal(a, b)
    further = model.set_params(warm_start=True).fit_stream((X, y))
    assert not np.array_equal(further.coef_, first[0])
    assert further.score(X, y) > 0.9


@pytest.mark.slow
def test_a_sample_stands_for_all_rows():
    many = [(np.tile(X, (14, 1)), np.tile(y, 14))]
    grown = DULLSVMClassifier("auto", max_iter=2, random_state=0)
    grown.fit_stream(many, sample_size=600)
    assert len(grown.anchors_) in grown.anchor_path_[:, 0]
    whole = ML3Classifier(3, max_iter=1, random_state=0).fit(*many[0])
    stream = ML3Classifier(3, random_state=0).fit_stream(many, sample_size=600)
    assert stream.alpha_ == pytest.approx(whole.alpha_, rel=0.1)
    assert stream.t_ == 2 * len(many[0][1])
    assert stream.score(X, y) > 0.9


def test_anchors_take_short_steps_where_rows_come_once():
    def moved(**settings):
        model = SAPLClassifier(8, random_state=0, **settings)
        return model.fit_stream((X, y), epochs=1).anchors_

    assert np.array_equal(moved(), moved(anchor_rate=0.05))
    short, long = (
        SAPLClassifier(8, max_iter=2, random_state=0, anchor_rate=rate).fit(X, y)
        for rate in (0.1, "auto")
    )
    assert np.array_equal(short.anchors_, long.anchors_)
    usual = SAPLClassifier(8, max_iter=5, random_state=0)
    given = SAPLClassifier(8, max_iter=5, random_state=0, anchor_rate=0.12)
    assert np.array_equal(usual.fit(X, y).anchors_, given.fit(X, y).anchors_)


def test_wrong_settings_say_what_is_allowed():
    with pytest.raises(ValueError, match="epochs=0 must be a whole number"):
        model_of("du").fit_stream((X, y), epochs=0)
    with pytest.raises(ValueError, match=r"n_rows=2\.5 must be a whole number"):
        model_of("du").fit_stream((X, y), n_rows=2.5)
    with pytest.raises(ValueError, match=r"buffer_size=1\.5"):
        model_of("du").fit_stream((X, y), buffer_size=1.5)
    with pytest.raises(ValueError, match="early_stopping"):
        model_of("du", early_stopping=True).fit_stream((X, y))
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        model_of("du", class_weight="balanced").fit_stream((X, y))
    with pytest.raises(AttributeError, match="fit_stream"):
        LLSVMClassifier().fit_stream((X, y))
    with pytest.raises(ValueError, match="no labels"):
        model_of("du").fit_stream([(X, None)])
    with pytest.raises(DataError, match="block 2"):
        model_of("du").fit_stream([(X, y), (X[:, :5], y)])


def test_an_error_leaves_the_model_as_it_was():
    model = model_of("du").fit_stream((X, y))
    before = learned(model)

    def broken():
        yield X[:900], y[:900]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        model.fit_stream(broken)
    for a, b in zip(learned(model), before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", MODELS)
def test_learning_changes_no_array_that_others_hold(name):
    model = model_of(name, warm_start=True)
    model.partial_fit(X[:900], y[:900], classes=np.arange(10))
    for learn in (
        lambda: model.partial_fit(X[900:], y[900:]),
        lambda: model.fit_stream((X, y)),
        lambda: model.partial_fit(X[900:], y[900:]),
    ):
        held = learned(model)
        before = [array.copy() for array in held]
        learn()
        np.testing.assert_equal(held, before)
        assert not np.array_equal(model.coef_, before[0])


def test_ml3_averages_in_the_last_pass():
    for epochs in (1, 2):
        model = model_of("ml3").fit_stream((X, y), epochs=epochs)
        last = StreamLearner(model).state["iterate_coef"].ravel()
        mean = model.coef_.ravel()
        assert not np.array_equal(mean, last)
        plain = model_of("ml3", average=False).fit_stream((X, y), epochs=epochs)
        np.testing.assert_array_equal(plain.coef_.ravel(), last)


def test_progress_tells_rows_speed_and_time_left(capsys):
    model_of("du", verbose=1).fit_stream((X, y), epochs=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("[DULLSVMClassifier] epoch 2/2, row 1,797 of 1,797: ")
    assert "rows/s, 0 s left" in lines[1]


@pytest.mark.parametrize("sizes", [(1000,), (1, 10, 3), (333,)])
def test_the_reservoir_holds_a_sample_that_does_not_depend_on_the_cut(sizes):
    def sample(seed, sizes):
        reservoir = Reservoir(50, np.random.RandomState(seed))
        start = 0
        while start < 1000:
            for size in sizes:
                rows = np.arange(start, min(1000, start + size))
                reservoir.offer((rows[:, None], rows))
                start += size
        assert reservoir.n_rows == 1000
        return reservoir.sample()[1]

    drawn = [sample(seed, sizes) for seed in range(40)]
    for seed, rows in enumerate(drawn[:5]):
        np.testing.assert_array_equal(rows, sample(seed, (500,)))
        assert len(set(rows)) == 50
        assert (np.diff(rows) > 0).all()
    # 2000 draws from 1000 numbers: the mean is uniform's within five deviations.
    assert abs(np.concatenate(drawn).mean() - 499.5) < 5 * 289 / np.sqrt(2000)


def test_a_reservoir_of_few_rows_is_all_of_them():
    reservoir = Reservoir(50, np.random.RandomState(0))
    reservoir.offer((X[:20], y[:20]))
    np.testing.assert_array_equal(reservoir.sample()[0], X[:20])


# A process that learns from a stream and kills itself before block KILL.
SCRIPT = """
    import os, pickle, signal, sys
    import numpy as np
    from sklearn.datasets import load_digits

    model, folder, kill = pickle.loads(bytes.fromhex(sys.argv[1])), *sys.argv[2:4]
    X, y = load_digits(return_X_y=True)
    count = 0

    def stream():
        global count
        for rows in np.array_split(np.arange(len(X)), 12):
            if count == int(kill):
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            yield X[rows] / 16, y[rows]

    model.fit_stream(
        stream, epochs=3, buffer_size=150, checkpoint=folder, checkpoint_every=2
    )
    sys.stdout.buffer.write(pickle.dumps(model))
"""


def run_until(model, folder, kill):
    arguments = pickle.dumps(model).hex(), str(folder), str(kill)
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), *arguments],
        capture_output=True,
        timeout=240,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["du", "ll", "sapl-sgd", "ml3"])
def test_a_killed_run_goes_on_to_the_same_bits(name, tmp_path):
    undisturbed = run_until(MODELS[name], tmp_path / "one", -1)
    expected = pickle.loads(undisturbed.stdout)
    for kill in (31, 8):  # blocks read by a process, the survey included
        killed = run_until(MODELS[name], tmp_path / "other", kill)
        assert killed.returncode == -signal.SIGKILL
    ended = run_until(MODELS[name], tmp_path / "other", -1)
    assert ended.returncode == 0, ended.stderr.decode()
    found = pickle.loads(ended.stdout)
    assert_same_bits(found, expected)
    assert found.n_iter_ == expected.n_iter_
    np.testing.assert_array_equal(found.objective_history_, expected.objective_history_)
    again = run_until(MODELS[name], tmp_path / "other", -1)
    assert_same_bits(pickle.loads(again.stdout), expected)


class TestCheckpoints:
    @pytest.fixture
    def folder(self, tmp_path):
        model_of("du").fit_stream((X, y), checkpoint=tmp_path)
        return tmp_path

    def test_a_half_written_one_is_refused(self, folder):
        file = folder / "stream.checkpoint"
        content = file.read_bytes()
        for part in (content[: len(content) // 2], content[:-1], content[:30]):
            file.write_bytes(part)
            with pytest.raises(CheckpointError, match=r"damaged|not a checkp"):
                model_of("du").fit_stream((X, y), checkpoint=folder)

    def test_a_foreign_file_is_refused(self, folder):
        (folder / "stream.checkpoint").write_bytes(pickle.dumps({"a": 1}))
        with pytest.raises(CheckpointError, match="is not a checkpoint"):
            model_of("du").fit_stream((X, y), checkpoint=folder)

    @pytest.mark.parametrize(
        ("name", "settings", "rows", "more", "named"),
        [
            ("sapl", {}, slice(None), {}, "estimator"),
            ("du", {"mu": 2.0}, slice(None), {}, "mu"),
            ("du", {}, slice(None), {"epochs": 2}, "epochs"),
            ("du", {}, slice(None, None, -1), {}, "the first row"),
        ],
    )
    def test_one_of_another_run_is_refused(
        self, folder, name, settings, rows, more, named
    ):
        with pytest.raises(CheckpointError, match=f"differs in .*{named}"):
            model_of(name, **settings).fit_stream(
                (X[rows], y[rows]), checkpoint=folder, **more
            )

    def test_threads_and_lines_make_no_other_run(self, folder, capsys):
        model = model_of("du", n_jobs=2, verbose=1)
        model.fit_stream((X, y), checkpoint=folder)
        assert_same_bits(model, model_of("du").fit_stream((X, y)))

    def test_nothing_else_is_left_in_the_folder(self, folder):
        assert [file.name for file in folder.iterdir()] == ["stream.checkpoint"]


def test_ctrl_c_leaves_a_usable_model_and_a_checkpoint_to_go_on_from(tmp_path):
    settings = {"epochs": 2, "buffer_size": 300, "checkpoint_every": 1}
    expected = model_of("du").fit_stream((X, y), **settings)
    model, count = model_of("du"), 0

    def impatient():
        nonlocal count
        for block in blocks_of(300):
            count += 1
            if count == 10:
                raise KeyboardInterrupt
            yield block

    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(impatient, checkpoint=tmp_path, **settings)
    assert model.score(X, y) > 0.5
    resumed = model_of("du").fit_stream(impatient, checkpoint=tmp_path, **settings)
    assert_same_bits(resumed, expected)


class TestPartialFitWithAdam:
    @pytest.mark.parametrize("name", ["sapl", "du"])
    def test_learns_from_blocks_of_any_size(self, name):
        model = model_of(name)
        model.partial_fit(X[:600], y[:600], classes=np.arange(10))
        for _ in range(6):
            for block in blocks_of(1, 200, 33):
                model.partial_fit(*block)
        assert model.score(X, y) > 0.95
        assert len(model.objective_history_) == model.n_iter_

    def test_classes_that_no_block_has_shown_are_not_predicted(self):
        model = model_of("du")
        few = y < 4
        for _ in range(20):
            model.partial_fit(X[few], y[few], classes=np.arange(10))
        assert (model.predict(X[few]) < 4).all()
        # Digits that look like none of the four may be taken for what nobody has seen.
        assert np.mean(model.predict(X) < 4) > 0.99

    def test_the_state_is_kept_in_a_pickle(self):
        one, other = model_of("du"), model_of("du")
        for block in blocks_of(300):
            one.partial_fit(*block, classes=np.arange(10))
            other.partial_fit(*block, classes=np.arange(10))
            other = pickle.loads(pickle.dumps(other))
        assert_same_bits(one, other)

    def test_fit_forgets_a_stream(self):
        model = model_of("du").partial_fit(X, y, classes=np.arange(10)).fit(X, y)
        assert_same_bits(model, model_of("du").fit(X, y))

    def test_goes_on_where_a_stream_has_ended(self):
        model = model_of("du").fit_stream((X[:900], y[:900]), epochs=2)
        before = model.coef_.copy()
        for _ in range(10):
            model.partial_fit(X[900:], y[900:])
        assert not np.array_equal(model.coef_, before)
        assert model.score(X[900:], y[900:]) > 0.95

    def test_two_classes(self):
        moons, labels = make_moons(2000, noise=0.1, random_state=0)
        model = SAPLClassifier(8, random_state=0)
        for _ in range(10):
            model.partial_fit(moons, labels, classes=[0, 1])
        assert model.score(moons, labels) > 0.98


@pytest.mark.parametrize("name", MODELS)
def test_a_state_is_flat_arrays_that_can_be_copied_and_averaged(name):
    model = model_of(name).partial_fit(X[:300], y[:300], classes=np.unique(y))
    state = StreamLearner(model).state
    assert all(isinstance(array, np.ndarray) for array in state.to_arrays().values())
    own = state.copy()
    for array in own.values():
        assert not any(np.shares_memory(array, other) for other in state.values())
    again = LearningState.average(state, [own, own, own], [0.2, 0.3, 0.5])
    assert list(again) == list(state)
    for key, array in state.items():
        np.testing.assert_array_equal(again[key], array)
    doubled = LearningState({"w": np.array([2.0, 4.0]), "t": np.asarray(3.0)})
    zero = LearningState({"w": np.zeros(2), "t": np.asarray(1.0)})
    mean = LearningState.average(zero, [doubled, zero], [0.25, 0.75])
    np.testing.assert_array_equal(mean["w"], [0.5, 1.0])
    assert mean["t"] == 1.5
    met = [LearningState({"met": np.array(seen)}) for seen in ([0, 1], [0, 0])]
    met = [LearningState({"met": state["met"] > 0}) for state in met]
    either = LearningState.average(met[1], met, [0.5, 0.5])
    np.testing.assert_array_equal(either["met"], [False, True])


def test_a_stream_of_sgd_keeps_the_importance_of_anchors():
    """Q of the diversity term sums up the codes of all blocks, not of the last one."""
    model = DULLSVMClassifier(8, solver="sgd", diversity=0.1, random_state=0)
    for start in range(0, 900, 300):
        rows = slice(start, start + 300)
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
    importance = StreamLearner(model).state["importance"]
    assert importance.sum() == pytest.approx(900)


def test_callbacks_hear_of_every_buffer_and_can_stop():
    pytest.importorskip("sklearn.callback")
    seen = []

    class Recorder:
        def __init__(self, most):
            self.most = most

        def setup(self, estimator, context):
            seen.append("setup")

        def teardown(self, estimator, context):
            seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            seen.append(fitted_estimator.score(X, y))
            return len(seen) > self.most

    model = model_of("du").set_callbacks(Recorder(100))
    model.fit_stream((X, y), epochs=2, buffer_size=600)
    assert (seen[0], len(seen), seen[-1]) == ("setup", 6 + 1 + 2, "teardown")
    assert seen[-2] == model.score(X, y)
    seen.clear()
    model = model_of("du").set_callbacks(Recorder(2))
    model.fit_stream((X, y), epochs=2, buffer_size=600)
    assert (len(seen), seen[-1]) == (2 + 2, "teardown")
    assert seen[-2] == model.score(X, y)
