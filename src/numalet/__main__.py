"""``python -m numalet`` and the command ``numalet``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. ``--version`` alone answers without loading it."""
    if sys.argv[1:] == ["--version"]:
        from numalet import __version__

        sys.stdout.write(f"numalet {__version__}\n")
        return
    from numalet.cli.main import run

    sys.exit(run())


if __name__ == "__main__":
    main()
