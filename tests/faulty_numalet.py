"""``numalet`` that fails where its environment plans it: ``python faulty_numalet.py WORDS``."""

from __future__ import annotations

import os

import faults
from numalet.__main__ import main

if __name__ == "__main__":
    faults.install_from(os.environ)
    main()
