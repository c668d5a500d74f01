"""Model files and checkpoints, changed by array, by number and by byte."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
from sklearn.base import is_regressor
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from locallin import (
    AdaptiveCoding,
    Atlas,
    AtlasClassifier,
    AtlasRegressor,
    DULLSVMClassifier,
    DULLSVMRegressor,
    EnsembleClassifier,
    EnsembleRegressor,
    IntersectionSampler,
    InverseDistanceCoding,
    LLSVMClassifier,
    LLSVMClassifierCV,
    LLSVMRegressor,
    LocallyLinearClassifier,
    LocallyLinearRegressor,
    ML3Classifier,
    PiecewiseLinearEncoder,
    SAPLClassifier,
    SAPLRegressor,
    SoftAssignmentCoding,
    TableEncoder,
)
from locallin.export import compress, load, save

from . import commands, tables
from .mutations import mutate_array, mutate_bytes

ESTIMATORS = {
    "llsvm": LLSVMClassifier(5, random_state=0),
    "llsvm-soft": LLSVMClassifier(5, coding="soft", random_state=0),
    "llsvm-distance": LLSVMClassifier(5, coding="inverse-distance", random_state=0),
    "llsvm-constant": LLSVMClassifier(5, local_model="constant", random_state=0),
    "llsvm-mapped": LLSVMClassifier(
        5, feature_map=IntersectionSampler(), coding_space="mapped", random_state=0
    ),
    "llsvm-logistic": LLSVMClassifier(5, loss="logistic", random_state=0),
    "llsvm-calibrated": LLSVMClassifier(5, probability=True, random_state=0),
    "cv": LLSVMClassifierCV(2, n_anchors=5, cv=2, random_state=0),
    "ml3": ML3Classifier(3, max_iter=3, random_state=0),
    "atlas": AtlasClassifier(random_state=0),
    "atlas-ovo": AtlasClassifier(multi_class="ovo", random_state=0),
    "atlas-linear": AtlasClassifier(kernel="linear", random_state=0),
    "atlas-cross": AtlasClassifier(kernel="quadratic-cross", random_state=0),
    "charts": Atlas(random_state=0),
    "coordinates": Atlas(output="coordinates", random_state=0),
    "adaptive": AdaptiveCoding(5, random_state=0),
    "adaptive-groups": AdaptiveCoding(20, n_probes=2, random_state=0),
    "llsvm-groups": LLSVMClassifier(20, coding="soft", n_probes=2, random_state=0),
    "soft": SoftAssignmentCoding(5, n_neighbors=3, random_state=0),
    "distance": InverseDistanceCoding(5, n_neighbors=3, random_state=0),
    "map": IntersectionSampler(),
    "bins": PiecewiseLinearEncoder(3),
    "bins-missing": PiecewiseLinearEncoder(2, missing="all", outliers="extend"),
    "table": TableEncoder(categorical=[1], max_levels=3, min_rows=1),
    "table-standard": TableEncoder(numbers="standard", target_means="all", dates=[0]),
    "llsvm-bins": LLSVMClassifier(
        5, feature_map=PiecewiseLinearEncoder(3), random_state=0
    ),
    "ensemble": EnsembleClassifier(SAPLClassifier(4, max_iter=2), 2, random_state=0),
    "ensemble-metric": EnsembleClassifier(
        DULLSVMClassifier(4, metric="linear", loss="multinomial", max_iter=2),
        2,
        random_state=0,
    ),
    "chosen": LocallyLinearClassifier(0, random_state=0),
}
REGRESSORS = {
    "llsvm-numbers": LLSVMRegressor(5, random_state=0),
    "llsvm-quantiles": LLSVMRegressor(
        4, loss="pinball", quantile=[0.2, 0.8], warm_start=True, random_state=0
    ),
    "sapl-numbers": SAPLRegressor(5, max_iter=2, loss="huber", random_state=0),
    "ensemble-numbers": EnsembleRegressor(
        DULLSVMRegressor(4, metric="linear", max_iter=2), 2, random_state=0
    ),
    "atlas-numbers": AtlasRegressor(random_state=0),
    "atlas-linear-numbers": AtlasRegressor(kernel="linear", random_state=0),
    "chosen-numbers": LocallyLinearRegressor(time_limit=1e-6, random_state=0),
}
STREAMS = {
    "llsvm-stream": LLSVMClassifier(5, solver="sgd", random_state=0),
    "sapl-stream": SAPLClassifier(5, random_state=0),
    "sapl-sgd": SAPLClassifier(5, solver="sgd", random_state=0),
    "du-stream": DULLSVMClassifier(5, random_state=0),
    "du-sgd": DULLSVMClassifier(5, solver="sgd", random_state=0),
    "ml3-stream": ML3Classifier(3, random_state=0),
}


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Rows of three classes, none of them negative."""
    X, y = make_blobs(60, 4, centers=3, cluster_std=2.0, random_state=0)
    return X - X.min(axis=0), y


def prepare(folder: Path) -> None:
    """Write a model of each kind."""
    X, y = rows()
    for number, (name, estimator) in enumerate(ESTIMATORS.items()):
        classes = y.astype(str) if number % 2 else np.minimum(y, 1)
        model = estimator.fit(X, classes)
        save(model, folder / f"{name}.skops")
        if name in ("llsvm", "ml3", "atlas", "atlas-linear"):
            save(compress(model, dtype="float16"), folder / f"{name}-packed.skops")
    save(
        make_pipeline(StandardScaler(), LLSVMClassifier(4, random_state=0)).fit(X, y),
        folder / "pipeline.skops",
    )
    for name, regressor in REGRESSORS.items():
        save(regressor.fit(X, X @ np.arange(4.0)), folder / f"{name}.skops")
    for name, estimator in STREAMS.items():
        model = estimator.fit_stream(
            (X, y), buffer_size=20, checkpoint=folder / name, checkpoint_every=1
        )
        model.partial_fit(X[:30], y[:30])
        save(model, folder / f"{name}.skops")


def by_array(folder: Path, rng) -> str | None:
    """Change arrays and numbers of a file, which stays a proper archive."""
    path = _choose(folder, rng)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(rng.integers(1, 4)):
        arrays = [name for name in members if name.endswith(".npy")]
        if arrays and rng.random() < 0.7:
            _change_member(members, arrays, rng)
        else:
            members["schema.json"] = _change_schema(members["schema.json"], rng)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return _use(folder, path.name, content.getvalue(), rng)


def by_byte(folder: Path, rng) -> str | None:
    """Change bytes of a file."""
    path = _choose(folder, rng)
    return _use(folder, path.name, mutate_bytes(path.read_bytes(), rng), rng)


def _choose(folder: Path, rng) -> Path:
    return rng.choice(sorted(folder.glob("*.skops")))


def _change_member(members: dict, arrays: list, rng) -> None:
    name = rng.choice(arrays)
    kind = rng.random()
    if kind < 0.06:
        del members[name]
    elif kind < 0.2:
        other = rng.choice(arrays)
        members[name], members[other] = members[other], members[name]
    elif kind < 0.28:
        members[name] = mutate_bytes(members[name], rng)
    else:
        try:
            array = np.load(io.BytesIO(members[name]))
            content = io.BytesIO()
            np.save(content, mutate_array(array, rng), allow_pickle=False)
        except Exception:  # changed before, and no array any more
            return
        members[name] = content.getvalue()


_LEAVES = [
    "-1",
    "0",
    "1",
    "2",
    "3",
    "7",
    "1e300",
    "-0.5",
    "NaN",
    "Infinity",
    "null",
    "true",
    '"rbf"',
    '"linear"',
    '"soft"',
    '"x"',
    "1000000000000",
    "[]",
    "{}",
    '"constant"',
    '"mapped"',
    '"sgd"',
    '"adam"',
    "1e-320",
    '"per-anchor"',
]


def _change_schema(text: bytes, rng) -> bytes:
    try:
        schema = json.loads(text)
    except ValueError:
        return text
    nodes = list(_nodes(schema))
    if not nodes:
        return text
    node = nodes[rng.integers(len(nodes))]
    key = rng.choice(sorted(node))
    kind = rng.random()
    leaves = [n for n in nodes if n.get("__loader__") == "JsonNode"]
    if kind < 0.6 and leaves:
        leaves[rng.integers(len(leaves))]["content"] = str(rng.choice(_LEAVES))
    elif kind < 0.75:
        del node[key]
    elif kind < 0.9:
        other = nodes[rng.integers(len(nodes))]
        if key in other:
            node[key], other[key] = other[key], node[key]
    else:
        node[key] = json.loads(str(rng.choice(_LEAVES)))
    try:
        return json.dumps(schema).encode()
    except (ValueError, RecursionError):
        return text


def _nodes(schema):
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if node:
                yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _use(folder: Path, name: str, content: bytes, rng) -> str | None:
    path = folder / "case.model"
    path.write_bytes(content)
    if name.startswith("cli-"):
        return commands.predict(folder, path)
    model = load(path)
    if not hasattr(model, "predict") and not hasattr(model, "transform"):
        return None
    if name.startswith("table-"):
        return tables.problem(model, tables.table(int(rng.choice([1, 5, 60])))[0])
    return use(model, rng)


def use(model, rng) -> str | None:
    """Predict, transform, learn on: what comes out must be finite."""
    X, y = rows()
    X = X[: rng.choice([1, 5, 60])]
    if hasattr(model, "transform") and not hasattr(model, "predict"):
        out = model.transform(X)
        out = out.toarray() if hasattr(out, "toarray") else out
        return None if np.isfinite(out).all() else "transform gives NaN or infinity"
    if is_regressor(model):
        return _use_regressor(model, X, rng)
    scores = model.decision_function(X)
    if not np.isfinite(scores).all():
        return "scores are NaN or infinite"
    if len(model.predict(X)) != len(X):
        return "not one prediction for each row"
    if (
        hasattr(model, "predict_proba")
        and not np.isfinite(model.predict_proba(X)).all()
    ):
        return "probabilities are NaN"
    if hasattr(model, "predict_set") and len(model.predict_set(X)) != len(X):
        return "not one set for each row"
    learner = getattr(model, "partial_fit", None)
    if learner is not None and rng.random() < 0.5:
        X, y = rows()
        learner(X[:20], model.classes_[y[:20] % len(model.classes_)])
        if not np.isfinite(model.decision_function(X)).all():
            return "scores after partial_fit are NaN or infinite"
    return None


def _use_regressor(model, X, rng) -> str | None:
    found = model.predict(X)
    if len(found) != len(X) or not np.isfinite(found).all():
        return "not one finite number for each row"
    if hasattr(model, "predict_interval"):
        ends = model.predict_interval(X, 0.5)
        if len(ends) != len(X) or not np.isfinite(ends).all():
            return "not one finite interval for each row"
    if hasattr(model, "partial_fit") and rng.random() < 0.5:
        X, y = rows()
        if not np.isfinite(model.partial_fit(X[:20], y[:20]).predict(X)).all():
            return "numbers after partial_fit are NaN or infinite"
    return None


def checkpoint(folder: Path, rng) -> str | None:
    """Change what a checkpoint holds, under a checksum that is right."""
    name = str(rng.choice(sorted(STREAMS)))
    content = (folder / name / "stream.checkpoint").read_bytes()
    head, _, payload = content.split(b"\n", 2)
    if rng.random() < 0.2:
        content = mutate_bytes(content, rng)
    else:
        payload = pickle.dumps(_change_saved(pickle.loads(payload), rng))
        digest = hashlib.sha256(payload).hexdigest().encode()
        content = b"\n".join([head, digest, payload])
    place = folder / "case-checkpoint"
    place.mkdir(exist_ok=True)
    (place / "stream.checkpoint").write_bytes(content)
    X, y = rows()
    model = STREAMS[name].fit_stream(
        (X, y), buffer_size=20, checkpoint=place, checkpoint_every=1
    )
    return use(model, rng)


def _change_saved(saved: dict, rng) -> dict:
    inside = saved["content"]
    learned = inside["learned"]
    kind = rng.random()
    if kind < 0.1:
        inside["position"] = tuple(rng.choice([-1, 0, 3, 60, 10**9], 3).tolist())
    elif kind < 0.2:
        inside.pop(str(rng.choice(sorted(inside))))
    elif kind < 0.3:
        learned.pop(str(rng.choice(sorted(learned))))
    else:
        holder = learned
        if kind < 0.7 and learned.get("_learning"):
            holder = learned["_learning"]
        elif kind < 0.8 and "coding_" in learned:
            holder = vars(learned["coding_"])
        arrays = [n for n, v in holder.items() if isinstance(v, np.ndarray)]
        if arrays:
            name = str(rng.choice(arrays))
            holder[name] = mutate_array(holder[name], rng)
    return saved
