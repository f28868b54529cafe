"""Which pods a cordoned node admits.

Clients of the API do without a scheduler, so the agent checks tolerations. Manifest files and
foreground commands never pass a scheduler either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numalet.agent.controller.viewing import Condition
from numalet.core.workload.spec import Workload, WorkloadSource
from numalet.shared.kubernetes.node_object import UNSCHEDULABLE_TAINT


def lets_in(workload: Workload, condition: Condition) -> bool:
    if not condition.unschedulable or workload.source is not WorkloadSource.API:
        return True
    given = workload.manifest.get("spec", {}).get("tolerations") or ()
    return any(map(_tolerates, given))


def _tolerates(toleration: Mapping[str, Any]) -> bool:
    """Kubernetes v1.32: ``core/v1.Toleration.ToleratesTaint``."""
    if toleration.get("effect") not in (None, "", "NoSchedule"):
        return False
    key, operator = toleration.get("key"), toleration.get("operator") or "Equal"
    if key not in (None, "", UNSCHEDULABLE_TAINT):
        return False
    return operator == "Exists" or (bool(key) and not toleration.get("value"))
