"""Data files, changed by byte, and arrays in them that do not fit together."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
from scipy import sparse

from locallin.data import DataError, batches, read

from .model_files import rows
from .mutations import mutate_array, mutate_bytes


def prepare(folder: Path) -> None:
    """Write rows in every format."""
    import pandas as pd

    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["y"] = y.astype(str)
    place = folder / "data"
    place.mkdir()
    frame.to_csv(place / "rows.csv", index=False)
    lines = [
        f"{label} " + " ".join(f"{i}:{value:.6g}" for i, value in enumerate(row, 1))
        for row, label in zip(X, y, strict=True)
    ]
    (place / "rows.svm").write_text("\n".join(lines) + "\n")
    np.save(place / "rows.npy", X)
    np.savez(place / "dense.npz", X=X, y=y, names=np.array(list("abcd")))
    np.savez_compressed(place / "packed.npz", X=X, y=y)
    sparse.save_npz(place / "sparse.npz", sparse.csr_matrix(X * (X > 3)))
    sparse.save_npz(place / "columns.npz", sparse.csc_matrix(X * (X > 3)))
    frame.to_parquet(place / "rows.parquet")
    frame.to_feather(place / "rows.feather")
    frame.to_feather(place / "plain.feather", compression="uncompressed")
    _write_stream(frame, place / "stream.arrow")
    for name in ("rows.csv", "rows.npy", "rows.svm", "rows.parquet"):
        packed = gzip.compress((place / name).read_bytes())
        (place / f"{name}.gz").write_bytes(packed)


def _write_stream(frame, path: Path) -> None:
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)


def run(folder: Path, rng) -> str | None:
    """Change a file and read it, as a whole or in blocks."""
    origin = rng.choice(sorted((folder / "data").iterdir()))
    content = origin.read_bytes()
    if origin.suffix == ".npz" and rng.random() < 0.8:
        content = _change_arrays(content, rng)
    elif origin.suffix == ".gz" and rng.random() < 0.5:
        content = gzip.compress(mutate_bytes(gzip.decompress(content), rng))
    elif rng.random() < 0.3:
        content = _change_head(content, rng)
    else:
        content = mutate_bytes(content, rng)
    path = folder / f"case-{origin.name}"
    path.write_bytes(content)
    try:
        parts = _read(path, rng)
    except DataError as error:
        return None if path.name in str(error) else f"names no file: {error}"
    finally:
        path.unlink()
    return _problem(parts)


def _change_arrays(content: bytes, rng) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = str(rng.choice(sorted(members)))
    if rng.random() < 0.2:
        members[name] = mutate_bytes(members[name], rng)
    elif rng.random() < 0.1:
        del members[name]
    else:
        array = np.load(io.BytesIO(members[name]))
        changed = io.BytesIO()
        try:
            np.save(changed, mutate_array(array, rng), allow_pickle=False)
        except (ValueError, TypeError, OverflowError):
            return content
        members[name] = changed.getvalue()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return out.getvalue()


def _change_head(content: bytes, rng) -> bytes:
    """Sizes and offsets stand at both ends."""
    n = min(200, len(content) // 2)
    if rng.random() < 0.5:
        return mutate_bytes(content[:n], rng) + content[n:]
    return content[:-n] + mutate_bytes(content[-n:], rng)


def _read(path: Path, rng) -> list:
    if rng.random() < 0.5:
        found = read(path)
        return [(found.X, found.y)]
    return [block[:2] for block in batches(path, size=int(rng.choice([1, 7, 1000])))]


def _problem(parts: list) -> str | None:
    for X, y in parts:
        values = X.data if sparse.issparse(X) else X
        if not np.isfinite(values).all():
            return "reads NaN or infinity"
        if y is not None and len(y) != X.shape[0]:
            return "reads not one label for each row"
        if sparse.issparse(X):
            X.check_format(full_check=True)
    return None
