"""The learning state: arrays by name, and nothing else of a method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from locallin.kernels.rows import add_difference


class LearningState(Mapping[str, np.ndarray]):
    """Arrays that change while a model learns, by name.

    These are the model itself and what its next step needs: iterates, moments, clocks,
    counts, classes that were met. Streams, checkpoints, smaller copies and clusters
    know this object and nothing else of a method.
    """

    def __init__(self, arrays: Mapping):
        self._arrays = {name: np.asarray(value) for name, value in arrays.items()}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __sizeof__(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def copy(self) -> LearningState:
        """The same with arrays of its own."""
        return LearningState({name: a.copy() for name, a in self._arrays.items()})

    def replaced(self, **arrays) -> LearningState:
        """The same with other values for some names."""
        return LearningState({**self._arrays, **arrays})

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The flat form: names and arrays, not copied."""
        return dict(self._arrays)

    @classmethod
    def average(
        cls,
        origin: LearningState,
        states: Sequence[LearningState],
        shares: Sequence[float],
    ) -> LearningState:
        """The origin, moved by the weighted mean of the moves of several states.

        What no state has moved stays as it is, to the bit. An array that the origin
        has not starts from that of the first state; of truth values one is enough.
        """
        names = states[0].keys()
        for state in states:
            if state.keys() != names or any(
                state[name].shape != states[0][name].shape for name in names
            ):
                raise ValueError("States of different models cannot be averaged.")
        return cls(
            {
                name: _average(
                    origin.get(name, array), [state[name] for state in states], shares
                )
                for name, array in states[0].items()
            }
        )


def _average(origin, values, shares) -> np.ndarray:
    if origin.shape != values[0].shape:
        raise ValueError("States of different models cannot be averaged.")
    if origin.dtype == bool:
        return np.logical_or.reduce(values)
    if origin.ndim == 0:
        start = origin.item()
        moves = (s * (v.item() - start) for s, v in zip(shares, values, strict=True))
        return np.asarray(float(sum(moves, start)))
    mean = origin.copy()
    for share, value in zip(shares, values, strict=True):
        add_difference(value.ravel(), origin.ravel(), share, mean.ravel())
    return mean
