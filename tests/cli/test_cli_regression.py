"""The command line with labels that are numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from locallin.cli import main

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")


@pytest.fixture
def flats(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.RandomState(0)
    frame = pandas.DataFrame(
        {
            "size": rng.uniform(20, 120, size=300).round(1),
            "place": rng.choice(["city", "village"], size=300),
        }
    )
    price = frame["size"] * np.where(frame["place"] == "city", 9.1, 3.2)
    frame["price"] = (price + rng.normal(size=300)).round(2)
    frame.to_csv("flats.csv", index=False)
    frame[["size", "price"]].to_csv("sizes.csv", index=False)
    return frame


def run(capsys, *argv, code=0):
    assert main(list(argv)) == code
    return capsys.readouterr()


def result(capsys, *argv):
    shown = run(capsys, *argv, "--json")
    return json.loads(shown.out), shown.err


QUICK = ("--effort", "0")


def test_labels_are_written_as_other_numbers_are(capsys, flats):
    price = 1000 + flats["price"]
    as_there = [f"{p:,.1f}".translate(str.maketrans(",.", ".,")) for p in price]
    flats.assign(price=as_there).to_csv("there.csv", index=False, sep=";", decimal=",")
    signs = ("--decimal", ",", "--thousands", ".")
    there, told = result(capsys, "train", "there.csv", "m.skops", *signs,
                         "--label", "price", *QUICK)  # fmt: skip
    assert "different numbers with decimals" in told
    flats.assign(price=price.round(1)).to_csv("here.csv", index=False)
    here, _ = result(capsys, "train", "here.csv", "n.skops", "--label", "price", *QUICK)
    assert there["training_rmse"] == pytest.approx(here["training_rmse"], rel=0.05)
    scores, _ = result(capsys, "evaluate", "m.skops", "there.csv")
    assert scores["r2"] > 0.98


def test_many_whole_numbers_are_asked_about(capsys, flats):
    flats.assign(price=flats["price"].round().astype(int)).to_csv("w.csv", index=False)
    train = ["train", "w.csv", "m.skops", "--label", "price", *QUICK]
    error = run(capsys, *train, code=1).err
    assert "different whole numbers: --task regression learns numbers" in error
    found, _ = result(capsys, *train, "--task", "regression")
    assert found["training_r2"] > 0.98


def test_a_label_with_decimals_is_regression_and_said_aloud(capsys, flats):
    train = ["train", "flats.csv", "m.skops", "--label", "price"]
    found, told = result(capsys, *train, *QUICK)
    assert "holds 300 different numbers with decimals: this is regression" in told
    assert found["training_r2"] > 0.98
    assert found["held_out_r2"] is None
    assert found.get("classes") is None
    about, _ = result(capsys, "info", "m.skops")
    assert about["regressor"] == "LocallyLinearRegressor"
    scores, _ = result(capsys, "evaluate", "m.skops", "flats.csv")
    assert scores["rows"] == 300
    assert scores["r2"] == pytest.approx(found["training_r2"])
    assert 0 < scores["mae"] <= scores["rmse"]


def test_predictions_intervals_and_reasons(capsys, flats):
    train = [
        "train",
        "flats.csv",
        "m.skops",
        "--label",
        "price",
        "--time-limit",
        "1e-6",
    ]
    found, _ = result(capsys, *train, "--task", "regression")
    assert found["held_out_r2"] > 0.8
    lines = run(capsys, "predict", "m.skops", "flats.csv").out.splitlines()
    predicted = np.array(lines, float)
    assert np.corrcoef(predicted, flats["price"])[0, 1] > 0.98
    out = run(capsys, "predict", "m.skops", "flats.csv", "--output", "interval").out
    names, *rows = out.splitlines()
    assert names == "prediction,lower,upper"
    table = np.array([row.split(",") for row in rows], float)
    assert (table[:, 1] < table[:, 0]).all()
    assert (table[:, 0] < table[:, 2]).all()
    error = run(capsys, "predict", "m.skops", "flats.csv", "--proba", code=1).err
    assert "the model predicts numbers" in error
    reasons, _ = result(capsys, "explain", "m.skops", "flats.csv", "--rows", "2")
    row = reasons["rows"][0]
    parts = sum(part["contribution"] for part in row["contributions"])
    assert row["prediction"] == pytest.approx(parts + row["others"] + row["constant"])
    assert row["prediction"] == pytest.approx(predicted[0], rel=1e-4)
    assert "row 1: " in run(capsys, "explain", "m.skops", "flats.csv").out
    run(capsys, "convert", "m.skops", "m.h")
    with open("m.h") as file:
        assert "static inline float model_predict(const float *x)" in file.read()
    scores, _ = result(capsys, "evaluate", "m.skops", "flats.csv")
    truth = flats["price"].to_numpy()
    inside = (table[:, 1] <= truth) & (truth <= table[:, 2])
    assert scores["interval_coverage"] == pytest.approx(inside.mean(), abs=0.01)
    page, _ = result(capsys, "report", "m.skops", "flats.csv", "m.html")
    assert page["r2"] == pytest.approx(scores["r2"])
    assert ">Intervals</h2>" in Path("m.html").read_text()


@pytest.mark.parametrize("method", ["du", "ll", "sapl"])
def test_methods_of_regression(capsys, flats, method):
    train = ["train", "sizes.csv", "m.skops", "--task", "regression"]
    found, _ = result(capsys, *train, "--method", method, "--n-anchors", "5")
    assert found["method"] == method
    assert found["training_r2"] > 0.3
    found, _ = result(
        capsys, "train", "sizes.csv", "q.skops", "--method", method, "--epsilon", "0.3",
        "--loss", "huber", "--n-anchors", "5",
    )  # fmt: skip
    assert found["training_r2"] > 0.05
    scores, _ = result(capsys, "evaluate", "q.skops", "sizes.csv")
    assert scores["r2"] == pytest.approx(found["training_r2"])


def test_charts_of_numbers(capsys, flats):
    train = ["train", "flats.csv", "m.skops", "--label", "price", "--method", "atlas"]
    found, told = result(capsys, *train, "--kernel", "linear", "--atlas-mdl", "5")
    assert "this is regression" in told
    assert found["training_r2"] > 0.9
    about, _ = result(capsys, "info", "m.skops")
    assert about["regressor"] == "AtlasRegressor"
    scores, _ = result(capsys, "evaluate", "m.skops", "flats.csv")
    assert scores["r2"] == pytest.approx(found["training_r2"])
    reasons, _ = result(capsys, "explain", "m.skops", "flats.csv", "--rows", "1")
    row = reasons["rows"][0]
    parts = sum(part["contribution"] for part in row["contributions"])
    assert row["prediction"] == pytest.approx(parts + row["others"] + row["constant"])
    page, _ = result(capsys, "report", "m.skops", "flats.csv", "m.html")
    assert page["r2"] == pytest.approx(scores["r2"])
    assert "charts" in Path("m.html").read_text()
    error = run(capsys, "convert", "m.skops", "m.h", code=1).err
    assert "AtlasRegressor" in error


def test_kernel_machines_of_numbers(capsys, flats):
    train = ["train", "flats.csv", "m.skops", "--label", "price"]
    found, _ = result(capsys, *train, "--method", "atlas", "--epsilon", "0.2",
                      "--loss", "epsilon_insensitive")  # fmt: skip
    assert found["training_r2"] > 0.9
    lines = run(capsys, "predict", "m.skops", "flats.csv").out.splitlines()
    assert len(lines) == 300
    error = run(capsys, "explain", "m.skops", "flats.csv", code=1).err
    assert "train an atlas with a linear kernel" in error
    run(capsys, "report", "m.skops", "flats.csv", "m.html")
    pytest.importorskip("skl2onnx")
    run(capsys, "convert", "m.skops", "m.onnx")
    more = ["--method", "atlas", "--probability", "--force"]
    error = run(capsys, *train, *more, code=2).err
    assert "--probability is for classes, and this is regression" in error


def test_streams_of_numbers(capsys, flats):
    train = ["train", "sizes.csv", "m.skops", "--stream", "--method", "du"]
    found, _ = result(capsys, *train, "--task", "regression", "--epochs", "20")
    assert found["training_r2"] > 0.3


def test_what_does_not_go_together_is_named(capsys, flats):
    train = ["train", "flats.csv", "m.skops"]
    error = run(capsys, *train, "--task", "regression", "--label", "place", code=1).err
    assert "--task regression learns numbers, but a label is" in error
    error = run(capsys, *train, "--task", "regression", "--method", "ml3", code=2).err
    assert "--task regression is for --method local, du, ll, sapl, atlas" in error
    more = ["--label", "price", "--task", "classification"]
    error = run(capsys, *train, *more, code=1).err
    assert "which are no classes: --task regression learns numbers" in error
    more = ["--label", "price", "--class-weight", "balanced"]
    error = run(capsys, *train, *more, code=2).err
    assert "--class-weight is for classes, and this is regression" in error
    more = ["--label", "place", "--method", "du", "--epsilon", "1"]
    error = run(capsys, *train, *more, "--task", "classification", code=2).err
    assert "--epsilon is for --task regression" in error


def test_quantiles_are_judged_by_their_own_loss(capsys, flats):
    train = ["train", "sizes.csv", "m.skops", "--task", "regression", "--method", "du"]
    run(capsys, *train, "--loss", "pinball", "--quantile", "0.8", "--n-anchors", "5")
    found, _ = result(capsys, "evaluate", "m.skops", "sizes.csv")
    lines = run(capsys, "predict", "m.skops", "sizes.csv").out.splitlines()
    missing = flats["price"].to_numpy() - np.array(lines, float)
    wanted = np.maximum(0.8 * missing, -0.2 * missing).mean()
    assert found["pinball"] == pytest.approx(wanted, rel=1e-4)
    low, high = found["intervals"]["pinball"]
    assert low < wanted < high


def test_several_quantiles(capsys, flats):
    train = ["train", "sizes.csv", "m.skops", "--task", "regression", "--method", "ll"]
    more = ["--loss", "pinball", "--quantile", "0.1,0.5,0.9", "--n-anchors", "4"]
    run(capsys, *train, *more)
    found, _ = result(capsys, "evaluate", "m.skops", "sizes.csv")
    assert found["crossing"] == 0
    assert 0.6 < found["interval_coverage"] <= 1
    assert found["interval_promised"] == pytest.approx(0.8)
    losses = [found[f"pinball_q{level}"] for level in (0.1, 0.5, 0.9)]
    assert found["pinball"] == pytest.approx(np.mean(losses))
    assert losses[1] == pytest.approx(found["mae"] / 2)
    shown = run(capsys, "evaluate", "m.skops", "sizes.csv").out
    assert "pinball q0.9" in shown
    page, _ = result(capsys, "report", "m.skops", "sizes.csv", "m.html")
    assert page["pinball"] == pytest.approx(found["pinball"])
    both = ["compare", "m.skops", "m.skops", "sizes.csv", "mm.html"]
    scores, _ = result(capsys, *both)
    assert scores["pinball_q0.5"][:2] == pytest.approx([losses[1]] * 2)


def test_two_models_on_a_page(capsys, flats):
    train = ["train", "flats.csv", "--label", "price"]
    for name, method in (("a", "ll"), ("b", "du")):
        more = ["--method", method, "--n-anchors", "4", "--task", "regression"]
        run(capsys, "train", "flats.csv", f"{name}.skops", *train[2:], *more)
    arguments = ["compare", "a.skops", "b.skops", "flats.csv", "ab.html"]
    found, _ = result(capsys, *arguments)
    first, second, low, high = found["rmse"]
    assert low <= second - first <= high
    shown = run(capsys, *arguments, "--force").out
    assert f"rmse {first:.4g} and {second:.4g}, difference" in " ".join(shown.split())
    page = Path("ab.html").read_text()
    assert "<h1>a and b</h1>" in page
    assert "Reasons of a" in page
    for name, place in (("a", 0), ("b", 1)):
        scores, _ = result(capsys, "evaluate", f"{name}.skops", "flats.csv")
        assert scores["rmse"] == pytest.approx(found["rmse"][place], rel=1e-6)
    error = run(capsys, *arguments[:3], "-", "x.html", code=2).err
    assert "give a file, not -" in error
