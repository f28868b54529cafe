"""``$(NAME)`` in a container's words: replaced by the value of an environment variable.

A name that is not defined stays as it is written, so a shell's own ``$(...)`` survives; ``$$``
stands for one ``$``. Kubernetes: the fields ``command``, ``args`` and ``env[].value`` of a
container, v1.32.

A value may name others many times, so a text of a kilobyte can stand for one of gigabytes. The size
is known before anything is made; what the kernel would not accept is not expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from numalet.core.model import limits
from numalet.core.model.value import Mutable, Value

_REFERENCE: Final = re.compile(r"\$(?:(?P<dollar>\$)|\((?P<name>[^)]*)\))")


class TooLong(Value):
    """A text that is not expanded: more than ``limit_bytes``, ``counted`` says what of."""

    limit_bytes: int
    counted: str


class Expander(Mutable):
    """Expands the words and variables of one pod, of which ``left_bytes`` may still come."""

    left_bytes: int = limits.WORDS_OF_A_POD_BYTES

    def expanded(self, text: str, environment: Mapping[str, str], name: str = "") -> str | TooLong:
        """The text with every reference to a defined variable replaced.

        ``name`` is that of the variable whose value it is; the kernel counts it too.
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
    """The pieces of the expanded text in their order."""
    # No reference ends behind the last bracket. A search there would try every "$(" to the end.
    end = text.rfind(")") + 1
    begin = 0
    for match in _REFERENCE.finditer(text, 0, end):
        yield text[begin : match.start()]
        yield "$" if match["dollar"] else environment.get(match["name"], match[0])
        begin = match.end()
    yield text[begin:end]
    yield text[end:].replace("$$", "$")
