#!/usr/bin/env python3
"""Builds the OCI image: packages of a Debian release and our wheel, nothing else.

Needs root, ``mmdebstrap`` and ``protoc`` (Debian: protobuf-compiler), and the standard library. Two
builds of the same wheel from the same packages are the same, bit for bit: every time stamp is
``SOURCE_DATE_EPOCH``, files are sorted, and what differs from machine to machine is left out.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"
SECURITY = "http://deb.debian.org/debian-security"
USER = 65532
EPOCH = 1577836800
"""The beginning of 2020, where nothing else is asked for: a zip file knows none before 1980."""

PACKAGES = "usr/lib/python3/dist-packages"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SCRIPT = b"""#!/usr/bin/python3
import sys

from numalet.__main__ import main

sys.exit(main())
"""
# Left out of every package: nothing reads them in a container.
EXCLUDED = ("doc", "man", "info", "locale", "lintian", "bash-completion", "pixmaps", "doc-base")
# Written by installing, different on every machine or at every build, and read by nobody.
LEFTOVERS = (
    "/var/cache/*",
    "/var/lib/apt/*",
    "/var/lib/dpkg/*-old",
    "/var/log/*",
    "/etc/machine-id",
    "/etc/resolv.conf",
    "/etc/hostname",
    "/etc/*-",
    "/usr/share/doc",
)


def main() -> None:
    """Write the archive and print the digest of the image."""
    asked = _asked()
    os.environ["SOURCE_DATE_EPOCH"] = str(asked.epoch)
    os.environ["PYTHONHASHSEED"] = "0"
    with tempfile.TemporaryDirectory(prefix="numalet-image") as made:
        folder = Path(made)
        own = folder / "own.tar"
        version = _write_own(asked.wheel, own, folder, asked.epoch)
        root = folder / "root.tar"
        _write_root(root, own, asked)
        print(_write_archive(asked.output, root, version, asked.epoch))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel of numalet")
    parser.add_argument("--output", type=Path, required=True, help="the OCI archive to write")
    parser.add_argument("--suite", default=SUITE, help=f"the release of Debian, else {SUITE}")
    parser.add_argument("--mirror", default=MIRROR, help=f"else {MIRROR}")
    parser.add_argument("--security", default=SECURITY, help=f"else {SECURITY}; empty: none")
    parser.add_argument("--epoch", type=int, default=os.environ.get("SOURCE_DATE_EPOCH", EPOCH))
    return parser.parse_args()


# Our own files.


def _write_own(wheel: Path, target: Path, folder: Path, epoch: int) -> str:
    """Write what the wheel adds to the root file system as a tar; the version."""
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if ".data/" not in name]
        files = {f"{PACKAGES}/{name}": packed.read(name) for name in names}
        (described,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        version = HeaderParser().parsestr(packed.read(described).decode())["Version"]
    files |= _messages(files, folder)
    files["usr/bin/numalet"] = SCRIPT
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), epoch
            member.mode = 0o755 if name.startswith("usr/bin/") else 0o644
            tar.addfile(member, io.BytesIO(content))
    return str(version)


def _messages(files: dict[str, bytes], folder: Path) -> dict[str, bytes]:
    """The modules of gRPC messages, written anew: those of the wheel want a newer protobuf."""
    sources = [folder / name for name in sorted(files) if name.endswith(".proto")]
    for path in sources:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[str(path.relative_to(folder))])
    root, written = folder / PACKAGES, folder / "messages"
    written.mkdir()
    subprocess.run(["protoc", f"-I{root}", f"--python_out={written}", *sources], check=True)
    return {
        f"{PACKAGES}/{path.relative_to(written)}": path.read_bytes()
        for path in written.rglob("*_pb2.py")
    }


# Debian's.


def _write_root(target: Path, own: Path, asked: argparse.Namespace) -> None:
    """Write the root file system as a tar."""
    subprocess.run(
        [
            # Its mounts are nobody else's.
            *("unshare", "--mount"),
            *("mmdebstrap", "--quiet", "--mode=root", "--variant=essential", "--format=tar"),
            f"--include={','.join(_packages())}",
            *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in EXCLUDED),
            '--aptopt=Apt::Install-Recommends "false"',
            *(f"--customize-hook={each}" for each in _hooks(own)),
            *(asked.suite, str(target), *_sources(asked)),
        ],
        check=True,
        stdout=sys.stderr,
    )


def _packages() -> Iterator[str]:
    for line in (HERE / "packages.txt").read_text(encoding="utf-8").splitlines():
        if name := line.partition("#")[0].strip():
            yield name


def _sources(asked: argparse.Namespace) -> Iterator[str]:
    yield f"deb {asked.mirror} {asked.suite} main"
    if asked.security:
        yield f"deb {asked.mirror} {asked.suite}-updates main"
        yield f"deb {asked.security} {asked.suite}-security main"


def _hooks(own: Path) -> Iterator[str]:
    yield f"tar-in {shlex.quote(str(own))} /"
    account = f"numalet:x:{USER}:{USER}:numalet:/nonexistent:/usr/sbin/nologin"
    yield f'echo {account} >> "$1/etc/passwd"; echo numalet:x:{USER}: >> "$1/etc/group"'
    # With a root file system that nothing can write every start would compile anew.
    yield (
        'find "$1/usr/lib" -name __pycache__ -prune -exec rm -r {} + ; '
        'chroot "$1" env PYTHONHASHSEED=0 python3 -m compileall -q -f -j1 '
        "--invalidation-mode unchecked-hash /usr/lib/python3 /usr/lib/python3.* > /dev/null || true"
    )
    yield 'cd "$1" && rm -rf ' + " ".join(f".{each}" for each in LEFTOVERS)
    yield 'mkdir -p "$1/var/cache" "$1/var/log"'


# The archive.


def _write_archive(target: Path, root: Path, version: str, epoch: int) -> str:
    """Write an OCI archive with one layer; the digest of its manifest."""
    content = root.read_bytes()
    layer = gzip.compress(content, compresslevel=6, mtime=0)
    created = _moment(epoch)
    labels = {
        "org.opencontainers.image.title": "numalet",
        "org.opencontainers.image.description": "What each kubelet will say, before pods are bound",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.created": created,
    }
    configuration = _encoded(
        {
            "architecture": ARCHITECTURES[os.uname().machine],
            "os": "linux",
            "created": created,
            "config": {
                "User": f"{USER}:{USER}",
                "Entrypoint": ["/usr/bin/numalet"],
                "Cmd": ["--help"],
                "WorkingDir": "/",
                "Env": [
                    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    "PYTHONUNBUFFERED=1",
                    "PYTHONDONTWRITEBYTECODE=1",
                    "LANG=C.UTF-8",
                ],
                "Labels": labels,
            },
            "rootfs": {"type": "layers", "diff_ids": [_digest(content)]},
            "history": [{"created": created, "created_by": "packaging/image/build.py"}],
        }
    )
    manifest = _encoded(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": _descriptor(configuration, "image.config.v1+json"),
            "layers": [_descriptor(layer, "image.layer.v1.tar+gzip")],
            "annotations": labels,
        }
    )
    named = {
        "org.opencontainers.image.ref.name": f"numalet:{version}",
        # Under which containerd finds it for a pod whose image is numalet:VERSION.
        "io.containerd.image.name": f"docker.io/library/numalet:{version}",
    }
    entry = _descriptor(manifest, "image.manifest.v1+json") | {"annotations": named}
    files = {
        f"blobs/sha256/{_digest(each).removeprefix('sha256:')}": each
        for each in (configuration, manifest, layer)
    }
    files["index.json"] = _encoded({"schemaVersion": 2, "manifests": [entry]})
    files["oci-layout"] = _encoded({"imageLayoutVersion": "1.0.0"})
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, one in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(one), epoch
            tar.addfile(member, io.BytesIO(one))
    return _digest(manifest)


def _descriptor(content: bytes, kind: str) -> dict[str, Any]:
    return {
        "mediaType": f"application/vnd.oci.{kind}",
        "digest": _digest(content),
        "size": len(content),
    }


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _moment(epoch: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    main()
