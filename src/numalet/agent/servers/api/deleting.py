"""Options of a delete request, from the query or a ``DeleteOptions`` body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from numalet.agent.servers.api import requests, status
from numalet.agent.servers.api.status import Failure
from numalet.core.model.value import Value
from numalet.core.workload.records import PodRecord
from numalet.wording import kubernetes_api as words


class DeleteOptions(Value):
    """``grace_seconds`` defaults to the pod's period; unset ``uid`` and ``version`` match any."""

    grace_seconds: float | None
    uid: str | None
    version: str | None
    is_dry: bool

    def check(self, record: PodRecord) -> None:
        """Raise ``Failure`` 409 if the preconditions name another pod."""
        name = record.workload.pod.name
        if self.uid not in (None, record.uid):
            problem = words.UID_DIFFERS.format(asked=self.uid, found=record.uid)
            raise status.conflict("pods", name, problem)
        if self.version not in (None, str(record.resource_version)):
            raise status.conflict("pods", name, words.VERSION_DIFFERS)


async def wanted(request: Request) -> DeleteOptions:
    """Raises ``Failure``."""
    document = await requests.document(request)
    return of_options(request, document.value if document is not None else {})


def of_options(request: Request, options: object) -> DeleteOptions:
    """Merge body and query. Raises ``Failure``."""
    if not isinstance(options, Mapping):
        raise Failure(400, words.KIND_DIFFERS.format(found="a list", expected="DeleteOptions"))
    in_body = options.get("dryRun")
    dry = [*(in_body if isinstance(in_body, list) else [in_body])]
    conditions = options.get("preconditions")
    given = conditions if isinstance(conditions, Mapping) else {}
    uid, version = given.get("uid"), given.get("resourceVersion")
    return DeleteOptions(
        grace_seconds=_grace_seconds(request, options),
        uid=None if uid is None else str(uid),
        version=None if version is None else str(version),
        is_dry=requests.dry_run([*dry, *request.query_params.getlist("dryRun")]),
    )


def _grace_seconds(request: Request, options: Mapping[Any, Any]) -> float | None:
    asked = requests.whole_number(request, "gracePeriodSeconds")
    grace = asked if asked is not None else options.get("gracePeriodSeconds")
    # In Python a bool is an int, but JSON true is not a number of seconds.
    is_number = isinstance(grace, int) and not isinstance(grace, bool) and 0 <= grace < 2**31
    if grace is not None and not is_number:
        raise status.bad_query("gracePeriodSeconds", str(grace)[:40], "seconds are expected")
    return None if grace is None else float(grace)
