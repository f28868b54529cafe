"""A gRPC server on a named Unix socket."""

from __future__ import annotations

import os
from pathlib import Path

import grpc.aio

from numalet.agent.servers.endpoints import LONGEST_PATH_BYTES
from numalet.core.model import input_error
from numalet.core.model.findings import Location


async def serve(server: grpc.aio.Server, path: Path) -> None:
    """Start the server; its socket appears with mode 0600 and accepts connections at once.

    Raises ``BadInput`` if the name is too long or the folder is unusable.
    """
    # Under the final name, clients could connect before the server listens.
    fresh = path.with_name(f".{path.name}.new")
    where = Location(str(path))
    if len(bytes(fresh)) > LONGEST_PATH_BYTES:
        longest = LONGEST_PATH_BYTES - len(fresh.name)
        raise input_error.TooLarge(
            f"the socket path {str(path)!r} is too long; choose a root folder so that the socket's "
            f"folder has at most {longest} bytes",
            where=where,
        ).bad_input()
    try:
        fresh.unlink(missing_ok=True)
        server.add_insecure_port(f"unix:{fresh}")
        await server.start()
        fresh.chmod(0o600)
        _give_name(fresh, path)
    except (OSError, RuntimeError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise input_error.Unavailable(
            f"cannot listen at {str(path)!r}: {problem}", where=where
        ).bad_input() from None


def _give_name(fresh: Path, path: Path) -> None:
    try:
        # Link instead of rename: plugins wait for the inotify event of a new file.
        os.link(fresh, path)
    except OSError:
        # The name exists, or the file system has no hard links.
        fresh.rename(path)
    else:
        fresh.unlink()
