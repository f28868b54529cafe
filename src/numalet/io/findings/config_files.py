"""Findings about configuration files and flags."""

from __future__ import annotations

from numalet.core.findings.phrases import OPTIONS
from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class ConfigFileSeveralDocuments(Finding):
    code = "config-file/several-documents"
    sentence = (
        "the file has {count} documents; a configuration file may have one KubeletConfiguration, "
        "one NumaletConfiguration and other Kubernetes objects, a drop-in file only the first"
    )
    count: int


class ConfigFileNotAMapping(Finding):
    code = "config-file/not-a-mapping"
    sentence = "expected the mapping of a KubeletConfiguration, got {found}"
    found: str


class ConfigFileKind(Finding):
    code = "config-file/kind"
    sentence = (
        "{what} without kubelet settings that numalet reads; give a KubeletConfiguration, the "
        "output of 'kubectl get --raw /api/v1/nodes/NODE/proxy/configz', a kubelet's command line, "
        "or a document of one of these: {others}"
    )
    what: str
    others: str


class ConfigFileReadFrom(NoteFinding):
    code = "config-file/read-from"
    sentence = "read from here: {source}"
    source: str


class ConfigFileReadInPart(NoteFinding):
    code = "config-file/read-in-part"
    sentence = (
        "read from here: {source}. This file cannot tell: {fields_unknown}. The whole "
        "configuration of a node: {command}"
    )
    source: str
    fields_unknown: str
    command: str


class ConfigFileUnknownField(WarningFinding):
    code = "config-file/unknown-field"
    sentence = "unknown field {field!r}{hint}; the kubelet ignores it"
    field: str
    hint: str = ""


class ConfigFileWrongType(Finding):
    code = "config-file/wrong-type"
    sentence = "{field} must be {expected}, and {value} is {found}: {go_text}"
    kubelet_text = "{go_text}"
    field: str
    expected: str
    value: str
    found: str
    go_text: str


class ConfigFileOutOfRange(Finding):
    code = "config-file/out-of-range"
    sentence = "{field} must be a number from {lowest} to {highest}, and {value} is not: {go_text}"
    kubelet_text = "{go_text}"
    field: str
    value: str
    lowest: int
    highest: int
    go_text: str


class ConfigSizeWithoutUnit(WarningFinding):
    sentence = (
        "{field} {value} has no unit, so it is {value} bytes; write the unit that is meant, such "
        "as {value}Mi"
    )
    why = OPTIONS
    fix = "write the size with its unit: Ki, Mi or Gi"
    field: str
    value: str
