"""Model cards: true figures, and names that stay text."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import (
    LLSVMClassifier,
    LLSVMRegressor,
    LocallyLinearClassifier,
    LocallyLinearRegressor,
)
from locallin.export import model_card

pytest.importorskip("skops")
pd = pytest.importorskip("pandas")


@pytest.fixture
def blobs():
    X, y = make_blobs(300, 3, centers=3, cluster_std=4.0, random_state=0)
    return X, np.array(["low", "mid|dle", "<b>high"])[y]


def test_figures_are_those_of_the_rows(blobs, tmp_path):
    X, y = blobs
    model = make_pipeline(StandardScaler(), LLSVMClassifier(5, random_state=0))
    card = model_card(model.fit(X[:200], y[:200]), X[200:], y[200:])
    card.save(tmp_path / "card.md")
    text = (tmp_path / "card.md").read_text()
    accuracy = accuracy_score(y[200:], model.predict(X[200:]))
    assert f"{accuracy:.4g}" in text
    assert "area under the ROC curve" in text
    assert "100 rows" in text
    assert "from locallin.export import load" in text


def test_hostile_names_stay_text(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=["a|b", "<script>", "c\nd"])
    model = LocallyLinearClassifier(0, random_state=0).fit(frame, y)
    text = model_card(model, frame, y, description="<i>mine</i>").render()
    for name in ("<script>", "<b>high", "<i>", "c\nd"):
        assert name not in text
    assert "a\\|b" in text
    assert "Chosen on held-out rows" in text


def test_numbers(blobs):
    X, _ = blobs
    y = X @ [1.0, 2.0, 3.0] + np.sin(X[:, 0])
    model = LLSVMRegressor(5, random_state=0).fit(X[:200], y[:200])
    text = model_card(model, X[200:], y[200:]).render()
    assert f"{r2_score(y[200:], model.predict(X[200:])):.4g}" in text
    assert "It predicts numbers." in text
    model = LocallyLinearRegressor(0, random_state=0).fit(X[:200], y[:200])
    assert "It predicts numbers." in model_card(model, X[200:], y[200:]).render()


def test_a_model_alone_has_no_figures(blobs):
    model = LLSVMClassifier(3, random_state=0).fit(*blobs)
    assert "Evaluation" not in model_card(model).render()
    with pytest.raises(ValueError, match="X and y go together"):
        model_card(model, blobs[0])
