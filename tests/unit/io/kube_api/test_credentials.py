"""Tokens and credential plugins: read again, run again, and what is wrong with them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput, Location
from numalet.io.kube_api import client, credentials, plugin
from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.credentials import ApiCredentials, TlsMaterial
from numalet.io.kube_api.values import Access, CredentialPlugin
from numalet.io.tasks import together
from running import fake_api_server
from running.certificates import Authority
from unit.io.kube_api.test_client import PATH, SteppedClock

V1 = "client.authentication.k8s.io/v1"


def program(folder: Path, text: str) -> CredentialPlugin:
    """A plugin that is this shell script; it counts how often it ran in ``runs``."""
    path = folder / "login"
    path.write_text(f"#!/bin/sh\necho x >> {folder}/runs\n{text}\n")
    path.chmod(0o700)
    return CredentialPlugin(str(path), ("--for", "a cluster"), (("OWN", "value"),), V1)


def printed(**status: str) -> str:
    credential = {"apiVersion": V1, "kind": "ExecCredential", "status": status}
    return f"cat <<'E'\n{json.dumps(credential)}\nE"


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text().split())


def of(given: CredentialPlugin, clock: SteppedClock, now: datetime | None = None) -> ApiCredentials:
    access = Access("https://x", Location("test"), plugin=given)
    return ApiCredentials(access, clock, lambda: now or datetime.now(UTC))


async def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    clock = SteppedClock()
    async with fake_api_server.running() as server:
        async with client.opened(server.access(token_file=file), clock=clock) as api:
            await api.get(PATH)
            file.write_text("second\n")
            clock.now = 59.0
            await api.get(PATH)
            clock.now = 60.0
            await api.get(PATH)
            # A file that is being replaced may be missing for a moment.
            file.unlink()
            clock.now = 120.0
            await api.get(PATH)
        assert [each.headers["authorization"] for each in server.requests] == [
            "Bearer first", "Bearer first", "Bearer second", "Bearer second",
        ]  # fmt: skip


async def test_a_token_that_the_server_does_not_know_is_read_again_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    async with fake_api_server.running() as server:
        server.accepts_tokens = {"first"}
        async with client.opened(server.access(token_file=file), clock=SteppedClock()) as api:
            await api.get(PATH)
            server.accepts_tokens = {"second"}
            file.write_text("second")
            await api.get(PATH)
            server.accepts_tokens = {"third"}
            with pytest.raises(ApiRefused) as refused:
                await api.get(PATH)
        assert refused.value.status.code == 401
        assert len(server.requests) == 4


async def test_a_token_file_that_never_could_be_read(tmp_path: Path) -> None:
    async with fake_api_server.running() as server:
        with pytest.raises(BadInput) as bad:
            async with client.opened(server.access(token_file=tmp_path / "missing")):
                pass
    assert [each.code for each in bad.value.findings] == ["input/unreadable"]


async def test_a_plugin_is_run_again_only_when_its_credential_is_over(tmp_path: Path) -> None:
    ends = datetime(2026, 11, 23, 12, tzinfo=UTC)
    given = program(tmp_path, printed(token="t", expirationTimestamp=ends.isoformat()))
    clock = SteppedClock()
    moment = ends - timedelta(minutes=10)
    credentials = ApiCredentials(
        Access("https://x", Location("test"), plugin=given), clock, lambda: moment
    )
    for _ in range(3):
        assert (await credentials.current()).authorization == "Bearer t"
        clock.now += 61
    assert runs(tmp_path) == 1
    moment = ends - timedelta(seconds=10)
    await credentials.current()
    assert runs(tmp_path) == 2


async def test_a_plugin_is_run_again_when_the_server_does_not_know_its_token(
    tmp_path: Path,
) -> None:
    given = program(
        tmp_path,
        f'n=$(wc -l < {tmp_path}/runs); printf \'{{"apiVersion":"{V1}","kind":"ExecCredential",'
        '"status":{"token":"t%d"}}\' $n',
    )
    async with fake_api_server.running() as server:
        server.accepts_tokens = {"t1"}
        async with client.opened(server.access(plugin=given)) as api:
            await api.get(PATH)
            server.accepts_tokens = {"t2"}
            # Many at once, and one run for all of them.
            async with together() as group:
                for _ in range(5):
                    group.create_task(api.get(PATH))
    assert runs(tmp_path) == 2


async def test_a_plugin_is_handed_what_it_needs(tmp_path: Path) -> None:
    given = program(
        tmp_path,
        f'printf "%s" "$KUBERNETES_EXEC_INFO" > {tmp_path}/info\n'
        f'printf "%s/%s/%s" "$OWN" "$1" "$2" > {tmp_path}/words\n' + printed(token="t"),
    )
    given = CredentialPlugin(
        given.command, given.arguments, given.environment, V1, cluster='{"server":"https://s"}'
    )
    assert (await plugin.run(given)).token == "t"
    assert (tmp_path / "words").read_text() == "value/--for/a cluster"
    assert json.loads((tmp_path / "info").read_text()) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://s"}},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("echo no such profile >&2; exit 3", "ended with exit code 3: no such profile"),
        ("kill -9 $$", "ended with signal 9"),
        ("echo hello", "did not print an ExecCredential"),
        ("true", "did not print an ExecCredential"),
        (printed(), "printed neither a token nor a client certificate"),
        (printed(clientKeyData="k"), "without its key, or a key alone"),
        (printed(token="t").replace(V1, "client.authentication.k8s.io/v2"), "v2 where"),
        (printed(token="t").replace("ExecCredential", "Other"), "printed Other of"),
        (printed(token="t", expirationTimestamp="soon"), "did not print an ExecCredential"),
        ("head -c 3000000 /dev/zero", "did not print an ExecCredential"),
    ],
)
async def test_a_plugin_that_fails_is_a_finding(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(BadInput) as bad:
        await plugin.run(program(tmp_path, text))
    (finding,) = bad.value.findings
    assert finding.code == "input/unavailable"
    assert problem in str(finding)


async def test_a_plugin_that_is_not_there_says_how_it_is_installed(tmp_path: Path) -> None:
    given = CredentialPlugin(str(tmp_path / "gone"), (), (), V1, hint="install\nit with apt")
    with pytest.raises(BadInput) as bad:
        await plugin.run(given)
    assert str(bad.value).endswith("(No such file or directory); install it with apt")


async def test_a_plugin_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    given = program(tmp_path, f"sleep 600 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(BadInput, match="was not done within 1 s"):
        await plugin.run(given, 1.0)
    child = int((tmp_path / "child").read_text())
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


async def test_a_plugin_may_print_a_certificate(tmp_path: Path) -> None:
    certificate, key = Authority().sign("me")
    words = {"clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
    tls = (await of(program(tmp_path, printed(**words)), SteppedClock()).current()).tls
    assert (tls.certificate, tls.key) == (certificate, key)


async def test_name_and_password(tmp_path: Path) -> None:
    access = Access("https://x", Location("test"), username="ann", password="word")
    identity = await ApiCredentials(access, SteppedClock()).current()
    assert identity.authorization == "Basic YW5uOndvcmQ="


@pytest.mark.parametrize("authority", [b"0\x82\x01\x8f", b"\xc3\xa9", b"\0", b"no certificate"])
def test_an_authority_that_is_not_pem_is_a_finding(authority: bytes) -> None:
    access = Access("https://x", Location("config"))
    with pytest.raises(BadInput) as caught:
        credentials.tls_context(TlsMaterial(authority=authority), access)
    (finding,) = caught.value.findings
    assert finding.code == "input/invalid"
    assert finding.located.startswith("config: cannot use certificate-authority: ")
