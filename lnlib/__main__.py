"""``python -m lnlib`` is ``python -m lnlab``: commands of recorded runs have the former name."""

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run a command of lnlab and return its exit status.

    Args:
        arguments: As for :func:`lnlab.cli.main`.
    """
    try:
        from lnlab import cli
    except ModuleNotFoundError as error:
        if error.name != "lnlab":
            raise
        print(
            "lnlib: the commands are part of lnlab, which is not installed; install it as lnlib "
            "was, from a clone or from the pages of the book",
            file=sys.stderr,
        )
        return 1
    return cli.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
