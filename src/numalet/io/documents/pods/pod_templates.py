"""The pods that a workload (Deployment, StatefulSet, ...) creates from its template.

Pods get the names that Kubernetes would give them. Random parts are derived from the workload's
name, so every run yields the same pods with the same uids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from numalet.core.model import input_error
from numalet.core.model.findings import Findings
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.io.documents.pods import pod_document
from numalet.io.documents.pods.pod_document import PodIdentity
from numalet.io.documents.pods.pod_table import checking
from numalet.io.documents.pods.pod_table.table import WORKLOADS
from numalet.io.documents.text.typed import Place
from numalet.io.findings.pods import PodsNameMissing

MOST_REPLICAS: Final = 10_000
"""Of one workload. More than any node runs, and low enough to survive a typing error."""

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_PREFIX: Final = 58
"""Of a generated name, v1.32 (``SimpleNameGenerator``)."""


class _Workload(Value):
    """A checked workload; ``template`` is at ``place``.

    ``from_server``: a server wrote it, perhaps of a newer release.
    """

    kind: str
    name: str
    namespace: str | None
    spec: Mapping[str, Any]
    template: Mapping[str, Any]
    place: Place
    from_server: bool


_Name = Callable[[_Workload, int], str]


def expand(
    kind: str, value: Mapping[Any, Any], place: Place, findings: Findings
) -> tuple[Pod, ...]:
    from_server = pod_document.is_from_server(value)
    strictness = checking.OF_SERVERS if from_server else checking.STRICT
    of_workload = Findings()
    checking.check(value, WORKLOADS[kind], place, strictness, of_workload)
    findings.extend(of_workload.all)
    workload = None if of_workload.has_errors else _read(kind, value, place, from_server, findings)
    if workload is None:
        return ()
    count = _COUNTS[kind](workload.spec)
    at_spec = place.member("spec")
    if not 0 <= count <= MOST_REPLICAS:
        findings.add(
            input_error.Invalid(
                f"invalid number of pods {count}",
                expected=f"0 to {MOST_REPLICAS}",
                where=at_spec.location,
            )
        )
        return ()
    # Check the template once, even with 0 replicas.
    first = _pod(workload, _NAMES[kind](workload, 0), findings)
    if first is None:
        return ()
    return tuple(_replica(first, workload, index) for index in range(count))


def template_place(kind: str, place: Place) -> Place:
    return _spec_place(kind, place).member("template")


def _spec_place(kind: str, place: Place) -> Place:
    """The place of the spec with the template; that of a CronJob is the spec of its Jobs."""
    at_spec = place.member("spec")
    return at_spec.member("jobTemplate").member("spec") if kind == "CronJob" else at_spec


def is_workload(kind: str) -> bool:
    return kind in _COUNTS


def _read(
    kind: str, value: Mapping[Any, Any], place: Place, from_server: bool, findings: Findings
) -> _Workload | None:
    # The check has found the types of all members right.
    at_spec = _spec_place(kind, place)
    metadata, spec = value.get("metadata") or {}, value.get("spec") or {}
    if kind == "CronJob":
        job = (spec.get("jobTemplate") or {}).get("spec") or {}
        spec = {**job, "suspend": True} if spec.get("suspend") else job
    name = metadata.get("name")
    if not name:
        at_name = place.member("metadata").member("name")
        findings.add(PodsNameMissing(what=kind, where=at_name.location))
        return None
    if spec.get("template") is None:
        findings.add(
            input_error.Required(
                f"the {kind} has no pod template; set spec.template", where=at_spec.location
            )
        )
        return None
    return _Workload(
        kind=kind,
        name=name,
        namespace=metadata.get("namespace"),
        spec=spec,
        template=spec["template"],
        place=at_spec.member("template"),
        from_server=from_server,
    )


def _pod(workload: _Workload, name: str, findings: Findings) -> Pod | None:
    identity = PodIdentity(
        kind=workload.kind,
        name=name,
        namespace=workload.namespace or "default",
        from_server=workload.from_server,
    )
    # Kubernetes ignores name and uid in a template, and uses the namespace of the workload.
    metadata = workload.template.get("metadata")
    if isinstance(metadata, Mapping):
        metadata = {k: v for k, v in metadata.items() if k not in ("name", "namespace", "uid")}
    template = {"metadata": metadata, "spec": workload.template.get("spec")}
    return pod_document.decode_pod(template, workload.place, identity, findings)


def _replica(pod: Pod, workload: _Workload, index: int) -> Pod:
    name = _NAMES[workload.kind](workload, index)
    uid = pod_document.made_up_uid(workload.kind, pod.namespace, name, index)
    return replace(pod, uid=uid, name=name)


def _replicas(spec: Mapping[str, Any], name: str = "replicas") -> int:
    count: int | None = spec.get(name)
    return 1 if count is None else count


def _of_job(spec: Mapping[str, Any]) -> int:
    if spec.get("suspend"):
        return 0
    parallelism = _replicas(spec, "parallelism")
    completions: int | None = spec.get("completions")
    # A Job never runs more pods at once than completions are left.
    return parallelism if completions is None else min(parallelism, completions)


_COUNTS: Final[Mapping[str, Callable[[Mapping[str, Any]], int]]] = {
    "CronJob": _of_job,
    "DaemonSet": lambda _: 1,
    "Deployment": _replicas,
    "Job": _of_job,
    "ReplicaSet": _replicas,
    "ReplicationController": _replicas,
    "StatefulSet": _replicas,
}


def _random_name(workload: _Workload, index: int) -> str:
    return _suffixed(f"{workload.name}-", workload, index)


def _deployment_name(workload: _Workload, index: int) -> str:
    template_hash = _letters(f"{workload.namespace}/{workload.name}", 10)
    return _suffixed(f"{workload.name}-{template_hash}-", workload, index)


def _cron_job_name(workload: _Workload, index: int) -> str:
    # The real name has the minute of the run here.
    return _suffixed(f"{workload.name}-0-", workload, index)


def _job_name(workload: _Workload, index: int) -> str:
    if workload.spec.get("completionMode") == "Indexed":
        return _suffixed(f"{workload.name}-{index}-", workload, index)
    return _random_name(workload, index)


def _ordinal_name(workload: _Workload, index: int) -> str:
    ordinals = workload.spec.get("ordinals") or {}
    return f"{workload.name}-{(ordinals.get('start') or 0) + index}"


_NAMES: Final[Mapping[str, _Name]] = {
    "CronJob": _cron_job_name,
    "DaemonSet": _random_name,
    "Deployment": _deployment_name,
    "Job": _job_name,
    "ReplicaSet": _random_name,
    "ReplicationController": _random_name,
    "StatefulSet": _ordinal_name,
}


def _suffixed(prefix: str, workload: _Workload, index: int) -> str:
    seed = f"{workload.kind}/{workload.namespace}/{prefix}/{index}"
    return prefix[:_LONGEST_PREFIX] + _letters(seed, 5)


def _letters(seed: str, count: int) -> str:
    """Letters like those that Kubernetes draws at random, but the same for the same seed."""
    import hashlib  # Few pods come of a template.

    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:count])
