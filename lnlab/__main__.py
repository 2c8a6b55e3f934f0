"""``python -m lnlab``."""

import sys

from lnlab.cli import main

if __name__ == "__main__":
    sys.exit(main())
