"""Read scenarios from files: JSON lines (compressed or not), JSON or YAML, one at a time.

Files of recorded scenarios are long, so they are split into raw scenarios first, which is cheap and
can be passed to another process.
"""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from numalet.core.model import input_error, limits
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value
from numalet.insight.simulate.session import Scenario
from numalet.insight.usecases import scenario_document
from numalet.io.documents.text import yaml_source
from numalet.io.documents.text.typed import Place
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.io.findings.documents import (
    DocumentTooLarge,
    DocumentTooManyObjects,
    DocumentUnreadable,
)

_PACKED: Final[Mapping[str, Callable[[str], gzip.GzipFile | lzma.LZMAFile]]] = {
    ".gz": gzip.GzipFile,
    ".xz": lzma.LZMAFile,
}
_READ_ERRORS: Final = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
_LINE_SUFFIXES: Final = (".jsonl", ".ndjson")


# A worker decodes the documents of one text in turn, so the last text is parsed once.
@lru_cache(maxsize=1)
def _documents(text: str, document: str) -> Sequence[YamlDocument]:
    return yaml_source.load_documents(text, document)


class RawScenario(Value):
    """The text of one scenario and its place.

    ``line`` is its line in a JSON lines file; in a text of several documents, ``index`` is its
    number.
    """

    document: str
    text: str
    line: int | None = None
    index: int = 0

    @property
    def location(self) -> Location:
        return Location(self.document, "", self.line)

    def decode(self) -> Scenario:
        """Decode the scenario.

        Raises:
            BadInput: With everything that is wrong in it.
        """
        place, value = self._value()
        return scenario_document.decode(value, place)

    def _value(self) -> tuple[Place, object]:
        if self.line is not None:
            place = Place(self.document, "$", lambda _path: self.line)
            try:
                return place, msgspec.json.decode(self.text)
            except (msgspec.DecodeError, RecursionError) as error:
                raise _not_json(error, self.location) from None
        loaded = _documents(self.text, self.document)[self.index]
        if loaded.duplicates:
            raise BadInput(loaded.duplicates)
        return Place(self.document, "$", loaded.line_of), loaded.value


def read_scenarios(path: str) -> Iterator[RawScenario]:
    """Yield the scenarios of a file in order, not yet decoded.

    Raises:
        BadInput: The file cannot be read, or is neither JSON nor YAML.
    """
    packed = Path(path).suffix in _PACKED
    if (Path(path).stem if packed else Path(path).name).endswith(_LINE_SUFFIXES):
        yield from _lines(path)
        return
    text = _whole_text(path)
    count = len(yaml_source.load_documents(text, path))
    for index in range(count):
        yield RawScenario(path, text, index=index)


def _lines(path: str) -> Iterator[RawScenario]:
    limit = yaml_source.LARGEST_BYTES
    number = 0
    try:
        with _opened(path) as file:
            # One byte above the limit shows a line that is too long, without reading all of it.
            while line := file.readline(limit + 1):
                number += 1
                if number > limits.LINES_OF_A_RECORDING:
                    where = Location(path, "", number)
                    most = limits.LINES_OF_A_RECORDING
                    raise BadInput([DocumentTooManyObjects(limit=most, where=where)])
                if len(line) > limit:
                    raise _too_large(path, number, limit)
                if line.strip():
                    yield RawScenario(path, line.decode("utf-8"), number)
    except UnicodeDecodeError as error:
        raise _not_json(error, Location(path, "", number)) from None
    except _READ_ERRORS as error:
        raise _unreadable(path, error) from None


def _not_json(error: Exception, where: Location) -> BadInput:
    return input_error.Invalid(
        f"this line is not JSON ({error}); each line must contain one scenario", where=where
    ).bad_input()


def _whole_text(path: str) -> str:
    if Path(path).suffix not in _PACKED:
        return yaml_source.read_text(path)
    limit = yaml_source.LARGEST_BYTES
    try:
        with _opened(path) as file:
            content = file.read(limit + 1)
    except _READ_ERRORS as error:
        raise _unreadable(path, error) from None
    if len(content) > limit:
        raise _too_large(path, None, limit)
    return yaml_source.decode(content, path)


def _opened(path: str) -> BinaryIO | gzip.GzipFile | lzma.LZMAFile:
    unpack = _PACKED.get(Path(path).suffix)
    return Path(path).open("rb") if unpack is None else unpack(path)


def _unreadable(path: str, error: Exception) -> BadInput:
    reason = getattr(error, "strerror", None) or str(error)
    return BadInput([DocumentUnreadable(reason=reason, where=Location(path))])


def _too_large(path: str, line: int | None, limit_bytes: int) -> BadInput:
    where = Location(path, "", line)
    return BadInput([DocumentTooLarge(limit_bytes=limit_bytes, where=where)])
