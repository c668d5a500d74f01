"""Tables of how cost grows: rows, streams, clusters, files."""

from benchmarks._markdown import Missing, markdown, read


def scaling() -> str:
    results = read("scaling").get("growth", {})
    if not results:
        raise Missing("growth")
    sizes = list(next(iter(results.values())))
    rows = []
    for method, found in results.items():
        exponents = (f"{found[s]['exponent']:.2f}" if s in found else "" for s in sizes)
        rows.append([method, *exponents])
    return markdown(["exponent of fit time in", *sizes], rows)


def stream() -> str:
    rows = []
    for method, by_rows in read("stream").items():
        for n_rows, entry in by_rows.items():
            rows.append(
                [
                    method,
                    n_rows.removesuffix(" rows"),
                    f"{entry['test_error']:.2f}",
                    f"{entry['rows_per_second']:,.0f}",
                    f"{entry['peak_memory_bytes'] / 1e6:.0f}",
                    f"{entry['batch_microseconds_per_row']:.1f}",
                ]
            )
    head = ["", "rows", "error %", "rows/s", "memory, MB", "prediction, us/row"]
    return markdown(head, rows)
