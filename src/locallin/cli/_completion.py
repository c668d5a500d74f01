"""Scripts that complete the command line in a shell."""

from locallin.cli._methods import METHODS
from locallin.cli._parser import make_parser
from locallin.engine.optional import import_optional


def completion(args) -> int:
    """Print the script for a shell."""
    shtab = import_optional("shtab", "cli", "completion")
    print(shtab.complete(make_parser(list(METHODS), shtab.FILE), args.shell))
    return 0
