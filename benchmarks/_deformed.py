"""An endless stream of deformed digits, after MNIST8m (Loosli, Canu & Bottou 2007).

Each image is moved by up to half a pixel, turned, scaled and sheared a little, and bent
by a smooth random field (Simard, Steinkraus & Platt 2003); rows have norm one. Row i is
made from the image ``i mod n`` of an order that is shuffled anew for every pass over
the images, and from random numbers that depend on the seed and on the block it is in:
the same seed gives the same stream.
"""

from collections.abc import Iterator

import numba
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.preprocessing import normalize

# Chosen on 10,000 held-out training images, among these and ones half and twice as
# strong: pixels, angle, shares of the size, pixels.
SHIFT, TURN, SCALE, SHEAR = 0.5, np.deg2rad(4.0), 0.04, 0.04
BEND, SMOOTHNESS = 0.5, 4.0
FIELDS = 512
BLOCK = 4096


def smooth_fields(side: int, rng: np.random.RandomState) -> np.ndarray:
    """Displacements of shape (FIELDS, 2, side, side), in pixels."""
    raw = rng.uniform(-1.0, 1.0, (FIELDS, 2, side, side))
    smooth = gaussian_filter(raw, (0, 0, SMOOTHNESS, SMOOTHNESS), mode="constant")
    smooth /= smooth.std()
    return (smooth * BEND).astype(np.float32)


@numba.njit(nogil=True, cache=True)
def deform(images, fields, maps, shifts, chosen, bends, out):
    """Sample each image, bilinearly, where a linear map and a field point to."""
    side = images.shape[1]
    middle = 0.5 * (side - 1)
    for i in range(chosen.size):
        image, field = images[chosen[i]], fields[bends[i]]
        m = maps[i]
        for r in range(side):
            for c in range(side):
                dr, dc = r - middle, c - middle
                y = m[0, 0] * dr + m[0, 1] * dc + middle + shifts[i, 0] + field[0, r, c]
                x = m[1, 0] * dr + m[1, 1] * dc + middle + shifts[i, 1] + field[1, r, c]
                y0, x0 = int(np.floor(y)), int(np.floor(x))
                fy, fx = y - y0, x - x0
                total = 0.0
                for a in range(2):
                    for b in range(2):
                        yy, xx = y0 + a, x0 + b
                        if 0 <= yy < side and 0 <= xx < side:
                            weight = (fy if a else 1.0 - fy) * (fx if b else 1.0 - fx)
                            total += weight * image[yy, xx]
                out[i, r * side + c] = total


class DeformedDigits:
    """Blocks (X, y) of deformed images, as many rows as asked for.

    An instance is a callable that begins a new pass; ``images`` is of shape (n, d) with
    d a square number.
    """

    def __init__(self, images, labels, n_rows: int, seed: int = 0):
        side = int(np.sqrt(images.shape[1]))
        self._images = images.reshape(-1, side, side).astype(np.float32)
        self.labels = labels
        self.n_rows = n_rows
        self._seed = seed
        self._fields = smooth_fields(side, np.random.RandomState(seed))

    def __call__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for number, start in enumerate(range(0, self.n_rows, BLOCK)):
            yield self.block(number, min(BLOCK, self.n_rows - start))

    def block(self, number: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.RandomState((self._seed, 1, number))
        n = len(self._images)
        chosen = self._order(number * BLOCK + np.arange(size), n)
        angle = rng.uniform(-TURN, TURN, size)
        scale = np.exp(rng.uniform(-SCALE, SCALE, (size, 2)))
        shear = rng.uniform(-SHEAR, SHEAR, size)
        cos, sin = np.cos(angle), np.sin(angle)
        maps = np.empty((size, 2, 2))
        maps[:, 0, 0], maps[:, 0, 1] = cos * scale[:, 0], -sin * scale[:, 0]
        maps[:, 1, 0] = (sin + shear * cos) * scale[:, 1]
        maps[:, 1, 1] = (cos - shear * sin) * scale[:, 1]
        shifts = rng.uniform(-SHIFT, SHIFT, (size, 2))
        bends = rng.randint(FIELDS, size=size)
        out = np.empty((size, self._images[0].size), np.float32)
        deform(self._images, self._fields, maps, shifts, chosen, bends, out)
        return normalize(out), self.labels[chosen]

    def _order(self, rows, n) -> np.ndarray:
        """Images of some rows: each pass over the images in another random order."""
        chosen = np.empty(len(rows), np.intp)
        for turn in np.unique(rows // n):
            order = np.random.RandomState((self._seed, 2, turn)).permutation(n)
            here = rows // n == turn
            chosen[here] = order[rows[here] % n]
        return chosen
