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
    for name, values in read("speed").items():
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


if __name__ == "__main__":
    print(accuracy(), speed(), joint(JOINT[:4]), joint(), sep="\n\n")
