"""``numalet`` that fails where its environment plans it: ``python faulty_numalet.py WORDS``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# A program has its own folder on the path, not the one of its package.
sys.path.append(str(Path(__file__).parents[1]))

from numalet.__main__ import main
from running import faults

if __name__ == "__main__":
    faults.install_from(os.environ)
    main()
