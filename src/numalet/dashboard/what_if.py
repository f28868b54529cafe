"""What if: hypothetical pods, on the current node or after a hypothetical restart, and links to it.

The node of the view is an immutable value, so the shown node never changes.
"""

from __future__ import annotations

import base64
import binascii
import time
import zlib
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from numalet.core.admission.decision import Decision
from numalet.core.config.rules import StartRefused
from numalet.core.model import resources
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node.node import Node
from numalet.dashboard.sources import NodeView
from numalet.insight.explain import cases, search, story, tally
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.explain.tally import Offer
from numalet.insight.maps import node_map
from numalet.insight.maps.node_map import NodeMap
from numalet.insight.output import explanation_document
from numalet.insight.simulate.session import Session
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.pods.pod_manifest import PodOptions
from numalet.wording import kubelet, kubelet_start

# A link contains the manifest.
LONGEST_LINK_CHARS: Final = 8_000
"""Browsers, servers and chats accept links of this length."""

LARGEST_UNPACKED_BYTES: Final = 256 * 1024


def link_to_manifest(path: str, text: str, policy: str = "", scope: str = "") -> str | None:
    """Return the link with this manifest, unless it would be too long."""
    packed = zlib.compress(text.encode("utf-8", "replace"), 9)
    coded = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    if len(coded) > LONGEST_LINK_CHARS or len(text.encode()) > LARGEST_UNPACKED_BYTES:
        return None
    return _link(path, m=coded, policy=policy, scope=scope)


def link_to_pod(path: str, uid: str, way: str = "") -> str:
    return _link(path, uid=uid, way=way)


def unpacked_manifest(coded: str) -> str | None:
    """Return the manifest of a link, if it is valid and not too long."""
    if len(coded) > LONGEST_LINK_CHARS:
        return None
    try:
        packed = base64.b64decode(coded + "=" * (-len(coded) % 4), altchars=b"-_", validate=True)
        reader = zlib.decompressobj()
        # The limit stops a small link from unpacking to gigabytes.
        content = reader.decompress(packed, LARGEST_UNPACKED_BYTES)
        is_whole = reader.eof
    except (binascii.Error, ValueError, zlib.error):
        return None
    return content.decode("utf-8", "replace") if is_whole else None


def _link(path: str, **values: str) -> str:
    return f"{path}/what-if?" + urlencode({name: value for name, value in values.items() if value})


_MIB: Final = 1024 * 1024


class SampleManifest(Value):
    name: str
    title: str
    text: str


def samples(chart: NodeMap) -> tuple[SampleManifest, ...]:
    """Return samples for this node; a node without CPUs and memory has no samples."""
    block = next((each for each in chart.nodes if each.cpus and each.memory), None)
    if block is None:
        return ()
    cpus = len(block.cpus)
    sizes = {bar.resource: bar.total_bytes for bar in block.memory}
    size_mib = sizes.get(resources.MEMORY, 0) // _MIB
    half = {"cpu": str(max(cpus // 4 * 2, 1)), "memory": f"{max(size_mib // 2, 1)}Mi"}
    large = {"cpu": str(cpus + 2), "memory": f"{max(size_mib * 5 // 4, 1)}Mi"}
    small = {"cpu": "2", "memory": "256Mi"}
    some = [
        SampleManifest("half", "Half a NUMA node", _manifest("half-a-numa-node", half, half)),
        SampleManifest(
            "larger", "Larger than a NUMA node", _manifest("larger-than-a-numa-node", large, large)
        ),
        SampleManifest(
            "burstable", "Burstable", _manifest("burstable", {"cpu": "500m", "memory": "128Mi"}, {})
        ),
    ]
    if chart.devices:
        one = {**small, chart.devices[0].resource: "1"}
        some.insert(1, SampleManifest("device", "One device", _manifest("one-device", one, one)))
    return tuple(some)


def _manifest(name: str, requests: dict[str, str], limits: dict[str, str]) -> str:
    lines = [
        *("apiVersion: v1", "kind: Pod", "metadata:", f"  name: {name}", "spec:"),
        *("  containers:", "  - name: main", "    image: example.org/image", "    resources:"),
    ]
    for field, amounts in (("requests", requests), ("limits", limits)):
        if amounts:
            lines.append(f"      {field}:")
            lines += [f"        {resource}: {value!r}" for resource, value in amounts.items()]
    return "\n".join(lines) + "\n"


MOST_PODS: Final = 100
LONGEST_SEARCH_SECONDS: Final = 2.0

UID: Final = "what-if-"
"""Prefix of the uids of hypothetical pods; style sheets mark their allocations by it."""


class WhatIfQuestion(Value, kw_only=True):
    """A manifest or the uid of a pod of the node, and a policy and scope.

    An empty policy or scope is the configured one. ``chosen`` is the index of the pod shown in
    detail, ``way`` the text of a change to show instead of the decision.
    """

    text: str = ""
    uid: str = ""
    policy: str = ""
    scope: str = ""
    chosen: int | None = None
    way: str = ""


class WhatIfRow(Value):
    title: str
    admitted: bool
    cause: str
    """One sentence with figures; empty for an admitted pod."""
    message: str


class WhatIfAnswer(Value, kw_only=True):
    """Rows in the order of admission, and one pod in detail; or an error.

    ``lost`` are pods of the node that would not be admitted again.
    """

    findings: tuple[Finding, ...] = ()
    problem: str = ""
    rows: tuple[WhatIfRow, ...] = ()
    chosen: int = 0
    explanation: Explanation | None = None
    chart: NodeMap | None = None
    lost: tuple[str, ...] = ()
    way: str = ""


def answer(view: NodeView, question: WhatIfQuestion) -> WhatIfAnswer:
    """Answer within ``LONGEST_SEARCH_SECONDS``."""
    findings: tuple[Finding, ...] = ()
    if question.uid:
        row = next((each for each in view.rows if each.pod.uid == question.uid), None)
        if row is None:
            return WhatIfAnswer(problem="The node does not know this pod any more.")
        pods: Sequence[Pod] = (row.pod,)
    else:
        try:
            read = pod_manifest.read_pods(question.text, "manifest", PodOptions(about=0))
        except BadInput as bad:
            return WhatIfAnswer(findings=bad.findings)
        pods, findings = read.pods, (*read.notes, *read.on_claims)
    if not pods or len(pods) > MOST_PODS:
        text = f"{len(pods)} pods are too many; at most {MOST_PODS} are evaluated at a time."
        return WhatIfAnswer(
            findings=findings, problem=text if pods else "This manifest contains no pod."
        )
    beginning = _beginning(view, question)
    if isinstance(beginning, StartRefused):
        text = kubelet_start.complaint("The kubelet", beginning)
        return WhatIfAnswer(findings=findings, problem=text)
    active = view.node.snapshot.pods
    # A restart under another policy admits the running pods again, and may reject some.
    gone = [str(pod) for uid, pod in active.items() if uid not in beginning.node.snapshot.pods]
    if question.uid:
        # The pod is removed first, so that it does not compete with its own allocation.
        node = beginning.node.remove(question.uid).release_stale()
        beginning = replace(beginning, node=node)
    # Uids of the manifest could be those of running pods.
    own = [replace(pod, uid=f"{UID}{at}") for at, pod in enumerate(pods)]
    asked = _asked(beginning, own, question)
    assert asked.chart is not None
    chart = node_map.with_letters_of(view.chart, asked.chart)
    return replace(asked, chart=chart, findings=findings, lost=tuple(gone))


def _beginning(view: NodeView, question: WhatIfQuestion) -> Session | StartRefused:
    """Return the current node, or one after a restart under another policy or scope."""
    known = {row.pod.uid: row.pod for row in view.rows}
    session = cases.running_session(view.node, view.config, known)
    config = replace(
        view.config,
        topology_manager_policy=question.policy or view.config.topology_manager_policy,
        topology_manager_scope=question.scope or view.config.topology_manager_scope,
    )
    return session if config == view.config else cases.restart_running(session, config)


def _asked(beginning: Session, pods: Sequence[Pod], question: WhatIfQuestion) -> WhatIfAnswer:
    node = beginning.node
    decisions = []
    for pod in pods:
        node, decision = node.admit(pod)
        # Its containers start before the next pod is decided on, as on a node.
        node = node.pod_started(pod.uid) if decision.admitted else node
        decisions.append(decision)
    causes = explanation_document.causes(replace(beginning, node=node), decisions)
    rows = [
        WhatIfRow(
            str(each.pod), each.admitted, causes.get(id(each), ""), kubelet.message(each.rejection)
        )
        for each in decisions
    ]
    rejected = (at for at, row in enumerate(rows) if not row.admitted)
    chosen = question.chosen
    if chosen is None or not 0 <= chosen < len(pods):
        # In detail: the first rejected pod, or the last one if all are admitted.
        chosen = next(rejected, len(pods) - 1)
    case = cases.running_case(beginning, pods[:chosen], pods[chosen])
    traced = story.trace(case)
    end = time.monotonic() + LONGEST_SEARCH_SECONDS
    tallies = tally.in_order(search.search(case, traced, lambda: time.monotonic() < end))
    assumed = len({key.pod_uid for key in case.node.snapshot.assumed})
    explanation = explanation_document.explanation(case, traced, tallies, assumed)
    offers = (offer for each in tallies for offer in each.offers)
    found = explanation.would_admit or explanation.would_align
    texts = (offer.text for each in found for offer in each.offers)
    way = next(
        (each for each, text in zip(offers, texts, strict=True) if text == question.way), None
    )
    return WhatIfAnswer(
        rows=tuple(rows),
        chosen=chosen,
        explanation=explanation,
        chart=_chart(case.node, traced.decision, way),
        way=question.way if way is not None else "",
        problem=""
        if way is not None or not question.way
        else "This way out is not there any more: the node has changed.",
    )


def _chart(node: Node, decision: Decision, way: Offer | None) -> NodeMap:
    """Return the node with the pod, if it is admitted; with ``way``, after that change."""
    if way is not None:
        assert not isinstance(way.outcome.decision, StartRefused)
        decision = way.outcome.decision
    # A rejected pod may leave resources behind until the next admission. They are not drawn,
    # because they are not a placement.
    after = node.at(decision.after) if decision.admitted else node
    return node_map.of_node(after, "Simulated node")
