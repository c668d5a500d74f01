"""The recipes of the docs: on stand-ins of the engines, and on these if installed."""

import pickle
import re
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons

from locallin import DULLSVMClassifier, LocallyLinearClassifier
from locallin.base import Rounds
from locallin.export import save

pa = pytest.importorskip("pyarrow")
pytest.importorskip("skops")
cloudpickle = pytest.importorskip("cloudpickle")
PAGE = (Path(__file__).parent.parent / "docs" / "recipes.md").read_text()
FEATURES = ["first", "second"]
TYPES = {"long": pa.int64(), "double": pa.float64(), "binary": pa.binary()}


def sent(value):
    """As another process would see it."""
    return pickle.loads(cloudpickle.dumps(value))


def lines_of(section):
    """The indented programs of a section, one after the other."""
    text = re.search(rf"^## {section}\n(.*?)(?=^## )", PAGE, re.M | re.S)[1]
    return [
        dedent(b) for b in re.findall(r"(?:^(?:    .*)?\n)+", text, re.M) if b.strip()
    ]


def run(section, number, **names):
    """The names of the page's first part and of a program of a section."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    for block in (*blocks, lines_of(section)[number]):
        exec(compile(block, "recipes.md", "exec"), names)
    return names


class Frame:
    """What the recipes use of a Spark data frame; partitions are a list."""

    def __init__(self, partitions, context):
        self.partitions, self.context = partitions, context

    def repartition(self, count):
        table = self.toPandas()
        return Frame([table[i::count] for i in range(count)], self.context)

    def cache(self):
        return self

    def count(self):
        return sum(map(len, self.partitions))

    def limit(self, count):
        return Frame([self.toPandas()[:count]], self.context)

    def toPandas(self):
        return pandas.concat(self.partitions, ignore_index=True)

    def mapInArrow(self, function, schema):
        wanted = pa.schema(
            [(name, TYPES[kind]) for name, kind in map(str.split, schema.split(", "))]
        )
        found = []
        for number, part in enumerate(self.partitions):
            self.context.number = number
            table = pa.Table.from_pandas(part, preserve_index=False)
            batches = table.to_batches(max_chunksize=50)
            for batch in sent(function)(iter(batches)):
                assert batch.schema.equals(wanted)  # Spark casts nothing
                found.append(batch.to_pandas())
        return Frame(found, self.context)

    def collect(self):
        return self.toPandas().to_dict("records")


class Rows:
    """What the recipes use of a Ray data set."""

    def __init__(self, tables):
        self.tables = tables

    def map_batches(self, kind, *, fn_constructor_args, batch_format, concurrency):
        assert batch_format == "pandas"
        assert concurrency == 2
        actors = [sent(kind)(*fn_constructor_args) for _ in range(concurrency)]
        return Rows(
            [
                pandas.DataFrame(actors[i % concurrency](table))
                for i, table in enumerate(self.tables)
            ]
        )

    def to_pandas(self):
        return pandas.concat(self.tables, ignore_index=True)


class Task:
    """A function that runs elsewhere, on what was put there."""

    def __init__(self, function):
        self.function = function

    def remote(self, *arguments):
        return sent(sent(self.function)(*arguments))


@pytest.fixture
def spark_stand_in(monkeypatch):
    context = SimpleNamespace(number=None)
    task = SimpleNamespace(partitionId=lambda: context.number)
    module = ModuleType("pyspark")
    module.TaskContext = SimpleNamespace(get=lambda: task)
    monkeypatch.setitem(sys.modules, "pyspark", module)
    return lambda table: Frame([table[:130], table[130:]], context)


@pytest.fixture
def spark():
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    yield session.createDataFrame
    session.stop()


@pytest.fixture
def ray_stand_in(monkeypatch):
    module = ModuleType("ray")
    module.put, module.get, module.remote = sent, list, Task
    monkeypatch.setitem(sys.modules, "ray", module)
    return lambda table: Rows([table[:130], table[130:]])


@pytest.fixture
def ray():
    module = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    module.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield module.data.from_pandas
    module.shutdown()


@pytest.fixture(scope="module")
def table():
    X, y = make_moons(300, noise=0.15, random_state=0)
    return pandas.DataFrame(
        {"id": np.arange(300), "first": X[:, 0], "second": X[:, 1], "label": y}
    )


@pytest.fixture(scope="module")
def model(table, tmp_path_factory):
    clf = LocallyLinearClassifier(0, random_state=0).fit(table[FEATURES], table.label)
    path = tmp_path_factory.mktemp("model") / "model.skops"
    save(clf, path)
    return clf, str(path)


# The packages themselves warn of what is not ours.
engines = pytest.mark.filterwarnings("default")


@engines
@pytest.mark.parametrize("engine", ["spark_stand_in", "spark"])
def test_spark_predicts(engine, table, model, request):
    clf, path = model
    rows = request.getfixturevalue(engine)(table)
    found = run("Spark", 0, rows=rows, path=path)["found"].toPandas()
    found = found.sort_values("id")
    assert_array_equal(found["id"], table["id"])
    wanted = clf.predict_proba(table[FEATURES])[:, 1]
    assert_allclose(found["late"], wanted, rtol=1e-6)


@engines
@pytest.mark.parametrize("engine", ["spark_stand_in", "spark"])
def test_spark_trains(engine, table, request):
    rows = request.getfixturevalue(engine)(table)
    clf = run("Spark", 1, rows=rows, features=FEATURES)["clf"]
    assert clf.score(table[FEATURES].to_numpy(), table["label"]) > 0.95
    assert clf.n_iter_ == 10


@engines
@pytest.mark.parametrize("engine", ["ray_stand_in", "ray"])
def test_ray_predicts(engine, table, model, request):
    clf, path = model
    rows = request.getfixturevalue(engine)(table)
    found = run("Ray", 0, rows=rows, path=path)["found"].to_pandas()
    found = found.sort_values("id")
    assert_array_equal(found["id"], table["id"])
    wanted = clf.predict_proba(table[FEATURES])[:, 1]
    assert_allclose(found["late"], wanted, rtol=1e-6)


@engines
@pytest.mark.parametrize("engine", ["ray_stand_in", "ray"])
def test_ray_trains(engine, table, request):
    request.getfixturevalue(engine)
    X, y = table[FEATURES].to_numpy(), table["label"].to_numpy()
    parts = [(X[i::3], y[i::3]) for i in range(3)]
    names = {"parts": parts, "sample": (X, y), "n_rows": len(y)}
    clf = run("Ray", 1, **names)["clf"]
    rounds = Rounds(
        DULLSVMClassifier(8, max_iter=10, random_state=0), X, y, n_rows=300, n_parts=3
    )
    while not rounds.done:
        rounds.average([rounds.learn(*rows, part=i) for i, rows in enumerate(parts)])
    assert_array_equal(clf.coef_, rounds.finish().coef_)
    assert clf.score(X, y) > 0.95
