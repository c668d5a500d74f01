"""The adapter for TabArena, where AutoGluon's interface is installed."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

pd = pytest.importorskip("pandas")
pytest.importorskip("autogluon.core")

from benchmarks.tabarena import LocallyLinearModel, search_space  # noqa: E402


@pytest.mark.parametrize("problem", ["binary", "multiclass", "regression"])
def test_a_model_is_fitted_saved_and_loaded(problem, tmp_path):
    X, y = make_blobs(120, 3, centers=2 if problem == "binary" else 3, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["d"] = pd.Series(np.where(X[:, 0] > 0, "u", "v")).astype("category")
    y = pd.Series(X[:, 0] if problem == "regression" else y)
    model = LocallyLinearModel(
        path=str(tmp_path),
        name="m",
        problem_type=problem,
        hyperparameters={"effort": 0},
    )
    model.fit(X=frame, y=y, num_cpus=1)
    again = LocallyLinearModel.load(model.save())
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert model.score(frame, y) > (0.9 if problem != "regression" else -0.5)


def test_settings_that_may_be_searched_are_parameters_of_the_estimators():
    from locallin import LocallyLinearClassifier, LocallyLinearRegressor

    for kind in (LocallyLinearClassifier, LocallyLinearRegressor):
        assert set(search_space()) <= set(kind().get_params())
