"""A real scheduler asks over mutual TLS, and goes on after the certificate was renewed."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from cluster import gpu_pods
from numalet.cluster.hollow.fleet_members import FleetOptions
from numalet.io.kube_api import access
from running import extenders, hollow_fleets
from running.certificates import Authority
from running.control_plane import ControlPlane
from running.server_programs import PATIENCE_SECONDS, free_port


@pytest.mark.slow
async def test_a_scheduler_with_a_certificate_is_answered_also_after_ours_was_renewed(
    defined: ControlPlane, tmp_path: Path
) -> None:
    servers, clients, metrics = Authority("servers"), Authority("clients"), free_port()
    files = {each: tmp_path / each for each in ("s.crt", "s.key", "s-ca", "c.crt", "c.key", "c-ca")}
    for authority, name in ((servers, "s"), (clients, "c")):
        files[f"{name}-ca"].write_bytes(authority.pem)
        for ending, content in zip(("crt", "key"), authority.sign(name), strict=True):
            files[f"{name}.{ending}"].write_bytes(content)
    words = (
        *("--tls-cert", str(files["s.crt"]), "--tls-key", str(files["s.key"])),
        *("--client-ca", str(files["c-ca"]), "--metrics", str(metrics)),
    )
    options = FleetOptions(untaints=True, writers=4)
    kinds = [hollow_fleets.gpu_kind()]
    async with hollow_fleets.running(access.of(defined.kubeconfig), 1, kinds, options) as fleet:
        with extenders.running(defined.kubeconfig, *words) as extender:
            entry = extender.configuration(
                urlPrefix=f"https://127.0.0.1:{extender.port}",
                enableHTTPS=True,
                tlsConfig={
                    "caFile": str(files["s-ca"]),
                    "certFile": str(files["c.crt"]),
                    "keyFile": str(files["c.key"]),
                },
            )
            defined.start_scheduler([entry])
            path = f"/api/v1/namespaces/{defined.namespace()}/pods"
            await fleet.api.create(path, gpu_pods.pod("first", 2))
            await fleet.until(lambda: fleet.phases().get("first") == "admitted")
            for ending, content in zip(("crt", "key"), servers.sign("s"), strict=True):
                files[f"s.{ending}"].write_bytes(content)
            # Another scheduler has no connection yet, and sees the new certificate.
            defined.start_scheduler([entry])
            await fleet.api.create(path, gpu_pods.pod("second", 2))
            await fleet.until(lambda: fleet.phases().get("second") == "admitted")
            extender.until_said("renewed certificates are used")
            async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as http:
                page = (await http.get(f"http://127.0.0.1:{metrics}/metrics")).text
            (count,) = re.findall(r"requests_total{result=.answered.,verb=.filter.} (.*)", page)
            assert float(count) >= 2
