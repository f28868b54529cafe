"""The pods that a workload (Deployment, StatefulSet, ...) creates from its template.

Pods get the names that Kubernetes would give them. Random parts are derived from the workload's
name, so every run yields the same pods with the same uids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from numalet.core.model import input_error
from numalet.core.model.findings import Findings
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.io.documents.pods import pod_document
from numalet.io.documents.pods.pod_document import Metadata, PodIdentity
from numalet.io.documents.pods.pod_table import checking
from numalet.io.documents.pods.pod_table.table import WORKLOADS
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place
from numalet.io.findings.pods import PodsNameMissing

MOST_REPLICAS: Final = 10_000
"""Of one workload. More than any node runs, and low enough to survive a typing error."""

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_PREFIX: Final = 58
"""Of a generated name, v1.32 (``SimpleNameGenerator``)."""


class _Ordinals(msgspec.Struct, frozen=True):
    start: int | None = None


class _Spec(msgspec.Struct, rename="camel", frozen=True):
    template: dict[str, Any] | None = None
    job_template: dict[str, Any] | None = None
    replicas: int | None = None
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    ordinals: _Ordinals | None = None


class _Workload(Value):
    """A workload whose parts have the right types; ``template`` is at ``place``.

    ``from_server``: a server wrote it, perhaps of a newer release.
    """

    kind: str
    metadata: Metadata
    spec: _Spec
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


def is_workload(kind: str) -> bool:
    return kind in _COUNTS


def _read(
    kind: str, value: Mapping[Any, Any], place: Place, from_server: bool, findings: Findings
) -> _Workload | None:
    at_spec = place.member("spec")
    metadata = typed.decode(
        value.get("metadata") or {}, Metadata, place.member("metadata"), findings
    )
    spec = typed.decode(value.get("spec") or {}, _Spec, at_spec, findings)
    if spec is not None and kind == "CronJob":
        suspend = spec.suspend
        at_spec = at_spec.member("jobTemplate").member("spec")
        job = (spec.job_template or {}).get("spec")
        spec = typed.decode(job or {}, _Spec, at_spec, findings)
        if spec is not None and suspend:
            spec = msgspec.structs.replace(spec, suspend=True)
    if metadata is None or spec is None:
        return None
    if not metadata.name:
        at_name = place.member("metadata").member("name")
        findings.add(PodsNameMissing(what=kind, where=at_name.location))
        return None
    if spec.template is None:
        findings.add(
            input_error.Required(
                f"the {kind} has no pod template; set spec.template", where=at_spec.location
            )
        )
        return None
    at_template = at_spec.member("template")
    return _Workload(kind, metadata, spec, spec.template, at_template, from_server)


def _pod(workload: _Workload, name: str, findings: Findings) -> Pod | None:
    identity = PodIdentity(
        kind=workload.kind,
        name=name,
        namespace=workload.metadata.namespace or "default",
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


def _replicas(spec: _Spec) -> int:
    return 1 if spec.replicas is None else spec.replicas


def _of_job(spec: _Spec) -> int:
    if spec.suspend:
        return 0
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    # A Job never runs more pods at once than completions are left.
    return parallelism if spec.completions is None else min(parallelism, spec.completions)


def _one(_spec: _Spec) -> int:
    return 1


_COUNTS: Final[Mapping[str, Callable[[_Spec], int]]] = {
    "CronJob": _of_job,
    "DaemonSet": _one,
    "Deployment": _replicas,
    "Job": _of_job,
    "ReplicaSet": _replicas,
    "ReplicationController": _replicas,
    "StatefulSet": _replicas,
}


def _random_name(workload: _Workload, index: int) -> str:
    return _suffixed(f"{workload.metadata.name}-", workload, index)


def _deployment_name(workload: _Workload, index: int) -> str:
    template_hash = _letters(f"{workload.metadata.namespace}/{workload.metadata.name}", 10)
    return _suffixed(f"{workload.metadata.name}-{template_hash}-", workload, index)


def _cron_job_name(workload: _Workload, index: int) -> str:
    # The real name has the minute of the run here.
    return _suffixed(f"{workload.metadata.name}-0-", workload, index)


def _job_name(workload: _Workload, index: int) -> str:
    if workload.spec.completion_mode == "Indexed":
        return _suffixed(f"{workload.metadata.name}-{index}-", workload, index)
    return _random_name(workload, index)


def _ordinal_name(workload: _Workload, index: int) -> str:
    ordinals = workload.spec.ordinals
    start = ordinals.start if ordinals is not None and ordinals.start is not None else 0
    return f"{workload.metadata.name}-{start + index}"


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
    seed = f"{workload.kind}/{workload.metadata.namespace}/{prefix}/{index}"
    return prefix[:_LONGEST_PREFIX] + _letters(seed, 5)


def _letters(seed: str, count: int) -> str:
    """Letters like those that Kubernetes draws at random, but the same for the same seed."""
    import hashlib  # Few pods come of a template.

    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:count])
