"""A gRPC server on a socket with a name in the file system."""

from __future__ import annotations

from pathlib import Path

import grpc.aio


async def serve(server: grpc.aio.Server, path: Path) -> None:
    """Start the server so that its socket appears under this name at once, mode 0600.

    It is made under another name and renamed, so that whoever finds it can connect, and an old
    socket is replaced. Raises ``OSError`` or ``RuntimeError`` if that can not be done.
    """
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    server.add_insecure_port(f"unix:{fresh}")
    await server.start()
    fresh.chmod(0o600)
    fresh.rename(path)
