"""Addresses, lengths of time and files of TLS as they are written on the command line."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from harness.bad_inputs import refusal
from numalet.cluster import programs
from numalet.cluster.extender import command
from numalet.shared.web import addresses
from numalet.shared.web.addresses import ListenAddress


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        ("127.0.0.1:8888", "127.0.0.1", 8888, "127.0.0.1:8888"),
        ("[::1]:0", "::1", 0, "[::1]:0"),
        ("localhost:65535", "localhost", 65_535, "localhost:65535"),
        ("8889", "127.0.0.1", 8889, "127.0.0.1:8889"),
        (":8889", "127.0.0.1", 8889, "127.0.0.1:8889"),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, host: str, port: int, shown: str) -> None:
    address = addresses.listen_address("--metrics", text, "127.0.0.1")
    assert (address, str(address)) == (ListenAddress(host, port), shown)
    assert address.is_loopback


@pytest.mark.parametrize(
    "text", ["", "127.0.0.1", "127.0.0.1:", "a:65536", "a:x", "::1:80", "8888", ":8888", "a:-1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    finding = refusal("input/invalid", lambda: addresses.listen_address("--listen", text))
    assert finding.where.document == "--listen"


@pytest.mark.parametrize("text", ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "extender.example.com:1"])
def test_where_others_can_connect_they_say_who_they_are(text: str) -> None:
    address = addresses.listen_address("--listen", text)
    refusal("input/forbidden", lambda: command.check_open(address, has_client_ca=False))
    command.check_open(address, has_client_ca=True)


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = ListenAddress("127.0.0.1", other.getsockname()[1])
        finding = refusal("input/unavailable", lambda: addresses.bound(address))
        assert str(address) in str(finding)


@pytest.mark.parametrize(("text", "seconds"), [("5s", 5.0), ("500ms", 0.5), ("1m30s", 90.0)])
def test_lengths_of_time_are_written_as_in_kubernetes(text: str, seconds: float) -> None:
    assert programs.duration_seconds("--timeout", text) == seconds


@pytest.mark.parametrize("text", ["", "5", "0s", "-1s", "soon"])
def test_what_is_no_time_is_refused(text: str) -> None:
    finding = refusal("input/invalid", lambda: programs.duration_seconds("--timeout", text))
    assert finding.where.document == "--timeout"


FILE = Path("a")


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ((FILE, None, None), "--tls-cert needs --tls-key too"),
        ((None, FILE, None), "--tls-key needs --tls-cert too"),
        ((None, None, FILE), "--client-ca needs --tls-cert and --tls-key too"),
        ((FILE, None, FILE), "--tls-cert needs --tls-key too"),
    ],
)
def test_half_of_tls_is_refused(given: tuple[Path | None, ...], missing: str) -> None:
    certificate, key, client_ca = given
    finding = refusal("input/required", lambda: command.tls_files(certificate, key, client_ca))
    assert str(finding) == missing


def test_without_files_there_is_no_tls() -> None:
    assert command.tls_files(None, None, None) is None
