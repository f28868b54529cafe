"""The protocol of a reason: a value with a stable code and a sentence over its fields."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Reason(Protocol):
    """Why a manager refused a request or did not offer a set.

    A frozen dataclass with a class attribute ``code`` of the form ``room/name``, stable across
    releases. Its fields are the values of the explanation. Class attributes hold its words:
    ``sentence``, a ``str.format`` template over the fields; ``brief``, the same in few words;
    ``kubelet_text``, the kubelet's own. A manager from outside may omit all three.
    """

    @property
    def code(self) -> str:
        """The stable code that ``-o json`` prints."""
        ...
