"""Reads pods of a watch for hollow nodes: a glance at every pod, the whole of new ones.

A cluster-wide watch sends every pod repeatedly, most of them known or of other nodes. A few members
are therefore decoded first, in some microseconds; the whole pod is decoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from numalet.cluster.hollow.life import AT_ONCE, ContainerBefore, HollowPod, RunTimes
from numalet.core.model import go_text, input_error
from numalet.core.model.findings import Finding, Findings, Location
from numalet.core.model.go_text import DurationError
from numalet.core.model.pod_standing import TERMINAL_PHASES
from numalet.core.model.value import Value, replace
from numalet.core.workload.spec import ContainerSpec, RestartPolicy, Workload
from numalet.io.documents.pods import served_pod
from numalet.io.documents.text.typed import Place
from numalet.io.kube_api import listing, paths

RUNS_FOR: Final = "numalet.dev/runs-for"
INIT_RUNS_FOR: Final = "numalet.dev/init-runs-for"
ENDS_AFTER: Final = "numalet.dev/ends-after"
EXIT_CODE: Final = "numalet.dev/exit-code"
FOREVER: Final = "forever"
LONGEST_NS: Final = 10 * 365 * 24 * 3600 * go_text.SECOND_NS
HIGHEST_EXIT_CODE: Final = 255

BOUND_PODS: Final = listing.ApiCollection(paths.PODS, field_selector="spec.nodeName!=")


class _Metadata(msgspec.Struct, rename="camel", gc=False, frozen=True):
    name: str
    uid: str
    namespace: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False, frozen=True):
    node_name: str = ""


class _Status(msgspec.Struct, gc=False, frozen=True):
    phase: str = ""


class _Glance(msgspec.Struct, gc=False, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


_GLANCE: Final = msgspec.json.Decoder(_Glance)


class PodGlance(Value):
    """The members decoded of every pod; ``grace_seconds`` only if it is being deleted."""

    uid: str
    namespace: str
    name: str
    node_name: str
    is_over: bool
    grace_seconds: float | None


def read_glance(raw: bytes | msgspec.Raw) -> PodGlance:
    """Decode a few members of a Pod object. Raises ``msgspec.DecodeError`` for others."""
    read = _GLANCE.decode(raw)
    metadata = read.metadata
    grace = None
    if metadata.deletion_timestamp is not None:
        grace = float(metadata.deletion_grace_period_seconds or 0)
    return PodGlance(
        metadata.uid,
        metadata.namespace,
        metadata.name,
        read.spec.node_name,
        read.status.phase in TERMINAL_PHASES,
        grace,
    )


def read_pod(raw: bytes | msgspec.Raw, findings: Findings) -> HollowPod | None:
    """Return the pod for its node, or report why it cannot be read.

    An invalid run time in an annotation is ignored, with a finding.
    """
    value = msgspec.json.decode(raw)
    metadata = value["metadata"]
    pod = served_pod.decode(value, findings)
    if pod is None:
        return None
    spec = value["spec"]
    images = {
        each["name"]: each.get("image") or ""
        for name in ("initContainers", "containers")
        for each in spec.get(name) or ()
    }
    containers = tuple(
        ContainerSpec(name=each.name, kind=each.kind, image=images.get(each.name, ""))
        for each in pod.containers()
    )
    grace = spec.get("terminationGracePeriodSeconds")
    return HollowPod(
        workload=Workload(
            pod=pod,
            containers=containers,
            restart_policy=RestartPolicy(spec.get("restartPolicy") or "Always"),
            grace_period_seconds=30 if grace is None else grace,
        ),
        times=_times(metadata.get("annotations") or {}, served_pod.place(value), findings),
        created_at=_moment(metadata["creationTimestamp"]),
        running=_running(value),
        grace_seconds=_grace(metadata),
    )


def _grace(metadata: Mapping[str, Any]) -> float | None:
    if metadata.get("deletionTimestamp") is None:
        return None
    return float(metadata.get("deletionGracePeriodSeconds") or 0)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _running(value: Mapping[str, Any]) -> dict[str, ContainerBefore]:
    running: dict[str, ContainerBefore] = {}
    for each in served_pod.statuses(value):
        since = (each.get("state") or {}).get("running") or {}
        if since.get("startedAt"):
            at = _moment(since["startedAt"])
            running[each["name"]] = ContainerBefore(at, each.get("restartCount") or 0)
    return running


def _times(notes: Mapping[str, str], place: Place, findings: Findings) -> RunTimes:
    return RunTimes(
        app=_duration(notes, RUNS_FOR, place, findings),
        init=_duration(notes, INIT_RUNS_FOR, place, findings) or AT_ONCE,
        ending=_duration(notes, ENDS_AFTER, place, findings) or AT_ONCE,
        exit_code=_exit_code(notes, place, findings),
    )


def _duration(
    notes: Mapping[str, str], name: str, place: Place, findings: Findings
) -> timedelta | None:
    text = notes.get(name)
    if text is None or (name == RUNS_FOR and text == FOREVER):
        return None
    try:
        length_ns = go_text.parse_duration_ns(text)
    except DurationError:
        length_ns = -1
    if not 0 <= length_ns <= LONGEST_NS:
        findings.add(
            input_error.Ignored(
                f"invalid annotation {name}: {text!r}",
                expected=(
                    "a duration such as 90s, 5m or 1h30m; numalet.dev/runs-for also accepts "
                    "'forever'"
                ),
                where=_at(place, name),
            )
        )
        return None
    return timedelta(microseconds=length_ns // 1000)


def _exit_code(notes: Mapping[str, str], place: Place, findings: Findings) -> int:
    text = notes.get(EXIT_CODE)
    if text is None:
        return 0
    if text.isascii() and text.isdecimal() and len(text) <= 3 and int(text) <= HIGHEST_EXIT_CODE:
        return int(text)
    findings.add(
        input_error.Ignored(
            f"invalid annotation numalet.dev/exit-code: {text!r}",
            expected="0 to 255",
            where=_at(place, EXIT_CODE),
        )
    )
    return 0


def _at(place: Place, name: str) -> Location:
    return place.member("metadata").member("annotations").member(name).location


class WatchedPod(Value):
    """A pod of a hollow node; without ``pod`` if it has ended or cannot be read."""

    glance: PodGlance
    pod: HollowPod | None

    @property
    def node_name(self) -> str:
        return self.glance.node_name

    @property
    def order(self) -> tuple[datetime, str]:
        """The key of the order of start; pods that have ended come first."""
        return (datetime.min.replace(tzinfo=UTC), "") if self.pod is None else self.pod.order


class PodDecoder:
    """Reads the pods of a watch: those of these nodes, each as a whole once.

    ``complain`` is called with errors in a pod, and its node.
    """

    def __init__(
        self, names: Collection[str], complain: Callable[[PodGlance, Finding], None]
    ) -> None:
        self._names = names
        self._complain = complain
        self._known: dict[str, HollowPod | None] = {}

    def decode(self, content: bytes) -> WatchedPod | None:
        """Return the pod, unless it is of another node or lacks members."""
        try:
            glance = read_glance(content)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if glance.node_name not in self._names:
            return None
        if glance.uid not in self._known:
            self._known[glance.uid] = None if glance.is_over else self._read(content, glance)
        pod = self._known[glance.uid]
        if pod is not None and pod.grace_seconds != glance.grace_seconds:
            pod = self._known[glance.uid] = replace(pod, grace_seconds=glance.grace_seconds)
        return WatchedPod(glance, pod)

    def forget(self, uid: str) -> None:
        self._known.pop(uid, None)

    def forget_others(self, uids: Collection[str]) -> None:
        for uid in [each for each in self._known if each not in uids]:
            del self._known[uid]

    def _read(self, content: bytes, glance: PodGlance) -> HollowPod | None:
        findings = Findings()
        pod = read_pod(content, findings)
        for each in findings.distinct:
            self._complain(glance, each)
        return pod


def in_order(pods: Iterator[WatchedPod]) -> list[HollowPod]:
    return sorted((each.pod for each in pods if each.pod), key=lambda each: each.order)
