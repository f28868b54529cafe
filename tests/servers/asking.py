"""Raw HTTP requests to an API on a Unix socket, with headers of one's own."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=120)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(120)
        self.sock.connect(str(self._path))


def asked(
    path: Path, method: str, url: str, body: object = None, **headers: str
) -> tuple[int, Any]:
    """The code of an answer, and what it says; ``_`` in names of headers stands for ``-``."""
    connection = _Connection(path)
    try:
        plain = body is None or isinstance(body, str | bytes)
        text: Any = body if plain else json.dumps(body)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, url, text, given)
        response = connection.getresponse()
        content = response.read()
        is_json = "json" in response.headers.get("content-type", "")
        return response.status, json.loads(content) if is_json else content
    finally:
        connection.close()


def answered(
    path: Path, method: str, url: str, body: object, content_type: str = "application/json"
) -> tuple[int, Any, list[str]]:
    """The code of an answer, the object in it, and the texts of its warnings."""
    connection = _Connection(path)
    try:
        text = body if isinstance(body, str) else json.dumps(body)
        connection.request(method, url, text, {"Content-Type": content_type})
        response = connection.getresponse()
        said = response.headers.get_all("warning", [])
        texts = [each.removeprefix('299 - "')[:-1].replace('\\"', '"') for each in said]
        return response.status, json.loads(response.read()), texts
    finally:
        connection.close()


def lines(path: Path, url: str, count: int, **headers: str) -> list[Any]:
    """The first lines of a watch."""
    connection = _Connection(path)
    try:
        connection.request("GET", url, headers=headers)
        response = connection.getresponse()
        return [json.loads(response.readline()) for _ in range(count)]
    finally:
        connection.close()


def relabelled(path: Path, url: str, **labels: str | None) -> None:
    """Let an object have these labels too; None takes one away."""
    patch = {"metadata": {"labels": labels}}
    code, found = asked(path, "PATCH", url, patch, content_type="application/merge-patch+json")
    assert code == 200, found
