"""Parts of a date, by plain arithmetic on days since 1970."""

import numpy as np

# Parts that are numbers; the first is the value itself, of numbers too.
VALUE, YEAR_SIN, YEAR_COS, TIME_SIN, TIME_COS = range(5)
PART_NAMES = ("", "_year_sin", "_year_cos", "_time_sin", "_time_cos")
WEEKDAYS = np.array(
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    dtype=object,
)
# Mean length of a year. A month begins on the same angle in every year, up to a day.
YEAR = 365.2425


def date_part(days: np.ndarray, part: int) -> np.ndarray:
    """One of the numbers that a date becomes."""
    if part == VALUE:
        return days
    period = YEAR if part in (YEAR_SIN, YEAR_COS) else 1.0
    angle = 2 * np.pi * (days / period)
    return np.sin(angle) if part in (YEAR_SIN, TIME_SIN) else np.cos(angle)


def weekdays(days: np.ndarray) -> np.ndarray:
    """Codes of weekdays, Monday 0; -1 where a date is missing."""
    is_missing = np.isnan(days)
    whole = np.floor(np.where(is_missing, 0, days)).astype(np.int64)
    return np.where(is_missing, -1, (whole + 3) % 7)
