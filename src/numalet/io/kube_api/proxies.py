"""Chooses the proxy for a server from the environment, like Go programs."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from numalet.core.model import input_error
from numalet.core.model.findings import Location

SCHEMES: Final = ("http", "https", "socks5", "socks5h")


def url_problem(text: str, schemes: tuple[str, ...]) -> str:
    """Why a text is not the address of a server; empty if it is."""
    try:
        parts = urlsplit(text)
        # urlsplit checks the port only when it is read.
        _ = parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in schemes:
        return f"it begins with none of {', '.join(f'{each}://' for each in schemes)}"
    if not parts.hostname:
        return "there is no host"
    return ""


def of(environment: Mapping[str, str], server: str) -> str:
    """The proxy for a server, or empty. Raises ``BadInput`` if it is not an address."""
    parts = urlsplit(server)
    name = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    text = environment.get(name) or environment.get(name.lower()) or ""
    host = (parts.hostname or "").rstrip(".")
    exempt = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    # Go never uses a proxy for loopback addresses.
    if not text or _is_loopback(host) or _is_exempt(host, port, exempt):
        return ""
    url = text if "://" in text else f"http://{text}"
    if url_problem(url, SCHEMES):
        raise input_error.Invalid(
            f"invalid proxy {text!r}",
            expected="http://, https:// or socks5://",
            where=Location(f"${name}"),
        ).bad_input()
    return url


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_exempt(host: str, port: int, exempt: str) -> bool:
    return any(
        _covers(entry, host, port) for each in exempt.split(",") if (entry := each.strip().lower())
    )


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of NO_PROXY matches this server.

    It is ``*``, an address, a network, or a domain with its subdomains (only subdomains with a
    leading dot), each with an optional port.
    """
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        pass  # One of them is a name.
    name, colon, number = entry.rpartition(":")
    if colon and number.isdecimal():
        return int(number) == port and _covers(name, host, port)
    if entry.startswith((".", "*.")):
        return host.endswith(entry.removeprefix("*"))
    return host == entry or host.endswith(f".{entry}")
