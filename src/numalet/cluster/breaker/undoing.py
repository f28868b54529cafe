"""``numalet breaker undo``: undoes every change of breakers, from the objects alone.

It needs no breaker and no memory, so that it works after a crash. A second run does nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from numalet.cluster.breaker.audit import ActionOutcome, AuditFile
from numalet.cluster.breaker.performing import ActionWorker
from numalet.cluster.breaker.suspended_jobs import JOBS
from numalet.core.model.findings import BadInput
from numalet.insight.rejections import patches
from numalet.insight.rejections.actions import Action
from numalet.io.kube_api import client, listing, paths
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.listing import ApiCollection
from numalet.io.kube_api.values import Access

_Object: TypeAlias = dict[str, Any]


async def undo(access: Access, audit_file: AuditFile, say: Callable[[str], None]) -> bool:
    """Undo all changes; return whether all succeeded. Each change is reported and audited.

    Raises ``BadInput`` if the server is unreachable or refuses a list, or the audit cannot be
    written.
    """
    try:
        async with client.opened(access, "numalet-breaker") as api:
            return await _undone(api, audit_file, say)
    except (ApiRefused, ApiUnreachable) as no:
        raise BadInput([no.finding]) from None


async def _undone(api: ApiClient, audit_file: AuditFile, say: Callable[[str], None]) -> bool:
    worker = ActionWorker(api, say)

    async def done(plan: Iterable[Action]) -> bool:
        is_all = True
        for action in plan:
            performed = await worker.perform(action)
            audit_file.write(action, performed.outcome, performed.problem)
            text = f"{performed.outcome.value}: {patches.audit_line(action).text}"
            say(f"{text} ({performed.problem})" if performed.problem else text)
            is_all &= performed.outcome in (ActionOutcome.DONE, ActionOutcome.NOT_NEEDED)
        return is_all

    # Taints are undone first, in case the user may not list Jobs.
    nodes = await _changed(api, ApiCollection(paths.NODES), _is_changed_node)
    are_nodes_done = await done(patches.undo_plan(nodes, ()))
    jobs = await _changed(api, JOBS, _is_changed_job)
    return await done(patches.undo_plan((), jobs)) and are_nodes_done


async def _changed(
    api: ApiClient, collection: ApiCollection, is_changed: Callable[[_Object], bool]
) -> list[_Object]:
    """Return the objects that a breaker has changed, without keeping the others in memory."""

    def decoded(content: bytes) -> _Object | None:
        value: _Object = json.loads(content)
        return value if is_changed(value) else None

    return [*(await listing.listed(api, collection, decoded)).items.values()]


def _is_changed_node(node: Mapping[str, Any]) -> bool:
    return bool(patches.undo_plan([node], ()))


def _is_changed_job(job: Mapping[str, Any]) -> bool:
    return bool(patches.undo_plan((), [job]))
