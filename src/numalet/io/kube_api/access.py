"""Finds the API server and its credentials, in a kubeconfig or in a pod."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.io.kube_api import kubeconfig as documents
from numalet.io.kube_api import proxies
from numalet.io.kube_api.values import Access

__all__ = ["Access", "in_cluster", "of"]

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def of(
    kubeconfig: Path | None = None,
    context: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Access:
    """The access from this kubeconfig and context; by default its current context.

    Without a file: $KUBECONFIG, else ~/.kube/config, else the service account of a pod. Without a
    proxy in the kubeconfig, the environment's proxy applies, as in kubectl.

    Raises:
        BadInput: with all errors, if the access is missing or not usable.
    """
    environment = os.environ if environment is None else environment
    paths = (kubeconfig,) if kubeconfig is not None else _usual(environment)
    if paths:
        access = documents.access(paths, context)
    elif context is None and (inside := in_cluster(environment, service_account)) is not None:
        access = inside
    else:
        raise input_error.Required(
            "no cluster configured: no $KUBECONFIG, no ~/.kube/config and no service "
            "account; name a kubeconfig with --kubeconfig FILE"
        ).bad_input()
    return replace(access, proxy_url=access.proxy_url or proxies.of(environment, access.server))


def in_cluster(
    environment: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT
) -> Access | None:
    """The access of the pod that this program runs in, if it does."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    token_file = service_account / "token"
    if not host or not port or not token_file.exists():
        return None
    namespace = service_account / "namespace"
    return Access(
        server=f"https://{_in_url(host)}:{port}",
        origin=Location(str(service_account)),
        namespace=_first_line(namespace) or "default",
        authority=service_account / "ca.crt",
        # The path and not the content: the kubelet rotates the token.
        token_file=token_file,
    )


def _usual(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The default files of kubectl: those in $KUBECONFIG that exist, else the user's."""
    named = [Path(each) for each in environment.get("KUBECONFIG", "").split(os.pathsep) if each]
    if named:
        # If all are missing, keep the first for the error message.
        return tuple(each for each in named if each.exists()) or (named[0],)
    home = environment.get("HOME", "")
    own = Path(home or "/") / ".kube" / "config"
    return (own,) if own.exists() else ()


def _in_url(host: str) -> str:
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host


def _first_line(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
