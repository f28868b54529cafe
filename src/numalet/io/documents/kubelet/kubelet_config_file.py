"""Reads a file with a kubelet's configuration, plain or inside another document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location, Severity
from numalet.core.model.value import Value, replace
from numalet.io.documents.kubelet import (
    bottlerocket,
    config_parts,
    enclosed_config,
    kubelet_command_line,
    kubelet_config_document,
    numalet_config,
    vendor_table,
)
from numalet.io.documents.kubelet.bottlerocket import TomlDocument
from numalet.io.documents.kubelet.config_parts import ConfigPart, Document
from numalet.io.documents.kubelet.kubelet_command_line import CommandLine
from numalet.io.documents.kubelet.kubelet_types import go_kind
from numalet.io.documents.text import yaml_source
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.io.findings.config_files import (
    ConfigFileKind,
    ConfigFileNotAMapping,
    ConfigFileSeveralDocuments,
)
from numalet.io.findings.documents import DocumentUnreadable

# Texts that users pass by mistake, with the text to pass instead.
_CONFIGZ: Final = "kubectl get --raw /api/v1/nodes/NAME/proxy/configz"
_HEAD: Final = 4096
_NOT_MARKED_UP: Final = re.compile(r"[^:=\[\]{}<>\"'&*!%@|-][^:={}\[\]]*")
_TEXTS: Final = tuple(
    (re.compile(pattern), found, instead)
    for pattern, found, instead in (
        (
            r"(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ \S+: )?[IWEF]\d{4} \d\d:\d\d:\d\d",
            "a log without the FLAG lines of a kubelet",
            "the log from the start of a kubelet with --v=1 or more, or the output of "
            f"'{_CONFIGZ}'",
        ),
        (
            r"[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ \S+: |-- (?:Journal|Logs) begin",
            "a journal without the FLAG lines of a kubelet",
            "the journal from the start of a kubelet with --v=1 or more, or the output of "
            f"'{_CONFIGZ}'",
        ),
        (
            r"Name: +\S+\nRoles: ",
            "output of 'kubectl describe node'",
            f"the output of '{_CONFIGZ}'",
        ),
        (
            r"(?:NAMESPACE|NAME) {2,}[A-Z]",
            "a table of kubectl",
            f"the output of '{_CONFIGZ}'",
        ),
        (
            r"(?:Architecture: |available: \d+ nodes|CPU +NODE)",
            "a description of a machine",
            "the kubelet's configuration with -c, and this file with -m",
        ),
        (
            r"#!.*sh\b",
            "a shell script",
            "the command line that it starts the kubelet with",
        ),
        (r"(?i)<(?:!doctype|html|\?xml)", "a web page", "the file that the page shows"),
        (r"-----BEGIN ", "a key or certificate", "the file that --config names"),
        (
            r"(?:.*\n)*?\[plugins\b|\[crio\b",
            "the configuration of a container runtime",
            "the configuration of the kubelet",
        ),
    )
)


def foreign_problem(text: str, document: str) -> Finding | None:
    """A finding that names the text and its replacement, unless it may be a configuration."""
    head = text[:_HEAD].lstrip("\n")
    where = Location(document)
    for pattern, found, instead in _TEXTS:
        if pattern.match(head):
            return input_error.NotSupported(
                f"this is {found}, which contains no kubelet configuration",
                expected=instead,
                where=where,
            )
    # Without a single character of YAML, JSON or flags it is prose.
    lines = [line for line in head.split("\n") if line.strip()]
    if lines and not lines[0].startswith("#") and all(map(_NOT_MARKED_UP.fullmatch, lines)):
        instead = (
            "a KubeletConfiguration, a unit or environment file of the kubelet, its line of ps, or "
            f"the output of '{_CONFIGZ}'"
        )
        return input_error.NotSupported(
            "this is plain text, which contains no kubelet configuration",
            expected=instead,
            where=where,
        )
    return None


class ConfigFile(Value):
    """A configuration, numalet's own documents, and the kubelet's warnings.

    ``has_defaults`` is false for a kubelet without a config file, which gets no file defaults such
    as eviction thresholds. ``config_dir`` is the drop-in directory that the file names.
    """

    part: ConfigPart
    own: tuple[YamlDocument, ...] = ()
    notices: tuple[Finding, ...] = ()
    has_defaults: bool = True
    config_dir: str | None = None


def read(path: Path | str) -> ConfigFile:
    """The one configuration of a file; ``-`` is the standard input.

    ``FILE#NAME`` selects a group of machines in a file with several.

    Raises:
        BadInput: the file is unreadable, or does not have exactly one configuration.
    """
    name, pool = str(path), ""
    # ``#`` is legal in file names, so an existing file wins.
    if "#" in name and not Path(name).exists():
        name, _, pool = name.rpartition("#")
    text = yaml_source.read_text_or_input(name)
    # Before YAML: many command lines are valid YAML texts.
    line = kubelet_command_line.read(text, name)
    problem = foreign_problem(text, name) if line is None else None
    if problem is not None:
        raise BadInput([problem])
    return _of_text(text, name, pool) if line is None else _of_command_line(line, name)


def _of_text(text: str, name: str, pool: str = "") -> ConfigFile:
    if enclosed_config.is_mime(text) and (parts := enclosed_config.of_mime(text, name)):
        return _alone(config_parts.chosen(parts, pool, name))
    documents: list[Document] = (
        [bottlerocket.load(text, name)]
        if bottlerocket.is_meant(text, name)
        else [*yaml_source.load_documents(text, name)]
    )
    if not documents:
        raise input_error.Required(
            "the configuration file is empty",
            expected="a KubeletConfiguration",
            where=Location(name),
        ).bad_input()
    own = tuple(
        each
        for each in documents
        if isinstance(each, YamlDocument) and numalet_config.is_meant(each.value)
    )
    others = [each for each in documents if not numalet_config.is_meant(each.value)]
    if len(own) > 1:
        raise _several(documents)
    enclosed = [(each, enclosed_config.of_document(each, text)) for each in others]
    parts = [part for _, inside in enclosed for part in inside]
    if not parts:
        raise _no_configuration((others or documents)[0])
    if sum(part.vendor is None for part in parts) > 1:
        raise _several([document for document, inside in enclosed if inside])
    part = config_parts.chosen(parts, pool, name)
    note = enclosed_config.among([document for document, inside in enclosed if not inside], part)
    notes = [each for each in (part.note, note) if each is not None]
    return ConfigFile(part, own, (*_warnings(part), *notes))


def read_drop_in(path: Path) -> ConfigFile:
    """Raises ``BadInput`` if the file is not a plain KubeletConfiguration."""
    name = str(path)
    documents = yaml_source.load_documents(yaml_source.read_text(path), name)
    if not documents:
        raise input_error.Required(
            "the configuration file is empty",
            expected="a KubeletConfiguration",
            where=Location(name),
        ).bad_input()
    if not kubelet_config_document.is_plain(documents[0].value):
        raise _no_configuration(documents[0])
    numalet_config.refuse_further(documents[1:])
    (part,) = enclosed_config.of_document(documents[0], "")
    return ConfigFile(part, (), _warnings(part))


def _alone(part: ConfigPart) -> ConfigFile:
    return ConfigFile(part, (), (*_warnings(part), *filter(None, (part.note,))))


def _of_command_line(line: CommandLine, name: str) -> ConfigFile:
    """The flags, merged over the file of ``--config`` if it is readable on this machine."""
    note = enclosed_config.read_from(line.source, Location(name))
    text = None if line.config is None else _at_hand(line.config)
    has_folder = line.config_dir is not None and Path(line.config_dir).is_dir()
    missing = (
        *line.missing,
        *((line.config,) if line.config is not None and text is None else ()),
        *((line.config_dir,) if line.config_dir is not None and not has_folder else ()),
    )
    config_dir = line.config_dir if has_folder else None
    if line.config is None or text is None:
        nowhere = ConfigPart(
            value={},
            locate=partial(Location, name),
            flags=line.flags,
            problems=line.problems,
            missing=missing,
            note=note,
        )
        alone = _alone(nowhere)
        return replace(
            alone,
            notices=(*alone.notices, *line.unknown),
            has_defaults=not line.is_whole,
            config_dir=config_dir,
        )
    source = f"{line.source}, and the file of its --config, {line.config}"
    note = enclosed_config.read_from(source, Location(name))
    file = _of_text(text, line.config)
    part = replace(
        file.part,
        flags=(*file.part.flags, *line.flags),
        problems=line.problems,
        missing=missing,
    )
    return replace(
        file, part=part, notices=(*file.notices, note, *line.unknown), config_dir=config_dir
    )


def _at_hand(path: str) -> str | None:
    """The text of a file that a command line names, if it is readable here."""
    try:
        return yaml_source.read_text(path)
    except BadInput as bad:
        # The file is present but broken, which is an error.
        if not any(isinstance(each, DocumentUnreadable) for each in bad.findings):
            raise
        return None


def _warnings(part: ConfigPart) -> tuple[Finding, ...]:
    # Repeated keys are not errors, because the kubelet falls back to lenient decoding.
    return tuple(each.of_severity(Severity.WARNING) for each in part.duplicates)


def _no_configuration(document: Document) -> BadInput:
    value, where = document.value, document.location("$")
    if isinstance(document, TomlDocument):
        return input_error.Required(
            "the table [settings.kubernetes] with the settings of Bottlerocket's kubelet is "
            "missing",
            where=Location(document.document),
        ).bad_input()
    if not isinstance(value, dict):
        return BadInput([ConfigFileNotAMapping(found=go_kind(value), where=where)])
    vendor, what = vendor_table.of(value), kubelet_config_document.described(value)
    if vendor is not None:
        paths = ", ".join(each.path for each in vendor.settings)
        what = f"this is the {vendor.name}, with nothing at {paths}:"
    others = ", ".join(vendor_table.SYSTEMS)
    return BadInput([ConfigFileKind(what=what, others=others, where=where)])


def _several(documents: Sequence[Document]) -> BadInput:
    where = Location(documents[0].document)
    return BadInput([ConfigFileSeveralDocuments(count=len(documents), where=where)])
