"""Raw tables on a cluster."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from locallin import LocallyLinearClassifier

pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
from distributed import Client  # noqa: E402

from locallin.dask import ClusterClassifier  # noqa: E402

HERE = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}


@pytest.fixture(scope="module", autouse=True)
def client():
    with Client(processes=False, n_workers=1, threads_per_worker=2, **HERE) as client:
        yield client


def table(n_rows=600):
    rng = np.random.RandomState(11)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, size=n_rows),
            "home": rng.choice(["own", "rent", "parents"], size=n_rows),
            "town": rng.choice([f"town {i}" for i in range(60)], size=n_rows),
        }
    )
    late = (frame["age"] < 40) ^ (frame["home"] == "rent")
    frame.loc[::9, "age"] = np.nan
    return frame, late.map({True: "late", False: "paid"}).rename("late")


def test_a_dataframe_with_text_and_gaps():
    frame, late = table()
    rows, labels = dd.from_pandas(frame, 4), dd.from_pandas(late, 4)
    model = ClusterClassifier(LocallyLinearClassifier(0, random_state=0))
    model.fit(rows, labels)
    assert model.score(rows, labels) > 0.85
    assert list(model.feature_names_in_) == list(frame.columns)
    predicted = model.predict(rows).compute()
    assert_array_equal(predicted, model.estimator_.predict(frame))
    again = ClusterClassifier(LocallyLinearClassifier(0, random_state=0))
    again.fit(rows, labels)
    assert_array_equal(
        again.estimator_.decision_function(frame),
        model.estimator_.decision_function(frame),
    )


def test_held_out_rows_calibrate():
    frame, late = table(400)
    rows, labels = dd.from_pandas(frame, 3), dd.from_pandas(late, 3)
    local = LocallyLinearClassifier(1, n_members=1, time_limit=0.1, random_state=0)
    model = ClusterClassifier(local).fit(rows, labels).estimator_
    assert model.conformity_counts_[0] == 80
    assert model.predict_set(frame).any(axis=1).all()


def test_a_fit_cannot_go_on():
    frame, late = table(50)
    rows, labels = dd.from_pandas(frame, 2), dd.from_pandas(late, 2)
    model = ClusterClassifier(LocallyLinearClassifier(0, warm_start=True))
    with pytest.raises(ValueError, match="use warm_start=False"):
        model.fit(rows, labels)
    assert not hasattr(model, "estimator_")
