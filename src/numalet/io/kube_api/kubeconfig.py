"""Reads kubeconfig files: contexts, clusters and users, from one file or several merged.

As in kubectl, the first file wins for entries of one name, relative paths start at the folder of
their file, and data wins over a file. Only the entries of the chosen context are validated, so a
broken entry elsewhere does not matter.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Findings
from numalet.core.model.value import Value
from numalet.io.documents.text import yaml_source
from numalet.io.documents.text.typed import Place, decode
from numalet.io.kube_api import proxies
from numalet.io.kube_api.values import Access, CredentialPlugin, Impersonation, Pem

PLUGIN_VERSIONS: Final = (
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
    "client.authentication.k8s.io/v1alpha1",
)
_LARGEST_FILE_BYTES: Final = 1 << 20


class _Named(msgspec.Struct, rename="kebab"):
    name: str = ""
    cluster: Any = None
    user: Any = None
    context: Any = None


class _Config(msgspec.Struct, rename="kebab"):
    current_context: str | None = None
    contexts: list[_Named] | None = None
    clusters: list[_Named] | None = None
    users: list[_Named] | None = None


class _Context(msgspec.Struct, rename="kebab"):
    cluster: str = ""
    user: str | None = None
    namespace: str | None = None


class _Cluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None


class _Variable(msgspec.Struct):
    name: str
    value: str = ""


class _Plugin(msgspec.Struct, rename="camel"):
    command: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    api_version: str = PLUGIN_VERSIONS[1]
    install_hint: str | None = None
    provide_cluster_info: bool | None = None


class _AuthProvider(msgspec.Struct):
    name: str = ""


class _User(msgspec.Struct, rename="kebab"):
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    username: str | None = None
    password: str | None = None
    exec: _Plugin | None = None
    auth_provider: _AuthProvider | None = None
    impersonated: str | None = msgspec.field(default=None, name="as")
    impersonated_uid: str | None = msgspec.field(default=None, name="as-uid")
    impersonated_groups: list[str] | None = msgspec.field(default=None, name="as-groups")
    impersonated_extra: dict[str, list[str]] | None = msgspec.field(
        default=None, name="as-user-extra"
    )


class _Entry(Value):
    """A named value, its place, and the base folder of its relative paths."""

    value: Any
    place: Place
    folder: Path


class _Merged(Value):
    current: str
    current_place: Place
    contexts: Mapping[str, _Entry]
    clusters: Mapping[str, _Entry]
    users: Mapping[str, _Entry]


def access(paths: Sequence[Path], context: str | None) -> Access:
    """The named or current context. Raises ``BadInput`` for unusable files or settings."""
    merged = _merged(paths)
    known = _listed(merged.contexts)
    name = context if context is not None else merged.current
    if not name:
        where = merged.current_place.location
        raise input_error.Required(
            "current-context is not set; use --context NAME or 'kubectl config use-context "
            f"NAME'; contexts: {known}",
            where=where,
        ).bad_input()
    entry = merged.contexts.get(name)
    if entry is None:
        # A context from the command line has no place in a file.
        place = Place(str(paths[0])) if context is not None else merged.current_place
        raise input_error.NotFound(
            f"unknown context {name!r}", expected=f"one of: {known}", where=place.location
        ).bad_input()
    findings = Findings()
    chosen = decode(entry.value or {}, _Context, entry.place, findings)
    findings.raise_errors()
    assert chosen is not None
    cluster_entry = merged.clusters.get(chosen.cluster)
    if cluster_entry is None:
        findings.add(
            input_error.NotFound(
                f"context {name!r} names the unknown cluster {chosen.cluster!r}",
                expected=f"one of: {_listed(merged.clusters)}",
                where=entry.place.member("cluster").location,
            )
        )
    user_entry = merged.users.get(chosen.user or "")
    if user_entry is None:
        if chosen.user:
            findings.add(
                input_error.NotFound(
                    f"context {name!r} names the unknown user {chosen.user!r}",
                    expected=f"one of: {_listed(merged.users)}",
                    where=entry.place.member("user").location,
                )
            )
        user_entry = _Entry({}, entry.place, entry.folder)
    findings.raise_errors()
    assert cluster_entry is not None
    made = _Reading(findings).access(cluster_entry, user_entry, chosen.namespace or "default")
    return replace(made, cluster=chosen.cluster or "")


def _merged(paths: Iterable[Path]) -> _Merged:
    findings = Findings()
    current, current_place = "", Place("")
    contexts: dict[str, _Entry] = {}
    clusters: dict[str, _Entry] = {}
    users: dict[str, _Entry] = {}
    for path in paths:
        place = Place(str(path))
        try:
            config, place = _file(path, findings)
        except BadInput as bad:
            findings.extend(bad.findings)
            continue
        folder = path.absolute().parent
        # Without any current-context, the error names the first file.
        current_place = current_place if current_place.document else place.member("current-context")
        if config.current_context and not current:
            current, current_place = config.current_context, place.member("current-context")
        for kind, named, into in (
            ("context", config.contexts, contexts),
            ("cluster", config.clusters, clusters),
            ("user", config.users, users),
        ):
            for index, each in enumerate(named or ()):
                where = place.member(kind + "s").item(index).member(kind)
                # The first file wins.
                into.setdefault(each.name, _Entry(getattr(each, kind), where, folder))
    findings.raise_errors()
    return _Merged(current, current_place, contexts, clusters, users)


def _file(path: Path, findings: Findings) -> tuple[_Config, Place]:
    content = yaml_source.read_bytes(path, _LARGEST_FILE_BYTES)
    documents = yaml_source.load_documents(yaml_source.decode(content, str(path)), str(path))
    if not documents:
        return _Config(), Place(str(path))
    place = Place(str(path), "$", documents[0].line_of)
    return decode(documents[0].value, _Config, place, findings) or _Config(), place


class _Reading:
    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def access(self, cluster_entry: _Entry, user_entry: _Entry, namespace: str) -> Access:
        cluster = decode(cluster_entry.value or {}, _Cluster, cluster_entry.place, self._findings)
        user = decode(user_entry.value or {}, _User, user_entry.place, self._findings)
        self._findings.raise_errors()
        assert cluster is not None
        assert user is not None
        authority = self._pem(
            cluster_entry,
            "certificate-authority",
            cluster.certificate_authority,
            cluster.certificate_authority_data,
        )
        skips = bool(cluster.insecure_skip_tls_verify)
        if skips and authority is not None:
            where = cluster_entry.place.member("insecure-skip-tls-verify").location
            self._findings.add(
                input_error.Conflict(
                    "insecure-skip-tls-verify cannot be combined with a certificate authority; "
                    "remove one, as kubectl refuses both, too",
                    where=where,
                )
            )
        certificate = self._pem(
            user_entry, "client-certificate", user.client_certificate, user.client_certificate_data
        )
        key = self._pem(user_entry, "client-key", user.client_key, user.client_key_data)
        self._check_user(user, user_entry, certificate, key)
        token_file = user_entry.folder / user.token_file if user.token_file else None
        if token_file is not None:
            self._readable("tokenFile", token_file, user_entry.place.member("tokenFile"))
        made = Access(
            server=self._server(cluster.server, cluster_entry.place.member("server")),
            origin=cluster_entry.place.location,
            namespace=namespace,
            authority=authority,
            is_verified=not skips,
            server_name=cluster.tls_server_name or "",
            certificate=certificate,
            key=key,
            token=user.token or "",
            token_file=token_file,
            username=user.username or "",
            password=user.password or "",
            plugin=self._plugin(user.exec, user_entry, cluster),
            impersonation=Impersonation(
                user.impersonated or "",
                user.impersonated_uid or "",
                tuple(user.impersonated_groups or ()),
                tuple((k, tuple(v)) for k, v in (user.impersonated_extra or {}).items()),
            ),
            proxy_url=self._proxy(cluster.proxy_url, cluster_entry.place.member("proxy-url")),
        )
        self._findings.raise_errors()
        return made

    def _check_user(
        self, user: _User, user_entry: _Entry, certificate: Pem | None, key: Pem | None
    ) -> None:
        if (certificate is None) != (key is None):
            names = ("client-certificate", "client-key")
            present, missing = names if key is None else names[::-1]
            where = user_entry.place.member(present).location
            self._findings.add(
                input_error.Required(
                    f"{present} is set without {missing}; a client certificate needs both",
                    where=where,
                )
            )
        if user.auth_provider is not None:
            where = user_entry.place.member("auth-provider").location
            self._findings.add(
                input_error.NotSupported(
                    f"auth-provider {user.auth_provider.name!r} is not supported since kubectl "
                    "1.26; use a credential plugin ('exec')",
                    where=where,
                )
            )

    def _pem(self, entry: _Entry, name: str, file: str | None, data: str | None) -> Pem | None:
        if data:
            place = entry.place.member(f"{name}-data")
            try:
                # YAML may wrap base64 over several lines.
                return base64.b64decode("".join(data.split()), validate=True)
            except (binascii.Error, ValueError) as error:
                finding = input_error.Invalid(
                    f"{name}-data is not valid base64: {error!s}", where=place.location
                )
                self._findings.add(finding)
                return None
        if not file:
            return None
        path = entry.folder / file
        self._readable(name, path, entry.place.member(name))
        return path

    def _readable(self, name: str, path: Path, place: Place) -> None:
        try:
            path.open("rb").close()
        except (OSError, ValueError) as error:
            problem = getattr(error, "strerror", None) or str(error)
            self._findings.add(
                input_error.Unreadable(
                    f"{name}: cannot read {path!s}: {problem}", where=place.location
                )
            )

    def _server(self, text: str, place: Place) -> str:
        problem = proxies.url_problem(text, ("http", "https"))
        if problem:
            self._findings.add(
                input_error.Invalid(
                    f"invalid API server address {text!r} ({problem})",
                    expected="https://HOST:PORT",
                    where=place.location,
                )
            )
        return text.rstrip("/")

    def _proxy(self, text: str | None, place: Place) -> str:
        if text and proxies.url_problem(text, proxies.SCHEMES):
            self._findings.add(
                input_error.Invalid(
                    f"invalid proxy {text!r}",
                    expected="http://, https:// or socks5://",
                    where=place.location,
                )
            )
        return text or ""

    def _plugin(
        self, plugin: _Plugin | None, entry: _Entry, cluster: _Cluster
    ) -> CredentialPlugin | None:
        if plugin is None:
            return None
        place = entry.place.member("exec")
        if plugin.api_version not in PLUGIN_VERSIONS:
            finding = input_error.NotSupported(
                f"unknown apiVersion {plugin.api_version!r} of a credential plugin",
                expected=f"one of: {', '.join(PLUGIN_VERSIONS)}",
                where=place.member("apiVersion").location,
            )
            self._findings.add(finding)
        # As in kubectl: a path is relative to the file, a bare name is on the PATH.
        command = plugin.command
        if "/" in command:
            command = str(entry.folder / command)
        return CredentialPlugin(
            command=command,
            arguments=tuple(plugin.args or ()),
            environment=tuple((each.name, each.value) for each in plugin.env or ()),
            api_version=plugin.api_version,
            hint=plugin.install_hint or "",
            where=place.location,
            cluster=_cluster_info(cluster, entry) if plugin.provide_cluster_info else None,
        )


def _cluster_info(cluster: _Cluster, entry: _Entry) -> str:
    """``spec.cluster`` in the input of a plugin; certificates are always data."""
    info: dict[str, Any] = {"server": cluster.server}
    if cluster.tls_server_name:
        info["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        info["insecure-skip-tls-verify"] = True
    if cluster.certificate_authority_data:
        info["certificate-authority-data"] = cluster.certificate_authority_data
    elif cluster.certificate_authority:
        content = yaml_source.read_bytes(
            entry.folder / cluster.certificate_authority, _LARGEST_FILE_BYTES
        )
        info["certificate-authority-data"] = base64.b64encode(content).decode()
    if cluster.proxy_url:
        info["proxy-url"] = cluster.proxy_url
    return json.dumps(info)


def _listed(entries: Mapping[str, _Entry]) -> str:
    return ", ".join(sorted(entries)) or "none"
