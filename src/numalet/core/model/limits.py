"""How much input is accepted: sizes, counts, depths and digits that several readers share.

Nothing here is a rule of Kubernetes, unless it says so. Each limit keeps one input within bounded
time and memory; the finding about an input beyond it names the place and the limit.
"""

from __future__ import annotations

from typing import Final

DOCUMENT_BYTES: Final = 32 * 1024 * 1024
"""A text that is read as a whole. A pod has at most 3 MiB; a dump is read piece by piece."""
TEXT_WITH_LINES_BYTES: Final = 2 * 1024 * 1024
"""Findings about a longer text have paths without lines, which take a slow second reading."""
NESTING: Final = 200
"""Arrays and objects in each other. Objects of Kubernetes have about 20 levels."""
NODES_OF_A_DOCUMENT: Final = 5_000_000
"""Values in a document when its aliases are written out."""
OBJECTS_OF_A_TEXT: Final = 100_000
"""Documents of a text, and members of its lists. A node has hundreds of pods."""
OBJECTS_OF_A_DUMP: Final = 2_000_000
"""Objects in a file of a dump. Kubernetes supports 150,000 pods."""
LINES_OF_A_RECORDING: Final = 1_000_000
"""Lines of a file of scenarios, which may be packed. Those of a kubelet release have 5,000."""
DIGITS: Final = 64
"""Of a number in a document. Kubernetes' own numbers have 20; Python refuses 4,300."""
WORD_BYTES: Final = 128 * 1024
"""A word of a command or a variable, with the zero at its end. Linux: ``MAX_ARG_STRLEN``."""
WORDS_OF_A_POD_BYTES: Final = 6 * 1024 * 1024
"""All of them. Linux accepts no more for one program, and one record has those of a pod."""
ERRORS_OF_A_TEXT: Final = 1_000
"""Reading stops after so many."""
FINDINGS_OF_AN_OBJECT: Final = 100
"""Errors, and again as many warnings. A hostile object may have millions."""
