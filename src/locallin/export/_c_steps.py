"""The steps of a pipeline before its classifier, in C."""

from locallin.encoding import PiecewiseLinearEncoder, TableEncoder
from locallin.export._c_inputs import Row, encoded, scaled
from locallin.export._c_tables import encoded_table


def prepared(header, steps: list) -> Row:
    """Write the steps, and return the row behind them."""
    row = Row()
    scalers: list = []
    for place, step in enumerate(steps):
        if place == 0 and isinstance(step, TableEncoder):
            row = encoded_table(header, step, row)
        elif isinstance(step, PiecewiseLinearEncoder):
            row = scaled(header, scalers, row)
            row, scalers = encoded(header, step, row), []
        else:
            scalers.append(step)
    return scaled(header, scalers, row)
