"""The image holds Debian's packages and our wheel, and our programs run in it as nobody."""

from __future__ import annotations

import json
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

import numalet
from image.conftest import build
from running.containers import Podman

# An image is built from packages twice, which takes five minutes on a busy machine.
pytestmark = pytest.mark.timeout(1800)

PROBE = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8888/healthz').status)"
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: none, user: {token: none}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
"""
# Debian's xxhash says its version itself alone.
VERSIONS = """
import importlib.metadata as metadata, json, re, xxhash
all = metadata.distributions()
versions = {re.sub("[-_.]+", "-", each.name.lower()): each.version for each in all}
requires = metadata.distribution("numalet").requires
print(json.dumps({"requires": requires, "versions": versions | {"xxhash": xxhash.VERSION}}))
"""


def blobs(archive: Path) -> dict[str, Any]:
    """The documents in an OCI archive by name, and the manifest as ``manifest``."""
    with tarfile.open(archive) as tar:
        read = {
            each.name: tar.extractfile(each).read()  # type: ignore[union-attr]
            for each in tar
            if each.size < 1 << 20
        }
    index = json.loads(read["index.json"])
    digest = index["manifests"][0]["digest"].removeprefix("sha256:")
    manifest = json.loads(read[f"blobs/sha256/{digest}"])
    configuration = manifest["config"]["digest"].removeprefix("sha256:")
    return {
        "manifest": manifest,
        "config": json.loads(read[f"blobs/sha256/{configuration}"]),
    }


def test_the_command_runs_and_says_its_version(podman: Podman, image: str) -> None:
    assert podman.run(image, "--version") == f"numalet {numalet.__version__}\n"


def test_it_runs_as_nobody_and_says_what_it_is(archive: Path, podman: Podman, image: str) -> None:
    who = podman.run(image, "-ru", options=["--entrypoint=id"])
    assert who == "65532\n"
    configuration = blobs(archive)["config"]["config"]
    assert configuration["Labels"]["org.opencontainers.image.version"] == numalet.__version__
    assert configuration["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert configuration["Entrypoint"] == ["/usr/bin/numalet"]


def test_the_extender_serves_in_it(podman: Podman, image: str, folder: Path) -> None:
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    mount = f"--volume={kubeconfig}:/kubeconfig:ro"
    with podman.running(
        image, "extender", "--kubeconfig", "/kubeconfig", options=[mount]
    ) as container:
        until_said(podman, container, "serving http://127.0.0.1:8888")
        said = podman.say("exec", container, "python3", "-c", PROBE)
        assert said == "200\n"


def until_said(podman: Podman, container: str, text: str) -> None:
    """Wait until the container has printed this."""
    last = time.monotonic() + 300
    while text not in (said := podman.say("logs", container)):
        time.sleep(0.2)
        assert podman.say("inspect", "--format={{.State.Running}}", container) == "true\n", said
        assert time.monotonic() < last, said


def test_the_publisher_has_what_it_asks_kubelets_with(podman: Podman, image: str) -> None:
    program = "import numalet.agent.publish.command, numalet.io.pod_resources_client"
    assert podman.run(image, "-c", program, options=["--entrypoint=python3"]) == ""


def test_nothing_is_compiled_at_a_start(podman: Podman, image: str) -> None:
    # It could not be kept, as nothing can write there.
    compiled = podman.run(
        image, "-c",
        "import numalet.cluster.serve as one; print(one.__spec__.cached)",
        options=["--entrypoint=python3"],
    ).strip()  # fmt: skip
    assert podman.run(image, compiled, options=["--entrypoint=ls"]).strip() == compiled


OLDER = {"typer": "0.15.2", "starlette": "0.46.1", "httptools": "0.1.1", "xxhash": "3.0.0"}
"""Releases of Debian 13 that are older than the wheel asks for: Debian fixes them, pip does not."""


def test_debians_versions_are_those_that_the_wheel_asks_for(podman: Podman, image: str) -> None:
    from packaging.requirements import Requirement

    said = podman.run(image, "-c", VERSIONS, options=["--entrypoint=python3"])
    facts = json.loads(said)
    needed = [Requirement(each) for each in facts["requires"]]
    needed = [
        each for each in needed if each.marker is None or each.marker.evaluate({"extra": "cluster"})
    ]
    assert {each.name for each in needed} >= {"typer", "uvicorn", "xxhash", "httptools"}
    wrong = {
        each.name: facts["versions"].get(each.name)
        for each in needed
        if not each.specifier.contains(facts["versions"].get(each.name, "0"))
    }
    assert wrong == OLDER


def test_it_has_no_compiler_no_pip_and_no_leftovers(podman: Podman, image: str) -> None:
    programs = set(podman.run(image, "/usr/bin", options=["--entrypoint=ls"]).split())
    assert {"numalet", "python3"} <= programs
    assert not {"gcc", "pip", "pip3", "apt-get", "curl"} & programs
    folders = ("/var/log", "/var/cache", "/usr/share/man", "/usr/share/locale")
    left = podman.run(image, *folders, "-type", "f", options=["--entrypoint=find"])
    assert left == ""


def test_two_builds_are_the_same(folder: Path, wheel: Path, archive: Path) -> None:
    again = folder / "again.tar"
    build(wheel, again)
    assert again.read_bytes() == archive.read_bytes()
