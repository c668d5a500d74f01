"""Changes to arrays and to bytes."""

from __future__ import annotations

import numpy as np

_KINDS = ["f4", "f8", "f2", "i8", "i4", "?", ">f8", ">i4", "c16", "U3", "u1"]
_VALUES = [np.nan, np.inf, -np.inf, 1e300, -1e300, 1e18, -1.0, 0.0, 1e-320, 2**31, 7]


def mutate_array(array: np.ndarray, rng) -> np.ndarray:
    """Another dtype, shape, order or other entries."""
    with np.errstate(all="ignore"):
        kind = rng.integers(4)
        if kind == 0:
            return array.astype(rng.choice(_KINDS))
        if kind == 1:
            return _reshaped(array, rng)
        return _with_entries(array, rng)


def _reshaped(array: np.ndarray, rng) -> np.ndarray:
    changes = [
        lambda a: a[:-1],
        lambda a: a[:0],
        lambda a: np.concatenate([a, a]),
        lambda a: a.T,
        lambda a: np.asfortranarray(a),
        lambda a: a.ravel(),
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: a[..., :-1],
        lambda a: np.concatenate([a, a[..., :1]], axis=-1),
        lambda a: a.reshape(a.shape[::-1]),
        lambda a: a[:1],
        lambda a: a.flat[0],
    ]
    try:
        return np.asarray(rng.choice(changes)(array))
    except (ValueError, IndexError):
        return array


def _with_entries(array: np.ndarray, rng) -> np.ndarray:
    array = array.copy()
    if not array.size:
        return array
    if array.dtype.kind not in "fiub":
        array.flat[rng.integers(array.size)] = array.flat[0]
        return array
    value = rng.choice(_VALUES)
    if array.dtype.kind in "iu":
        value = rng.choice([-1, 0, 1, array.size, 10**6, np.iinfo(array.dtype).max])
    kind = rng.integers(5)
    if kind == 0:
        array[...] = np.asarray(value).astype(array.dtype)
    elif kind == 1:
        array.flat[-1] = np.asarray(value).astype(array.dtype)
    elif kind == 2:
        array = rng.permutation(array.ravel()).reshape(array.shape)
    elif kind == 3:
        array = (array * rng.choice([-1, 0, 1e6, 1e150])).astype(array.dtype)
    else:
        places = rng.integers(array.size, size=rng.integers(1, 4))
        array.flat[places] = np.asarray(value).astype(array.dtype)
    return array


def mutate_bytes(content: bytes, rng) -> bytes:
    """Some bytes changed, left out, doubled or added."""
    data = bytearray(content)
    if not data:
        return content
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(len(data) + 1))
        length = int(rng.integers(1, 9))
        kind = rng.integers(5)
        if kind == 0:
            data[place : place + length] = rng.bytes(length)
        elif kind == 1:
            del data[place : place + length]
        elif kind == 2:
            data[place:place] = rng.bytes(length)
        elif kind == 3 and place < len(data):
            data[place] ^= 1 << int(rng.integers(8))
        elif rng.random() < 0.3:
            del data[place:]
    return bytes(data)
