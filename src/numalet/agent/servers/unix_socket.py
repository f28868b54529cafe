"""A gRPC server on a socket with a name in the file system."""

from __future__ import annotations

import os
from pathlib import Path

import grpc.aio

from numalet.agent.findings.servers import RpcCanNotListen, RpcSocketNameTooLong
from numalet.agent.servers.endpoints import LONGEST_PATH_BYTES
from numalet.core.model.findings import BadInput, Location


async def serve(server: grpc.aio.Server, path: Path) -> None:
    """Start the server so that its socket appears under this name at once, mode 0600.

    It is made under another name, so that it takes connections once it is seen. An old socket is
    replaced; a new name is created and not moved to: plugins wait for the creation of a file.

    Raises:
        BadInput: the name is too long, or the folder does not take a socket.
    """
    fresh = path.with_name(f".{path.name}.new")
    where = Location(str(path))
    if len(bytes(fresh)) > LONGEST_PATH_BYTES:
        longest = LONGEST_PATH_BYTES - len(fresh.name)
        raise BadInput([RpcSocketNameTooLong(path=str(path), longest=longest, where=where)])
    try:
        fresh.unlink(missing_ok=True)
        server.add_insecure_port(f"unix:{fresh}")
        await server.start()
        fresh.chmod(0o600)
        _give_name(fresh, path)
    except (OSError, RuntimeError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise BadInput([RpcCanNotListen(path=str(path), error=problem, where=where)]) from None


def _give_name(fresh: Path, path: Path) -> None:
    try:
        os.link(fresh, path)
    except OSError:
        # Something is there, or the file system knows no second names.
        fresh.rename(path)
    else:
        fresh.unlink()
