"""The problem of ML3: rows, local models of all classes, and latent weights.

The objective is eq. 9 of the paper, its sum made a weighted mean::

    alpha/2 (|W|^2 + |b|^2 / B^2) + mean_i max(0, 1 + max_{c != y_i} s_c(x_i)
                                                    - s_{y_i}(x_i))
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from locallin.anchors import choose_anchors
from locallin.engine.matrix import as_rows, copy_rows, products
from locallin.engine.parallel import Buffers
from locallin.kernels.latent import add_rows, dual_exponent, random_numbers
from locallin.kernels.products import row_products

# From rows and their numbers in X to latent weights of all classes, class by class.
LatentWeights = Callable[[object, np.ndarray], np.ndarray]


class Models(NamedTuple):
    """Weights and intercepts: the rows c m .. (c + 1) m are those of class c."""

    coef: np.ndarray
    intercept: np.ndarray

    def part(self, which: slice) -> "Models":
        """View some of the models."""
        return Models(self.coef[which], self.intercept[which])

    def copy(self) -> "Models":
        """Copy the arrays."""
        return Models(self.coef.copy(), self.intercept.copy())

    def values(self, X, out: np.ndarray | None = None) -> np.ndarray:
        """Value w . x + b of every row and model; in ``out`` if given."""
        out = products(as_rows(X), self.coef, out)
        out += self.intercept
        return out

    def values_of_each(self, X) -> np.ndarray:
        """As ``values``; those of a row do not depend on the rows beside it."""
        if sparse.issparse(X):
            return self.values(X)
        out = row_products(X, self.coef)
        out += self.intercept
        return out

    def add(self, X, rows, multiples, constant: float, scratch: Buffers) -> None:
        """Add multiples of some rows of X to each model."""
        if sparse.issparse(X):
            add_rows(as_rows(X), rows, multiples, self.coef)
        else:
            chosen = picked(X, rows, scratch)
            room = scratch.get("sum", self.coef.shape, X.dtype)
            self.coef[...] += np.matmul(multiples.T, chosen, out=room)
        self.intercept[...] += constant * multiples.sum(axis=0)


def picked(X, rows, scratch: Buffers):
    """Some rows of X, for a short time."""
    if sparse.issparse(X):
        return X[rows]
    room = scratch.get("rows", (len(rows), X.shape[1]), X.dtype)
    return copy_rows(X, rows, room)


@dataclass(frozen=True)
class LatentProblem:
    """Data, labels and the objective's parameters.

    ``visits`` names the rows that count; their weights have a mean of one. ``seed``
    is that of the random latent weights.
    """

    X: Any
    labels: np.ndarray
    weights: np.ndarray
    visits: np.ndarray
    n_classes: int
    n_models: int
    p: float
    alpha: float
    intercept_scaling: float
    seed: int
    n_jobs: int | None = None

    @property
    def q(self) -> float:
        """The exponent dual to p."""
        return dual_exponent(self.p)

    @property
    def intercept_step(self) -> float:
        """Square of the constant feature."""
        return float(self.intercept_scaling) ** 2

    @property
    def width(self) -> int:
        """Number of models of all classes."""
        return self.n_classes * self.n_models

    def zeros(self) -> Models:
        """Models of zero."""
        dtype = self.X.dtype
        shape = (self.width, self.X.shape[1])
        return Models(np.zeros(shape, dtype), np.zeros(self.width, dtype))

    def of_classes(self, first: int, last: int) -> slice:
        """Where the models of the classes first..last are."""
        return slice(first * self.n_models, last * self.n_models)

    def square(self, models: Models) -> float:
        """|W|^2 + |b|^2 / B^2."""
        squares = np.vdot(models.coef, models.coef)
        offsets = np.vdot(models.intercept, models.intercept)
        return float(squares) + float(offsets) / self.intercept_step

    def random_weights(self, X, numbers) -> np.ndarray:
        """Random latent weights, from a seed per row."""
        return self.random_powers(numbers) ** (1.0 / self.p)

    def random_powers(self, numbers) -> np.ndarray:
        """P-th powers of random latent weights, uniform on the simplex."""
        out = np.empty((len(numbers), self.width), self.X.dtype)
        # A seed per row that counts: rows of no weight make no difference.
        places = np.searchsorted(self.visits, numbers)
        random_numbers(np.uint64(self.seed), places, out)
        by_class = out.reshape(-1, self.n_classes, self.n_models)
        np.log(by_class, out=by_class)
        by_class /= by_class.sum(axis=2, keepdims=True)
        return out

    def own(self, weights, numbers) -> np.ndarray:
        """The latent weights of each row's own class among those of all classes."""
        by_class = weights.reshape(-1, self.n_classes, self.n_models)
        return by_class[np.arange(len(numbers)), self.labels[numbers]]


def clustered_weights(problem: LatentProblem, rng) -> LatentWeights:
    """Latent weights that favour the nearest cluster of each class.

    The p-th powers are half those of random weights, half a full weight on the
    cluster: every model gets something, also where a class has fewer distinct rows
    than models.
    """
    centres = problem.zeros()
    centres.intercept[:] = -np.inf
    for c in range(problem.n_classes):
        rows = problem.visits[problem.labels[problem.visits] == c]
        if len(rows) == 0:
            continue
        found = choose_anchors(
            problem.X[rows],
            problem.n_models,
            sample_weight=problem.weights[rows].astype(problem.X.dtype),
            random_state=rng,
        )
        start = c * problem.n_models
        models = centres.part(slice(start, start + len(found)))
        models.coef[:] = found
        # The nearest centre has the largest x . v - |v|^2 / 2.
        models.intercept[:] = -0.5 * np.einsum("jd,jd->j", found, found)

    def latent(X, numbers):
        shape = (-1, problem.n_classes, problem.n_models)
        nearest = centres.values(X).reshape(shape).argmax(axis=2)
        powers = 0.5 * problem.random_powers(numbers).reshape(shape)
        at = np.arange(len(nearest))[:, None], np.arange(problem.n_classes), nearest
        powers[at] += 0.5
        return (powers ** (1.0 / problem.p)).reshape(len(nearest), -1)

    return latent
