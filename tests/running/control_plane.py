"""A real control plane on loopback: etcd and the API server, scheduler and controllers on demand.

RBAC is on, certificates and tokens are its own, ports are free ones, and all of it lives in one
folder. Every wait is for an answer of the servers.
"""

from __future__ import annotations

import ipaddress
import json
import shutil
import ssl
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from numalet.agent.host import kube_credentials
from numalet.agent.host.kube_credentials import Credentials
from running.control_plane_programs import ControlPlanePrograms, scheduler_configuration
from running.server_programs import (
    PATIENCE_SECONDS,
    ServerProgram,
    ServerProgramError,
    free_port,
)

_LOOPBACK: Final = ipaddress.ip_address("127.0.0.1")
_ATTEMPTS: Final = 3
_COLLECTIONS: Final = (
    "/api/v1/nodes",
    "/apis/numalet.dev/v1alpha1/numanodes",
    "/apis/numalet.dev/v1alpha1/numanodeclasses",
    "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
)
"""What tests make outside of namespaces of their own, and what is removed after each."""
_IN_NAMESPACES: Final = (
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/batch/v1/jobs",
    "/api/v1/pods",
)
"""Owners before what they own, or controllers would make it anew for the next test."""


class ControlPlane:
    """The servers of one control plane, and a client of its administrator."""

    def __init__(
        self, programs: ControlPlanePrograms, folder: Path, api_flags: Iterable[str] = ()
    ) -> None:
        self.programs = programs
        self.folder = folder
        self._credentials = kube_credentials.own(
            folder, "control-plane", _LOOPBACK, datetime.now(UTC)
        )
        self.token = self._credentials.token
        etcd_port, peer_port, api_port = free_port(), free_port(), free_port()
        self.server = f"https://127.0.0.1:{api_port}"
        self._etcd_url = f"http://127.0.0.1:{etcd_port}"
        self.ca = folder / kube_credentials.FOLDER / "ca.crt"
        self.kubeconfig = self.kubeconfig_of(self.token, "admin")
        context = ssl.create_default_context(cafile=str(self.ca))
        self.api = httpx.Client(
            base_url=self.server,
            verify=context,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=60,
            trust_env=False,
        )
        tokens = folder / "tokens.csv"
        tokens.write_text(f'{self.token},admin,admin,"system:masters"\n')
        self.etcd = self._program("etcd", self._etcd_command(peer_port), self._etcd_is_ready)
        self.api_server = self._program(
            "kube-apiserver", self._api_command(api_port, tokens, api_flags), self._api_is_ready
        )
        self.controllers = self._with_health("kube-controller-manager", self._controllers_command())
        self._scheduler_file = folder / "scheduler.yaml"
        self.scheduler = self._with_health(
            "kube-scheduler",
            [programs.program("kube-scheduler"), "--config", str(self._scheduler_file)],
        )

    @property
    def all_servers(self) -> tuple[ServerProgram, ...]:
        """Those that ran or could have, in the order in which they end."""
        return (self.scheduler, self.controllers, self.api_server, self.etcd)

    def start(self) -> None:
        """Start etcd and the API server; ServerProgramError if they do not get ready."""
        self.etcd.start()
        self.api_server.start()

    def start_scheduler(self, extenders: Iterable[dict[str, Any]] = (), **settings: Any) -> None:
        """Start the scheduler, or start it anew with these extenders and further settings."""
        given = {**scheduler_configuration(self.kubeconfig, list(extenders)), **settings}
        self._scheduler_file.write_text(yaml.safe_dump(dict(given), sort_keys=False))
        self.scheduler.restart()

    def another_scheduler(
        self, name: str, extenders: Iterable[dict[str, Any]] = ()
    ) -> ServerProgram:
        """A scheduler, not started yet, for the pods that ask for it by this name."""
        file = self.folder / f"{name}.yaml"
        given = scheduler_configuration(self.kubeconfig, list(extenders), name)
        file.write_text(yaml.safe_dump(dict(given), sort_keys=False))
        command = [self.programs.program("kube-scheduler"), "--config", str(file)]
        return self._with_health(name, command)

    def end(self) -> None:
        """Kill all of it. What they wrote stays in the folder."""
        self.api.close()
        for server in self.all_servers:
            server.kill()

    def logs(self) -> str:
        """The last lines of every server that ran."""
        ran = (each for each in reversed(self.all_servers) if each.log.exists())
        return "\n".join(f"--- {each.name}\n{each.last_lines()}" for each in ran)

    # What tests ask and make.

    def request(self, method: str, path: str, body: object = None, **given: Any) -> httpx.Response:
        """The API server's answer to its administrator, whatever it is; ``body`` as JSON."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **given.pop("headers", {})}

        def asked() -> httpx.Response:
            return self.api.request(method, path, content=content, headers=headers, **given)

        try:
            return after_throttling(asked)
        except (httpx.RemoteProtocolError, httpx.ReadError):
            # A connection that was kept from before the server was started again.
            if method == "POST":
                raise
            return after_throttling(asked)

    def get(self, path: str) -> Any:
        """The object or list; an answer that is none fails the test."""
        return _success(self.request("GET", path))

    def create(self, path: str, body: Mapping[str, Any]) -> Any:
        """Make the object, read it back, and fail if the API server kept less than was sent."""
        made = _success(self.request("POST", path, body))
        read = self.get(f"{path}/{made['metadata']['name']}")
        assert not lost(body, read), "; ".join(lost(body, read))
        return read

    def namespace(self, prefix: str = "test") -> str:
        """A new namespace in which pods can be made at once."""
        name = f"{prefix}-{uuid.uuid4().hex[:8]}"
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})
        made = self.request(
            "POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}}
        )
        # The controllers may have been quicker.
        assert made.status_code in (201, 409), made.text
        return name

    def apply(self, *files: Path) -> str:
        """Apply manifests with kubectl, or a kustomization's folder; what it says."""
        said = ""
        for file in files:
            option = "-k" if file.is_dir() else "-f"
            said += self.kubectl("apply", option, str(file))
        return said

    def until_established(self) -> None:
        """Wait until the API server serves every custom resource."""
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=200s")

    def kubectl(self, *arguments: str, given: str = "") -> str:
        """What kubectl says as administrator; its complaint fails the test."""
        program = shutil.which(self.programs.kubectl)
        assert program is not None, "kubectl is not installed"
        done = subprocess.run(
            [program, "--kubeconfig", str(self.kubeconfig), *arguments],
            input=given, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def service_account_token(self, namespace: str, name: str) -> str:
        """A token of the account, as a pod that runs under it is given one."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return str(_success(self.request("POST", path, body))["status"]["token"])

    def kubeconfig_of(self, token: str, name: str) -> Path:
        """A kubeconfig with this token."""
        bearer = Credentials(
            self._credentials.trusted, self._credentials.certificate, self._credentials.key, token
        )
        path = self.folder / f"{name}.kubeconfig"
        document = kube_credentials.kubeconfig(bearer, self.server, "control-plane")
        path.write_text(yaml.safe_dump(dict(document), sort_keys=False))
        return path

    def compact(self) -> int:
        """Let etcd forget all before now; the revision, which is the resourceVersion of now."""
        # The key does not matter, the header of every answer has the revision.
        answer = httpx.post(f"{self._etcd_url}/v3/kv/range", json={"key": "AA=="}, trust_env=False)
        revision = int(_success(answer)["header"]["revision"])
        body = {"revision": str(revision), "physical": True}
        url = f"{self._etcd_url}/v3/kv/compaction"
        compacted = httpx.post(url, json=body, trust_env=False)
        # Nothing was written since the last time.
        if "required revision has been compacted" not in compacted.text:
            _success(compacted)
        return revision

    def clear(self) -> None:
        """Remove what a test made, as an administrator without patience."""
        if not self.etcd.is_running:
            self.etcd.start()
        if not self.api_server.is_running:
            self.api_server.start()
        for path in _COLLECTIONS:
            self.request("DELETE", path)
        for path in _IN_NAMESPACES:
            group, _, plural = path.rpartition("/")
            namespaces = {each["metadata"]["namespace"] for each in self.get(path)["items"]}
            for name in sorted(namespaces):
                now = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
                self.request("DELETE", f"{group}/namespaces/{name}/{plural}", now)

    # How each server is started.

    def _program(self, name: str, command: list[str], is_ready: Any) -> ServerProgram:
        return ServerProgram(name, command, self.folder / f"{name}.log", is_ready)

    def _with_health(self, name: str, command: list[str]) -> ServerProgram:
        port = free_port()
        flags = [
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={self._credentials.certificate}",
            f"--tls-private-key-file={self._credentials.key}",
        ]
        url = f"https://127.0.0.1:{port}/healthz"
        return self._program(name, [*command, *flags], lambda: self._answers_ok(url))

    def _etcd_command(self, peer_port: int) -> list[str]:
        peer = f"http://127.0.0.1:{peer_port}"
        return [
            self.programs.program("etcd"),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=warn",
        ]

    def _api_command(self, port: int, tokens: Path, more: Iterable[str]) -> list[str]:
        own = self._credentials
        return [
            self.programs.program("kube-apiserver"),
            f"--etcd-servers={self._etcd_url}",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            # It refuses to announce an address of loopback.
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={own.certificate}",
            f"--tls-private-key-file={own.key}",
            f"--client-ca-file={self.ca}",
            f"--service-account-key-file={own.certificate}",
            f"--service-account-signing-key-file={own.key}",
            "--service-account-issuer=https://numalet.test",
            "--api-audiences=https://numalet.test",
            "--authorization-mode=RBAC",
            f"--token-auth-file={tokens}",
            "--service-cluster-ip-range=10.0.0.0/24",
            *more,
        ]

    def _controllers_command(self) -> list[str]:
        return [
            self.programs.program("kube-controller-manager"),
            f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self._credentials.key}",
            f"--root-ca-file={self.ca}",
            "--leader-elect=false",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ]

    def _etcd_is_ready(self) -> bool:
        return self._answers(f"{self._etcd_url}/health", '"health"')

    def _api_is_ready(self) -> bool:
        return self._answers_ok(f"{self.server}/readyz")

    def _answers_ok(self, url: str) -> bool:
        return self._answers(url, "ok")

    def _answers(self, url: str, expected: str) -> bool:
        with suppress(httpx.TransportError):
            answer = self.api.get(url, timeout=5)
            return answer.status_code == httpx.codes.OK and expected in answer.text
        return False


@contextmanager
def running(
    programs: ControlPlanePrograms, folder: Path, api_flags: Iterable[str] = ()
) -> Iterator[ControlPlane]:
    """A control plane with etcd and API server; all of it ends with the block."""
    for attempt in range(_ATTEMPTS):
        own = folder / f"control-plane-{attempt}"
        own.mkdir()
        plane = ControlPlane(programs, own, api_flags)
        try:
            plane.start()
        except ServerProgramError as failed:
            plane.end()
            # Another program may have got one of the ports since they were chosen.
            if "address already in use" in str(failed) and attempt + 1 < _ATTEMPTS:
                continue
            raise
        try:
            yield plane
        finally:
            plane.end()
        return


def after_throttling(
    ask: Callable[[], httpx.Response], wait_seconds: Callable[[float], None] = time.sleep
) -> httpx.Response:
    """The first answer that is none of "ask again later"; after a while, that one.

    Releases from 1.31 on answer so, whoever asks, until they have read the objects of a kind.
    """
    waited = 0.0
    while (answer := ask()).status_code == httpx.codes.TOO_MANY_REQUESTS:
        seconds = float(answer.headers.get("Retry-After", 1))
        waited += seconds
        if waited > PATIENCE_SECONDS:
            break
        wait_seconds(seconds)
    return answer


def lost(sent: object, read: object, place: str = "") -> list[str]:
    """Where what was read back has less than what was sent, or something else."""
    match sent, read:
        case Mapping(), Mapping():
            return [
                line
                for key, value in sent.items()
                for line in (
                    lost(value, read[key], f"{place}.{key}")
                    if key in read
                    else [f"{place}.{key}: {value!r} is gone"]
                )
            ]
        case list(), list() if len(sent) == len(read):
            pairs = enumerate(zip(sent, read, strict=True))
            return [line for i, (one, other) in pairs for line in lost(one, other, f"{place}[{i}]")]
        case _ if sent == read:
            return []
        case _:
            return [f"{place}: sent {sent!r}, read {read!r}"]


def _success(answer: httpx.Response) -> Any:
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.text}"
    return answer.json()
