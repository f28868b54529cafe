"""The extender's HTTP applications: a route for each verb, probes, metrics.

``application`` serves the scheduler. ``probes`` has a separate address if ``application`` requires
client certificates, which kubelets and Prometheus do not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starlette.applications import Starlette
from starlette.routing import Route

from numalet.cluster.extender import victim_bodies, wire
from numalet.cluster.extender.binding import BindGate
from numalet.cluster.extender.bodies import BodyReader
from numalet.cluster.extender.calls import Call, Calls, Verb, error_status
from numalet.cluster.extender.state import ExtenderState
from numalet.io.documents.cluster_pods import PodReader
from numalet.shared.web import pages


def application(
    state: ExtenderState, bodies: BodyReader | None = None, gate: BindGate | None = None
) -> Starlette:
    """Serve verbs, probes and metrics of this state; ``bind`` only with a gate."""
    reader = bodies or BodyReader()
    routes = [
        Route(f"/{each.name}", Calls(state, each, reader).answer, methods=["POST"])
        for each in verbs(state, gate)
    ]
    return _with_probes(state, routes)


def probes(state: ExtenderState) -> Starlette:
    return _with_probes(state)


def verbs(state: ExtenderState, gate: BindGate | None = None) -> Sequence[Verb]:
    pods = PodReader()

    async def filter_nodes(call: Call) -> bytes:
        asked = wire.arguments(call.body)
        named = asked.named()
        pod = wire.pod(asked.pod, pods)
        answer = state.filtered(pod, [*named], call.began_seconds)
        return wire.filter_answer(answer, asked, named)

    async def prioritize_nodes(call: Call) -> bytes:
        asked = wire.arguments(call.body)
        pod = wire.pod(asked.pod, pods)
        return wire.scores_answer(state.scored(pod, [*asked.named()], call.began_seconds).points)

    async def choose_victims(call: Call) -> bytes:
        asked = victim_bodies.arguments(call.body)
        pod = wire.pod(asked.pod, pods)
        return victim_bodies.answer(state.preempted(pod, asked.sets(), call.began_seconds).sets)

    every = [
        Verb("filter", filter_nodes),
        Verb("prioritize", prioritize_nodes, error_status),
        Verb("preempt", choose_victims, error_status),
    ]
    if gate is not None:
        every.append(_bind(gate))
    return every


def _bind(gate: BindGate) -> Verb:
    async def bind(call: Call) -> bytes:
        return wire.binding_answer(await gate.bind(wire.binding(call.body)))

    return Verb("bind", bind, waits=True)


def _with_probes(state: ExtenderState, others: Iterable[Route] = ()) -> Starlette:
    def readiness() -> tuple[bool, str]:
        why_not = state.standing.why_not_ready()
        age = state.live.age_seconds
        text = why_not or (f"ok, {age:.0f} s old" if age else "ok")
        return not why_not, f"{text}\n"

    return pages.application(state.metrics.page, readiness, others=others)
