"""Strings to codes, by their bytes."""

from typing import NamedTuple

import numpy as np

from locallin.kernels._jit import jit

_ONE, _WORD, _TWO_WORDS = np.uint64(1), np.uint64(8), np.uint64(16)
# Bits of the first bytes of a word, by their number.
_MASKS = np.array([2 ** (8 * n) - 1 for n in range(9)], np.uint64)
# Odd numbers whose bits look like chance: the upper bits of a product with one of them
# depend on all bits of the other factor.
_MIX, _MIX_NECK, _MIX_SIZE = (
    np.uint64(odd)
    for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
)
_HALF = np.uint64(32)


@jit(reorder=False, inner=True)
def _word(words, at, stop):
    """Up to eight bytes of a string that ends at ``stop``, as a number."""
    return words[at] & _MASKS[min(stop - at, _WORD)]


@jit(reorder=False, inner=True)
def _is_same(words, one, other, size):
    """Whether two strings are the same behind their first two words."""
    k = _TWO_WORDS
    while k < size:
        if _word(words, one + k, one + size) != _word(words, other + k, other + size):
            return False
        k += _WORD
    return True


class Strings(NamedTuple):
    """Strings one after the other, as Arrow has them.

    String i has the bytes from offsets[i] to offsets[i + 1], which begin at
    offsets[0]; words[k] is the number that eight bytes from k on make, also beyond the
    end of the last string. It is missing where bit first + i of ``valid`` is 0; none is
    where that is empty.
    """

    words: np.ndarray  # uint64
    offsets: np.ndarray  # (n + 1,), int64
    valid: np.ndarray  # uint8
    first: int


@jit(reorder=False)
def code_strings(strings, longest, slots, shift, heads, codes, firsts):
    """Write the codes of strings, by first appearance; return how many there are.

    That of a missing one is -1. ``longest`` is the number of bytes of the longest
    string. ``slots`` is zero, and has 2^(64 - shift) places, more than ``firsts``,
    which gets a row of each code; ``heads`` gets its first two words and its size.
    -1 is returned where ``firsts`` has too few places.
    """
    words, offsets, valid, first_bit = strings
    last, n_codes = np.uint64(len(slots) - 1), 0
    base, stop = np.uint64(offsets[0]), np.uint64(0)
    is_long = np.uint64(longest) > _TWO_WORDS
    for i in range(len(codes)):
        start, stop = stop, np.uint64(offsets[i + 1]) - base
        bit = first_bit + i
        if len(valid) and not valid[bit >> 3] >> (bit & 7) & 1:
            codes[i] = -1
            continue
        # Short strings have no branches, which would be hard to foresee.
        size = stop - start
        head = words[start] & _MASKS[min(size, _WORD)]
        next_size = max(size, _WORD) - _WORD
        neck = words[start + _WORD] & _MASKS[min(next_size, _WORD)]
        mixed = (head + neck * _MIX_NECK + size * _MIX_SIZE) * _MIX
        if is_long:
            at = start + _TWO_WORDS
            while at < stop:
                mixed = (mixed ^ (mixed >> _HALF) ^ _word(words, at, stop)) * _MIX
                at += _WORD
        place = mixed >> shift
        code = slots[place]
        while code:
            known = np.uint64(code) - _ONE
            same_head = (heads[known, 0] == head) & (heads[known, 1] == neck)
            if same_head & (heads[known, 2] == size):
                begin = np.uint64(offsets[firsts[known]]) - base
                if not is_long or _is_same(words, begin, start, size):
                    break
            place = (place + _ONE) & last
            code = slots[place]
        if not code:
            if n_codes == len(firsts):
                return -1
            firsts[n_codes] = i
            new = np.uint64(n_codes)
            heads[new, 0], heads[new, 1], heads[new, 2] = head, neck, size
            n_codes += 1
            slots[place] = code = n_codes
        codes[i] = code - 1
    return n_codes
