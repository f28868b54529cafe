"""The programs of a real kubelet's node, and why a machine can not run them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

KUBELET_FOLDER: Final = "NUMALET_CONTROL_PLANE"
RUNTIME_FOLDER: Final = "NUMALET_CONTAINER_RUNTIME"
"""``make kubelet`` sets both, to the folders of .ci/control-plane and .ci/container-runtime."""
PLUGIN_RUNTIME_FOLDER: Final = "NUMALET_PLUGIN_RUNTIME"
"""The same of .ci/container-runtime with a later release of Debian: it has a plugin interface."""

IMAGE: Final = "numalet.test/app:1"
"""The name of the image that ``write_image`` makes."""
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_TOOLS: Final = ("unshare", "nsenter", "setpriv", "mount", "env")
_MEDIA: Final = "application/vnd.oci.image"


@dataclass(frozen=True, slots=True)
class KubeletPrograms:
    """The folder with kubelet and control plane, and the one with Debian's container runtime."""

    kubelet_folder: Path
    runtime_folder: Path

    @property
    def kubelet(self) -> str:
        """The path of the kubelet."""
        return str(self.kubelet_folder / "kubelet")

    @property
    def busybox(self) -> Path:
        """A static program, which is all that the image has."""
        return self.runtime_folder / "bin" / "busybox"

    @property
    def runc(self) -> Path:
        """The program that makes containers."""
        return self.runtime_folder / "usr" / "sbin" / "runc"

    @property
    def search_path(self) -> str:
        """``PATH`` of containerd, which starts its shims by their names."""
        own = [str(self.runtime_folder / each) for each in ("usr/bin", "usr/sbin")]
        return os.pathsep.join([*own, os.environ["PATH"]])


def here() -> KubeletPrograms | str:
    """The programs, or why no kubelet can run on this machine."""
    named = [os.environ.get(each) for each in (KUBELET_FOLDER, RUNTIME_FOLDER)]
    if not all(named):
        return f"{KUBELET_FOLDER} or {RUNTIME_FOLDER} names no folder; make kubelet sets them"
    programs = KubeletPrograms(*(Path(each or "") for each in named))
    if not os.access(programs.kubelet, os.X_OK):
        return f"there is no kubelet in {programs.kubelet_folder}; .ci/control-plane builds one"
    if not os.access(programs.runc, os.X_OK):
        return f"there is no runc in {programs.runtime_folder}; .ci/container-runtime gets one"
    if os.geteuid() != 0:
        return "a kubelet runs only as root"
    if lacking := [each for each in _TOOLS if shutil.which(each) is None]:
        return f"{', '.join(lacking)} not installed"
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "mount", "--bind", "/", "/mnt"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if tried.returncode != 0:
        return f"this machine permits no mounts of its own: {tried.stderr.strip()}"
    if not os.access("/sys/fs/cgroup", os.W_OK):
        return "this machine permits no cgroups"
    return programs


def write_image(busybox: Path, archive: Path) -> None:
    """Write an OCI image with busybox as ``sleep`` and ``true``, in the form that ctr imports."""
    program = busybox.read_bytes()
    layer = _tar({"bin/busybox": program}, links=("bin/sleep", "bin/true"))
    config = _json(
        {
            "architecture": _ARCHITECTURES[platform.machine()],
            "os": "linux",
            # The sandbox of a pod runs what the image says.
            "config": {"Cmd": ["sleep", "infinity"], "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": _descriptor(config, "config.v1+json"),
            "layers": [_descriptor(layer, "layer.v1.tar")],
        }
    )
    named = _descriptor(manifest, "manifest.v1+json")
    named["annotations"] = {"io.containerd.image.name": IMAGE}
    blobs = {f"blobs/{_digest(each).replace(':', '/')}": each for each in (layer, config, manifest)}
    index = {"schemaVersion": 2, "manifests": [named]}
    layout = {"imageLayoutVersion": "1.0.0"}
    archive.write_bytes(_tar({"oci-layout": _json(layout), "index.json": _json(index), **blobs}))


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _descriptor(blob: bytes, kind: str) -> dict[str, Any]:
    return {"mediaType": f"{_MEDIA}.{kind}", "digest": _digest(blob), "size": len(blob)}


def _tar(files: dict[str, bytes], links: tuple[str, ...] = ()) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
        for name in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
    return written.getvalue()
