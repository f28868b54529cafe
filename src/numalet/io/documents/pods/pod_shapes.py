"""The pod shapes of a question about a fleet, from manifests or from amounts on a command line.

A shape is one pod, and the number of such pods. They do not exist yet, so node, phase and
suspension in the manifest are ignored.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from numalet.core.cluster.cluster import ClusterPod, TaintEffect, Toleration
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Findings
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.io.documents.pods import pod_document, pod_templates
from numalet.io.documents.pods.pod_document import PodIdentity
from numalet.io.documents.text import kube_objects, yaml_source
from numalet.io.documents.text.kube_objects import KubeObject
from numalet.io.documents.text.typed import Place

_TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
_EFFECTS: Final = {each.value: each for each in TaintEffect}
_PAIR: Final = re.compile(r"\s*(?!(?:apiVersion|kind)\b)([\w./-]+)\s*[:=]\s*([\w.]+)\s*")
_OF_WORKLOADS: Final = ("spec", "template", "spec")


class PodShape(Value):
    """One pod of an object, and how many pods the object makes; ``name`` is the object's."""

    name: str
    pod: ClusterPod
    count: int = 1


def load(given: Iterable[str]) -> tuple[PodShape, ...]:
    """Files, ``-``, or amounts such as ``cpu=4,memory=8Gi``. Raises ``BadInput``."""
    findings = Findings()
    shapes: list[PodShape] = []
    for number, text in enumerate(given):
        try:
            shapes.extend(_shapes(text, number, findings))
        except BadInput as bad:
            findings.extend(bad.findings)
    findings.raise_errors()
    return tuple(shapes)


def of_text(text: str, name: str, known: Iterable[str] = ()) -> tuple[PodShape, ...]:
    """The shapes in a text from a client, which may be a manifest or amounts but never a file name.

    Amounts may be written as in YAML, ``gpu: 4, cpu: 32``, on one line or several. A short name
    such as ``gpu`` stands for the one of the ``known`` resources that ends in ``/gpu``.

    Raises:
        BadInput: with all errors.
    """
    pairs = [each for each in re.split(r"[,\n]", text) if each.strip()]
    if pairs and all(_PAIR.fullmatch(each) for each in pairs):
        written = [(each[1], each[2]) for each in map(_PAIR.fullmatch, pairs) if each is not None]
        amounts = ",".join(f"{_full_name(short, known)}={amount}" for short, amount in written)
        return (PodShape(amounts, of_amounts(amounts)),)
    findings = Findings()
    shapes = tuple(_of_documents(text, name, 0, findings))
    findings.raise_errors()
    return shapes


def _full_name(short: str, known: Iterable[str]) -> str:
    alike = [each for each in known if each.endswith(f"/{short}")]
    return alike[0] if len(alike) == 1 else short


def is_amounts(text: str) -> bool:
    # ``Path.exists`` raises an error for a text that is too long for a path.
    is_like_them = "=" in text or text.isidentifier()
    return is_like_them and not os.path.exists(text)  # noqa: PTH110


def of_amounts(text: str) -> ClusterPod:
    """A Guaranteed pod with one container and limits such as ``cpu=4,memory=8Gi,nvidia.com/gpu=1``.

    Raises:
        BadInput: the text is not a list of amounts, or a resource or an amount is invalid.
    """
    parts = [each.partition("=") for each in text.split(",")]
    if not all(name.strip() and amount.strip() for name, _, amount in parts):
        raise input_error.Invalid(
            f"{text!r} is neither a file nor a list of amounts",
            expected="a list such as nvidia.com/gpu=4,cpu=16,memory=128Gi",
        ).bad_input()
    names = [name.strip() for name, _, _ in parts]
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise input_error.Duplicate(
            f"{text!r} names {twice[0]} twice; add the two amounts"
        ).bad_input()
    return of_mapping({name.strip(): amount.strip() for name, _, amount in parts}, text)


def of_mapping(amounts: Mapping[str, Any], name: str) -> ClusterPod:
    """``of_amounts`` for a mapping; findings use ``name``.

    Raises:
        BadInput: a resource or an amount is invalid.
    """
    container = {"name": "main", "resources": {"limits": {**amounts}}}
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {"containers": [container]},
    }
    findings = Findings()
    documents = yaml_source.load_documents(json.dumps(manifest, default=str), name)
    (given,) = kube_objects.of_documents(documents, name, findings)
    pod = pod_document.decode_pod(given.value, given.place, PodIdentity(), findings)
    findings.raise_errors()
    assert pod is not None
    return ClusterPod(pod=replace(pod, name="pod"))


def _shapes(text: str, number: int, findings: Findings) -> Iterator[PodShape]:
    # An empty text is no list of amounts either, and is refused as one.
    if not text or is_amounts(text):
        yield PodShape(text, of_amounts(text))
        return
    yield from _of_documents(yaml_source.read_text_or_input(text), text, number, findings)


def _of_documents(text: str, name: str, number: int, findings: Findings) -> Iterator[PodShape]:
    documents = yaml_source.load_documents(text, name)
    objects = kube_objects.of_documents(documents, name, findings, number)
    owners = {owner for each in objects for owner in each.owners()}
    has_any = False
    for each in objects:
        if each.kind in kube_objects.WITHOUT_PODS or each.key in owners:
            continue
        pods = _pods(each, findings)
        has_any = has_any or bool(pods)
        if pods:
            yield PodShape(each.key[2], _as_cluster_pod(each, pods[0]), len(pods))
    if not has_any and not findings.has_errors:
        findings.add(
            input_error.Required(
                f"{name!r} contains no pod; add a Pod, a Job or another workload",
                where=Place(name).location,
            )
        )


def _pods(each: KubeObject, findings: Findings) -> tuple[Pod, ...]:
    if pod_templates.is_workload(each.kind):
        return pod_templates.expand(each.kind, _resumed(each.value), each.place, findings)
    pod = pod_document.decode_pod(each.value, each.place, PodIdentity(), findings)
    # The question is about new pods like this one.
    return () if pod is None else (replace(pod, node_name="", phase=""),)


def _resumed(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    spec = value.get("spec")
    # Queueing systems create Jobs suspended.
    if isinstance(spec, Mapping) and spec.get("suspend") is True:
        return {**value, "spec": {**spec, "suspend": False}}
    return value


def tolerations(each: KubeObject) -> tuple[Toleration, ...]:
    given = each.member(*_TEMPLATES.get(each.kind, _OF_WORKLOADS), "tolerations")
    return tuple(
        Toleration(
            key=toleration.get("key") or "",
            value=toleration.get("value") or "",
            exists=toleration.get("operator") == "Exists",
            effect=_EFFECTS.get(str(toleration.get("effect"))),
        )
        for toleration in (given if isinstance(given, list) else ())
        if isinstance(toleration, Mapping)
        and (not toleration.get("effect") or toleration["effect"] in _EFFECTS)
    )


def _as_cluster_pod(each: KubeObject, pod: Pod) -> ClusterPod:
    return ClusterPod(pod=replace(pod, node_name=""), tolerations=tolerations(each))
