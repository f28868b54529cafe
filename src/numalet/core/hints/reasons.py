"""What a reason is: a value with a stable code, and a sentence over its figures."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Reason(Protocol):
    """Why something was refused or not offered.

    A frozen dataclass with a class attribute ``code`` of the form ``room/what``, stable across
    releases, and the figures that explain it as fields. Its words are class attributes too:
    ``sentence``, a ``str.format`` template over the fields, ``brief``, the same in few words, and
    ``kubelet_text``, the kubelet's own. One of a manager from outside may lack all three.
    """

    @property
    def code(self) -> str:
        """The stable code, as in ``-o json``."""
        ...
