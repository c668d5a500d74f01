"""Rows to encoded rows: what one feature becomes is a few clipped lines."""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit

# Rows of an encoding's table.
LEFT, SLOPE, START, LOW, HIGH, MISSING = range(6)


class Encoding(NamedTuple):
    """An encoder as arrays: component t of a row is made of its feature origins[t].

    With l, s, a, low, high and m in column t of ``table``, it is (x - l) s + a, clipped
    to low..high, and m where x is NaN. Origins must be columns of the rows.

    See Also
    --------
    encode_block : Encodes rows.
    locallin.PiecewiseLinearEncoder : Learns the numbers.
    """

    origins: np.ndarray  # (n_out,), int64
    table: np.ndarray  # (6, n_out), of the rows' type


@jit
def encode_block(rows, state, out):
    """Write the encoded rows to ``out``, of shape (n_rows, n_out)."""
    origins, table = state
    left, slope, start = table[LEFT], table[SLOPE], table[START]
    low, high, missing = table[LOW], table[HIGH], table[MISSING]
    for i in range(len(rows)):
        row, made = rows[i], out[i]
        # Two loops: the second has no gathering, and uses vector registers.
        for t in range(len(origins)):
            made[t] = row[origins[t]]
        for t in range(len(origins)):
            x = made[t]
            value = (x - left[t]) * slope[t] + start[t]
            value = value if value > low[t] else low[t]
            value = value if value < high[t] else high[t]
            made[t] = value if x == x else missing[t]


# Steps of a table's rows: components of numbers, of a level, or of a missing number.
NUMBERS, LEVEL, GAP = range(3)
# Rows of a table that are made together, and what keeps their lines of the cache from
# falling on each other.
_TOGETHER, _APART = 256, 16


class TableLayout(NamedTuple):
    """Rows of a table as arrays: what is written where, in the order of the places.

    A step (NUMBERS, first, stop, _) writes those components of ``encoding`` to their
    ``places``. A step (LEVEL, row of codes, start, last) looks up the code c, at most
    ``last``, and writes units[start + c + 1] to spots[start + c + 1]; (GAP, row of
    values, start, _) does so with c = -1 where the value is NaN. Components that are
    bent have bent tails: z / sqrt(1 + (z / smooth)^2).

    See Also
    --------
    dense_table : Writes rows.
    sparse_table : Writes CSR rows.
    """

    encoding: Encoding
    places: np.ndarray  # (n_numbers,), int64
    is_bent: np.ndarray  # (n_numbers,), bool
    smooth: float
    steps: np.ndarray  # (n_steps, 4), int64
    spots: np.ndarray  # int64
    units: np.ndarray


@jit(reorder=False, inner=True)
def _bend(z, smooth):
    share = z / smooth
    return z / np.sqrt(1 + share * share)


@jit(inner=True)
def _encode_numbers(values, first, stop, layout, made):
    """Components of the rows first..stop that are made of numbers, one a row."""
    origins, table = layout.encoding
    for t in range(len(origins)):
        x, out = values[origins[t], first:stop], made[t]
        left, slope, start = table[LEFT, t], table[SLOPE, t], table[START, t]
        low, high, missing = table[LOW, t], table[HIGH, t], table[MISSING, t]
        if layout.is_bent[t]:
            for i in range(stop - first):
                value = (x[i] - left) * slope + start
                value = value if value > low else low
                value = value if value < high else high
                bent = _bend(value, layout.smooth)
                out[i] = bent if x[i] == x[i] else missing
            continue
        for i in range(stop - first):
            value = (x[i] - left) * slope + start
            value = value if value > low else low
            value = value if value < high else high
            out[i] = value if x[i] == x[i] else missing


@jit(inner=True)
def _find(values, codes, i, step):
    """Which of the units of a step applies to row i; -1 for none."""
    if step[0] == LEVEL:
        return step[2] + min(np.int64(codes[step[1], i]), step[3]) + 1
    x = values[step[1], i]
    return step[2] if x != x else np.int64(-1)


@jit
def dense_table(values, codes, layout, out):
    """Write the components of rows to ``out``, which is zero in the beginning.

    ``values`` has a row for each number, ``codes`` one for each category.
    """
    places, spots, units = layout.places, layout.spots, layout.units
    steps = layout.steps
    made = np.empty((len(places), _TOGETHER + _APART), out.dtype)
    for first in range(0, len(out), _TOGETHER):
        stop = min(first + _TOGETHER, len(out))
        _encode_numbers(values, first, stop, layout, made)
        for i in range(first, stop):
            row, j = out[i], i - first
            for t in range(len(places)):
                row[np.uint64(places[t])] = made[t, j]
        for s in range(len(steps)):
            kind, row, start, last = steps[s]
            if kind == LEVEL:
                for i in range(first, stop):
                    at = np.uint64(start + min(np.int64(codes[row, i]), last) + 1)
                    out[i, np.uint64(spots[at])] = units[at]
            elif kind == GAP:
                for i in range(first, stop):
                    if values[row, i] != values[row, i]:
                        out[i, spots[start]] = units[start]


@jit
def sparse_table(values, codes, layout, data, indices, indptr):
    """Write the components of rows that are not zero as those of a CSR matrix.

    ``data`` and ``indices`` have room for all; ``indptr`` begins with 0.
    """
    places, spots, units = layout.places, layout.spots, layout.units
    steps = layout.steps
    made = np.empty((len(places), _TOGETHER + _APART), data.dtype)
    n_rows, n = len(indptr) - 1, 0
    for first in range(0, n_rows, _TOGETHER):
        stop = min(first + _TOGETHER, n_rows)
        _encode_numbers(values, first, stop, layout, made)
        for i in range(first, stop):
            for s in range(len(steps)):
                if steps[s, 0] == NUMBERS:
                    for t in range(steps[s, 1], steps[s, 2]):
                        data[n] = made[t, i - first]
                        indices[n] = places[t]
                        n += data[n] != 0
                    continue
                at = _find(values, codes, i, steps[s])
                if at >= 0:
                    data[n] = units[at]
                    indices[n] = spots[at]
                    n += data[n] != 0
            indptr[i + 1] = n


@jit(reorder=False)
def add_by_level(codes, folds, values, sums, counts):
    """Add the values of rows, (n, n_targets), to those of their fold and level.

    Codes that are no level are left out: without a sign, -1 is beyond all of them.
    """
    n_levels, n_targets = np.uint64(counts.shape[1]), values.shape[1]
    for i in range(len(codes)):
        code, fold = np.uint64(np.int64(codes[i])), np.uint64(folds[i])
        if code >= n_levels:
            continue
        counts[fold, code] += 1
        sums[fold, code, 0] += values[i, 0]
        if n_targets > 1:  # most have one, for which a loop would take twice as long
            for t in range(1, n_targets):
                sums[fold, code, t] += values[i, t]


@jit(reorder=False)
def take_by_level(codes, folds, table, out):
    """Write table[fold, level] to the rows of ``out`` whose codes are levels."""
    n_levels, n_targets = np.uint64(table.shape[1]), table.shape[2]
    for i in range(len(codes)):
        code, fold = np.uint64(np.int64(codes[i])), np.uint64(folds[i])
        if code >= n_levels:
            continue
        out[i, 0] = table[fold, code, 0]
        if n_targets > 1:
            for t in range(1, n_targets):
                out[i, t] = table[fold, code, t]


@jit(reorder=False)
def held_out_area(bins, flags, n_fit, n_bins):
    """Area under the ROC curve of rows from ``n_fit`` on, ties counted half.

    They are ranked by the share of flags that the first rows have in their bin.
    """
    rows, hits = np.zeros((2, n_bins), np.int64), np.zeros((2, n_bins), np.int64)
    for i in range(len(bins)):
        part = 1 if i >= n_fit else 0
        rows[part, bins[i]] += 1
        hits[part, bins[i]] += flags[i]
    shares = (hits[0] + hits[0].sum() / n_fit) / (rows[0] + 1)
    n_hits = hits[1].sum()
    below, area, k = 0, 0.0, 0
    order = np.argsort(shares)
    while k < n_bins:
        share, tied_hits, tied_others = shares[order[k]], 0, 0
        while k < n_bins and shares[order[k]] == share:
            tied_hits += hits[1, order[k]]
            tied_others += rows[1, order[k]] - hits[1, order[k]]
            k += 1
        area += tied_hits * (below + tied_others / 2)
        below += tied_others
    return area / n_hits / below


@jit(reorder=False)
def count_codes(codes, counts):
    """Count the codes of levels, but for -1, in one row of ``counts`` or the other.

    Rows that follow each other often have the same code: adding to one place would
    wait for the addition before.
    """
    n_even = len(codes) // 2 * 2
    for i in range(0, n_even, 2):
        one, other = codes[i], codes[i + 1]
        if one >= 0:
            counts[0, np.uint64(one)] += 1
        if other >= 0:
            counts[1, np.uint64(other)] += 1
    if n_even < len(codes) and codes[n_even] >= 0:
        counts[0, codes[n_even]] += 1


@jit(reorder=False)
def replace_codes(codes, table, out):
    """Write table[code] for each code; -1 is the last place of the table."""
    last = len(table) - 1
    for i in range(len(codes)):
        code = np.int64(codes[i])
        out[i] = table[np.uint64(code if code >= 0 else last)]


@jit(reorder=False)
def count_integers(values, low, counts):
    """Count values by their distance from ``low``; return whether all are whole.

    NaN is not counted, here and below.
    """
    for i in range(len(values)):
        distance = values[i] - low
        if distance != distance:
            continue
        place = np.int64(distance)
        if place != distance:
            return False
        counts[np.uint64(place)] += 1
    return True


@jit(reorder=False)
def count_repeated(values, found, counts):
    """Count the distinct values, in any order; return whether there was room for them.

    ``found``, of their bits, and ``counts``, which are zero, have as many places as a
    power of two, and at most half of them are filled.
    """
    last, room = np.uint64(len(found) - 1), len(found) // 2
    keys = values.view(np.uint64)
    for i in range(len(keys)):
        if values[i] != values[i]:
            continue
        key = keys[i] if values[i] else np.uint64(0)  # both zeros are one
        mixed = key * np.uint64(0x9E3779B97F4A7C15)
        place = (mixed >> np.uint64(50)) & last
        while counts[place] and found[place] != key:
            place = (place + np.uint64(1)) & last
        if not counts[place]:
            if not room:
                return False
            room -= 1
            found[place] = key
        counts[place] += 1
    return True


_DIGIT = np.uint64(11)  # bits by which keys are sorted at once
_DIGITS = np.uint64(2**11)
_SIGN = np.uint64(2**63)


@jit(reorder=False)
def count_sorted(values, found, counts):
    """Write the distinct values in ascending order, and how often each occurs.

    Returns how many there are; ``found`` and ``counts`` have room for all.
    """
    keys, spare = np.empty((2, len(values)), np.uint64)
    bits, n, varying = values.view(np.uint64), 0, np.uint64(0)
    for i in range(len(values)):
        if values[i] != values[i]:
            continue
        key = bits[i] if values[i] else np.uint64(0)
        # As bits of unsigned numbers they ascend as the values do.
        keys[n] = ~key if key & _SIGN else key | _SIGN
        varying |= keys[n] ^ keys[0]
        n += 1
    shift = np.uint64(0)
    while varying and not varying >> shift & np.uint64(1):
        shift += np.uint64(1)
    places = np.empty(_DIGITS, np.int64)
    while shift < np.uint64(64) and varying >> shift:
        places[:] = 0
        for i in range(n):
            places[keys[i] >> shift & (_DIGITS - np.uint64(1))] += 1
        before = 0
        for digit in range(len(places)):
            before, places[digit] = before + places[digit], before
        for i in range(n):
            digit = keys[i] >> shift & (_DIGITS - np.uint64(1))
            spare[places[digit]] = keys[i]
            places[digit] += 1
        keys, spare = spare, keys
        shift += _DIGIT
    n_found, bits = 0, found.view(np.uint64)
    for i in range(n):
        if i == 0 or keys[i] != keys[i - 1]:
            key = keys[i]
            bits[n_found] = key ^ _SIGN if key & _SIGN else ~key
            counts[n_found] = 0
            n_found += 1
        counts[n_found - 1] += 1
    return n_found


@jit(reorder=False)
def capped_quantiles(counts, n_bins, weights, places):
    """Write the values at which bins of about equal weight end, by their places.

    A value weighs as much as it occurs, but no more than a bin: ``weights`` gets that.
    """
    total = 0.0
    for i in range(len(counts)):
        weights[i] = counts[i]
        total += weights[i]
    cap = total / n_bins
    for _ in range(50):  # falls to the root of sum(min(weights, cap)) = n_bins cap
        total, before = 0.0, cap
        for i in range(len(weights)):
            weights[i] = min(weights[i], cap)
            total += weights[i]
        cap = total / n_bins
        if cap >= before * (1 - 1e-6):
            break
    reached, i = weights[0], 0
    for t in range(1, n_bins):
        aim = t * total / n_bins * (1 - 1e-9)
        while reached < aim:
            i += 1
            reached += weights[i]
        places[t - 1] = i


@jit(reorder=False)
def bin_moments(values, counts, edges, out):
    """Write mean and deviation of how far a feature fills each bin to ``out``.

    ``values`` ascend, and occur as often as ``counts`` say. A bin is empty at its left
    edge and below, and full from the right one on.
    """
    n_rows, before, first = counts.sum(), 0, 0
    for t in range(len(out)):
        # Halves, because a width may leave the range of numbers.
        left, width = edges[t] / 2, edges[t + 1] / 2 - edges[t] / 2
        while first < len(values) and values[first] <= edges[t]:
            before += counts[first]
            first += 1
        total, inside, last = 0.0, 0, first
        while last < len(values) and values[last] < edges[t + 1]:
            total += counts[last] * ((values[last] / 2 - left) / width)
            inside += counts[last]
            last += 1
        after = n_rows - before - inside
        mean = (total + after) / n_rows
        squares = before * mean**2 + after * (1 - mean) ** 2
        for k in range(first, last):
            squares += counts[k] * ((values[k] / 2 - left) / width - mean) ** 2
        out[t, 0], out[t, 1] = mean, np.sqrt(squares / n_rows)


class Seen(NamedTuple):
    """What a column of numbers holds, and the ends of those that are there."""

    n_missing: int
    n_infinite: int
    low: float
    high: float


@jit(reorder=False)
def look_through(values):
    """Numbers of values that are NaN and infinite, and the ends of the others."""
    missing, strange, low, high = 0, 0, np.inf, -np.inf
    for i in range(len(values)):
        x = values[i]
        difference = x - x
        missing += x != x
        strange += difference != 0.0
        low = x if x < low else low
        high = x if x > high else high
    return Seen(missing, strange - missing, low, high)


@jit
def sums_of_powers(values, size, center):
    """Sums of x / size - center and of its square, over x that are not NaN."""
    total, squares = 0.0, 0.0
    for i in range(len(values)):
        z = values[i] / size - center
        z = z if z == z else 0.0
        total += z
        squares += z * z
    return total, squares
