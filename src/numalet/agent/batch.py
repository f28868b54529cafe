"""What the keeper has decided and not written yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from numalet.agent.books import Books
from numalet.agent.decisions import Heard
from numalet.agent.requests import Create, Delete
from numalet.agent.tasks import Task
from numalet.enforcement.audit import Audit
from numalet.model.pod import ContainerKey
from numalet.servers.door import Refused
from numalet.workload.record import PodRecord


@dataclass(slots=True)
class Batch:
    """Decisions that are not written yet."""

    books: Books
    answers: list[tuple[Create | Delete, PodRecord | Refused]] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    audits: dict[ContainerKey, Audit] | None = None
