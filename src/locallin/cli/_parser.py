"""The arguments of the commands."""

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

import locallin
from locallin.cli._methods import (
    METHODS,
    SEARCHING,
    TASKS,
    add_parameters,
    default_method,
    methods_with,
)

FITTING = ("train", "tune")
_SCALES = ("auto", "standard", "maxabs", "norm", "none")
_FORMATS = ("libsvm", "csv", "parquet", "arrow", "npz", "npy")
_YES_NO = {"yes": True, "no": False, "auto": None}


class UsageError(Exception):
    """The command cannot be run as it was typed."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and tell what may have been meant."""

    # How a shell completes names of files.
    files: Any = None

    def add_file(self, *names: str, **settings: Any) -> None:
        """Add an argument that is the name of a file."""
        action = self.add_argument(*names, **settings)
        action.complete = self.files  # type: ignore[attr-defined]

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def refuse(self, argument: str) -> NoReturn:
        """Say that an argument is none of the command's."""
        option = argument.partition("=")[0]
        if not option.startswith("-"):
            self.error(f"{argument} is one argument too many")
        known = self._option_string_actions
        methods = ", ".join(methods_with(option)) if "--method" in known else ""
        if methods:
            self.error(f"{option} is for other methods: --method {methods}")
        close = get_close_matches(option, known, 1)
        advice = f"; did you mean {close[0]}?" if close else ""
        self.error(f"there is no option {option}{advice}")


def parse(argv: Sequence[str], method: str | None) -> argparse.Namespace:
    """Arguments as they were typed; ends the process where they make no sense."""
    parser = make_parser([method] if method else [])
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        args.parser.refuse(unknown[0])
    if args.command in FITTING and args.method is None:
        args.method = default_method(args.command, getattr(args, "stream", False))
    return args


def make_parser(methods: Sequence[str] = (), files: Any = None) -> _Parser:
    """The parser of all commands.

    The parameters of ``methods`` are options of train and tune; without any they have
    none, and no estimator is imported. ``files`` is how a shell completes names of
    files.
    """
    parser = _Parser(
        prog="locallin",
        description="Locally linear classifiers and regressors: train, predict, "
        "explain.",
        epilog="locallin COMMAND --help says more. Exit codes: 0 done, 1 failed, "
        "2 not understood, 130 interrupted.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=locallin.__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, help: str) -> _Parser:
        command = commands.add_parser(
            name, help=help, description=help, allow_abbrev=False
        )
        command.files = files
        command.set_defaults(parser=command)
        command.add_argument(
            "--traceback", action="store_true", help="show where an error was raised"
        )
        return command

    _add_train(add, methods)
    _add_tune(add, methods)
    _add_predict(add)
    _add_evaluate(add)
    _add_explain(add)
    _add_report(add)
    _add_compare(add)
    _add_info(add)
    _add_convert(add)
    _add_warmup(add)
    command = add("completion", "print a script that completes commands in a shell")
    command.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))
    return parser


def _add_train(add, methods) -> None:
    command = add("train", "fit a model to a file")
    blocks = command.add_argument_group("files larger than memory")
    blocks.add_argument(
        "--stream",
        action="store_true",
        help="learn from DATA (a file, a folder or a pattern) in blocks; for local, "
        "du, sapl and ml3, and for ll with --solver sgd",
    )
    blocks.add_argument(
        "--epochs",
        type=_positive(int),
        help="with --stream: passes to learn from, in place of --max-iter (default 10)",
    )
    blocks.add_argument(
        "--checkpoint",
        metavar="FOLDER",
        help="with --stream: keep the state of the run there; after a crash the same "
        "command goes on from it",
    )
    reading = _fitting(command, methods, METHODS)
    reading.add_argument(
        "--weight",
        type=_column,
        metavar="COLUMN",
        help="column of CSV, Parquet and Arrow with the weights of the rows",
    )


def _add_tune(add, methods) -> None:
    command = add(
        "tune", "search parameters with Optuna, and fit a model with the best ones"
    )
    budget = command.add_argument_group("budget")
    budget.add_argument(
        "--trials",
        type=_positive(int),
        help="settings to try in all, the defaults first (default: 30, without "
        "--minutes)",
    )
    budget.add_argument(
        "--minutes",
        type=_positive(float),
        help="begin no trial after so many minutes of this run",
    )
    command.add_argument(
        "--folds",
        type=_positive(int),
        help="folds of the cross-validation; 1 holds a fifth of the rows out "
        "(default: 5, and 1 above 20,000 rows)",
    )
    command.add_argument(
        "--scoring",
        help="what chooses: accuracy, roc_auc, neg_log_loss, or another scorer of "
        "scikit-learn (default: accuracy; r2 for numbers, and the pinball loss of a "
        "quantile)",
    )
    command.add_file(
        "--log", help="file of the trials, to go on from (default: MODEL.trials.jsonl)"
    )
    command.add_argument(
        "--restart", action="store_true", help="forget the trials in the log"
    )
    _fitting(command, methods, [name for name in METHODS if name not in SEARCHING])


def _fitting(command, methods, possible):
    command.usage = "%(prog)s [OPTION ...] DATA MODEL"
    command.add_file("data", metavar="DATA", help="training file, - for stdin")
    command.add_file("model", metavar="MODEL", help="file to write the model to")
    command.add_argument(
        "--task",
        choices=("auto", *TASKS),
        default="auto",
        help="whether the label is a class or a number; auto is regression where the "
        "label column, by its name, holds numbers with decimals (%(default)s)",
    )
    command.add_argument(
        "--method",
        choices=list(possible),
        help=f"the method ({default_method(command.prog.split()[-1], False)}; du "
        "with --stream); its parameters are options, listed by --method NAME --help",
    )
    command.add_argument(
        "--scale",
        choices=_SCALES,
        default="auto",
        help="scale features to deviation 1 (standard) or largest value 1 (maxabs), or "
        "rows to norm 1; auto is standard, and maxabs for sparse data. For numbers: "
        "tables with text or gaps, and the method local, are encoded",
    )
    _force(command)
    _json(command)
    _columns(command)
    group = _reading(command)
    group.add_argument(
        "--n-features",
        type=_positive(int),
        help="number of features, where a LIBSVM file to predict has more",
    )
    if methods := [method for method in methods if method in possible]:
        add_parameters(command, methods)
    return group


def _columns(command) -> None:
    group = command.add_argument_group("columns, by name or position from 1")
    for option, help in (
        ("--ignore", "leave them out"),
        ("--categorical", "take them as categories"),
        ("--numeric", "take them as numbers"),
        ("--date", "take them as dates"),
    ):
        group.add_argument(
            option, type=_column, nargs="+", default=[], metavar="COLUMN", help=help
        )
    group.add_argument(
        "--id",
        type=_column,
        metavar="COLUMN",
        help="names the rows: left out, and written beside predictions",
    )


def _add_predict(add) -> None:
    command = add(
        "predict", "write classes or numbers of the rows of a file, in any size"
    )
    _model(command)
    command.add_file("data", metavar="DATA", help="file of rows, - for stdin")
    command.add_file(
        "out", metavar="OUT", nargs="?", default="-", help="file to write (stdout)"
    )
    command.add_argument(
        "--output",
        choices=("label", "scores", "proba", "interval"),
        default="label",
        help="what to write: the label or number alone, or with it scores, "
        "probabilities, or an interval that 90 %% of rows lie in, as CSV (%(default)s)",
    )
    command.add_argument(
        "--proba",
        action="store_const",
        dest="output",
        const="proba",
        help="the same as --output proba",
    )
    command.add_argument(
        "--keep",
        type=_column,
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of DATA to copy, beside the --id of training; after OUT",
    )
    _force(command)
    _json(command, "write a JSON object per line")
    _reading(command)


def _add_evaluate(add) -> None:
    command = add("evaluate", "compare predictions with the labels of a file")
    _model(command)
    command.add_file("data", metavar="DATA", help="file with labels, - for stdin")
    _json(command)
    _reading(command)


def _add_explain(add) -> None:
    command = add("explain", "show what each feature adds to the score of a row")
    _model(command)
    command.add_file("data", metavar="DATA", help="file of rows, - for stdin")
    command.add_argument(
        "--top", type=_positive(int), default=5, help="features to show (%(default)s)"
    )
    command.add_argument(
        "--rows", type=_positive(int), default=10, help="rows to show (%(default)s)"
    )
    _json(command)
    _reading(command)


def _add_report(add) -> None:
    command = add("report", "write a page about a model and the rows of a file")
    _model(command)
    command.add_file("data", metavar="DATA", help="file of rows, - for stdin")
    command.add_file("out", metavar="OUT", help="HTML file to write")
    command.add_argument(
        "--rows",
        type=_positive(int),
        default=50,
        help="rows to explain, wrong and uncertain ones among them (%(default)s)",
    )
    command.add_argument("--title", help="heading of the page")
    command.add_argument(
        "--no-labels",
        action="store_true",
        help="leave the labels of the file out, and with them the accuracy",
    )
    _force(command)
    _json(command)
    _reading(command)


def _add_compare(add) -> None:
    command = add("compare", "write a page about two models and the rows of a file")
    command.add_file("first", metavar="MODEL", help="model file")
    command.add_file("second", metavar="MODEL", help="another model file")
    command.add_file("data", metavar="DATA", help="file of rows")
    command.add_file("out", metavar="OUT", help="HTML file to write")
    command.add_argument(
        "--rows",
        type=_positive(int),
        default=50,
        help="rows to show, those farthest apart first (%(default)s)",
    )
    command.add_argument("--title", help="heading of the page")
    command.add_argument(
        "--no-labels",
        action="store_true",
        help="leave the labels of the file out, and with them all figures",
    )
    _trust(command)
    _force(command)
    _json(command)
    _reading(command)


def _add_info(add) -> None:
    command = add("info", "tell what is in a model file")
    _model(command)
    _json(command)


def _add_warmup(add) -> None:
    command = add("warmup", "compile the kernels now, as the first fit would")
    command.add_argument(
        "--method",
        nargs="+",
        choices=METHODS,
        help="methods whose kernels are wanted (default: all)",
    )
    command.add_argument(
        "--dtype",
        choices=("float32", "float64", "both"),
        default="float64",
        help="type of the features (%(default)s)",
    )
    command.add_argument("--sparse", action="store_true", help="for sparse rows, too")
    _json(command)


def _add_convert(add) -> None:
    command = add("convert", "write a model as ONNX or C")
    _model(command)
    command.add_file("out", metavar="OUT", help="file to write: .onnx, .c or .h")
    command.add_argument("--to", choices=("onnx", "c"), help="format, if not by OUT")
    command.add_argument(
        "--name", default="model", help="beginning of names in C (%(default)s)"
    )
    _force(command)
    _json(command)


def _model(command) -> None:
    command.add_file("model", metavar="MODEL", help="model file")
    _trust(command)


def _trust(command) -> None:
    command.add_argument(
        "--trust",
        action="store_true",
        help="load a model that could run code, a pickle for example",
    )


def _force(command) -> None:
    command.add_argument(
        "--force", action="store_true", help="replace a file that exists"
    )


def _json(command, help="print the result as JSON") -> None:
    command.add_argument("--json", action="store_true", help=help)


def _reading(command):
    group = command.add_argument_group("reading")
    group.add_argument(
        "--format", choices=_FORMATS, help="format, if not by extension or content"
    )
    group.add_argument(
        "--label",
        type=_column,
        metavar="COLUMN",
        help="label column of CSV and Parquet: name, or position from 1, or from the "
        "end with -1 (default: label, class, target or y; or else the last)",
    )
    group.add_argument(
        "--delimiter", type=_character, help="delimiter of CSV (default: found)"
    )
    group.add_argument(
        "--header",
        choices=_YES_NO,
        default="auto",
        help="whether CSV begins with names (default: auto)",
    )
    group.add_argument(
        "--decimal", type=_character, help="sign of decimals in CSV (default: .)"
    )
    group.add_argument(
        "--thousands", type=_character, help="sign between thousands in CSV"
    )
    group.add_argument(
        "--na",
        nargs="+",
        metavar="TEXT",
        help="words for missing values beside an empty cell (default in CSV: NA, N/A, "
        "NaN, null, None, ?)",
    )
    group.add_argument(
        "--zero-based", action="store_true", help="LIBSVM features count from 0"
    )
    return group


def header_choice(word: str) -> bool | None:
    """The option ``header`` of a reader, from the word that was typed."""
    return _YES_NO[word]


def _column(text: str) -> str | int:
    try:
        position = int(text)
    except ValueError:
        return text
    if position == 0:
        raise argparse.ArgumentTypeError("columns are counted from 1")
    return position - 1 if position > 0 else position


def _character(text):
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return text


def _positive(kind):
    def number(text):
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text} is not positive")
        return value

    number.__name__ = kind.__name__
    return number
