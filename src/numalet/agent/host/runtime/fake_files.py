"""The files of the runtime without processes; see ``docs/how-to/run-the-agent.md``.

``POD_UID/CONTAINER.json`` is a container's latest attempt, read at the agent's start. Only the user
writes ``order.json``: pod uids in the order of admission after a restart.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec

from numalet.core.enforcement.cgroup_settings import CgroupSettings
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Mutable
from numalet.core.workload.run import Exit, ExitReason
from numalet.io.documents.text import typed, yaml_source
from numalet.io.documents.text.typed import Place

ORDER: Final = "order.json"

T = TypeVar("T")
Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class KeptExit(msgspec.Struct, frozen=True):
    code: int
    finished_at: Moment


class KeptRun(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt. Without ``exit`` it runs; ``ends_at`` and ``code`` are a planned end."""

    pod_uid: str
    container: str
    attempt: int
    pid: int
    started_at: Moment
    ends_at: Moment | None = None
    code: int = 0
    ignores_term: bool = False
    exit: KeptExit | None = None


class FakeEntry(Mutable):
    """The latest attempt of one container."""

    key: ContainerKey
    attempt: int
    pid: int
    started_at: datetime
    ends_at: datetime | None = None
    code: int = 0
    ignores_term: bool = False
    exit: Exit | None = None
    settings: CgroupSettings | None = None

    @classmethod
    def of(cls, kept: KeptRun) -> FakeEntry:
        ended = None
        if kept.exit is not None:
            code = kept.exit.code
            ended = Exit(
                code=code,
                reason=ExitReason.COMPLETED if code == 0 else ExitReason.ERROR,
                started_at=kept.started_at,
                finished_at=kept.exit.finished_at,
                signal=code - 128 if code > 128 else None,
            )
        return cls(
            ContainerKey(kept.pod_uid, kept.container),
            kept.attempt,
            kept.pid,
            kept.started_at,
            kept.ends_at,
            kept.code,
            kept.ignores_term,
            ended,
        )

    def kept(self) -> KeptRun:
        ended = self.exit
        return KeptRun(
            pod_uid=self.key.pod_uid,
            container=self.key.container,
            attempt=self.attempt,
            pid=self.pid,
            started_at=self.started_at,
            ends_at=self.ends_at,
            code=self.code,
            ignores_term=self.ignores_term,
            exit=None if ended is None else KeptExit(ended.code, ended.finished_at),
        )


def runs(folder: Path) -> list[KeptRun]:
    """The latest attempt of every container. Raises ``BadInput``."""
    return [_read(path, KeptRun) for path in sorted(folder.glob("*/*.json"))]


def order(folder: Path) -> list[str]:
    """Read the uids from ``order.json``, if it exists. Raises ``BadInput``."""
    path = folder / ORDER
    return _read(path, list[str]) if path.exists() else []


def save(folder: Path, run: KeptRun) -> None:
    """Write the attempt whole or not at all."""
    inner = folder / run.pod_uid
    inner.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A hidden name does not match the glob in ``runs``, so a partial file is never read.
    hidden = inner / f".{run.container}"
    hidden.touch(0o600)
    hidden.write_bytes(msgspec.json.encode(run))
    hidden.replace(inner / f"{run.container}.json")


def forget(folder: Path, pod_uid: str) -> None:
    """Raises ``OSError``."""
    with suppress(FileNotFoundError):
        shutil.rmtree(folder / pod_uid)


def _read(path: Path, shape: type[T]) -> T:
    content = yaml_source.read_bytes(path)
    return typed.decode_json(content, shape, Place(str(path)))
