"""Reasons of a mean of members, and of the classifier that chooses one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from locallin import EnsembleClassifier, LocallyLinearClassifier, SAPLClassifier
from locallin.inspection import explain, global_effects, regions

pandas = pytest.importorskip("pandas")


def test_local_models_of_all_members_are_listed(blobs):
    X, y, _ = blobs
    first = SAPLClassifier(4, max_iter=3)
    model = EnsembleClassifier(first, 3, random_state=0).fit(X, y)
    found = regions(model, X)
    assert len(found) == 12
    assert sum(region.share for region in found) == pytest.approx(1)
    assert sum(region.rows for region in found) == len(X)


def test_reasons_are_in_the_columns_of_the_table():
    rng = np.random.RandomState(0)
    frame = pandas.DataFrame(
        {
            "age": rng.uniform(20, 70, size=300),
            "home": rng.choice(["own", "rent"], size=300),
        }
    )
    frame.loc[::7, "age"] = np.nan
    y = (frame["age"].fillna(50) < 40) ^ (frame["home"] == "rent")
    model = LocallyLinearClassifier(0, n_members=2, random_state=0).fit(frame, y)
    found = explain(model, frame[:20])
    assert list(found.feature_names) == ["age", "home"]
    sums = found.contributions.sum(axis=2) + found.bias
    assert_allclose(sums[:, 0], model.decision_function(frame[:20]), atol=1e-5)
    assert "missing" in found.to_text(0)
    effects = global_effects(model, frame)
    assert {effect.name for effect in effects.effects} == {"age", "home"}
