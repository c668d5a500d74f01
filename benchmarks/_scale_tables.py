"""Tables of how cost grows: rows, streams, clusters, files."""

from benchmarks._markdown import Missing, markdown, plus_minus, read
from locallin.dask._fit import rows_between_averages


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


def compilation() -> str:
    """Seconds of CPU of first calls, and functions compiled for them: before, now."""
    rows = []
    for estimator, found in read("compilation").items():
        cold = [found[s]["cold"] for s in ("before", "now") if s in found]
        cells = [
            " / ".join(f"{entry[f'{call}_cpu_seconds']:.1f}" for entry in cold)
            for call in ("fit", "predict")
        ]
        cells.append(" / ".join(str(entry["functions_compiled"]) for entry in cold))
        warm = found["now"]["warm"]["fit_cpu_seconds"]
        rows.append([estimator, *cells, f"{warm:.1f}"])
    head = ["before / now", "first fit, CPU s", "first predict, CPU s"]
    return markdown([*head, "functions compiled", "fit from the cache, CPU s"], rows)


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


BILLION = 1e9
# What a network of 1 Gbit/s carries, in bytes per second.
NETWORK = 125e6
ROWS_OF_A_BLOCK = 1e6
BYTES_OF_A_ROW = 784 * 4
MACHINES = (1, 10, 100)


def billion() -> str:
    """Hours of one pass over a billion rows, from the constants that were measured.

    A machine learns with one core. In a round every machine visits a piece of a block;
    then its learner travels to where the models are averaged, and the common one back.
    """
    rows = []
    for method, by_rows in read("stream").items():
        entry = list(by_rows.values())[-1]
        # Model and Adam's two moments, or SGD's iterate and mean: at most three.
        learner = 3 * entry["model_bytes"]
        hours = []
        for machines in MACHINES:
            least = rows_between_averages(machines, learner, BYTES_OF_A_ROW)
            pieces = BILLION / ROWS_OF_A_BLOCK * max(1, ROWS_OF_A_BLOCK // least)
            travel = 2 * learner * machines / NETWORK if machines > 1 else 0.0
            seconds = BILLION / entry["rows_per_second"] + pieces * travel
            hours.append(f"{seconds / machines / 3600:.2g} h")
        speed = f"{entry['rows_per_second']:,.0f}"
        rows.append([method, speed, f"{learner / 1e6:.0f}", *hours])
    head = ["", "rows/s of a core", "learner, MB"]
    head += [f"{m} machine{'s' * (m > 1)}" for m in MACHINES]
    return markdown(head, rows)


def cluster_errors() -> str:
    rows = [
        [
            data.upper(),
            method,
            plus_minus(entry["local"]),
            plus_minus(entry["cluster"]),
            f"{entry['difference']:+.2f}",
        ]
        for data, methods in part("cluster", "error").items()
        for method, entry in methods.items()
    ]
    return markdown(["", "", "local, error %", "cluster", "difference"], rows)


def cluster_pieces() -> str:
    rows = [
        [key, plus_minus(entry)]
        for methods in part("cluster", "pieces").values()
        for entries in methods.values()
        for key, entry in entries.items()
    ]
    return markdown(["between two averages", "held-out error %"], rows)


TRAFFIC = {
    "model_bytes_per_round": "models sent in a round",
    "data_bytes_per_round": "data sent in a round",
    "learner_bytes": "a learner",
    "data_bytes": "all data",
}


def cluster_costs() -> str:
    sizes = part("cluster", "bytes")
    rows = []
    for data, methods in part("cluster", "time").items():
        for method, entry in methods.items():
            local = entry["local_epoch_seconds"]
            shards = [e["ratio"] for e in entry.values() if isinstance(e, dict)]
            row = [data.upper(), method, f"{local:.2f} s"]
            row += [f"{ratio:.2f}x" for ratio in shards]
            sent = sizes.get(data, {}).get(method)
            if sent:
                row += [f"{sent[key] / 1e6:.1f}" for key in TRAFFIC]
            rows.append(row)
    head = ["", "", "local epoch", "one worker, one shard", "one worker, all shards"]
    head += [f"{what}, MB" for what in TRAFFIC.values()]
    return markdown(head, rows)


def part(name: str, key: str) -> dict:
    results = read(name).get(key)
    if not results:
        raise Missing(f"{name}, {key}")
    return results


def file_times() -> str:
    rows = []
    for kind, entry in part("files", "time").items():
        ratios = entry["ratios"]
        for peer in next(iter(ratios.values())):
            against = (f"{ratios[way][peer]:.2f}" for way in ("in blocks", "whole"))
            rows.append([kind, peer, f"{entry['seconds'][peer]:.2f} s", *against])
    head = ["", "peer", "its time", "ours in blocks / its", "ours at once / its"]
    return markdown(head, rows)


def file_memory() -> str:
    rows = []
    for kind, entry in part("files", "memory").items():
        for what in ("blocks", "predictions"):
            peaks = (f"{e[f'peak_bytes_{what}'] / 1e6:.1f}" for e in entry.values())
            rows.append([kind, what, *peaks])
    head = ["peak, MB", "", "rows", "4 times the rows", "16 times the rows"]
    return markdown(head, rows)
