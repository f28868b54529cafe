"""``data`` and ``dataChecksum``: the content of both state files, in their newest formats.

The CPU Manager's format 4 and the Memory Manager's format 3 are the plain formats with two more
members. ``data`` is a text with the content as JSON. ``podEntries`` and the baselines exist only in
it. A kubelet that supports these members reads nothing else; older ones read the plain members. If
``data`` or its checksum is invalid, the kubelet tries no older format.

Kubelet: ``loadAndMigrateCheckpointV4`` of the CPU Manager, ``loadAndMigrateCheckpointV3`` of the
Memory Manager, v1.37.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numalet.core.checkpoint import go_json
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.go_json import Fields, GoJsonError

_T = TypeVar("_T")
_MEMBER, _CHECKSUM = "data", "dataChecksum"


def checksum_of(data: str) -> int:
    return fnv1a_32(f"(string){data}")


def text(members: str, checksum: int, further: str) -> str:
    """Return the file: the plain ``members`` with their checksum, then ``data`` with both."""
    data = f"{{{members}{further}}}"
    return (
        f'{{{members},"checksum":{checksum},"{_MEMBER}":{go_json.quoted(data)},'
        f'"{_CHECKSUM}":{checksum_of(data)}}}'
    )


def is_in(fields: Fields) -> bool:
    """Return whether a file of another format is not tried if this one fails."""
    data, checksum = fields.get(_MEMBER), fields.get(_CHECKSUM)
    has_text = isinstance(data, str) and data != ""
    try:
        return has_text or go_json.number(checksum, "", "checksum.Checksum") != 0
    except GoJsonError:
        return has_text


def read(
    manager: str, fields: Fields, plain: Callable[[], object], content: Callable[[object], _T]
) -> tuple[_T, str, int]:
    """Return the content, its text, and the checksum in the file. Raises ``GoJsonError``.

    ``plain`` decodes the plain members, which must be valid, too.
    """
    whole = f"could not load v{4 if manager == 'cpu' else 3} checkpoint: failed to deserialize "
    whole += f"{manager} manager checkpoint"
    try:
        plain()
        data, checksum = fields.text(_MEMBER), fields.number(_CHECKSUM, "checksum.Checksum")
    except GoJsonError as error:
        raise GoJsonError(f"{whole}: {error.go_text}") from None
    try:
        return content(go_json.loads(data)), data, checksum
    except GoJsonError as error:
        raise GoJsonError(f"{whole} data: {error.go_text}") from None
