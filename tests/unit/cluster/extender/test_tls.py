"""Who may ask an extender over TLS, and certificates that are renewed while it serves."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from harness.bad_inputs import refusal
from numalet.cluster.extender import tls
from numalet.cluster.extender.tls import RenewedTls, TlsFiles
from numalet.core.model.findings import Finding
from numalet.shared.web import addresses
from numalet.shared.web import http_service as web
from numalet.shared.web.addresses import ListenAddress
from running.certificates import Authority
from running.extender_parts import LOOPBACK, PATIENCE_SECONDS


@dataclass(eq=False)
class TlsPlace:
    """The files of a server and what it said of them."""

    folder: Path
    authority: Authority = field(default_factory=Authority)
    complaints: list[Finding] = field(default_factory=list)
    renewals: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def files(self) -> TlsFiles:
        return TlsFiles(*(self.folder / each for each in ("tls.crt", "tls.key", "ca.crt")))

    def write(self, authority: Authority | None = None) -> None:
        certificate, key = (authority or self.authority).sign("server")
        self.files.certificate.write_bytes(certificate)
        self.files.key.write_bytes(key)

    def write_client_ca(self, authority: Authority) -> None:
        (self.folder / "ca.crt").write_bytes(authority.pem)

    async def asked(self, trusted: Authority, client: Authority | None = None) -> str:
        """The answer to a client that trusts one authority and has a certificate of another."""
        context = ssl.create_default_context(cadata=trusted.pem.decode())
        if client is not None:
            path = self.folder / "client.pem"
            path.write_bytes(b"".join(client.sign("scheduler")))
            context.load_cert_chain(path)
        async with httpx.AsyncClient(
            verify=context, trust_env=False, timeout=PATIENCE_SECONDS
        ) as http:
            return (await http.get(self.url)).text


async def _said(_: Request) -> Response:
    return PlainTextResponse("said")


@contextlib.asynccontextmanager
async def serving(place: TlsPlace) -> AsyncIterator[RenewedTls]:
    renewed = RenewedTls(
        place.files, place.complaints.append, lambda: place.renewals.append("renewed")
    )
    listener = addresses.bound(ListenAddress(LOOPBACK, 0))
    place.url = f"https://{LOOPBACK}:{listener.getsockname()[1]}"
    async with web.serving(Starlette(routes=[Route("/", _said)]), listener, renewed.context):
        yield renewed


@pytest.fixture
def place(tmp_path: Path) -> TlsPlace:
    made = TlsPlace(tmp_path)
    made.write()
    made.write_client_ca(made.authority)
    return made


async def test_only_clients_with_a_certificate_of_the_authority_may_ask(place: TlsPlace) -> None:
    async with serving(place):
        assert await place.asked(place.authority, place.authority) == "said"
        for other in (None, Authority("another")):
            with pytest.raises(httpx.TransportError):
                await place.asked(place.authority, other)
        assert await place.asked(place.authority, place.authority) == "said"


async def test_older_versions_of_tls_are_not_spoken(place: TlsPlace) -> None:
    context = ssl.create_default_context(cadata=place.authority.pem.decode())
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with serving(place), httpx.AsyncClient(verify=context, trust_env=False) as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(place.url)


async def test_a_renewed_certificate_is_used_for_the_next_connection(place: TlsPlace) -> None:
    later = Authority("later")
    async with serving(place):
        assert await place.asked(place.authority, place.authority) == "said"
        place.write(later)
        assert await place.asked(later, place.authority) == "said"
        assert place.renewals == ["renewed"]
        with pytest.raises(httpx.ConnectError):
            await place.asked(place.authority, place.authority)


async def test_a_renewed_authority_shuts_out_the_clients_of_the_old_one(place: TlsPlace) -> None:
    later = Authority("later")
    async with serving(place):
        assert await place.asked(place.authority, place.authority) == "said"
        place.write_client_ca(later)
        assert await place.asked(place.authority, later) == "said"
        with pytest.raises(httpx.TransportError):
            await place.asked(place.authority, place.authority)


@pytest.mark.parametrize("name", ["tls.key", "tls.crt", "ca.crt"])
async def test_renewed_files_that_can_not_be_used_leave_what_there_was(
    place: TlsPlace, name: str
) -> None:
    async with serving(place):
        whole = (place.folder / name).read_bytes()
        (place.folder / name).write_text("half of a file")
        for _ in range(2):
            assert await place.asked(place.authority, place.authority) == "said"
        assert len(place.complaints) == 1
        assert "not usable for TLS" in str(place.complaints[0])
        (place.folder / name).unlink()
        assert await place.asked(place.authority, place.authority) == "said"
        assert [each.where.document for each in place.complaints[1:]] == [str(place.folder / name)]
        (place.folder / name).write_bytes(whole)
        assert await place.asked(place.authority, place.authority) == "said"
        assert (len(place.complaints), place.renewals) == (2, ["renewed"])


def test_files_that_can_not_be_used_are_named(place: TlsPlace) -> None:
    for name in ("tls.crt", "tls.key", "ca.crt"):
        whole = (place.folder / name).read_bytes()
        (place.folder / name).unlink()
        finding = refusal("input/invalid", lambda: tls.made(place.files))
        assert finding.where.document == str(place.folder / name)
        (place.folder / name).write_bytes(whole)
    place.write(Authority())
    other = place.files.key.read_bytes()
    place.write()
    place.files.key.write_bytes(other)
    finding = refusal("input/invalid", lambda: tls.made(place.files))
    assert "MISMATCH" in str(finding)


def test_without_an_authority_every_client_may_ask(place: TlsPlace) -> None:
    files = TlsFiles(place.files.certificate, place.files.key)
    assert tls.made(files).verify_mode is ssl.CERT_NONE
