"""What a fake API server stores: objects of any kind, their versions, and what happened to them."""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from running.fake_api_selectors import EVERYTHING, Selectors

Plain = dict[str, Any]
Names = tuple[str, str]

_PATH: Final = re.compile(
    r"(?P<group>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<resource>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<part>[^/]+))?"
)


class StatusAnswer(Exception):  # noqa: N818 - it is an answer
    """An answer that is no success."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message

    @property
    def status(self) -> Plain:
        return {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        }  # fmt: skip


def gone() -> StatusAnswer:
    """What the server does not remember."""
    return StatusAnswer(410, "Expired", "too old resource version")


@dataclass(frozen=True)
class Target:
    """What a path names: a kind of objects, perhaps those of a namespace, perhaps one of them."""

    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, path: str) -> Target:
        match = _PATH.fullmatch(path)
        if match is None:
            raise StatusAnswer(404, "NotFound", "the server could not find the resource")
        kind = f"{match['group']}/{match['resource']}"
        return cls(kind, match["namespace"] or "", match["name"] or "")

    @property
    def names(self) -> Names:
        return self.namespace, self.name

    def has(self, names: Names) -> bool:
        return not self.namespace or names[0] == self.namespace


@dataclass(frozen=True)
class StoredEvent:
    """One change; ``value`` of a deletion is the last state, with the version of its end."""

    version: int
    kind: str
    type: str
    names: Names
    value: Plain
    before: Plain | None = None

    def for_watch(self, selectors: Selectors) -> tuple[str, Plain] | None:
        """What a watch with these selectors is sent; None for nothing."""
        is_chosen = selectors.choose(self.value)
        was_chosen = self.before is not None and selectors.choose(self.before)
        if self.type == "DELETED":
            return ("DELETED", self.value) if is_chosen or was_chosen else None
        if is_chosen:
            return ("MODIFIED" if was_chosen else "ADDED", self.value)
        return ("DELETED", self.value) if was_chosen else None


@dataclass
class Store:
    """Objects by kind and names. A version is given to every change, whatever it changes."""

    version: int = 1
    objects: dict[str, dict[Names, Plain]] = field(default_factory=dict)
    events: list[StoredEvent] = field(default_factory=list)
    forgotten: int = 0
    """Watches and pages from before this version are refused."""

    def put(self, target: Target, value: Mapping[str, Any], *, is_new: bool) -> Plain:
        """The object as it is stored from now on."""
        kept = copy.deepcopy(dict(value))
        metadata = kept.setdefault("metadata", {})
        names = target.namespace, target.name or metadata["name"]
        before = self.objects.setdefault(target.kind, {}).get(names)
        if before is not None and is_new:
            raise StatusAnswer(409, "AlreadyExists", f"{names[1]} already exists")
        self.version += 1
        metadata["name"] = names[1]
        if names[0]:
            metadata["namespace"] = names[0]
        given = metadata.get("uid") or f"uid-{self.version}"
        uid = before["metadata"]["uid"] if before else given
        metadata.update(uid=uid, resourceVersion=str(self.version))
        self.objects[target.kind][names] = kept
        self._note("MODIFIED" if before else "ADDED", target.kind, names, kept, before)
        return kept

    def expect(self, target: Target, stated: Mapping[str, Any] | None) -> None:
        """StatusAnswer if what is there has another uid or version than what is stated."""
        there = self.objects.get(target.kind, {}).get(target.names)
        for name in ("uid", "resourceVersion"):
            wanted = (stated or {}).get(name)
            if there is not None and wanted and there["metadata"][name] != wanted:
                raise StatusAnswer(409, "Conflict", f"the {name} is not {wanted}")

    def one(self, target: Target) -> Plain:
        """The object; StatusAnswer if there is none."""
        value = self.objects.get(target.kind, {}).get(target.names)
        if value is None:
            raise StatusAnswer(404, "NotFound", f"{target.name} not found")
        return value

    def merge(self, target: Target, patch: Mapping[str, Any]) -> Plain:
        """The object after a merge patch."""
        return self.put(target, merged(self.one(target), patch), is_new=False)

    def apply(self, target: Target, value: Mapping[str, Any]) -> Plain:
        """The object after an apply; fields belong to nobody here."""
        before = self.objects.get(target.kind, {}).get(target.names, {})
        return self.put(target, merged(before, value), is_new=False)

    def bind(self, target: Target, binding: Mapping[str, Any]) -> Plain:
        """The pod, which is bound to the node of the binding; not another one of its name."""
        pod = self.one(target)
        asked, uid = binding["metadata"].get("uid"), pod["metadata"]["uid"]
        if asked not in (None, uid):
            raise StatusAnswer(409, "Conflict", f"the UID in the precondition is not {uid}")
        if pod["spec"].get("nodeName"):
            raise StatusAnswer(409, "Conflict", f"pod {target.name} is already assigned to a node")
        return self.merge(target, {"spec": {"nodeName": binding["target"]["name"]}})

    def remove(self, target: Target) -> Plain:
        """The object, which is gone."""
        value = copy.deepcopy(self.one(target))
        self.version += 1
        del self.objects[target.kind][target.names]
        value["metadata"]["resourceVersion"] = str(self.version)
        self._note("DELETED", target.kind, target.names, value)
        return value

    def page(
        self, target: Target, limit: int, token: str, selectors: Selectors = EVERYTHING
    ) -> Plain:
        """A page of the objects as they were when the first page was asked for."""
        version, start = _place(token) if token else (self.version, 0)
        if token and version < self.forgotten:
            raise gone()
        there = [
            each
            for names, each in self._at(target.kind, version)
            if target.has(names) and selectors.choose(each)
        ]
        end = start + limit if limit else len(there)
        metadata: Plain = {"resourceVersion": str(version)}
        if end < len(there):
            metadata["continue"] = base64.urlsafe_b64encode(f"{version} {end}".encode()).decode()
            metadata["remainingItemCount"] = len(there) - end
        return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": there[start:end]}

    def since(self, target: Target, version: int) -> list[StoredEvent]:
        """The events of the target after a version."""
        if version < self.forgotten:
            raise gone()
        return [
            each
            for each in self.events
            if each.version > version and each.kind == target.kind and target.has(each.names)
        ]

    def forget(self) -> None:
        """Forget how it came to be."""
        self.forgotten = self.version

    def _at(self, kind: str, version: int) -> list[tuple[Names, Plain]]:
        state: dict[Names, Plain] = {}
        for event in self.events:
            if event.kind == kind and event.version <= version:
                if event.type == "DELETED":
                    del state[event.names]
                else:
                    state[event.names] = event.value
        return sorted(state.items())

    def _note(
        self, type_: str, kind: str, names: Names, value: Plain, before: Plain | None = None
    ) -> None:
        kept = copy.deepcopy(value)
        self.events.append(StoredEvent(self.version, kind, type_, names, kept, before))


def merged(before: Any, patch: Any) -> Any:
    """A merge patch: null removes, objects merge, all else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(before) if isinstance(before, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def line(type_: str, value: Mapping[str, Any]) -> bytes:
    """An event as it is sent."""
    return json.dumps({"type": type_, "object": value}).encode() + b"\n"


def _place(token: str) -> tuple[int, int]:
    version, start = base64.urlsafe_b64decode(token).split()
    return int(version), int(start)
