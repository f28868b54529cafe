"""``python -m numalet`` and the command ``numalet``."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line.

    ``--version`` alone answers without loading it, and so does a plain ``run`` beside an agent.
    """
    if sys.argv[1:] == ["--version"]:
        from numalet import __version__

        sys.stdout.write(f"numalet {__version__}\n")
        return
    # Until the command is loaded nothing is garbage; a search would go through all modules.
    gc.disable()
    status = None
    if sys.argv[1:2] == ["run"]:
        from numalet.cli import direct_run

        status = direct_run.run(sys.argv[2:])
    if status is None:
        from numalet.cli.main import run

        status = run()
    # Nor is there a search at the end, when all of it goes.
    gc.freeze()
    sys.exit(status)


if __name__ == "__main__":
    main()
