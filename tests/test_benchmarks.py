"""The benchmarks run, resume, choose without test rows, and measure as they say."""

import json
import time
from dataclasses import replace

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import hinge_loss
from sklearn.model_selection import ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

from benchmarks import (
    _common,
    _data,
    _deformed,
    _markdown,
    _mixed_tables,
    _statistics,
    _twin,
    alpha_path,
    cluster,
    compilation,
    covtype,
    distill,
    domains,
    encoding,
    export,
    few_labels,
    files,
    groups,
    loess,
    mixed,
    objectives,
    papers,
    peers,
    pictures,
    probabilities,
    regression,
    scaling,
    serving,
    speed,
    stream,
    tables,
    threads,
    untuned,
    weak_penalty,
)
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks._methods import ours
from benchmarks.papers import (
    additive,
    atlas,
    figures,
    joint,
    labels,
    latent,
    lcc,
    llsvm,
    losses,
    manifolds,
    ml3,
    own,
    retries,
    rivals,
)
from locallin import (
    LLSVMClassifier,
    LocallyLinearClassifier,
    LocallyLinearRegressor,
    ML3Classifier,
    SAPLClassifier,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
RESULTS = {
    *(name for name in BENCHMARKS if name not in ("papers", "probabilities")),
    *(f"probabilities-{part}" for part in probabilities.PARTS),
    *(f"papers-{part}" for part in papers.PARTS),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of small files that are named and shaped like the real ones."""
    folder = tmp_path_factory.mktemp("data")
    X, y = load_digits(return_X_y=True)
    for name in ("mnist", "usps"):
        parts = {"X_train": X[:500], "y_train": y[:500]}
        parts |= {"X_test": X[500:620], "y_test": y[500:620]}
        np.savez(folder / f"{name}.npz", **parts)
    np.savez(folder / "semeion.npz", X=X[:300], y=y[:300])
    for name, n_classes in {
        "letter": 5,
        "magic04": 2,
        "heart": 2,
        "covtype": 3,
    }.items():
        X, y = make_classification(
            400, 12, n_informative=6, n_classes=n_classes, random_state=0
        )
        # Some test rows are also training rows.
        X[300:330] = X[:30]
        parts = {"X": X, "y": y + 1}
        if name == "letter":
            parts = {"X_train": X[:300], "y_train": y[:300]}
            parts |= {"X_test": X[300:], "y_test": y[300:]}
        np.savez(folder / f"{name}.npz", **parts)
    S = sparse.random(200, 1200, 0.05, "csr", random_state=0)
    y = (np.asarray(S[:, :100].sum(axis=1)).ravel() > 2.5).astype(int)
    parts = {f"X_{p}": getattr(S, p) for p in ("data", "indices", "indptr", "shape")}
    np.savez(folder / "phishing.npz", y=y, **parts)
    (folder / "tables").mkdir()
    rng = np.random.RandomState(0)
    frame = pandas.DataFrame(
        {
            "mass": rng.normal(size=90),
            "island": pandas.Categorical(rng.choice(["a", "b"], size=90)),
            "seen": pandas.Timestamp("2020-01-01")
            + pandas.to_timedelta(range(90), "D"),
            "target": rng.choice(["x", "y"], size=90),
        }
    )
    frame.loc[::9, "mass"] = np.nan
    frame.to_parquet(folder / "tables" / "penguins.parquet")
    frame["target"] = rng.normal(size=90)
    frame.to_parquet(folder / "tables" / "concrete.parquet")
    return folder


@pytest.fixture(scope="module")
def tiny():
    """Everything the benchmarks do, in small numbers."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (llsvm, joint, ml3, figures, own, rivals, losses, additive):
            patch.setattr(module, "SEEDS", (0, 1))
        patch.setattr(retries, "JOINT", {"letter": ShuffleSplit(1, random_state=0)})
        patch.setattr(retries, "SAPL_GRID", {"alpha": (1.0,), "n_anchors": (3, 5)})
        patch.setattr(retries, "LATENT", ("heart",))
        patch.setattr(retries, "LATENT_GRID", {"alpha": (1.0, 5.0), "p": (1.5,)})
        patch.setattr(retries, "ATLASES", 2)
        patch.setattr(llsvm, "PRINTED", {"letter": 5.32})
        small = {m: (make, grid[:2]) for m, (make, grid) in llsvm.METHODS.items()}
        patch.setattr(llsvm, "METHODS", small)
        patch.setattr(joint, "PRINTED", {"letter": {"SAPL": 2.73, "SAPL_lcc": 13.64}})
        patch.setattr(joint, "RATES", joint.RATES[:2])
        patch.setattr(joint, "DIVERSITIES", (1e-4, 1e-3))
        patch.setattr(ml3, "PRINTED", {"usps": (4, 5.43), "covtype": (3, 14.84)})
        patch.setattr(ml3, "FACTORS", (0.02, 0.6))
        patch.setattr(ml3, "ITERATIONS", {"usps": (5, 10)})
        patch.setattr(ml3, "SMALL", {"heart": 18.0, "magic04": 20.0})
        patch.setattr(ml3, "SPLITS", 2)
        few = {"ML3": (ML3Classifier(3, max_iter=5), {"alpha": [1e-3, 1e-2]})}
        few["LinearSVC"] = LinearSVC(), {"C": [0.1, 1]}
        patch.setattr(ml3, "peers", lambda *_: few)
        patch.setattr(ml3, "COVTYPE_ROWS", 250)
        patch.setattr(atlas, "TIMED", ())
        patch.setattr(atlas, "KERNELS", ("rbf", "linear"))
        patch.setattr(atlas, "NOISE", (5,))
        printed = {"rbf": 5.14, "rbf, hard": 7.15}
        patch.setitem(atlas.PRINTED, "semeion", printed)
        patch.setattr(atlas, "SPLITS", 2)
        patch.setattr(atlas, "ROWS", 150)
        patch.setattr(atlas, "SEEDS", dict.fromkeys(atlas.SEEDS, range(2)))
        patch.setattr(atlas, "CHARTS", dict.fromkeys(atlas.CHARTS, ((5, 3), (5, 10))))
        patch.setattr(figures, "ANCHORS", (5, 10))
        learned = {"letter": ("SAPL",), "magic04": ("U-LLSVM", "DU-LLSVM")}
        patch.setattr(own, "METHODS", {**learned, "usps": ("ML3",)})
        patch.setattr(own, "PASSES", 2)
        patch.setattr(rivals, "PRINTED", {"letter": {"LDKL": 2.85}, "magic04": {}})
        patch.setattr(rivals, "SLOW_ROWS", 20)
        patch.setattr(lcc, "PRINTED", ("magic04",))
        patch.setattr(figures, "FROM_ONE", (1, 5))
        patch.setattr(manifolds, "PRINTED", {"semeion": manifolds.PRINTED["semeion"]})
        patch.setattr(manifolds, "SPLITS", 2)
        patch.setattr(manifolds, "CHARTS", dict.fromkeys(manifolds.CHARTS, (5, 3)))
        patch.setattr(labels, "SHARES", (4, 2))
        patch.setattr(labels, "TRIALS", {4: 2})
        patch.setattr(labels, "CHART", (5, 3))
        two = {method: found[:2] for method, found in labels.PRINTED.items()}
        patch.setattr(labels, "PRINTED", two)
        patch.setattr(latent, "SEEDS", (0, 1))
        patch.setattr(latent, "PRINTED", {"usps": latent.PRINTED["usps"]})
        patch.setattr(latent, "SMALL", {"heart": latent.SMALL["heart"]})
        patch.setattr(latent, "EXPONENTS", (1.5,))
        patch.setattr(latent, "MODELS", (2,))
        patch.setattr(latent, "CURVES", ("usps",))
        patch.setattr(latent, "PASSES", 2)
        patch.setattr(additive, "SETS", ("digits",))
        patch.setattr(additive, "PASSES", 2)
        patch.setattr(losses, "PRINTED", {"magic04": losses.PRINTED["magic04"]})
        patch.setattr(few_labels, "LABELS", (100,))
        patch.setattr(few_labels, "TRIALS", 2)
        patch.setattr(alpha_path, "SETS", ("magic04",))
        patch.setattr(alpha_path, "REPEATS", 1)
        patch.setattr(probabilities, "SETS", ("magic04",))
        patch.setattr(probabilities, "MODELS", {"LLSVMClassifier": LLSVMClassifier()})
        patch.setattr(probabilities, "BESIDE", ("magic04",))
        patch.setattr(probabilities, "BESIDE_SEEDS", range(1))
        calibrated = {"LLSVMClassifier": LLSVMClassifier(probability=True)}
        patch.setattr(probabilities, "peers", lambda: calibrated)
        patch.setattr(probabilities, "SMOOTHED", ("magic04",))
        patch.setattr(probabilities, "COVERED", ("synthetic", "magic04"))
        patch.setattr(probabilities, "COVERED_ROWS", 120)
        patch.setattr(probabilities, "COUNTED_ROWS", 60)
        patch.setattr(probabilities, "SEARCH_SECONDS", 0.01)
        patch.setattr(probabilities, "REPEATS", 2)
        patch.setattr(distill, "SETS", ("magic04",))
        patch.setattr(distill, "LABELLED", 100)
        patch.setattr(distill, "TREES", 3)
        patch.setattr(weak_penalty, "SETS", ("magic04", "usps"))
        patch.setattr(weak_penalty, "ANCHORS", (5,))
        patch.setattr(objectives, "SETS", ("magic04", "letter"))
        patch.setattr(objectives, "ANCHORS", (5, 500))
        patch.setattr(objectives, "FACTORS", (1.0, 10.0))
        patch.setattr(groups, "NUMBERS", (30, 60))
        patch.setattr(groups, "METRIC", {"rows": 200, "anchors": 5, "passes": 1})
        patch.setattr(threads, "ROWS", 200)
        patch.setattr(threads, "ATLAS_ROWS", 150)
        patch.setattr(threads, "COVTYPE_ANCHORS", 8)
        for name in ("LONG_PASSES", "COVTYPE_PASSES", "REPEATS"):
            patch.setattr(threads, name, 1)
        sizes = {"ANCHORS": 8, "MANY_ANCHORS": 16, "PASSES": 1, "TREES": 3}
        for name, value in sizes.items():
            patch.setattr(covtype, name, value)
        small = dict.fromkeys(files.SHAPES, (60, 30, 10))
        patch.setattr(files, "SHAPES", small)
        patch.setattr(files, "MEMORY", {"npy": (60, 30, 10), "csv": (60, 30, 10)})
        patch.setattr(files, "FACTORS", (1, 2))
        patch.setattr(files, "REPEATS", 1)
        patch.setattr(cluster, "SETS", ("mnist",))
        few_passes = {"LLSVMClassifier": {"solver": "sgd", "n_anchors": 5}}
        patch.setattr(cluster, "METHODS", few_passes)
        patch.setattr(cluster, "EPOCHS", 1)
        patch.setattr(cluster, "TURNS", 1)
        patch.setattr(cluster, "SEEDS", range(2))
        patch.setattr(cluster, "PROCESSES", False)
        patch.setattr(cluster, "PIECES", ("mnist", "LLSVMClassifier"))
        patch.setattr(cluster, "LEAST_ROWS", (10, 20))
        patch.setattr(export, "SETS", {"breast_cancer": load_breast_cancer})
        patch.setattr(export, "MODELS", (LLSVMClassifier,))
        patch.setattr(export, "REPEATS", 1)
        patch.setattr(peers, "SETS", ("letter", "magic04", "mnist"))
        patch.setattr(peers, "LIBSVM_ROWS", 290)
        some = {
            "LLSVMClassifier, 10 anchors": ours("LLSVMClassifier", n_anchors=10),
            peers.LIBSVM: SVC(C=10),
        }
        patch.setattr(peers, "estimators", lambda: some)
        patch.setattr(untuned, "SETS", ("heart", "letter", "phishing"))
        patch.setattr(untuned, "REPEATS", {"heart": 2, "letter": 2, "phishing": 2})
        others = {"SVC()": SVC(), "SVC(C=10)": SVC(C=10), "GaussianNB": GaussianNB()}
        others["LGBMClassifier"] = others["GaussianNB"]  # stands in for it
        patch.setattr(untuned, "peers", lambda: others)
        patch.setattr(untuned, "ATLAS_ROWS", 280)
        limited = (untuned, mixed, regression, domains, probabilities, rivals, lcc)
        for module in (*limited, latent):
            patch.setattr(module, "on_one_thread", lambda do, *a, minutes: do(*a))
        patch.setattr(mixed, "SETS", ("penguins",))
        patch.setattr(mixed, "REPEATS", 1)
        makers = {
            "LocallyLinearClassifier": lambda: LocallyLinearClassifier(0),
            "LogisticRegression": lambda: mixed.Plain(mixed.linear()),
            "HistGradientBoostingClassifier": lambda: mixed.Categories(
                HistGradientBoostingClassifier(categorical_features="from_dtype")
            ),
        }
        for name in ("LGBMClassifier", "ExplainableBoostingClassifier"):
            makers[name] = makers["LogisticRegression"]  # stands in for it
        patch.setattr(mixed, "peers", lambda n_jobs=1: makers)
        patch.setattr(loess, "ROWS", (300,))
        images = dict.fromkeys(domains.METHODS, GaussianNB)
        patch.setattr(domains, "DOMAINS", {"birds": "penguins", "digits": "usps"})
        patch.setattr(domains, "models_of_images", lambda: images)
        for name, value in {"SETS": ("penguins",), "REPEATS": 1, "PASSES": 1}.items():
            patch.setattr(encoding, name, value)
        patch.setattr(serving, "SETS", {"loans": lambda: serving.loans(120)})
        patch.setattr(serving, "REPEATS", 1)
        quickly = LocallyLinearClassifier(time_limit=0.01, random_state=0)
        patch.setattr(serving, "MODEL", quickly)
        patch.setattr(regression, "SETS", ("concrete",))
        patch.setattr(regression, "REPEATS", 1)
        known = regression.peers()
        quick = {
            name: known[name]
            for name in (
                "Ridge",
                "KNeighborsRegressor",
                "HistGradientBoostingRegressor",
            )
        }
        quick["LocallyLinearRegressor"] = lambda: LocallyLinearRegressor(
            time_limit=0.01
        )
        patch.setattr(regression, "peers", lambda: quick)
        patch.setattr(stream, "ROWS", (600, 1200))
        patch.setattr(stream, "models", lambda: {"SAPL": SAPLClassifier(10)})
        timed = {
            speed.LLSVM: ours("LLSVMClassifier", n_anchors=10),
            speed.LINEAR: LinearSVC(),
            speed.RBF: SVC(),
        }
        patch.setattr(speed, "models", lambda: timed)
        learned = {"DU-LLSVM": ours("DULLSVMClassifier", n_anchors=5, max_iter=2)}
        patch.setattr(speed, "joint_models", lambda: learned)
        patch.setattr(scaling, "ROWS", (100, 200))
        sizes = {"rows": (100, 200), "features": (12, 16), "classes": (2, 4)}
        patch.setattr(scaling, "SIZES", {**sizes, "anchors": (5, 10)})
        base = {"rows": 200, "features": 12, "anchors": 10, "classes": 2}
        patch.setattr(scaling, "BASE", base)
        patch.setattr(scaling, "IMPORTS", 2)
        small = {"ML3Classifier": "ML3Classifier(2, max_iter=1)"}
        patch.setattr(compilation, "ESTIMATORS", small)
        patch.setattr(compilation, "REPEATS", 1)
        yield patch


def run(name, data, results, *more) -> None:
    main([name, "--data", str(data), "--results", str(results), *more])


@pytest.fixture(scope="module")
def results(data, tiny, tmp_path_factory):
    """What all benchmarks wrote."""
    folder = tmp_path_factory.mktemp("results")
    for name in BENCHMARKS:
        more = ()
        if name == "papers":
            sets = "letter", "usps", "usps, noise", "semeion", "heart", "magic04"
            more = "--sets", *sets, "covtype", "mnist", "parts", "p", "digits"
        run(name, data, folder, *more)
    tiny.setattr(_markdown, "RESULTS", folder)
    return folder


def read(folder, name) -> dict:
    return json.loads((folder / f"{name}.json").read_text())


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_results_say_how_they_were_made(results, name):
    content = read(results, name)
    assert content["command"].startswith(f"python -m benchmarks {name.split('-')[0]}")
    assert {"numpy", "scikit-learn"} <= set(content["versions"])
    assert content["results"]


def test_a_cold_process_compiles_and_a_warm_one_does_not(results):
    found = read(results, "compilation")["results"]["ML3Classifier"]["now"]
    assert found["cold"]["functions_compiled"] > 5
    assert found["warm"]["functions_compiled"] == 0
    assert found["cold"]["fit_cpu_seconds"] > found["warm"]["fit_cpu_seconds"]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_what_is_there_is_not_measured_again(results, data, name, capsys):
    before = {path: path.stat().st_mtime_ns for path in results.iterdir()}
    sets = ("--sets", "letter") if name == "papers" else ()
    run(name, data, results, *sets, "--minutes", "0")
    said = capsys.readouterr().out
    assert "[" not in said
    assert "already" in said
    assert before == {path: path.stat().st_mtime_ns for path in results.iterdir()}


def test_a_run_goes_on_where_it_stopped(results, data, tmp_path, capsys):
    content = read(results, "untuned")
    missing = content["results"]["heart"].pop("SVC()")
    (tmp_path / "untuned.json").write_text(json.dumps(content))
    run("untuned", data, tmp_path)
    lines = [s for s in capsys.readouterr().out.splitlines() if s.startswith("[")]
    assert len(lines) == 1
    assert "heart, SVC()" in lines[0]
    found = read(tmp_path, "untuned")["results"]["heart"]["SVC()"]
    assert found["test_errors"] == missing["test_errors"]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_without_time_nothing_is_measured(tiny, data, name, tmp_path, capsys):
    run(name, data, tmp_path, "--minutes", "0")
    assert "goes on from here" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_parts_and_sets_can_be_chosen(tiny, data, tmp_path):
    run("untuned", data, tmp_path, "--only", "SVC()", "--sets", "heart")
    found = read(tmp_path, "untuned")["results"]
    assert list(found) == ["heart"]
    assert list(found["heart"]) == ["SVC()"]
    with pytest.raises(SystemExit, match="no part"):
        run("papers", data, tmp_path, "--only", "llsvn")


def test_an_unknown_set_is_an_error(tiny, data, tmp_path):
    with pytest.raises(SystemExit, match=r"no set \['lettre'\]: choose from .*letter"):
        run("papers", data, tmp_path, "--only", "llsvm", "--sets", "lettre")
    assert not list(tmp_path.iterdir())


def test_an_unknown_table_is_an_error():
    page = "<!-- table: nothing -->\nold\n<!-- end -->"
    with pytest.raises(SystemExit, match=r"no table 'nothing': choose from .*papers"):
        tables.filled(page)


def test_the_best_of_a_row_is_marked():
    cells = ["9.80 +- 0.36", "", "9.18 (9.30)"]
    assert _markdown.best_marked(cells) == ["9.80 +- 0.36", "", "**9.18 (9.30)**"]
    assert _markdown.best_marked(["1.0", ""]) == ["1.0", ""]
    cells = ["0.9, 0.2", "0.8, 0.1"]
    assert _markdown.best_marked(cells, place=-1) == ["0.9, 0.2", "**0.8, 0.1**"]


def test_untuned_results(results):
    found = read(results, "untuned")["results"]
    assert len(found["heart"]["LLSVMClassifier"]["test_errors"]) == 2
    assert len(found["heart"]["SVC()"]["test_errors"]) == 2
    assert len(found["letter"]["LLSVMClassifier"]["test_errors"]) == 2
    assert len(found["letter"]["SVC()"]["test_errors"]) == 1
    assert "unseen_errors" in found["letter"]["SVC()"]
    assert "training rows" in found["letter"]["AtlasClassifier"]["skipped"]
    assert "sparse" in found["phishing"]["GaussianNB"]["skipped"]


def test_peers_results(results):
    found = read(results, "peers")["results"]
    assert "training rows" in found["letter"][peers.LIBSVM]["skipped"]
    entry = found["magic04"][peers.LIBSVM]
    assert 0 < entry["test_error"] < 50
    assert entry["model_bytes"] > 1000
    assert entry["peak_memory_bytes"] >= 0


def test_files_results(results):
    found = read(results, "files")["results"]
    assert set(found["time"]) == set(files.SHAPES)
    for entry in found["time"].values():
        assert all(spent > 0 for spent in entry["seconds"].values())
        assert "in blocks" in entry["ratios"]
    for factor, entry in found["memory"]["npy"].items():
        assert entry["rows"] == 60 * int(factor)
        assert entry["peak_bytes_predictions"] >= 0


def test_cluster_results(results):
    found = read(results, "cluster")["results"]
    of = {part: entry["mnist"]["LLSVMClassifier"] for part, entry in found.items()}
    assert abs(of["error"]["difference"]) < 10
    assert 0 < of["bytes"]["model_bytes_per_round"] < 5 * of["bytes"]["learner_bytes"]
    assert of["time"]["one worker, n_shards=1"]["epoch_seconds"] > 0
    assert list(of["pieces"]) == ["local", "at least 10 rows", "at least 20 rows"]


def test_what_takes_too_long_is_ended():
    began = time.monotonic()
    answer = _common.in_new_process(time.sleep, 600, minutes=0.01)
    assert "skipped" in answer
    assert time.monotonic() - began < 60


def _turn():
    while True:
        pass


def test_what_takes_too_much_of_the_cpu_is_ended():
    assert _common.on_one_thread(divmod, 7, 2, minutes=1) == (3, 1)
    answer = _common.on_one_thread(_turn, minutes=0.02)
    assert answer == {"skipped": "takes more than 0.02 minutes"}


def test_a_failure_in_another_process_is_one_here(capfd):
    with pytest.raises(RuntimeError, match="failed"):
        _common.in_new_process(divmod, 1, 0)
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_tables_show_what_was_measured(results):
    for table in tables.TABLES.values():
        assert table().startswith("|")


ALONE = {
    "papers-llsvm": ["llsvm", "papers, own", "papers"],
    "papers-joint": ["joint", "joint, short", "papers"],
    "papers-ml3": ["ml3", "ml3, small sets", "papers"],
    "papers-atlas": ["atlas", "atlas, noise", "papers"],
    "papers-own": ["papers, own"],
    "papers-retries": ["papers, retries"],
    "papers-rivals": ["papers, 2015", "papers, 2015, times", "rivals"],
    "papers-losses": ["papers, 2018"],
    "papers-manifolds": ["embeddings", "atlas, parts", "atlas, classes"],
    "papers-labels": ["shares of labels"],
    "papers-latent": [
        "ml3, others",
        "ml3, small sets, others",
        "ml3, p",
        "ml3, iterations",
    ],
    "papers-additive": ["additive"],
    "few_labels": ["few labels", "papers"],
}


@pytest.mark.parametrize("name", ALONE)
def test_the_results_of_one_command_are_enough_for_its_tables(
    results, name, tmp_path, monkeypatch
):
    (tmp_path / f"{name}.json").write_text((results / f"{name}.json").read_text())
    monkeypatch.setattr(_markdown, "RESULTS", tmp_path)
    for table in ALONE[name]:
        assert tables.TABLES[table]().startswith("|")


def test_a_part_that_rests_on_another_measures_both(tiny, data, tmp_path):
    only = "--only", "atlas", "--sets", "usps, noise"
    run("papers", data, tmp_path, *only)
    found = read(tmp_path, "papers-atlas")["results"]
    assert set(found["usps"]) == {"rbf", "linear"}
    assert set(found["usps, noise"]["5"]) >= {"AtlasRBF", "AtlasLinear"}


def test_another_try_measures_the_first_before(tiny, data, tmp_path):
    run("papers", data, tmp_path, "--only", "retries", "--sets", "usps")
    assert set(read(tmp_path, "papers-atlas")["results"]) == {"usps", "usps, roots"}
    found = read(tmp_path, "papers-retries")["results"]["Atlas"]
    assert set(found) == set(atlas.KERNELS)
    for entry in found.values():
        assert len(entry["one atlas"]["test_errors"]) == retries.ATLASES


def test_pictures_show_what_was_measured(results, tiny, tmp_path):
    tiny.setattr(pictures, "IMAGES", tmp_path)
    pictures.main()
    assert {p.stem for p in tmp_path.iterdir()} == set(pictures.PICTURES)


def test_tables_and_pictures_without_results(tmp_path, monkeypatch):
    monkeypatch.setattr(_markdown, "RESULTS", tmp_path / "none")
    monkeypatch.setattr(pictures, "IMAGES", tmp_path / "images")
    page = "Before\n<!-- table: peers -->\nold\n<!-- end -->\nafter"
    assert tables.filled(page) == page
    pictures.main()
    assert not list((tmp_path / "images").iterdir())


def poisoned(split, rows: bool):
    """The same training part; wrong test labels and, on request, wrong test rows."""
    y_test = np.roll(split.y_test, 7)
    if not rows:
        return replace(split, y_test=y_test)
    noise = np.random.RandomState(0).normal(size=split.X_test.shape)
    return replace(split, X_test=noise.astype(split.X_test.dtype), y_test=y_test)


CHOICES = {
    "llsvm": (llsvm, "load", lambda data: llsvm.measure(data, "letter", llsvm_soft())),
    "joint": (
        joint,
        "load",
        lambda data: joint.measure(data, "letter", "SAPL", joint.RATES),
    ),
    "retries": (joint, "load", lambda data: retries.anchored(data, "letter")),
    "own": (own, "load", lambda data: own.measure(data, "letter", "SAPL", dict)),
    "rivals": (rivals, "load", lambda data: rivals.measure(data, "letter", csvm())),
    "ml3": (ml3, "load", lambda data: ml3.table_1(data, "usps")),
    "ml3, covtype": (
        ml3,
        "split_in_two",
        lambda data: ml3.table_1(data, "covtype"),
    ),
}


def csvm() -> rivals.Machine:
    return rivals.MACHINES["CSVM"]


def llsvm_soft() -> str:
    return next(iter(llsvm.METHODS))


CHOSEN = (
    "chosen",
    "tried",
    "held_out_errors_tried",
    "cross_validation_errors",
    "max_iter",
)


@pytest.mark.parametrize("name", CHOICES)
def test_settings_are_chosen_without_test_rows(tiny, data, name, monkeypatch):
    module, source, measure = CHOICES[name]
    honest = measure(data)
    original = getattr(module, source)
    monkeypatch.setattr(
        module, source, lambda *a, **k: poisoned(original(*a, **k), rows=True)
    )
    misled = measure(data)
    assert any(key in honest for key in CHOSEN)
    assert all(honest.get(key) == misled.get(key) for key in CHOSEN)
    assert honest["test_errors"] != misled["test_errors"]


def test_charts_are_chosen_without_test_labels(tiny, data, monkeypatch):
    honest = atlas.Table(data, "usps").measure("rbf")
    monkeypatch.setattr(atlas, "load", lambda *a: poisoned(_data.load(*a), rows=False))
    misled = atlas.Table(data, "usps").measure("rbf")
    assert honest["chosen"] == misled["chosen"]
    assert honest["tried"] == misled["tried"]
    assert honest["transductive"]["mean"] < misled["transductive"]["mean"]


class Sealed(_data.Split):
    """A split that does not show its test labels."""

    def __getattribute__(self, name):
        assert name != "y_test"
        return super().__getattribute__(name)


def sealed(split) -> Sealed:
    return Sealed(split.X, split.y, split.X_test, split.y_test)


def test_semeion_and_small_sets_choose_without_test_labels(tiny, data, monkeypatch):
    halves = atlas.halves
    monkeypatch.setattr(atlas, "halves", lambda *a: sealed(halves(*a)))
    assert set(atlas.Semeion(data).choose("rbf", 0)) == {"d", "mdl", "gamma"}
    ml3.tuned(sealed(_data.load(data, "heart")), "LinearSVC")


def test_few_labels_are_all_that_is_chosen_with(tiny, data):
    few = few_labels.FewLabels(data)
    few.split = sealed(few.split)
    draw = few.draw(100, 0)
    assert len(draw.y) == 100
    few.tuned(draw)
    few.svc(draw)
    with pytest.raises(AssertionError):
        few_labels.METHODS["RBF SVC"](few, draw)


def test_deformed_digits_are_the_same_stream_again():
    X, y = load_digits(return_X_y=True)
    n_rows = _deformed.BLOCK + 700
    stream = _deformed.DeformedDigits(X, y, n_rows, seed=3)
    first, again = list(stream()), list(stream())
    assert [len(labels) for _, labels in first] == [_deformed.BLOCK, 700]
    for (A, a), (B, b) in zip(first, again, strict=True):
        np.testing.assert_array_equal(A, B)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose((A**2).sum(axis=1), 1, rtol=1e-5)
    other = next(iter(_deformed.DeformedDigits(X, y, 50, seed=4)()))
    assert not np.array_equal(other[0], first[0][0][:50])
    # Every image once in each pass over them, deformed but still like itself.
    labels = np.concatenate([labels for _, labels in first])
    np.testing.assert_array_equal(np.bincount(labels[: len(y)]), np.bincount(y))


def test_test_losses_are_scikit_learns():
    X, y = load_breast_cancer(return_X_y=True)
    model = LinearSVC(max_iter=5).fit(X, y)
    expected = hinge_loss(y, model.decision_function(X))
    assert own.hinge_loss(model, X, y) == pytest.approx(expected, rel=1e-4)


def test_embeddings_have_no_more_dimensions_than_features(data, monkeypatch):
    monkeypatch.setattr(manifolds, "LIMITS", {"letter": (150, 50)})
    rows = manifolds.Embedded(data, "letter")
    assert rows.form("as they are", None).shape == (200, 12)
    assert rows.form("LLE", (10, 30)).shape == (200, 12)


def test_classes_of_charts_by_hand():
    charts = np.array([0] * 4 + [1] * 10 + [2] * 2)
    y = np.array([0, 0, 0, 1] + [1] * 10 + [2, 2])
    found = manifolds.characterised(charts, y)
    assert list(found.values()) == [3, 100.0, 2, 1, 6.25]


def test_statistics_by_hand():
    first = {"a": 1.0, "b": 2.0, "c": 3.0}
    second = {"a": 2.0, "b": 1.0, "c": 5.0, "d": 0.0}
    ranks = _statistics.average_ranks({"first": first, "second": second})
    assert ranks == {"first": 1.33, "second": 1.67}
    beside = _statistics.compare(first, second)
    assert beside["sets"] == 3
    assert beside["ahead"] == 2
    assert beside["mean_difference"] == pytest.approx(-2 / 3, abs=1e-3)
    scaled = _statistics.mean_normalised({"first": first, "second": second})
    assert scaled == pytest.approx({"first": 1 / 3, "second": 2 / 3})
    # Two methods: 1.96 times the deviation of a mean of ranks that are 1 or 2.
    assert _statistics.critical_difference(2, 25) == pytest.approx(1.96 / 5, abs=1e-3)
    assert _statistics.median_ratio(first, second) == pytest.approx(0.6)


def test_methods_are_compared_on_the_same_splits(tmp_path, monkeypatch):
    found = {
        "heart": {"a": {"e": [1.0, 3.0, 8.0]}, "b": {"e": [2.0]}},
        "letter": {"a": {"e": [1.0, 3.0]}, "b": {"e": [2.0]}},
        "usps": {"a": {"e": [1.0]}, "b": {"skipped": "too slow"}},
    }
    (tmp_path / "untuned.json").write_text(json.dumps({"results": found}))
    monkeypatch.setattr(_markdown, "RESULTS", tmp_path)
    first, second = _markdown.on_same_splits("e", "a", "b", ("heart",))
    assert first == {"heart": 1.0, "letter": 2.0}
    assert second == {"heart": 2.0, "letter": 2.0}


@pytest.fixture
def raw_tables(tmp_path, monkeypatch):
    """Results of three raw tables, of which a slow peer has one elsewhere."""
    ours, slow, quick = _mixed_tables.OURS, _mixed_tables.EBM, _mixed_tables.LIGHTGBM
    found = {
        "titanic": {
            ours: {"aucs": [0.8, 0.9], "test_errors": [20.0]},
            slow: {"aucs": [0.85]},
            quick: {"aucs": [0.7, 0.7]},
        },
        "adult": {
            ours: {"aucs": [0.9], "test_errors": [13.0]},
            slow: {"skipped": "takes more than 5 minutes"},
            quick: {"aucs": [0.95]},
        },
        "fraud": {ours: {"aucs": [0.7]}, quick: {"aucs": [0.6]}},
    }
    elsewhere = {
        "fraud": {slow: {"auc": 0.6}, ours: {"auc": 0.1}},
        "usps": {slow: {"auc": 0.9}},
    }
    for name, results in (("mixed", found), ("domains", elsewhere)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"results": results}))
    monkeypatch.setattr(_markdown, "RESULTS", tmp_path)
    monkeypatch.setattr(mixed, "SETS", tuple(found))  # `tiny` has others


def test_results_of_the_domains_stand_in_where_raw_tables_have_none(raw_tables):
    found = _mixed_tables.results("aucs")
    assert found[_mixed_tables.EBM] == {"titanic": 0.85, "fraud": 0.6}
    assert found[_mixed_tables.OURS]["fraud"] == 0.7


def test_slow_peers_of_raw_tables_are_compared_on_the_splits_they_have(raw_tables):
    both = _mixed_tables.of_both("aucs", -1, _mixed_tables.EBM)
    assert both[_mixed_tables.OURS]["titanic"] == -0.8
    assert both[_mixed_tables.EBM]["titanic"] == -0.85


def test_aims_of_raw_tables_follow_the_results(raw_tables):
    *_, lightgbm, ebm, behind, adult = _mixed_tables.aims().splitlines()
    assert "1.33 against 1.67 on 3 tables" in lightgbm
    assert lightgbm.endswith("| met |")
    assert "1.5 against 1.5 on 2 tables" in ebm
    assert ebm.endswith("| missed |")
    assert f"| adult ({_mixed_tables.LIGHTGBM}) | met |" in behind
    assert adult.endswith("| 13.00 % | met |")


def test_a_method_that_fits_long_has_one_split(data, tiny, monkeypatch):
    monkeypatch.setattr(mixed, "REPEATS", 2)
    quickly = mixed.measure(data, "penguins", "LogisticRegression")
    monkeypatch.setattr(mixed, "SLOW_SECONDS", 0)
    slowly = mixed.measure(data, "penguins", "LogisticRegression")
    assert len(quickly["test_errors"]) == 2
    assert slowly["test_errors"] == quickly["test_errors"][:1]


def test_the_slowest_peers_have_one_split_of_large_sets(monkeypatch):
    monkeypatch.setattr(untuned, "REPEATS", {"banana": 10, "heart": 10})
    known = dict.fromkeys(("SVC()", "RealMLP_TD_Classifier"), SVC())
    counts = [len(untuned.models_of("banana", name, known)) for name in known]
    assert counts == [10, 1]
    assert len(untuned.models_of("heart", "RealMLP_TD_Classifier", known)) == 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_rows_reach_the_objective_of_blocks(digits, dtype):
    X, y, _, _ = digits
    X = X.astype(dtype)
    setting = {"alpha": 2e-3, "max_iter": 20}
    table = _twin.fit(X, y, 5, constant=1.5, **setting)
    assert table.dtype == dtype
    coef, intercept = (
        table[:, :-1].reshape(10, 5, -1),
        1.5 * table[:, -1].reshape(10, 5),
    )
    single = speed.objective(coef, intercept, X, y, 2e-3, 1.5)
    model = ML3Classifier(
        5,
        intercept_scaling=1.5,
        init="random",
        shrinking=False,
        random_state=0,
        **setting,
    ).fit(X, y)
    blocks = speed.objective(model.coef_, model.intercept_, X, y, 2e-3, 1.5)
    assert abs(blocks - single) < 0.05 * single
