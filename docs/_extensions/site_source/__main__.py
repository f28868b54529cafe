"""``python -m site_source DOCS FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

from site_source import assembling

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m site_source DOCS FOLDER")
    assembling.assemble(Path(sys.argv[1]), Path(sys.argv[2]))
