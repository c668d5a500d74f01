"""Numbers in text: LIBSVM lines, without copies of their words.

Texts are arrays of bytes that end with a newline. Numbers are written as bits of
doubles. One that is hard to read is left to others: its bits are those of a NaN that
tells where it stands.
"""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit

NEWLINE, SPACE, COMMENT, COLON = 10, 32, 35, 58
_MINUS, _PLUS, _POINT, _ZERO, _LOWER_E = 45, 43, 46, 48, 101
_DIGITS = 19
_SMALLEST, _LARGEST = -342, 308
_ALL = 0xFFFFFFFFFFFFFFFF
_HARD = 0xFFF8000000000000
LARGEST_INDEX = 2**31 - 2


def _powers_of_five() -> np.ndarray:
    """128 bits of 5 ** q, the first one set, for every q of a double."""
    table = []
    for q in range(_SMALLEST, _LARGEST + 1):
        power = 5 ** abs(q)
        if q < 0:
            bits = power.bit_length() - (power & (power - 1) == 0)
            shift = bits + 127 if q >= -27 else 2 * bits + 128
            power = (1 << shift) // power + 1
        excess = power.bit_length() - 128
        power = power >> excess if excess > 0 else power << -excess
        table.append((power >> 64, power & _ALL))
    return np.array(table, dtype=np.uint64)


_POWERS = _powers_of_five()


@jit(reorder=False)
def _product(a, b):
    """The 128 bits of a product, high and low."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low = a >> half, a & low
    b_high, b_low = b >> half, b & low
    lowest = a_low * b_low
    middle = a_high * b_low + (lowest >> half)
    other = a_low * b_high + (middle & low)
    return (
        a_high * b_high + (middle >> half) + (other >> half),
        (other << half) | (lowest & low),
    )


@jit(reorder=False)
def double_bits(digits, exponent):
    """Bits of digits * 10 ** exponent, correctly rounded; zero where this is hard.

    The algorithm of Lemire, "Number parsing at a gigabyte per second" (2021).
    """
    nothing, one = np.uint64(0), np.uint64(1)
    if exponent < _SMALLEST or exponent > _LARGEST:
        return nothing
    zeros = np.uint64(0)
    while not digits >> np.uint64(63):
        digits <<= one
        zeros += one
    power = _POWERS[exponent - _SMALLEST]
    high, low = _product(digits, power[0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = _product(digits, power[1])
        low += more
        if low < more:
            high += one
        if low == np.uint64(_ALL) and (exponent < -27 or exponent > 55):
            return nothing
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    fraction = high >> shift
    binary = ((217706 * exponent) >> 16) + 1086 + np.int64(upper) - np.int64(zeros)
    if binary <= 0 or binary >= 2046:
        return nothing
    between = low <= one and -4 <= exponent <= 23
    if between and fraction & np.uint64(3) == one and fraction << shift == high:
        fraction -= one
    fraction = (fraction + (fraction & one)) >> one
    if fraction >> np.uint64(53):
        fraction = one << np.uint64(52)
        binary += 1
    fraction &= np.uint64(0xFFFFFFFFFFFFF)
    return fraction | (np.uint64(binary) << np.uint64(52))


@jit(reorder=False)
def _number(text, start):
    """Bits of the number that starts here, where it ends, and whether it is easy."""
    place, sign = start, np.uint64(0)
    if text[place] == _MINUS or text[place] == _PLUS:
        sign = np.uint64(text[place] == _MINUS) << np.uint64(63)
        place += 1
    digits, n_digits, exponent = np.uint64(0), 0, 0
    before = place
    while _ZERO <= text[place] <= _ZERO + 9:
        digits = digits * np.uint64(10) + np.uint64(text[place] - _ZERO)
        n_digits += n_digits > 0 or digits > 0
        place += 1
    seen = place - before
    if text[place] == _POINT:
        place += 1
        before = place
        while _ZERO <= text[place] <= _ZERO + 9:
            digits = digits * np.uint64(10) + np.uint64(text[place] - _ZERO)
            n_digits += n_digits > 0 or digits > 0
            place += 1
        exponent = before - place
        seen -= exponent
    if not seen or n_digits > _DIGITS:
        return sign, place, False
    if text[place] | 32 == _LOWER_E:
        place += 1
        negative = text[place] == _MINUS
        if negative or text[place] == _PLUS:
            place += 1
        before, power = place, 0
        while _ZERO <= text[place] <= _ZERO + 9:
            power = 10 * power + np.int64(text[place]) - _ZERO
            place += 1
        if place == before or place - before > 4:
            return sign, place, False
        exponent += -power if negative else power
    if not digits:
        return sign, place, True
    bits = double_bits(digits, exponent)
    return sign | bits, place, bits > 0


@jit(reorder=False)
def _blank(character):
    return character == SPACE or 9 <= character <= 13


@jit(reorder=False)
def _word_end(text, start):
    while not _blank(text[start]) and text[start] != COMMENT:
        start += 1
    return start


@jit(reorder=False)
def _next_word(text, start):
    """Where the next word of a line begins, or what ends the line."""
    while _blank(text[start]) and text[start] != NEWLINE:
        start += 1
    return start


@jit(reorder=False)
def _line_end(text, start):
    while text[start] != NEWLINE:
        start += 1
    return start


@jit(reorder=False)
def _number_word(text, start):
    """Bits of the number that a word is, and the end of the word."""
    bits, end, easy = _number(text, start)
    if easy and (_blank(text[end]) or text[end] == COMMENT):
        return bits, end
    return np.uint64(_HARD) | np.uint64(start), _word_end(text, end)


def is_hard(bits: np.ndarray) -> np.ndarray:
    """Which numbers are left to others."""
    return bits >= np.uint64(_HARD)


def place_of(bits) -> int:
    """Where a number stands that is left to others."""
    return int(bits) - _HARD


@jit(reorder=False)
def skip_libsvm(text, start, n_rows):
    """Pass over rows; return where the text goes on, and the rows that were passed."""
    rows = 0
    while start < len(text) and rows < n_rows:
        start = _next_word(text, start)
        rows += text[start] != NEWLINE and text[start] != COMMENT
        start = _line_end(text, start) + 1
    return start, rows


@jit(reorder=False)
def largest_libsvm_index(text):
    """The largest index of a feature, -1 where there is none."""
    largest = -1
    start = 0
    while start < len(text):
        if _blank(text[start]):
            start += 1
        elif text[start] == COMMENT:
            start = _line_end(text, start)
        else:
            index, end = _index(text, start)
            if end > start and text[end] == COLON:
                largest = max(largest, index)
            start = _word_end(text, end)
    return largest


@jit(reorder=False)
def _index(text, start):
    """The index that a pair begins with, and where it ends."""
    index = np.int64(0)
    while _ZERO <= text[start] <= _ZERO + 9:
        index = min(10 * index + np.int64(text[start]) - _ZERO, LARGEST_INDEX + 1)
        start += 1
    return index, start


class ParsedLines(NamedTuple):
    """Bits of the labels, and ends of the rows among the entries.

    Of the entries the indices of the features, and bits of their values.
    """

    labels: np.ndarray
    ends: np.ndarray
    indices: np.ndarray
    values: np.ndarray


@jit(reorder=False)
def parse_libsvm(text, start, n_rows, first, n_features, out):
    """Read rows until there are enough of them.

    Parameters
    ----------
    text : array of uint8
    start : int
        Where to begin.
    n_rows : int
        Rows to read at most.
    first : int
        Index of the first feature.
    n_features : int
        Number of features.
    out : ParsedLines
        Written to.

    Returns
    -------
    position, rows, entries : int
        How far the text was read.
    good : bool
        Whether the line at the position, if there is one, may be as it should be.
    """
    labels, ends, indices, values = out
    row = entry = 0
    while start < len(text) and row < n_rows:
        place = _next_word(text, start)
        if text[place] == NEWLINE or text[place] == COMMENT:
            start = _line_end(text, place) + 1
            continue
        labels[row], place = _number_word(text, place)
        place = _after_query(text, _next_word(text, place))
        last, filled = first - 1, entry
        while text[place] != NEWLINE and text[place] != COMMENT:
            index, end = _index(text, place)
            if end == place or text[end] != COLON or index <= last:
                return start, row, entry, False
            empty = _blank(text[end + 1]) or text[end + 1] == COMMENT
            if empty or index > LARGEST_INDEX or index - first >= n_features:
                return start, row, entry, False
            last = index
            indices[filled] = index - first
            values[filled], end = _number_word(text, end + 1)
            filled += 1
            place = _next_word(text, end)
        entry = filled
        ends[row] = entry
        row += 1
        start = _line_end(text, place) + 1
    return start, row, entry, True


@jit(reorder=False)
def _after_query(text, start):
    """The next word after a word qid:number, if this is one."""
    if text[start] != 113 or text[start + 1] != 105 or text[start + 2] != 100:
        return start
    if text[start + 3] != COLON:
        return start
    return _next_word(text, _word_end(text, start))
