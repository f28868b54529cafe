"""Proxies: which one the environment means, and servers that are reached through one."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from numalet.core.model.findings import BadInput
from numalet.io.kube_api import client, proxies
from numalet.io.kube_api.answers import ApiUnreachable
from running import fake_api_server, forward_proxy
from running.certificates import Authority
from unit.io.kube_api.test_client import PATH

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("server", "environment", "expected"),
    [
        ("https://api.example:6443", {}, ""),
        ("https://api.example:6443", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://api.example:6443", {"https_proxy": "proxy.example:3128"}, PROXY),
        ("https://api.example:6443", {"HTTP_PROXY": PROXY}, ""),
        ("http://api.example", {"HTTP_PROXY": PROXY}, PROXY),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, ""),
    ],
)
def test_the_proxy_of_the_environment(
    server: str, environment: dict[str, str], expected: str
) -> None:
    assert proxies.of(environment, server) == expected


@pytest.mark.parametrize(
    ("server", "exempt", "is_exempt"),
    [
        ("https://api.example:6443", "*", True),
        ("https://api.example:6443", "other.example, api.example", True),
        ("https://api.example:6443", "EXAMPLE", True),
        ("https://api.example:6443", ".example", True),
        ("https://api.example:6443", "*.example", True),
        ("https://api.example:6443", ".api.example", False),
        ("https://api.example:6443", "pi.example", False),
        ("https://api.example:6443", "api.example:6443", True),
        ("https://api.example", "api.example:443", True),
        ("https://api.example:6443", "api.example:443", False),
        ("https://10.1.2.3:6443", "10.0.0.0/8", True),
        ("https://10.1.2.3:6443", "10.1.2.3", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", True),
        ("https://10.1.2.3:6443", "192.168.0.0/16,.example", False),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        ("https://[fd00::1]:6443", "[fd00::1]", True),
        ("https://api.example:6443", ", ,", False),
    ],
)
def test_what_goes_past_the_proxy(server: str, exempt: str, is_exempt: bool) -> None:
    got = proxies.of({"HTTPS_PROXY": PROXY, "no_proxy": exempt}, server)
    assert got == ("" if is_exempt else PROXY)


def test_what_is_no_proxy_is_said() -> None:
    with pytest.raises(BadInput) as bad:
        proxies.of({"HTTPS_PROXY": "ftp://proxy"}, "https://api.example")
    (finding,) = bad.value.findings
    assert finding.code == "input/invalid"
    assert finding.where.document == "$HTTPS_PROXY"


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
async def test_a_server_behind_a_proxy_is_held_against_its_own_name(
    tmp_path: Path, scheme: str
) -> None:
    own = Authority()
    async with (
        fake_api_server.running(own.server_context(tmp_path)) as server,
        forward_proxy.running() as proxy,
    ):
        given = server.access(authority=own.pem, proxy_url=f"{scheme}://127.0.0.1:{proxy.port}")
        port = urlsplit(server.url).port
        # A name that only the proxy can resolve.
        hidden = type(given)(
            server=f"https://api.example:{port}",
            origin=given.origin,
            authority=given.authority,
            proxy_url=given.proxy_url,
            server_name="localhost",
        )
        async with client.opened(given) as api:
            await api.get(PATH)
        if scheme != "socks5":
            async with client.opened(hidden) as api:
                await api.get(PATH)
            assert proxy.targets == [("127.0.0.1", port), ("api.example", port)]
        assert len(server.requests) == len(proxy.targets)


async def test_a_proxy_that_is_not_there(tmp_path: Path) -> None:
    async with forward_proxy.running() as proxy:
        port = proxy.port
    async with fake_api_server.running() as server:
        given = server.access(proxy_url=f"http://127.0.0.1:{port}")
        async with client.opened(given) as api:
            with pytest.raises(ApiUnreachable):
                await api.get(PATH)
        assert server.requests == []
