"""Where a server can not listen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc.aio
import pytest

from numalet.model.findings import BadInput
from numalet.servers import unix_socket
from numalet.wording import english


@pytest.mark.parametrize(
    ("name", "says"),
    [("x" * 120, "too long for the name of a socket"), ("none/kubelet.sock", "can not listen at")],
)
def test_a_name_that_can_not_be_had_is_told(name: str, says: str, root: Path) -> None:
    async def listen() -> None:
        await unix_socket.serve(grpc.aio.server(), root / name)

    with pytest.raises(BadInput) as raised:
        asyncio.run(listen())
    assert says in english.sentence(raised.value.findings[0])
