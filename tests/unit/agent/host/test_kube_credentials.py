"""Certificate, token and kubeconfig of the API for kubectl: made once, kept, made anew."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from harness.bad_inputs import refused_with
from numalet.agent.host import kube_credentials
from numalet.agent.host.kube_credentials import Credentials

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HOST = ipaddress.ip_address("127.0.0.1")


def _own(root: Path, name: str = "n", host: str = "127.0.0.1", now: datetime = NOW) -> Credentials:
    return kube_credentials.own(root, name, ipaddress.ip_address(host), now)


def test_what_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    _own(tmp_path)
    folder = tmp_path / "kube-api"
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == dict.fromkeys(("ca.crt", "tls.crt", "tls.key", "token"), 0o600)


def test_it_is_kept_while_it_is_good(tmp_path: Path) -> None:
    assert _own(tmp_path) == _own(tmp_path, now=NOW + timedelta(days=3200))


@pytest.mark.parametrize(
    ("changes", "is_new"),
    [
        ({"now": NOW + timedelta(days=3300)}, True),
        ({"name": "other"}, True),
        ({"host": "127.0.0.2"}, True),
        ({"host": "::1"}, False),
        ({"name": "n"}, False),
    ],
)
def test_an_unusable_certificate_is_created_again(
    tmp_path: Path, changes: dict[str, object], is_new: bool
) -> None:
    before = _own(tmp_path)
    after = _own(tmp_path, **changes)  # type: ignore[arg-type]
    assert (before.trusted != after.trusted) is is_new
    assert before.token == after.token


@pytest.mark.parametrize("name", ["ca.crt", "tls.crt", "tls.key"])
def test_files_that_do_not_belong_together_are_created_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    mine, other = _own(tmp_path / "a"), _own(tmp_path / "b")
    (mine.key.parent / name).write_bytes((other.key.parent / name).read_bytes())
    assert _own(tmp_path / "a").trusted not in (mine.trusted, other.trusted)
    (mine.key.parent / name).write_text("nonsense")
    again = _own(tmp_path / "a")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(again.certificate, again.key)


def test_a_lost_or_short_token_is_created_again(tmp_path: Path) -> None:
    first = _own(tmp_path).token
    path = tmp_path / "kube-api" / "token"
    path.write_text("short\n")
    second = _own(tmp_path).token
    path.unlink()
    third = _own(tmp_path).token
    assert len({first, second, third}) == 3
    path.write_text("x" * 32)
    path.chmod(0o644)
    assert _own(tmp_path).token == "x" * 32
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_name_that_certificates_can_not_have_is_left_out(tmp_path: Path) -> None:
    assert _own(tmp_path, name="knöten") == _own(tmp_path, name="knöten")


def test_a_kubeconfig_has_all_that_kubectl_needs(tmp_path: Path) -> None:
    made = _own(tmp_path)
    (tmp_path / "admin.kubeconfig").write_text("old")
    (tmp_path / "admin.kubeconfig").chmod(0o644)
    path = kube_credentials.write_kubeconfig(tmp_path, made, "https://127.0.0.1:1", "n")
    assert path.stat().st_mode & 0o777 == 0o600
    found = yaml.safe_load(path.read_text())
    assert found["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"
    assert "tls-server-name" not in found["clusters"][0]["cluster"]
    assert found["users"][0]["user"] == {"token": made.token}
    assert found["current-context"] == found["contexts"][0]["name"]


def test_a_certificate_of_the_administrator_s_names_the_server(tmp_path: Path) -> None:
    made = _own(tmp_path, name="node.example.com")
    given = kube_credentials.given(tmp_path, made.certificate, made.key)
    assert given.server_name == "localhost"
    document = kube_credentials.kubeconfig(given, "https://10.0.0.1:1", "n")
    assert document["clusters"][0]["cluster"]["tls-server-name"] == "localhost"


@pytest.mark.parametrize("content", [None, "no certificate", "\xff"])
def test_a_certificate_that_can_not_be_read_is_reported(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "mine.crt"
    if content is not None:
        path.write_text(content, encoding="latin-1")
    with refused_with("input/unreadable", "cannot read the certificate"):
        kube_credentials.given(tmp_path, path, path)


def test_a_folder_that_can_not_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "kube-api").write_text("in the way")
    with refused_with("input/unwritable", "cannot create the folder"):
        _own(tmp_path)
