"""Limits of accepted input that several parsers share: sizes, counts, depths and digits.

They are numalet's own, unless stated. Each bounds the time and memory for one input; the finding
about a larger input gives the location and the limit.
"""

from __future__ import annotations

from typing import Final

DOCUMENT_BYTES: Final = 32 * 1024 * 1024
"""Size of a text that is parsed as a whole. A pod has at most 3 MiB; dumps are streamed."""
TEXT_WITH_LINES_BYTES: Final = 2 * 1024 * 1024
"""Findings about a longer text have no line numbers, because these need a slow second parse."""
NESTING: Final = 200
"""Nested arrays and objects. Kubernetes objects have about 20 levels."""
NODES_OF_A_DOCUMENT: Final = 5_000_000
"""Values in a document after expanding its aliases."""
OBJECTS_OF_A_TEXT: Final = 100_000
"""Documents of a text, and items of its lists. A node has hundreds of pods."""
OBJECTS_OF_A_DUMP: Final = 2_000_000
"""Objects in a file of a dump. Kubernetes supports 150,000 pods."""
LINES_OF_A_RECORDING: Final = 1_000_000
"""Lines of a scenario file, possibly compressed. The file of a kubelet release has 5,000."""
DIGITS: Final = 64
"""Digits of a number in a document. Kubernetes' own have 20; Python rejects 4,300."""
WORD_BYTES: Final = 128 * 1024
"""An argument or variable, including the terminating zero. Linux: ``MAX_ARG_STRLEN``."""
WORDS_OF_A_POD_BYTES: Final = 6 * 1024 * 1024
"""All arguments and variables of a pod: Linux's limit for one program."""
ERRORS_OF_A_TEXT: Final = 1_000
"""Parsing stops after this number of errors."""
FINDINGS_OF_AN_OBJECT: Final = 100
"""Maximum number of errors, and of warnings. A hostile object may have millions."""
