"""The kubelet's configuration in user data of Bottlerocket: ``[settings.kubernetes]`` in TOML.

Settings have names of their own; what they become in a KubeletConfiguration follows Bottlerocket's
settings model (``KubernetesSettingsV1``). The standard library reads TOML without saying where its
parts stand, so lines come from a second reading of headers and keys.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Mutable, field
from numalet.io.documents import enclosed_config, typed, yaml_source
from numalet.io.documents.enclosed_config import ConfigPart
from numalet.io.findings.config_files import (
    ConfigFileExtraConfig,
    ConfigFileNoSettings,
    ConfigFileToml,
    ConfigFileUnknownSetting,
)

_SETTINGS: Final = ("settings", "kubernetes")
_FIRST_LINE: Final = re.compile(
    r"(?:\s|#[^\n]*\n)*(?:\[\[?\s*[\w.\" -]+\]\]?\s*(?:#|\n|$)|[\w.-]+ *= *\S)"
)
_HEADER: Final = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
_ASSIGNMENT: Final = re.compile(
    r"\s*((?:\"[^\"]*\"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:\"[^\"]*\"|'[^']*'|[\w-]+))*)\s*="
)
_KEY: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")

_SAME_VALUE: Final = {
    "cpu-cfs-quota-enforced": "cpuCFSQuota",
    "cpu-manager-policy": "cpuManagerPolicy",
    "eviction-hard": "evictionHard",
    "eviction-soft": "evictionSoft",
    "eviction-soft-grace-period": "evictionSoftGracePeriod",
    "kube-reserved": "kubeReserved",
    "max-pods": "maxPods",
    "memory-manager-policy": "memoryManagerPolicy",
    "pod-pids-limit": "podPidsLimit",
    "reserved-cpus": "reservedSystemCPUs",
    "single-process-oom-kill": "singleProcessOOMKill",
    "system-reserved": "systemReserved",
    "topology-manager-policy": "topologyManagerPolicy",
    "topology-manager-scope": "topologyManagerScope",
}
"""Settings whose value is that of the field."""

_CPU_OPTIONS: Final = "cpu-manager-policy-options"
_TOPOLOGY_OPTIONS: Final = "topology-manager-policy-options"
_RESERVED_MEMORY: Final = "memory-manager-reserved-memory"
_SWAP: Final = "memory-swap-behavior"
_EXTRA: Final = "kubelet-extra-config"
_PASSED_OVER: Final = """
allowed-unsafe-sysctls api-server authentication-mode bootstrap-token cloud-provider
cluster-certificate cluster-dns-ip cluster-domain cluster-name container-log-max-files
container-log-max-size container-log-max-workers container-log-monitor-interval
cpu-manager-reconcile-period credential-providers device-ownership-from-security-context
event-burst event-qps eviction-max-pod-grace-period hostname-override hostname-override-source
ids-per-pod image-gc-high-threshold-percent image-gc-low-threshold-percent
image-maximum-gc-age image-minimum-gc-age kube-api-burst kube-api-qps log-level
max-parallel-image-pulls node-ip node-labels node-taints pod-infra-container-image provider-id
registry-burst registry-qps seccomp-default server-certificate server-key
server-tls-bootstrap shutdown-grace-period shutdown-grace-period-for-critical-pods
standalone-mode static-pods static-pods-enabled
"""
_KNOWN: Final = frozenset(
    {
        *_SAME_VALUE,
        *_PASSED_OVER.split(),
        _CPU_OPTIONS,
        _TOPOLOGY_OPTIONS,
        _RESERVED_MEMORY,
        _SWAP,
        _EXTRA,
    }
)


def is_meant(text: str, document: str) -> bool:
    """Whether a text is meant as TOML, by its name or by how it begins."""
    return document.endswith(".toml") or _FIRST_LINE.match(text) is not None


def read(text: str, document: str) -> ConfigPart:
    """The configuration in user data.

    Raises:
        BadInput: it is no TOML, or has no ``[settings.kubernetes]``.
    """
    # Here, because this module is imported wherever a configuration is read, and few are in TOML.
    import tomllib

    try:
        value: Any = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        problem = str(error) or type(error).__name__
        raise BadInput([ConfigFileToml(problem=problem, where=Location(document))]) from None
    for name in _SETTINGS:
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, dict):
        raise BadInput([ConfigFileNoSettings(where=Location(document))])
    translation = _Translation(document, dict(_lines(text)))
    translation.translate(value)
    where = translation.location("$")
    return ConfigPart(
        value=translation.fields,
        locate=translation.location,
        duplicates=tuple(translation.warnings),
        note=enclosed_config.read_from(
            "user data of Bottlerocket, its settings.kubernetes", where, "Bottlerocket"
        ),
    )


class _Translation(Mutable):
    """Fields made of settings, and for each path of a field the setting that it was made of."""

    document: str
    lines: Mapping[tuple[str, ...], int]
    fields: dict[str, Any] = field(default_factory=dict)
    made_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: list[Finding] = field(default_factory=list)

    def translate(self, settings: Mapping[str, Any]) -> None:
        """Make the fields of all settings; what is unknown is a warning."""
        for name, value in settings.items():
            if name not in _KNOWN:
                where, nearest = self._place((*_SETTINGS, name)), typed.nearest(name, _KNOWN)
                self.warnings.append(
                    ConfigFileUnknownSetting(name=name, nearest=nearest, where=where)
                )
            elif name in _SAME_VALUE:
                self._put(_SAME_VALUE[name], _plain(value), name)
            elif name == _CPU_OPTIONS:
                options = {str(each): "true" for each in value} if _is_list(value) else value
                self._put("cpuManagerPolicyOptions", options, name)
            elif name == _TOPOLOGY_OPTIONS:
                self._put("topologyManagerPolicyOptions", _texts(value), name)
            elif name == _SWAP:
                self._put("memorySwap", {"swapBehavior": _plain(value)}, name)
            elif name == _RESERVED_MEMORY:
                self._put_reserved_memory(value)
        if _EXTRA in settings:
            self._put_extra(settings[_EXTRA])

    def location(self, path: str) -> Location:
        """The place of the setting that the field at a path was made of."""
        around, rest = path.removeprefix("$."), ""
        while around and around not in self.made_of:
            at = max(around.rfind("."), around.rfind("["), 0)
            around, rest = around[:at], around[at:] + rest
        if not around:
            return self._place(_SETTINGS)
        inner = tuple(name for name in re.split(r"[.\[\]]", rest) if name)
        # A key such as memory.available has a dot of its own: one name, in this order of trying.
        exact = (*self.made_of[around], rest.removeprefix("."))
        return self._place(exact if exact in self.lines else (*self.made_of[around], *inner))

    def _place(self, names: tuple[str, ...]) -> Location:
        around = names
        while around and around not in self.lines:
            around = around[:-1]
        return Location(self.document, ".".join(("$", *names)), self.lines.get(around))

    def _put(self, name: str, value: Any, *setting: str) -> None:
        self.fields[name] = value
        self.made_of[name] = (*_SETTINGS, *setting)

    def _put_reserved_memory(self, value: Any) -> None:
        """One entry for each NUMA node that is enabled; the rest of its table are amounts."""
        if not isinstance(value, dict):
            self._put("reservedMemory", _plain(value), _RESERVED_MEMORY)
            return
        entries: list[Any] = []
        self._put("reservedMemory", entries, _RESERVED_MEMORY)
        for node, amounts in value.items():
            if isinstance(amounts, dict) and amounts.get("enabled") is not True:
                continue
            at = f"reservedMemory[{len(entries)}]"
            self.made_of[at] = self.made_of[f"{at}.limits"] = (*_SETTINGS, _RESERVED_MEMORY, node)
            entry: Any = _plain(amounts)
            if isinstance(amounts, dict):
                limits = {name: _plain(size) for name, size in amounts.items() if name != "enabled"}
                entry = {"numaNode": int(node) if node.isdecimal() else node, "limits": limits}
            entries.append(entry)

    def _put_extra(self, value: Any) -> None:
        """The further fields, YAML in base64; Bottlerocket refuses those that are settings."""
        where = self._place((*_SETTINGS, _EXTRA))
        try:
            text = base64.b64decode(value, validate=True).decode()
            (document,) = yaml_source.load_documents(text, self.document)
        except (BadInput, TypeError, ValueError, binascii.Error):
            problem = typed.described(value)
            raise BadInput([ConfigFileExtraConfig(value=problem, where=where)]) from None
        for name, each in enclosed_config.fields_of(document.value, where).items():
            if name not in self.fields:
                self._put(name, each, _EXTRA)


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _texts(value: Any) -> Any:
    """Options as the kubelet accepts them: texts, whatever they were written as."""
    if not isinstance(value, dict):
        return _plain(value)
    return {name: enclosed_config.flag_text(_plain(each)) for name, each in value.items()}


def _plain(value: Any) -> Any:
    """The value with times and odd numbers, which JSON does not have, as texts."""
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case bool() | int() | str():
            return value
        case float() if value - value == 0:
            return value
        case _:
            return str(value)


def _lines(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Where each table and each key begins, by the names that lead there."""
    table: tuple[str, ...] = ()
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        if fence:
            fence = "" if fence in line else fence
            continue
        header, assignment = _HEADER.match(line), _ASSIGNMENT.match(line)
        if header is not None:
            table = _names(header[1])
            yield table, number
        elif assignment is not None:
            yield (*table, *_names(assignment[1])), number
        fence = next((each for each in ('"""', "'''") if line.count(each) % 2), "")


def _names(text: str) -> tuple[str, ...]:
    return tuple(
        next(name for name in groups if name) for groups in _KEY.findall(text) if any(groups)
    )
