"""Extender, second scheduler and breaker of the manifests on a real control plane."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import yaml

from cluster import manifests, static_pods
from cluster.test_manifests import built, named
from numalet.cluster.hollow.fleet_members import FleetOptions
from numalet.io.kube_api import access
from running import extenders, hollow_fleets
from running.certificates import Authority
from running.control_plane import ControlPlane, lost
from running.extenders import RunningExtender
from running.server_programs import PATIENCE_SECONDS, ServerProgramError, free_port

CONFIGURATIONS: Final = manifests.configurations()
EXTENDERS: Final = ("scheduler-sidecar", "extender", "second-scheduler")


def known(plane: ControlPlane, folder: Path) -> list[dict[str, Any]]:
    """What kubectl makes of the folder, but for what this server does not have at all."""
    group_versions = set(plane.kubectl("api-versions").split())
    return [
        each
        for each in built(plane.programs.kubectl, folder)
        if each["apiVersion"] in group_versions
    ]


def apply(plane: ControlPlane, objects: list[dict[str, Any]]) -> None:
    plane.kubectl("apply", "-f", "-", given=yaml.safe_dump_all(objects))


@pytest.mark.parametrize("folder", manifests.PROGRAMS, ids=lambda each: each.name)
def test_what_is_applied_is_kept_whole(defined: ControlPlane, folder: Path) -> None:
    objects = known(defined, folder)
    apply(defined, objects)
    given = yaml.safe_dump_all(objects)
    read = json.loads(defined.kubectl("get", "-f", "-", "-o", "json", given=given))["items"]
    by_name = {named(each): each for each in read}
    assert by_name.keys() == {named(each) for each in objects}
    assert [
        line for each in objects for line in lost(each, by_name[named(each)], str(named(each)))
    ] == []
    defined.kubectl("delete", "--wait=false", "-f", "-", given=given)


def test_the_static_pod_is_one_that_the_api_server_takes(defined: ControlPlane) -> None:
    patched = static_pods.patched()
    patched["metadata"]["namespace"] = defined.namespace()
    patched["spec"]["automountServiceAccountToken"] = False
    path = f"/api/v1/namespaces/{patched['metadata']['namespace']}/pods?dryRun=All"
    answer = defined.request("POST", path, patched)
    assert answer.is_success, answer.text
    assert lost(patched["spec"], answer.json()["spec"]) == []


def translated(plane: ControlPlane, folder: str, where: Path) -> dict[str, Any]:
    """The configuration with the files and ports of this machine."""
    given = json.loads(json.dumps(CONFIGURATIONS[folder]))
    given["clientConnection"] = {"kubeconfig": str(plane.kubeconfig)}
    authority = Authority()
    files = authority.pem, *authority.sign("scheduler")
    for each in given["extenders"]:
        if tls := each.get("tlsConfig"):
            for name, content in zip(("caFile", "certFile", "keyFile"), files, strict=True):
                tls[name] = str(where / name)
                (where / name).write_bytes(content)
    return dict(given)


def start(plane: ControlPlane, configuration: dict[str, Any]) -> None:
    """Start the scheduler with this configuration; ServerProgramError if it does not take it."""
    place = plane.folder / "scheduler.yaml"
    assert str(place) in plane.scheduler.command
    place.write_text(yaml.safe_dump(configuration))
    plane.scheduler.restart()


@pytest.mark.parametrize("folder", EXTENDERS)
def test_the_scheduler_takes_the_configuration(
    defined: ControlPlane, tmp_path: Path, folder: str
) -> None:
    configuration = translated(defined, folder, tmp_path)
    start(defined, configuration)
    election = configuration["leaderElection"]
    space = election.get("resourceNamespace", "kube-system")
    name = election.get("resourceName", "kube-scheduler")
    path = f"/apis/coordination.k8s.io/v1/namespaces/{space}/leases/{name}"
    # It leads, so it has begun to schedule.
    while not defined.request("GET", path).is_success:
        assert defined.scheduler.is_running
    defined.scheduler.kill()
    configuration["extenders"][0]["ignorabel"] = True
    with pytest.raises(ServerProgramError, match="ignorabel"):
        start(defined, configuration)


def test_of_two_extenders_with_a_lease_one_answers(defined: ControlPlane) -> None:
    apply(defined, known(defined, manifests.FOLDER / "extender"))
    # With what the manifests allow.
    token = defined.service_account_token("numalet", "numalet-extender")
    kubeconfig = defined.kubeconfig_of(token, "extender")
    lease = ("--lease", "numalet/numalet-extender")
    with (
        extenders.running(kubeconfig, *lease, is_ready=False) as first,
        extenders.running(kubeconfig, *lease, is_ready=False) as second,
    ):
        until(lambda: {status(first), status(second)} == {200, 503})
        active, warm = sorted((first, second), key=status)
        assert warm.get("/readyz").text == "another replica is active\n"
        answer = httpx.post(f"{warm.url}/filter", json={"Pod": {}, "NodeNames": []})
        assert answer.json()["Error"] == "numalet: another replica is active"
        assert "cannot" not in first.said + second.said
        # It gives the lease back, so nobody waits for its end.
        assert active.end() == 0
        until(lambda: status(warm) == 200)
    given = yaml.safe_dump_all(known(defined, manifests.FOLDER / "extender"))
    defined.kubectl("delete", "--wait=false", "-f", "-", given=given)


def test_the_breaker_runs_with_what_its_manifest_allows(defined: ControlPlane) -> None:
    objects = known(defined, manifests.FOLDER / "breaker")
    apply(defined, objects)
    token = defined.service_account_token("numalet", "numalet-breaker")
    kubeconfig = defined.kubeconfig_of(token, "breaker")
    address = f"127.0.0.1:{free_port()}"
    (deployment,) = (each for each in objects if each["kind"] == "Deployment")
    args = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    args = [each for each in args if not each.startswith("--metrics")]
    with subprocess.Popen(
        [sys.executable, "-m", "numalet", *args, "--metrics", address, "--kubeconfig", kubeconfig],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as breaker:  # fmt: skip
        leads = "numalet_breaker_leader 1.0"
        until(
            lambda: leads in page(address, "metrics") and page(address, "readyz").startswith("ok")
        )
        breaker.terminate()
        _, said = breaker.communicate(timeout=PATIENCE_SECONDS)
    assert breaker.returncode == 0
    assert "leads by the lease numalet/numalet-breaker" in said
    assert "cannot" not in said
    assert "may not" not in said
    given = yaml.safe_dump_all(objects)
    defined.kubectl("delete", "--wait=false", "-f", "-", given=given)


def page(address: str, name: str) -> str:
    try:
        answer = httpx.get(f"http://{address}/{name}", trust_env=False)
    except httpx.TransportError:
        return ""
    return answer.text if answer.is_success else ""


def status(extender: RunningExtender) -> int:
    try:
        return extender.get("/readyz").status_code
    except httpx.TransportError:
        return 0


def until(is_so: Callable[[], bool]) -> None:
    last = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < last
        time.sleep(0.1)


@pytest.mark.slow
async def test_extenders_start_while_no_extender_answers(defined: ControlPlane) -> None:
    """From nothing: the scheduler waits for an extender, whose pods must not wait for it."""
    defined.controllers.start()
    defined.start_scheduler(
        [
            {
                **CONFIGURATIONS["scheduler-sidecar"]["extenders"][0],
                "urlPrefix": f"http://127.0.0.1:{free_port()}",
                "ignorable": False,
            }
        ]
    )
    options = FleetOptions(untaints=True, writers=4)
    kinds = [hollow_fleets.gpu_kind()]
    async with hollow_fleets.running(
        access.of(defined.kubeconfig), 2, kinds, options, "control-plane"
    ) as fleet:
        objects = known(defined, manifests.FOLDER / "extender")
        for each in objects:
            if each["kind"] == "Deployment":
                pod = each["spec"]["template"]["spec"]
                pod["nodeName"] = {"a": "control-plane-0", "b": "control-plane-1"}[
                    pod["nodeName"].removeprefix("control-plane-")
                ]
        path = f"/api/v1/namespaces/{defined.namespace()}/pods"
        await fleet.api.create(path, ORDINARY)
        apply(defined, objects)

        def running() -> set[str]:
            pods = defined.get("/api/v1/namespaces/numalet/pods")["items"]
            return {
                each["metadata"]["labels"]["numalet.dev/replica"]
                for each in pods
                if each["status"]["phase"] == "Running"
            }

        await fleet.until(lambda: running() == {"a", "b"})
        waiting = defined.get(f"{path}/ordinary")
        assert waiting["status"]["phase"] == "Pending"
        assert "nodeName" not in waiting["spec"]
        given = yaml.safe_dump_all(objects)
        defined.kubectl("delete", "--wait=false", "-f", "-", given=given)
        await fleet.until(lambda: running() == set())


ORDINARY: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "ordinary"},
    "spec": {
        "automountServiceAccountToken": False,
        "containers": [{"name": "main", "image": "none"}],
    },
}
