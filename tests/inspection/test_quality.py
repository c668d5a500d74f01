"""Figures of probabilities against scikit-learn's, and their intervals."""

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    log_loss,
    roc_auc_score,
)
from sklearn.metrics import precision_recall_curve as sklearn_precision
from sklearn.metrics import roc_curve as sklearn_roc

from locallin.inspection.quality import (
    are_probabilities,
    intervals,
    judged_chances,
    precision_curve,
    ranking_scores,
    reliability,
    roc_curve,
    wilson,
)


def drawn(n_rows, n_classes, seed=0):
    """Probabilities, rounded so that some are equal, and classes drawn with them."""
    rng = np.random.RandomState(seed)
    chances = rng.dirichlet(np.ones(n_classes), size=n_rows).round(2)
    chances /= chances.sum(axis=1, keepdims=True)
    y = (rng.uniform(size=(n_rows, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    y = np.minimum(y, n_classes - 1)
    return y, y[:, None] == np.arange(n_classes), chances


@pytest.mark.parametrize("n_classes", [2, 4])
def test_figures_are_those_of_scikit_learn(n_classes):
    y, is_class, chances = drawn(700, n_classes)
    found = ranking_scores(is_class, chances)
    one = chances[:, 1] if n_classes == 2 else chances
    area = roc_auc_score(y, one, multi_class="ovr")
    assert found["auc"] == pytest.approx(area)
    own = is_class[:, 1] if n_classes == 2 else is_class
    precision = average_precision_score(own, one)
    assert found["average_precision"] == pytest.approx(precision)
    assert found["log_loss"] == pytest.approx(log_loss(y, chances))
    if n_classes == 2:
        assert found["brier"] == pytest.approx(brier_score_loss(y, chances[:, 1]))
    assert 0 < found["calibration_error"] < 0.1


def test_scores_have_ranks_only():
    y, is_class, chances = drawn(300, 2)
    found = ranking_scores(is_class, chances[:, 1] - 0.5)
    assert set(found) == {"auc", "average_precision"}
    assert found["auc"] == pytest.approx(roc_auc_score(y, chances[:, 1]))
    assert ranking_scores(is_class[y == 1], chances[y == 1])["auc"] is None
    assert not are_probabilities(chances[:, 1])
    assert not are_probabilities(chances * 2)
    assert are_probabilities(chances)


def test_curves_go_through_the_points_of_scikit_learn():
    y, _, chances = drawn(300, 2)
    falls, hits = roc_curve(y == 1, chances[:, 1])
    theirs = sklearn_roc(y, chances[:, 1], drop_intermediate=False)
    np.testing.assert_allclose(falls, theirs[0])
    np.testing.assert_allclose(hits, theirs[1])
    precision, recall = precision_curve(y == 1, chances[:, 1])
    wanted = sklearn_precision(y, chances[:, 1])
    np.testing.assert_allclose(precision[::-1], wanted[0][: len(precision)])
    np.testing.assert_allclose(recall[::-1], wanted[1][: len(recall)])


def test_bins_tell_what_came_true():
    _, is_class, chances = drawn(5000, 2)
    bins = reliability(*judged_chances(is_class, chances))
    assert sum(one["rows"] for one in bins) == 5000
    inside = [one["low"] <= one["probability"] <= one["high"] for one in bins]
    assert np.mean(inside) > 0.7
    assert reliability(np.ones(3), np.ones(3, bool))[0]["share"] == 1.0


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    truth = ranking_scores(*drawn(200_000, 2)[1:])
    held = []
    for seed in range(30):
        _, is_class, chances = drawn(400, 2, seed=seed)
        known = intervals(
            lambda rows, c=is_class, p=chances: ranking_scores(c[rows], p[rows]), 400
        )
        low, high = known["auc"]
        held.append(low <= truth["auc"] <= high)
    assert np.mean(held) > 0.8
    assert wilson(0, 10)[0] == 0.0
    assert wilson(9, 10)[1] < 1.0
