"""Scripts that complete the command line in a shell."""

from locallin.cli._methods import METHODS
from locallin.cli._parser import make_parser
from locallin.engine.optional import install_hint


def completion(args) -> int:
    """Print the script for a shell."""
    try:
        import shtab
    except ImportError as error:
        raise ImportError(f"completion needs shtab: {install_hint('cli')}") from error
    print(shtab.complete(make_parser(list(METHODS), shtab.FILE), args.shell))
    return 0
