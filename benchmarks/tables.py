"""Print the README's tables from the results: python -m benchmarks.tables."""

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def read(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())["results"]


def accuracy() -> str:
    results = read("accuracy")
    methods = [m for m in next(iter(results.values())) if "printed" not in m]
    lines = [
        "| | " + " | ".join(name.upper() for name in results) + " |",
        "|---|" + "---|" * len(results),
    ]
    for method in methods:
        cells = [
            f"{results[d][method]['mean']:.2f} +- {results[d][method]['deviation']:.2f}"
            for d in results
        ]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    printed = [f"{results[d]['error printed in the paper']:.2f}" for d in results]
    lines.append("| printed in the 2011 paper | " + " | ".join(printed) + " |")
    return "\n".join(lines)


def speed() -> str:
    lines = [
        "| | error % | fit | predict, batch | predict, one row |",
        "|---|---|---|---|---|",
    ]
    results = read("speed")
    latent = results["ML3"]
    latent["fit_seconds"] = latent["blocks, shrinking, k-means start, seconds"]
    for name, values in results.items():
        if "fit_seconds" in values:
            lines.append(
                f"| {name} | {values['test_error']:.2f} "
                f"| {values['fit_seconds']:.1f} s "
                f"| {values['batch_microseconds_per_row']:.1f} us/row "
                f"| {values['one_row_microseconds']:.0f} us |"
            )
    return "\n".join(lines)


JOINT = ("LL-SVM", "SAPL", "U-LLSVM", "DU-LLSVM", "LCC+SVM", "SAPL_lcc")


def joint(methods=JOINT) -> str:
    lines = [
        "| | " + " | ".join(methods) + " | printed |",
        "|---|" + "---|" * (len(methods) + 1),
    ]
    for data, results in read("joint").items():
        cells = []
        for method in methods:
            entry = results.get(method)
            if entry is None:
                cells.append("")
                continue
            cell = f"{entry['mean']:.2f} +- {entry['deviation']:.2f}"
            if "mean_on_unseen_rows" in entry:
                cell += f" ({entry['mean_on_unseen_rows']:.2f})"
            cells.append(cell)
        printed = ", ".join(
            f"{m} {v:.2f}" for m, v in results["printed"].items() if m in methods
        )
        lines.append(f"| {data.upper()} | " + " | ".join(cells) + f" | {printed} |")
    return "\n".join(lines)


def ml3() -> str:
    lines = ["| | models | ML3 | printed |", "|---|---|---|---|"]
    for data, entry in read("ml3")["table 1"].items():
        lines.append(
            f"| {data.upper()} | {entry['n_models']} "
            f"| {entry['mean']:.2f} +- {entry['deviation']:.2f} "
            f"| {entry['printed']:.2f} |"
        )
    return "\n".join(lines)


def ml3_small() -> str:
    results = read("ml3")
    ranks = results["table 2, all"]["average rank"]
    lines = [
        "| | " + " | ".join(ranks) + " | ML3, printed |",
        "|---|" + "---|" * (len(ranks) + 1),
    ]
    for data, entry in results["table 2"].items():
        cells = [
            f"{entry['mean'][m]:.2f} +- {entry['deviation'][m]:.2f}" for m in ranks
        ]
        lines.append(
            f"| {data.split('_')[0].upper()} | {' | '.join(cells)} "
            f"| {entry['printed']:.2f} |"
        )
    cells = [f"{rank:.2f}" for rank in ranks.values()]
    lines.append(f"| average rank | {' | '.join(cells)} | |")
    return "\n".join(lines)


def plus_minus(entry) -> str:
    return f"{entry['mean']:.2f} +- {entry['deviation']:.2f}"


def atlas() -> str:
    lines = [
        "| | kernel | transductive | inductive | printed | hard | hard, printed |",
        "|---|---|---|---|---|---|---|",
    ]
    results = read("atlas")
    for data in ("usps", "usps, roots", "letter", "semeion", "mnist"):
        for kernel in ("rbf", "linear", "quadratic", "quadratic-cross"):
            entry = results[data].get(kernel)
            if entry is None:
                continue
            if data == "semeion":
                within = results[data].get(f"{kernel}, inductive")
                hard = results[data].get(f"{kernel}, hard")
                printed = "" if hard is None else f"{hard['printed']:.2f}"
                soft = entry
            else:
                within = entry["inductive"]
                hard = entry.get("hard, transductive")
                printed = "" if hard is None else f"{entry['hard, printed']:.2f}"
                soft = entry["transductive"]
            cells = ["" if e is None else plus_minus(e) for e in (soft, within, hard)]
            lines.append(
                f"| {data.upper()} | {kernel} | {cells[0]} | {cells[1]} "
                f"| {entry['printed']:.2f} | {cells[2]} | {printed} |"
            )
        peer = results[data].get("RBF SVC")
        if peer is not None:
            peer = plus_minus(peer) if "mean" in peer else f"{peer['test_error']:.2f}"
            lines.append(f"| {data.upper()} | RBF SVC, no charts | | {peer} | | | |")
    return "\n".join(lines)


def atlas_few() -> str:
    results = read("atlas")["mnist, few labels"]
    lines = ["| | 100 labels | 1000 labels |", "|---|---|---|"]
    for method in results["100"]:
        cells = []
        for n in ("100", "1000"):
            errors = results[n][method]
            mean = sum(errors) / len(errors)
            square = sum((e - mean) ** 2 for e in errors) / (len(errors) - 1)
            cells.append(f"{mean:.2f} +- {square**0.5:.2f}")
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def atlas_noise() -> str:
    results = read("atlas")["usps, noise"]
    methods = list(next(iter(results.values())))
    lines = [
        "| noise | " + " | ".join(methods) + " |",
        "|---|" + "---|" * len(methods),
    ]
    for level, entry in results.items():
        cells = [plus_minus(entry[m]) for m in methods]
        lines.append(f"| {level} % | {' | '.join(cells)} |")
    return "\n".join(lines)


TABLES = {
    "accuracy": accuracy,
    "speed": speed,
    "joint, short": lambda: joint(JOINT[:4]),
    "joint": joint,
    "ml3": ml3,
    "ml3, small sets": ml3_small,
    "atlas": atlas,
    "atlas, few labels": atlas_few,
    "atlas, noise": atlas_noise,
}

if __name__ == "__main__":
    for name, table in TABLES.items():
        print(f"{name}\n\n{table()}\n")
