"""Searches by a command: budgets, logs, and searches that go on."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from terminal import fails, run

from locallin.cli._methods import (
    METHODS,
    SEARCHING,
)

pytestmark = pytest.mark.usefixtures("folder")


def study_of(path):
    optuna = pytest.importorskip("optuna")
    backend = optuna.storages.journal.JournalFileBackend(path)
    storage = optuna.storages.JournalStorage(backend)
    return optuna.load_study(study_name="locallin", storage=storage)


def logged(path):
    """The finished trials in a log."""
    trials = study_of(path).trials
    return [trial.user_attrs for trial in trials if trial.state.is_finished()]


def test_tuning_resumes(capsys, iris):
    arguments = ["tune", "iris.csv", "a.model", "--method", "ll", "--folds", 2]
    out, err = run(capsys, *arguments, "--trials", 2, "--json")
    first = json.loads(out)
    assert first["trials"] == 2
    assert err.count("trial ") == 2
    with open("a.model.trials.jsonl", "a") as file:
        file.write('{"trial": 3, "par')
    out, err = run(capsys, *arguments, "--trials", 4, "--json", "--n-jobs", 1)
    assert "2 trials found" in err
    resumed = json.loads(out)
    assert resumed["trials"] == 4
    assert resumed["best_score"] >= first["best_score"]
    trials = logged("a.model.trials.jsonl")
    run(capsys, *arguments, "--trials", 4, "--log", "b.jsonl", "--force")
    again = logged("b.jsonl")
    assert [t["parameters"] for t in trials] == [t["parameters"] for t in again]
    assert [t["score"] for t in trials] == [t["score"] for t in again]
    about = json.loads(run(capsys, "info", "a.model", "--json").out)
    assert about["tuning"]["score"] == resumed["best_score"]
    error = fails(capsys, *arguments, "--scale", "norm", code=2)
    assert "another search (scale changed)" in error
    out, _ = run(capsys, *arguments, "--trials", 1, "--scale", "norm", "--restart")
    assert "trials             1" in out


def test_a_resumed_search_learns_from_the_same_trials(capsys, iris):
    # The first ten trials are drawn at random, the others from what these have found.
    arguments = ["tune", "iris.csv", "a.model", "--method", "ml3", "--max-iter", 5]
    arguments += ["--folds", 1]
    run(capsys, *arguments, "--trials", 12)
    study = study_of("a.model.trials.jsonl")
    study.ask().suggest_float("alpha", 0.03, 3, log=True)  # and the run is killed
    run(capsys, *arguments, "--trials", 14)
    run(capsys, *arguments, "--trials", 14, "--log", "b.jsonl", "--force")
    trials, again = logged("a.model.trials.jsonl"), logged("b.jsonl")
    assert len(trials) == 14
    assert [t["parameters"] for t in trials] == [t["parameters"] for t in again]
    run(capsys, *arguments, "--trials", 3, "--random-state", 1, "--restart")
    others = logged("a.model.trials.jsonl")
    assert len(others) == 3
    assert others[1]["parameters"] != trials[1]["parameters"]


def test_tuning_without_what_it_needs(capsys, monkeypatch, iris):
    monkeypatch.setitem(sys.modules, "optuna", None)
    error = fails(capsys, "tune", "iris.csv", "a.model")
    assert "optuna is missing for the search for parameters: pip" in error
    assert "'.[tune]'" in error


def test_a_log_that_is_none(capsys, iris):
    Path("a.jsonl").write_text('{"method": "du"}\n{"trial": 1}\n')
    for name in ("iris.csv", "a.jsonl"):
        before = Path(name).read_bytes()
        error = fails(capsys, "tune", "iris.csv", "a.model", "--log", name)
        assert f"{name} is not a log of trials: --log names another" in error
        assert Path(name).read_bytes() == before
    error = fails(capsys, "tune", "iris.csv", "a.model", "--log", "nowhere/a.jsonl")
    assert "nowhere/a.jsonl: No such file" in error


def test_every_trial_may_fail(capsys, iris):
    arguments = ["tune", "iris.csv", "a.model", "--method", "ll", "--trials", 2]
    error = run(capsys, *arguments, "--scoring", "f1", code=1).err
    assert "trial 2: " in error
    assert "best none" in error
    assert "every trial failed, the last with: " in error
    assert not os.path.exists("a.model")


@pytest.mark.parametrize("method", [name for name in METHODS if name not in SEARCHING])
def test_tuning_of_every_method(capsys, iris, method):
    arguments = ["tune", "iris.csv", "a.model", "--method", method, "--folds", 1]
    out, _ = run(capsys, *arguments, "--trials", 3, "--json")
    trials = logged("a.model.trials.jsonl")
    assert [trial["error"] for trial in trials] == [None] * 3
    assert json.loads(out)["best_score"] == max(trial["score"] for trial in trials)
    assert trials[0]["parameters"] == {}


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss"])
def test_figures_of_chances_and_ranks_beside_the_score(capsys, iris, scoring):
    arguments = ["tune", "iris.csv", "a.model", "--method", "ll", "--folds", 2]
    arguments += ["--trials", 2, "--scoring", scoring]
    out, err = run(capsys, *arguments, "--json")
    result, trials = json.loads(out), logged("a.model.trials.jsonl")
    assert ("--probability is set" in err) == (scoring == "neg_log_loss")
    wanted = {"accuracy", "auc"} | (
        {"log_loss"} if scoring == "neg_log_loss" else set()
    )
    for trial in trials:
        figures = trial["figures"]
        assert set(figures) == wanted
        assert 0.5 < figures["accuracy"] <= 1
        assert 0.5 < figures["auc"] <= 1
        name, sign = {"roc_auc": ("auc", 1), "neg_log_loss": ("log_loss", -1)}.get(
            scoring, ("accuracy", 1)
        )
        assert trial["score"] == pytest.approx(sign * figures[name])
    best = max(trials, key=lambda trial: trial["score"])
    assert result["best_figures"] == best["figures"]
    assert "auc 0." in err or "auc 1." in err
    lines = run(capsys, *arguments).out.splitlines()
    head = next(line for line in lines if line.split()[:1] == ["trial"])
    assert head.split()[:4] == ["trial", "score", "accuracy", "auc"]
    about = json.loads(run(capsys, "info", "a.model", "--json").out)
    assert about["tuning"]["figures"] == best["figures"]


def test_log_loss_without_probabilities_is_refused(capsys, iris):
    arguments = ["tune", "iris.csv", "a.model", "--method", "ll", "--no-probability"]
    error = fails(capsys, *arguments, "--scoring", "neg_log_loss", code=2)
    assert "leave out --no-probability" in error


def test_tuning_keeps_to_its_budget_and_to_fixed_parameters(capsys, iris):
    arguments = ["tune", "iris.csv", "a.model", "--method", "ml3", "--p", 1.5]
    scoring = ["--scoring", "f1_macro", "--folds", 2]
    out, _ = run(capsys, *arguments, *scoring, "--minutes", 0.01, "--json")
    result = json.loads(out)
    assert result["trials"] >= 1
    assert "p" not in result["parameters"]
    error = fails(capsys, *arguments, "--scoring", "nothing", code=2)
    assert "no scorer 'nothing'" in error
    run(capsys, "tune", "iris.csv", "b.model", "--method", "ll-cv", code=2)


def test_an_interrupted_search_can_be_resumed(capsys, monkeypatch, iris):
    from locallin.cli import _tune

    tried, calls = _tune._tried, []

    def interrupt(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return tried(*arguments)

    monkeypatch.setattr(_tune, "_tried", interrupt)
    arguments = ["tune", "iris.csv", "a.model", "--trials", 2, "--folds", 1]
    assert "has 1 trials" in run(capsys, *arguments, code=130).err
    assert not os.path.exists("a.model")
    assert "1 trials found" in run(capsys, *arguments).err
    assert os.path.exists("a.model")


def test_too_many_folds_leave_no_file(capsys, folder, iris):
    before = sorted(folder.iterdir())
    error = fails(capsys, "tune", "iris.csv", "tuned.skops", "--folds", 1000)
    assert "--folds 1000 is more than" in error
    assert sorted(folder.iterdir()) == before


@pytest.fixture
def flats():
    rng = np.random.RandomState(0)
    lines = ["size,place,price"]
    for size, place in zip(
        rng.uniform(20, 120, 90), rng.choice(["a", "b"], 90), strict=True
    ):
        lines.append(f"{size:.1f},{place},{size * (9.1 if place == 'a' else 3.2):.2f}")
    Path("flats.csv").write_text("\n".join(lines) + "\n")


def test_numbers_are_tuned_by_r2(capsys, flats):
    pytest.importorskip("optuna")
    pytest.importorskip("pyarrow")
    arguments = ["tune", "flats.csv", "m.model", "--task", "regression", "--folds", 2]
    ll = ["--method", "ll", "--trials", 3, "--json"]
    found = json.loads(run(capsys, *arguments, *ll).out)
    assert found["scoring"] == "r2"
    assert 0 < found["score_of_defaults"] <= found["best_score"] <= 1
    about = json.loads(run(capsys, "info", "m.model", "--json").out)
    assert about["regressor"] == "LLSVMRegressor"
    assert about["tuning"]["score"] == found["best_score"]
    atlas = ["--method", "atlas", "--trials", 2, "--json", "--log", "atlas.jsonl"]
    found = run(capsys, *arguments, *atlas, "--force").out
    assert json.loads(found)["best_score"] > 0
    error = fails(capsys, *arguments, "--method", "ml3", code=2)
    assert "--task regression is for --method" in error
    # Decimals in a named column are numbers; a quantile has its own loss.
    quantile = ["--loss", "pinball", "--quantile", 0.8, "--trials", 1, "--json"]
    named = ["tune", "flats.csv", "q.model", "--label", "price", "--folds", 2]
    found = json.loads(run(capsys, *named, *quantile).out)
    assert found["scoring"] == "neg_mean_pinball_loss"
    assert found["best_score"] < 0
