"""The kubelet's configuration in Bottlerocket user data: ``[settings.kubernetes]`` in TOML.

Names and fields follow Bottlerocket's settings model (``KubernetesSettingsV1``).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from numalet.core.config import kubelet_fields
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Mutable, Value, field
from numalet.io.documents.kubelet import kubelet_config_document, kubelet_flags
from numalet.io.documents.text import typed, yaml_builder, yaml_source

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
    "pod-pids-limit": "podPidsLimit",
    **{
        kubelet_fields.FIELDS[name].flag: name
        for name in (
            *("cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy"),
            *("topologyManagerScope", "evictionHard", "evictionSoft", "evictionSoftGracePeriod"),
            *("kubeReserved", "systemReserved", "reservedSystemCPUs", "maxPods"),
            "singleProcessOOMKill",
        )
    },
}
"""Settings with the same value as the field."""

_MOST_BITS: Final = 64
"""Of an integer in TOML."""
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
    """Return whether a text is TOML, judged by the file's name or the first line."""
    return document.endswith(".toml") or _FIRST_LINE.match(text) is not None


class TomlDocument(Value, dict=True):
    """TOML user data with the lines of its parts, used like a YAML document."""

    value: Any
    document: str
    text: str
    duplicates: tuple[Finding, ...] = ()

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        # ``tomllib`` does not report lines, so they come from a second pass over headers and keys.
        return {".".join(names): line for names, line in _lines(self.text)}

    def line_of(self, path: str) -> int | None:
        """The line of a path such as ``$.settings.kubernetes``, or of the nearest part around."""
        around = path.removeprefix("$.")
        while around and around not in self._lines:
            around = around[: max(around.rfind("."), around.rfind("["), 0)]
        return self._lines.get(around)

    def location(self, path: str) -> Location:
        return Location(self.document, path, self.line_of(path))


def load(text: str, document: str) -> TomlDocument:
    """Parse a text. Raises ``BadInput`` if it is not TOML."""
    # Imported late: every command imports this module, and few configurations are in TOML.
    import tomllib

    try:
        return TomlDocument(tomllib.loads(text), document, text)
    # Deeply nested arrays exceed Python's recursion limit.
    except (ValueError, RecursionError) as error:
        problem = str(error) or type(error).__name__
        raise input_error.Invalid(
            f"invalid TOML: {problem}", where=Location(document)
        ).bad_input() from None


def fields(
    settings: Mapping[str, Any], locate: Callable[[str], Location]
) -> tuple[dict[str, Any], Callable[[str], Location], tuple[Finding, ...]]:
    """The fields that the settings become, a function that locates them, and warnings.

    ``locate`` gives the place of a setting such as ``kube-reserved.memory``; ``""`` is the whole
    table.
    """
    translation = _Translation(locate)
    translation.translate(settings)
    return translation.fields, translation.location, tuple(translation.warnings)


class _Translation(Mutable):
    """The fields so far, and the setting behind the path of each."""

    locate: Callable[[str], Location]
    fields: dict[str, Any] = field(default_factory=dict)
    made_of: dict[str, str] = field(default_factory=dict)
    warnings: list[Finding] = field(default_factory=list)

    def translate(self, settings: Mapping[str, Any]) -> None:
        for name, value in settings.items():
            if name not in _KNOWN:
                where, nearest = self.locate(name), typed.nearest(name, _KNOWN)
                self.warnings.append(
                    input_error.Ignored(
                        f"unknown Kubernetes setting {name!r} of Bottlerocket; similar: {nearest}",
                        where=where,
                    )
                )
            elif name in _SAME_VALUE:
                self._put(_SAME_VALUE[name], _plain(value), name)
            elif name == _CPU_OPTIONS:
                # Bottlerocket lists the enabled CPU manager options; the kubelet has a map of them.
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
        reserved, pods = self.fields.setdefault("kubeReserved", {}), self.fields.get("maxPods")
        if isinstance(reserved, dict) and isinstance(pods, int):
            # Without a setting, Bottlerocket reserves memory by the formula of EKS
            # (kube_reserve_memory).
            reserved.setdefault("memory", f"{255 + 11 * pods}Mi")

    def location(self, path: str) -> Location:
        around = path.removeprefix("$").removeprefix(".")
        name = around
        while around and around not in self.made_of:
            around = around[: max(around.rfind("."), around.rfind("["), 0)]
        return self.locate(self.made_of[around] + name[len(around) :] if around else "")

    def _put(self, name: str, value: Any, setting: str) -> None:
        self.fields[name] = value
        self.made_of[name] = setting

    def _put_reserved_memory(self, value: Any) -> None:
        if not isinstance(value, dict):
            self._put("reservedMemory", _plain(value), _RESERVED_MEMORY)
            return
        entries: list[Any] = []
        self._put("reservedMemory", entries, _RESERVED_MEMORY)
        for node, amounts in value.items():
            # Each table is for one NUMA node. Bottlerocket skips tables that are not enabled.
            if isinstance(amounts, dict) and amounts.get("enabled") is not True:
                continue
            at = f"reservedMemory[{len(entries)}]"
            self.made_of[at] = self.made_of[f"{at}.limits"] = f"{_RESERVED_MEMORY}.{node}"
            entry: Any = _plain(amounts)
            if isinstance(amounts, dict):
                limits = {name: _plain(size) for name, size in amounts.items() if name != "enabled"}
                entry = {"numaNode": _node(node), "limits": limits}
            entries.append(entry)

    def _put_extra(self, value: Any) -> None:
        where = self.locate(_EXTRA)
        try:
            # Extra fields are YAML in base64.
            text = base64.b64decode(value, validate=True).decode()
            (document,) = yaml_source.load_documents(text, where.document)
        except (BadInput, TypeError, ValueError, binascii.Error):
            problem = typed.described(value)
            raise input_error.Invalid(
                f"invalid kubelet-extra-config {problem}",
                expected="fields of a KubeletConfiguration, as YAML in base64",
                where=where,
            ).bad_input() from None
        for name, each in kubelet_config_document.fields_of(document.value, where).items():
            # Bottlerocket refuses extra fields that it has a setting for, so the setting wins here.
            if name not in self.fields:
                self._put(name, each, _EXTRA)


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _texts(value: Any) -> Any:
    """Options as texts, the only form that the kubelet accepts."""
    if not isinstance(value, dict):
        return _plain(value)
    return {name: kubelet_flags.flag_text(_plain(each)) for name, each in value.items()}


def _node(name: str) -> int | str:
    """The number of a NUMA node; the text itself if it is not a number or has too many digits."""
    return yaml_builder.whole(name) if name.isdecimal() else name


def _plain(value: Any) -> Any:
    """The value with times and non-finite or huge numbers, which JSON lacks, as texts."""
    match value:
        case int() if value.bit_length() > _MOST_BITS:
            return typed.described(value)
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case bool() | int() | str():
            return value
        # False for infinity and NaN.
        case float() if value - value == 0:
            return value
        case _:
            return str(value)


def _lines(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """The path of each table and key, with its first line."""
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
        # An odd number of triple quotes opens a multi-line string; its lines are not keys.
        fence = next((each for each in ('"""', "'''") if line.count(each) % 2), "")


def _names(text: str) -> tuple[str, ...]:
    return tuple(
        next(name for name in groups if name) for groups in _KEY.findall(text) if any(groups)
    )
