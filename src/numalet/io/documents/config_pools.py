"""The configuration of one group of machines, of a file that may have several.

A group has the settings of its own and those that are for all; of a file with one group it is
that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numalet.core.config.kubelet_config import UnknownFields
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import replace
from numalet.io.documents import kubelet_flags
from numalet.io.documents.config_parts import ConfigPart
from numalet.io.documents.drop_ins import MergedDocuments
from numalet.io.documents.vendor_format import VendorFormat
from numalet.io.findings.config_files import (
    ConfigFilePools,
    ConfigFileReadFrom,
    ConfigFileReadInPart,
)


def chosen(parts: Sequence[ConfigPart], pool: str, document: str) -> ConfigPart:
    """The configuration of the group of this name; without a name, of the only one.

    Raises:
        BadInput: there are several, or none of this name.
    """
    every = dict.fromkeys(part.pools for part in parts)
    groups = [each for each in every if not any(_is_around(each, other) for other in every)]
    merged = {"/".join(each): _merged(each, parts) for each in groups}
    if pool:
        merged = {name: part for name, part in merged.items() if name == pool}
    first = next(iter(merged.values()), None)
    if first is None or any(not _are_same(first, each) for each in merged.values()):
        names = ["/".join(each) for each in groups]
        raise BadInput(
            [
                ConfigFilePools(
                    names=", ".join(names),
                    example=f"{document}#{names[0]}",
                    where=Location(document),
                )
            ]
        )
    return first


def _is_around(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return len(one) < len(other) and other[: len(one)] == one


def _are_same(one: ConfigPart, other: ConfigPart) -> bool:
    flags = [[flag[:2] for flag in each.flags] for each in (one, other)]
    return one.value == other.value and flags[0] == flags[1]


def _merged(group: tuple[str, ...], parts: Sequence[ConfigPart]) -> ConfigPart:
    """All that is for a group, in the order of the file: what is for all of them first."""
    own = [each for each in parts if each.pools == group or _is_around(each.pools, group)]
    own.sort(key=lambda each: len(each.pools))
    if group and any(each.vendor and each.vendor.pool_replaces for each in own):
        own = [each for each in own if each.pools]
    whole = next((each for each in own if each.vendor is None), None)
    first = whole or own[0]
    vendor = None if whole is not None else own[0].vendor
    if len(own) == 1 and vendor is None:
        return first
    documents = MergedDocuments()
    for each in own:
        documents.merge(each)
    return replace(
        first,
        value=documents.value,
        locate=documents.locate if len(own) > 1 else first.locate,
        duplicates=tuple(dict.fromkeys(found for each in own for found in each.duplicates)),
        flags=tuple(flag for each in own for flag in each.flags),
        problems=tuple(problem for each in own for problem in each.problems),
        pools=group,
        vendor=vendor,
    )


def note(part: ConfigPart, vendor: VendorFormat, unknown: UnknownFields | None) -> Finding:
    """What was read, what the vendor sets besides, and what the file does not contain."""
    source = ", ".join(filter(None, (vendor.name, "/".join(part.pools))))
    if part.sets:
        source += f"; {vendor.system} also sets: {', '.join(shown(part.sets))}"
    if unknown is None:
        return ConfigFileReadFrom(source=source, where=part.locate("$"))
    fields = (
        f"{name} (assumed: {values[0] or 'not set'})" for name, values in unknown.fields.items()
    )
    return ConfigFileReadInPart(
        source=source,
        fields_unknown=", ".join(fields),
        command=vendor.command,
        where=part.locate("$"),
    )


def shown(fields: Mapping[str, Any], around: str = "") -> list[str]:
    """Fields with their values, those of maps one by one."""
    texts = []
    for name, value in fields.items():
        if isinstance(value, Mapping):
            texts += shown(value, f"{around}{name}.")
        else:
            texts.append(f"{around}{name} {kubelet_flags.flag_text(value)}")
    return texts
