"""``python -m locallin``: the command line."""

import sys

from locallin.cli import main

if __name__ == "__main__":
    sys.exit(main())
