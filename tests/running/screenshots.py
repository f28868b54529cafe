"""Pictures of the dashboard's pages for the documentation: ``make pictures``, with Chromium.

The dashboards are started as users start them, over the examples. A picture has at most 256
colours: the others become the nearest of them, which nobody sees in text on plain ground.
"""

from __future__ import annotations

import base64
import contextlib
import json
import signal
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml
from playwright.sync_api import Browser, Page, expect

from running import browsers
from running.pictures import FOLDER, ROOT

WIDTH_PX: Final = 1280
_PATIENCE_SECONDS: Final = 120

_NODE: Final = (
    "dashboard", "-c", "kubelet.yaml", "-m", "machine.yaml", "--devices", "devices.yaml",
    "pods.yaml", "-o", "json",
)  # fmt: skip
_FLEET: Final = ("fleet", "dashboard", "--fleet", "fleet.yaml")


@dataclass(frozen=True, slots=True)
class Shot:
    """The upper ``height_px`` of a page, below /ui, of one of the dashboards."""

    dashboard: str
    path: str
    height_px: int
    scheme: str = "light"


SHOTS: Final[Mapping[str, Shot]] = {
    "dashboard-overview.png": Shot("node", "/", 800),
    "dashboard-overview-dark.png": Shot("node", "/", 800, "dark"),
    "dashboard-node.png": Shot("node", "/node", 520),
    "dashboard-pods.png": Shot("node", "/pods", 420),
    "dashboard-pod.png": Shot("node", "/pods/default/route", 880),
    "dashboard-pod-rejected.png": Shot("node", "/pods/default/late", 1240),
    "dashboard-what-if.png": Shot("node", "/what-if?sample=larger", 1240),
    "dashboard-history.png": Shot("node", "/history", 1040),
    "dashboard-fleet.png": Shot("fleet", "/fleet", 960),
    "dashboard-fleet-node.png": Shot("fleet", "/fleet/nodes/gpu-00", 780),
}
"""By file."""


@contextlib.contextmanager
def _command(folder: Path, arguments: Sequence[str]) -> Iterator[str]:
    """The link into a dashboard that a command serves until the end of the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "numalet", *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            text = process.stdout.readline().strip()
            # An object may have several lines.
            while text.startswith("{") and not text.endswith("}"):
                text += process.stdout.readline().strip()
            yield json.loads(text)["url"] if text.startswith("{") else text
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(_PATIENCE_SECONDS)


@contextlib.contextmanager
def _node() -> Iterator[str]:
    with _command(ROOT / "examples" / "aligned", _NODE) as link:
        yield link


@contextlib.contextmanager
def _fleet() -> Iterator[str]:
    """The fleet of the example, busier: its jobs wait, and most of its machines have work."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in ROOT.joinpath("examples", "fleet").iterdir():
            folder.joinpath(each.name).write_bytes(each.read_bytes())
        document = yaml.safe_load(folder.joinpath("fleet.yaml").read_text(encoding="utf-8"))
        document["pods"] = ["running.yaml", "jobs.yaml", "busy.yaml"]
        folder.joinpath("fleet.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        busy = yaml.safe_dump_all(_worker(at) for at in range(1, 40) if at % 5)
        folder.joinpath("busy.yaml").write_text(busy, encoding="utf-8")
        with _command(folder, _FLEET) as link:
            yield link


def _worker(at: int) -> dict[str, Any]:
    limits = {"cpu": "16", "memory": "128Gi", "nvidia.com/gpu": str(1 + at * 7 % 4)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"worker-{at:02}"},
        "spec": {
            "nodeName": f"gpu-{at:02}",
            "containers": [{"name": "work", "resources": {"limits": limits}}],
        },
    }


_DASHBOARDS: Final = {"node": _node, "fleet": _fleet}


def _taken(browser: Browser, link: str, shots: Mapping[str, Shot]) -> None:
    """Write these pictures of the dashboard behind a link that works once."""
    base = link.partition("/login")[0]
    with browsers.visit(browser, viewport={"width": WIDTH_PX, "height": 800}) as visit:
        page = visit.page
        page.goto(link)
        for name, shot in shots.items():
            page.emulate_media(color_scheme="dark" if shot.scheme == "dark" else "light")
            page.set_viewport_size({"width": WIDTH_PX, "height": shot.height_px})
            page.goto(base + shot.path)
            if shot.dashboard != "fleet":
                expect(page.locator("#live")).to_have_text("live", timeout=60_000)
            FOLDER.joinpath(name).write_bytes(_smaller(page, page.screenshot()))
        assert visit.unexpected() == []


_PIXELS: Final = """async (png) => {
  const bytes = Uint8Array.from(atob(png), (each) => each.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const pixels = context.getImageData(0, 0, bitmap.width, bitmap.height).data;
  let text = "";
  for (let at = 0; at < pixels.length; at += 32768)
    text += String.fromCharCode(...pixels.subarray(at, at + 32768));
  return [bitmap.width, bitmap.height, btoa(text)];
}"""


def _smaller(page: Page, png: bytes) -> bytes:
    """The same picture with a byte for each pixel; the browser unpacks it."""
    width, height, text = page.evaluate(_PIXELS, base64.b64encode(png).decode())
    return with_palette(width, height, base64.b64decode(text))


def with_palette(width: int, height: int, rgba: bytes, most_colours: int = 256) -> bytes:
    """A PNG of these pixels, four bytes each, in the colours that are most frequent."""
    pixels = np.frombuffer(rgba, np.uint8).reshape(-1, 4)[:, :3]
    colours, inverse, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[:most_colours]
    distances = colours[:, None, :].astype(np.int32) - colours[kept][None, :, :].astype(np.int32)
    nearest = np.argmin((distances**2).sum(axis=2), axis=1).astype(np.uint8)
    rows = nearest[inverse.reshape(-1)].reshape(height, width)
    data = b"".join(b"\0" + row.tobytes() for row in rows)
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0),
        b"PLTE": colours[kept].tobytes(),
        b"IDAT": zlib.compress(data, 9),
        b"IEND": b"",
    }
    made = b"\x89PNG\r\n\x1a\n"
    for kind, body in parts.items():
        made += struct.pack(">I", len(body)) + kind + body
        made += struct.pack(">I", zlib.crc32(kind + body))
    return made


def size_px(png: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG; None if it is none."""
    if not png.startswith(b"\x89PNG\r\n\x1a\n") or png[12:16] != b"IHDR":
        return None
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def main() -> None:
    """Write all of them."""
    with browsers.running() as browser:
        for name, dashboard in _DASHBOARDS.items():
            shots = {file: shot for file, shot in SHOTS.items() if shot.dashboard == name}
            with dashboard() as link:
                _taken(browser, link, shots)


if __name__ == "__main__":
    if browsers.program() is None:
        sys.exit("chromium is not installed: the pictures of the dashboard stay as they are")
    main()
