"""A table's row in C: numbers, indices of levels and days in an array of floats."""

import numpy as np

from locallin.encoding import TableEncoder
from locallin.encoding.plan import Plan
from locallin.export._c_inputs import Row, line_tables


def encoded_table(header, encoder: TableEncoder, row: Row) -> Row:
    """Write a table encoder; the header says how a row is written in numbers."""
    plan = encoder.plan()
    names = getattr(encoder, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(encoder.n_features_in_)]
    days = _first_days(plan)
    header.add(_describe(plan, names, days))
    header.size("ENCODED", plan.n_out)
    header.stack += 4 * (plan.n_out + len(plan.source_columns))
    header.takes_missing = True
    stages = [_BEGIN]
    for j, levels in enumerate(plan.levels):
        if plan.kinds[j] == "category" and len(levels.names):
            header.strings(f"levels_{j}", levels.names)
            stages.append(_FOR_CALLERS.replace("TABLE", f"@_levels_{j}"))
    if len(plan.source_columns):
        stages.append(_sources(header, plan, days))
    if any(one.end > one.levels for one in plan.places):
        stages.append(_levels(header, plan, days))
    if any(one.levels > one.means for one in plan.places):
        stages.append(_means(header, plan))
    header.prepare("".join(stages).replace("ROW", row.name))
    return Row("encoded", "@@_ENCODED")


def _first_days(plan: Plan) -> dict[int, int]:
    """A day in the middle of each column of dates: floats are exact near zero."""
    found = {}
    for j in np.flatnonzero(plan.kinds == "date").tolist():
        lefts = plan.edges_of(j)
        found[j] = int(np.floor(np.mean(lefts))) if len(lefts) else 0
    return found


def _describe(plan: Plan, names, days: dict[int, int]) -> str:
    """A comment on what x[j] is."""
    lines = ["/* What x holds; NAN is a missing value."]
    for j, (name, kind) in enumerate(zip(names, plan.kinds, strict=True)):
        told = {
            "number": "a number",
            "boolean": "0 or 1",
            "constant": "not looked at",
            "ignored": "not looked at",
        }.get(kind)
        if kind == "category":
            n = len(plan.levels[j].names)
            told = f"index in @_levels_{j}, or {n} for another level"
        if kind == "date":
            when = np.datetime64(days[j], "D")
            told = f"days since {when} (UTC), with the time of day as a fraction"
        safe = str(name).replace("*/", "* /").replace("@", "(at)")
        lines.append(f" * x[{j}], {safe}: {told}.")
    return "\n".join([*lines, " */"]) + "\n"


def _sources(header, plan: Plan, days: dict[int, int]) -> str:
    """Values of the sources, and the lines that are made of them."""
    columns, parts = plan.source_columns, plan.source_parts
    period, shift, offset = np.zeros((3, len(columns)))
    for s, (j, part) in enumerate(zip(columns, parts, strict=True)):
        wave = plan.wave(part)
        if wave is not None:
            period[s] = 1 / wave.period
            shift[s] = (days[j] / wave.period + wave.shift) % 1
        else:
            offset[s] = days.get(j, 0)
    header.size("SOURCES", len(columns))
    header.table("source_column", columns, kind="int")
    header.table("source_turns", period)
    header.table("source_shift", shift)
    header.table("place", plan.number_places, kind="int")
    line_tables(header, "", plan.encoding.origins, plan.encoding.table, offset)
    header.size("LINES", len(plan.encoding.origins))
    bend = ""
    if plan.is_bent.any():
        header.table("bend", plan.is_bent / plan.smooth)
        bend = _BEND
    return _SOURCES.replace("BEND", bend)


def _levels(header, plan: Plan, days: dict[int, int]) -> str:
    rows: list[list[int]] = []
    units: list[float] = []
    for j, (levels, place) in enumerate(zip(plan.levels, plan.places, strict=True)):
        if place.end == place.levels:
            continue
        is_date = j in days and levels.n_kept > 0
        rows.append(
            [
                j,
                levels.n_kept,
                levels.n_kept if levels.pools else -1,
                len(levels.units) - 1 if levels.tells_missing else -1,
                place.levels,
                len(units),
                (days[j] + 3) % 7 if is_date else -1,
            ]
        )
        units += levels.units.tolist()
    header.size("CODED", len(rows))
    header.table("coded", np.array(rows), kind="int")
    header.table("unit", np.array(units))
    return _LEVELS


def _means(header, plan: Plan) -> str:
    rows: list[list[int]] = []
    means: list[float] = []
    for j, (levels, place) in enumerate(zip(plan.levels, plan.places, strict=True)):
        if place.levels > place.means:
            rows.append([j, len(levels.names), place.means, len(means)])
            means += levels.means.ravel().tolist()
    n_means = next(v.means.shape[1] for v in plan.levels if v.means.shape[1])
    header.size("MEANS", n_means)
    header.size("MEANED", len(rows))
    header.table("meaned", np.array(rows), kind="int")
    header.table("mean", np.array(means))
    return _MEANS


_BEGIN = """\
    float encoded[@@_ENCODED];
    for (int t = 0; t < @@_ENCODED; t++)
        encoded[t] = 0.0f;
"""

# A table that only callers look at is none that a compiler has to warn of.
_FOR_CALLERS = """\
    (void)TABLE;
"""

_SOURCES = """\
    float source[@@_SOURCES];
    for (int s = 0; s < @@_SOURCES; s++) {
        const float v = ROW[@_source_column[s]];
        float turns = v * @_source_turns[s] + @_source_shift[s];
        turns -= floorf(turns);
        source[s] = @_source_turns[s] > 0.0f ? sinf(6.28318531f * turns) : v;
    }
    for (int t = 0; t < @@_LINES; t++) {
        const float v = source[@_origin[t]];
        float e = (v - @_left[t] - @_rest[t]) * @_slope[t];
        e += @_start[t];
        e = e > @_low[t] ? e : @_low[t];
        e = e < @_high[t] ? e : @_high[t];
BEND        encoded[@_place[t]] = isnan(v) ? @_gap[t] : e;
    }
"""

_BEND = """\
        e /= sqrtf(1.0f + e * @_bend[t] * e * @_bend[t]);
"""

_LEVELS = """\
    for (int c = 0; c < @@_CODED; c++) {
        const int *k = @_coded + 7 * c;
        float v = ROW[k[0]];
        int spot;
        if (k[6] >= 0) {
            v = floorf(v) + (float)k[6];
            v -= 7.0f * floorf(v / 7.0f);
        }
        if (isnan(v))
            spot = k[3];
        else
            spot = v >= 0.0f && v < (float)k[1] ? (int)v : k[2];
        if (spot >= 0)
            encoded[k[4] + spot] = @_unit[k[5] + spot];
    }
"""

_MEANS = """\
    for (int c = 0; c < @@_MEANED; c++) {
        const int *k = @_meaned + 4 * c;
        const float v = ROW[k[0]];
        if (v >= 0.0f && v < (float)k[1])
            for (int t = 0; t < @@_MEANS; t++)
                encoded[k[2] + t] = @_mean[k[3] + (int)v * @@_MEANS + t];
    }
"""
