"""Minimum cuts by the installed max-flow library."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

try:
    from ortools.graph.python.max_flow import SimpleMaxFlow
except ImportError:
    SimpleMaxFlow = None

from locallin.engine.optional import install_hint
from locallin.kernels.expansion import SINK, SOURCE

# Both libraries count in integers. The total leaves room for sums of 64 bits, and of
# the 32 bits that scipy's keeps.
_ORTOOLS_TOTAL = 2**52
_SCIPY_TOTAL = 2**30


def choose_backend(wanted: str) -> str:
    """Resolve "auto" to the library in use; an error where the wanted one is not."""
    if wanted == "auto":
        return "scipy" if SimpleMaxFlow is None else "ortools"
    if wanted == "ortools" and SimpleMaxFlow is None:
        raise ImportError(
            f"max_flow='ortools' needs OR-Tools: {install_hint('atlas')}; or use "
            "max_flow='scipy'."
        )
    return wanted


def minimum_cut(n_nodes: int, arcs, backend: str) -> np.ndarray:
    """Nodes on the sink's side of a minimum cut, as a mask.

    Capacities are rounded to integers of a fine grid, finer for OR-Tools (52 bits
    for the sum of the source's arcs) than for scipy (30 bits).
    """
    tails, heads, capacities = arcs
    out_of_source = capacities[tails == SOURCE].sum()
    into_sink = capacities[heads == SINK].sum()
    side = np.zeros(n_nodes, bool)
    side[SINK] = True
    if into_sink == 0.0:  # staying costs nothing
        return side
    if out_of_source == 0.0:  # switching costs nothing
        side[:] = True
        side[SOURCE] = False
        return side
    total = _ORTOOLS_TOTAL if backend == "ortools" else _SCIPY_TOTAL
    bound = min(out_of_source, into_sink)
    units = np.rint(np.minimum(capacities / bound, 1.0) * total).astype(np.int64)
    if backend == "ortools":
        return _ortools_cut(side, tails, heads, units)
    return _scipy_cut(side, tails, heads, units)


def _ortools_cut(side, tails, heads, units):
    flow = SimpleMaxFlow()
    flow.add_arcs_with_capacity(tails, heads, units)
    status = flow.solve(SOURCE, SINK)
    if status != flow.OPTIMAL:
        raise RuntimeError(f"OR-Tools' max-flow failed with status {status}.")
    source_side = flow.get_source_side_min_cut()
    side[:] = True
    side[np.fromiter(source_side, np.int64, len(source_side))] = False
    return side


def _scipy_cut(side, tails, heads, units):
    shape = len(side), len(side)
    capacity = sparse.csr_array((units, (tails, heads)), shape=shape)
    capacity.data = np.minimum(capacity.data, _SCIPY_TOTAL).astype(np.int32)
    capacity = sparse.csr_array(
        (capacity.data, capacity.indices.astype(np.int32), capacity.indptr), shape
    )
    flow = maximum_flow(capacity, SOURCE, SINK).flow
    # What can still be reached from the source where capacity is left over. The flow
    # of a reversed arc is negative, and leaves capacity there.
    left = sparse.csr_array(capacity.astype(np.int64) - flow.astype(np.int64))
    left.data[left.data < 0] = 0
    left.eliminate_zeros()
    reached = breadth_first_order(left, SOURCE, return_predecessors=False)
    side[:] = True
    side[reached] = False
    return side
