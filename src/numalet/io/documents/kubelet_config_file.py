"""Reads a file of which a kubelet's configuration is made: a plain one, or one that encloses it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from numalet.core.model.findings import BadInput, Finding, Location, Severity
from numalet.core.model.value import Value, replace
from numalet.io.documents import (
    bottlerocket,
    enclosed_config,
    kubelet_command_line,
    numalet_config,
    yaml_source,
)
from numalet.io.documents.enclosed_config import ConfigPart
from numalet.io.documents.kubelet_command_line import CommandLine
from numalet.io.documents.kubelet_types import go_kind
from numalet.io.documents.yaml_source import YamlDocument
from numalet.io.findings.config_files import (
    ConfigFileEmpty,
    ConfigFileKind,
    ConfigFileNotAMapping,
    ConfigFileSeveralDocuments,
)


class ConfigFile(Value):
    """What was read: a configuration, documents of our own, what the kubelet would only warn of.

    ``has_defaults`` is false for a kubelet that is run without a file, and so without defaults
    for what only a file sets. ``config_dir`` is what the file itself names as such.
    """

    part: ConfigPart
    own: tuple[YamlDocument, ...] = ()
    notices: tuple[Finding, ...] = ()
    has_defaults: bool = True
    config_dir: str | None = None


def read(path: Path | str) -> ConfigFile:
    """The one configuration of a file, in whatever object; ``-`` is the standard input.

    Raises:
        BadInput: it can not be read, or holds no configuration, or several.
    """
    name = str(path)
    text = yaml_source.read_text_or_input(name)
    line = kubelet_command_line.read(text, name)
    return _of_text(text, name) if line is None else _of_command_line(line, name)


def _of_text(text: str, name: str) -> ConfigFile:
    if bottlerocket.is_meant(text, name):
        part = bottlerocket.read(text, name)
        return _alone(part)
    documents = yaml_source.load_documents(text, name)
    if not documents:
        raise BadInput([ConfigFileEmpty(where=Location(name))])
    own = tuple(each for each in documents if numalet_config.is_meant(each.value))
    others = [each for each in documents if not numalet_config.is_meant(each.value)]
    if len(own) > 1:
        raise _several(documents)
    enclosed = [(each, part) for each in others for part in enclosed_config.of_document(each, text)]
    if not enclosed:
        raise _no_configuration((others or documents)[0])
    if len(enclosed) > 1:
        raise _several([document for document, _ in enclosed])
    ((document, part),) = enclosed
    note = enclosed_config.among([each for each in others if each is not document], part)
    notes = [each for each in (part.note, note) if each is not None]
    return ConfigFile(part, own, (*_warnings(part), *notes))


def read_drop_in(path: Path) -> ConfigFile:
    """The configuration of a drop-in file, which must be a plain one.

    Raises:
        BadInput: it can not be read, or is anything else.
    """
    name = str(path)
    documents = yaml_source.load_documents(yaml_source.read_text(path), name)
    if not documents:
        raise BadInput([ConfigFileEmpty(where=Location(name))])
    if not enclosed_config.is_plain(documents[0].value):
        raise _no_configuration(documents[0])
    numalet_config.refuse_further(documents[1:])
    (part,) = enclosed_config.of_document(documents[0], "")
    return ConfigFile(part, (), _warnings(part))


def _alone(part: ConfigPart) -> ConfigFile:
    return ConfigFile(part, (), (*_warnings(part), *filter(None, (part.note,))))


def _of_command_line(line: CommandLine, name: str) -> ConfigFile:
    """The flags, over the file that they name."""
    note = enclosed_config.read_from(line.source, Location(name))
    if line.config is None:
        nowhere = ConfigPart(
            value={},
            locate=partial(Location, name),
            flags=line.flags,
            problems=line.problems,
            note=note,
        )
        alone = _alone(nowhere)
        return replace(
            alone,
            notices=(*alone.notices, *line.unknown),
            has_defaults=not line.is_whole,
            config_dir=line.config_dir,
        )
    source = f"{line.source}, and the file of its --config, {line.config}"
    note = enclosed_config.read_from(source, Location(name))
    file = _of_text(yaml_source.read_text(line.config), line.config)
    part = replace(file.part, flags=(*file.part.flags, *line.flags), problems=line.problems)
    return replace(
        file, part=part, notices=(*file.notices, note, *line.unknown), config_dir=line.config_dir
    )


def _warnings(part: ConfigPart) -> tuple[Finding, ...]:
    """Keys that are given twice are no error: the kubelet reads again, leniently."""
    return tuple(each.of_severity(Severity.WARNING) for each in part.duplicates)


def _no_configuration(document: YamlDocument) -> BadInput:
    value, where = document.value, document.location("$")
    if not isinstance(value, dict):
        return BadInput([ConfigFileNotAMapping(found=go_kind(value), where=where)])
    api_version, kind = value.get("apiVersion"), value.get("kind")
    return BadInput([ConfigFileKind(api_version=api_version, kind=kind, where=where)])


def _several(documents: Sequence[YamlDocument]) -> BadInput:
    where = Location(documents[0].document)
    return BadInput([ConfigFileSeveralDocuments(count=len(documents), where=where)])
