"""A scheduler extender: the nodes that it lets a pod have are those with a label."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class SchedulerExtender:
    """Answers ``filter``; ``asked`` has the name of the pod of each question."""

    def __init__(self, url: str, label: str) -> None:
        self.url = url
        self._label = label
        self.asked: list[str] = []

    @property
    def configuration(self) -> dict[str, Any]:
        """Its entry in the scheduler's configuration."""
        return {"urlPrefix": self.url, "filterVerb": "filter", "nodeCacheCapable": False}

    def filtered(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer; names are those of Go, as the types have no tags."""
        self.asked.append(arguments["Pod"]["metadata"]["name"])
        nodes = arguments["Nodes"]["items"]
        allowed = [each for each in nodes if self._label in each["metadata"].get("labels", {})]
        return {
            "Nodes": {"items": allowed},
            "FailedNodes": {
                each["metadata"]["name"]: "not now" for each in nodes if each not in allowed
            },
        }


@contextlib.contextmanager
def running(label: str) -> Iterator[SchedulerExtender]:
    """An extender that listens on loopback until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = json.dumps(extender.filtered(given)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    extender = SchedulerExtender(f"http://127.0.0.1:{server.server_port}", label)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield extender
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
