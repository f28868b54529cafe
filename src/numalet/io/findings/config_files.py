"""What is wrong with configuration files and flags."""

from __future__ import annotations

from numalet.core.findings.phrases import OPTIONS
from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class ConfigFileEmpty(Finding):
    code = "config-file/empty"
    sentence = "this configuration file is empty; it must hold a KubeletConfiguration"


class ConfigFileSeveralDocuments(Finding):
    code = "config-file/several-documents"
    sentence = (
        "this file holds {count} documents; a configuration file holds one KubeletConfiguration, "
        "and may hold one NumaletConfiguration and other objects of Kubernetes beside it, drop-in "
        "files excepted"
    )
    count: int


class ConfigFileNotAMapping(Finding):
    code = "config-file/not-a-mapping"
    sentence = "a KubeletConfiguration is a mapping, and this is {found}"
    found: str


class ConfigFileKind(Finding):
    code = "config-file/kind"
    sentence = (
        "{what} without kubelet settings that can be read here; give a KubeletConfiguration, the "
        "output of 'kubectl get --raw /api/v1/nodes/NODE/proxy/configz', a kubelet's command line, "
        "or a document of one of these: {others}"
    )
    what: str
    others: str


class ConfigFileCommandLine(Finding):
    code = "config-file/command-line"
    sentence = "this begins as a kubelet's command line, and is none: {problem}"
    problem: str


class ConfigFileNoKubelet(Finding):
    code = "config-file/no-kubelet"
    sentence = (
        "this is {found}, and has no flag of a kubelet; give the unit or environment file of the "
        "kubelet, its line of ps, or what 'kubectl get --raw /api/v1/nodes/NAME/proxy/configz' "
        "prints"
    )
    found: str


class ConfigFileNotUsable(Finding):
    code = "config-file/not-usable"
    sentence = "this is {found}, which does not contain a kubelet's configuration; give {instead}"
    found: str
    instead: str


class ConfigFileNotAtHand(WarningFinding):
    code = "config-file/not-at-hand"
    sentence = "{file} cannot be read here, so the flags in it are not known"
    fix = "run the command where the file is, or add its flags to this file"
    file: str


class ConfigFileVariable(WarningFinding):
    code = "config-file/variable"
    sentence = "the value of {flag} is not known: {value!r} has a variable that is not given here"
    fix = "write the value in place of the variable"
    flag: str
    value: str


class ConfigFileExtraConfig(Finding):
    code = "config-file/extra-config"
    sentence = (
        "kubelet-extra-config must be fields of a KubeletConfiguration, as YAML in base64, and "
        "{value} is not"
    )
    value: str


class ConfigFileNoSettings(Finding):
    code = "config-file/no-settings"
    sentence = (
        "there is no table [settings.kubernetes], which has the settings of Bottlerocket's kubelet"
    )


class ConfigFileToml(Finding):
    code = "config-file/toml"
    sentence = "this begins as TOML, and is none: {problem}"
    problem: str


class ConfigFileUnknownSetting(WarningFinding):
    code = "config-file/unknown-setting"
    sentence = (
        "Bottlerocket has no setting {name!r} of Kubernetes that is known here; nearest: {nearest}"
    )
    name: str
    nearest: str


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


class ConfigFilePools(Finding):
    code = "config-file/pools"
    sentence = (
        "this file has settings for several groups of machines: {names}; choose one, such as "
        "{example}"
    )
    names: str
    example: str


class ConfigFileUnknownField(WarningFinding):
    code = "config-file/unknown-field"
    sentence = "there is no field {field!r}{hint}; it is ignored, as the kubelet does"
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


class ConfigFileQuantity(Finding):
    code = "config-file/quantity"
    sentence = "{field} must be a quantity such as '1Gi', and {value!r} is none: {problem}"
    field: str
    value: str
    problem: str


class ConfigFileDuration(Finding):
    code = "config-file/duration"
    sentence = "{field} must be a duration such as '100ms', and {value!r} is none: {problem}"
    field: str
    value: str
    problem: str


class ConfigFileDirectory(Finding):
    code = "config-file/directory"
    sentence = "the directory of drop-in files can not be read: {reason}"
    reason: str


class NumaletConfigNeedsNative(Finding):
    code = "numalet-config/needs-native"
    sentence = "{field} has a meaning in native mode only; add --native, or mode: native"
    field: str


class NumaletConfigUnknownValue(Finding):
    code = "numalet-config/unknown-value"
    sentence = "{value} is not known here; allowed: {allowed}"
    value: str
    allowed: str


class NumaletConfigRefresh(Finding):
    code = "numalet-config/refresh"
    sentence = "refreshSeconds is {value}; allowed: {least} or more"
    why = "what has not changed is written again only so that readers know that the node lives"
    value: str
    least: str


class ConfigSizeWithoutUnit(WarningFinding):
    sentence = (
        "{field} {value} has no unit, so it is {value} bytes; write the unit that is meant, such "
        "as {value}Mi"
    )
    why = OPTIONS
    fix = "write the size with its unit: Ki, Mi or Gi"
    field: str
    value: str
