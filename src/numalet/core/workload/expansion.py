"""``$(NAME)`` in a container's words: replaced by the value of an environment variable.

An undefined name stays unchanged, so a shell's own ``$(...)`` survives; ``$$`` becomes one ``$``. A
kilobyte can expand to gigabytes, so the expander checks the size first and stops at the kernel's
limits. Kubernetes: the fields ``command``, ``args`` and ``env[].value`` of a container, v1.32.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from numalet.core.model import limits
from numalet.core.model.value import Mutable, Value

_REFERENCE: Final = re.compile(r"\$(?:(?P<dollar>\$)|\((?P<name>[^)]*)\))")


class TooLong(Value):
    """An unexpanded text: longer than ``limit_bytes``; ``counted`` names the limited quantity."""

    limit_bytes: int
    counted: str


class Expander(Mutable):
    """Expands the words and variables of one pod, up to ``left_bytes`` more."""

    left_bytes: int = limits.WORDS_OF_A_POD_BYTES

    def expanded(self, text: str, environment: Mapping[str, str], name: str = "") -> str | TooLong:
        """Replace every reference to a defined variable.

        ``name`` is the variable with this value, because the kernel counts it too.
        """
        size, parts = 1 + (len(name.encode(errors="surrogatepass")) + 1 if name else 0), list[str]()
        for part in _parts(text, environment):
            size += len(part.encode(errors="surrogatepass"))
            if size > limits.WORD_BYTES:
                return TooLong(limits.WORD_BYTES, "one word or variable")
            parts.append(part)
        if size > self.left_bytes:
            return TooLong(limits.WORDS_OF_A_POD_BYTES, "all words and variables of the pod")
        self.left_bytes -= size
        return "".join(parts)


def _parts(text: str, environment: Mapping[str, str]) -> Iterator[str]:
    # No reference ends after the last bracket. Searching there would be quadratic in "$(".
    end = text.rfind(")") + 1
    begin = 0
    for match in _REFERENCE.finditer(text, 0, end):
        yield text[begin : match.start()]
        yield "$" if match["dollar"] else environment.get(match["name"], match[0])
        begin = match.end()
    yield text[begin:end]
    yield text[end:].replace("$$", "$")
