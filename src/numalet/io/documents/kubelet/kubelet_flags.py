"""Parses the values of kubelet flags as the kubelet does, and applies them to a configuration.

Flags win over the file. A map flag replaces the file's whole map, except ``--feature-gates``, which
keeps the other gates. Kubelet v1.32: ``AddKubeletConfigFlags``, ``k8s.io/component-base/cli/flag``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Final

from numalet.core.config import feature_gates, kubelet_fields, memory_policy
from numalet.core.config.kubelet_config import CommandFlag, KubeletConfig
from numalet.core.config.memory_policy import ReservedMemoryError
from numalet.core.config.releases import flag_table
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT
from numalet.core.findings.config import FlagInvalid, FlagShortCircuit
from numalet.core.model import go_text
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.go_text import DurationError, GoNumberError, GoText
from numalet.core.model.value import Value, replace

_FEATURE_GATES: Final = "--feature-gates"
_RESERVED_MEMORY: Final = "--reserved-memory"
_IGNORES_EVICTION: Final = "experimental-allocatable-ignore-eviction"
_PRINTED: Final = {"help": "help", "version": "version"}
"""Flags that make the kubelet print a text and exit."""


class _FlagError(ValueError):
    """A value that a flag does not accept, with the kubelet's reason."""


Parse = Callable[[Sequence[str]], Any]
"""From all values of a flag, in order, to the value of the field."""


def is_known(name: str) -> bool:
    """Whether any release has this flag; the dashes are optional."""
    return name.removeprefix("--") in flag_table.flags()


def _with_dashes(name: str) -> str:
    return f"--{name.removeprefix('--')}"


def sets_a_field(name: str) -> bool:
    """Whether a flag sets a field that numalet uses, or names a file with such fields."""
    return _with_dashes(name) in _setters() or name in ("config", "config-dir")


class GivenFlags(Value):
    """Values and locations by flag; ``all`` has every flag in order."""

    values: Mapping[str, Any]
    places: Mapping[str, Location]
    all: tuple[CommandFlag, ...]


def parse(flags: Sequence[tuple[str, str]], release: Release = DEFAULT) -> GivenFlags:
    """The dashes of names are optional. Raises ``BadInput`` for invalid values."""
    placed = ((name, value, Location(_with_dashes(name))) for name, value in flags)
    given = parse_placed(placed, release)
    refused = [flag.problem for flag in given.all if flag.problem is not None]
    if refused:
        raise BadInput(refused)
    return given


def parse_placed(
    flags: Iterable[tuple[str, str, Location]], release: Release = DEFAULT
) -> GivenFlags:
    """Parse flags that are in a file; the last occurrence gives the location.

    An invalid value becomes the ``problem`` of its flag and sets nothing.
    """
    rules = feature_gates.rules_of(release, {})
    given: dict[str, list[str]] = {}
    parsed: dict[str, Any] = {}
    places: dict[str, Location] = {}
    all_flags: list[CommandFlag] = []
    for name, value, where in flags:
        flag = _with_dashes(name)
        places[flag] = where
        values = given.setdefault(flag, [])
        values.append(value)
        problem: Finding | None = None
        try:
            if flag in _setters():
                parsed[flag] = _setters()[flag][2](values)
            else:
                problem = _checked(flag, value, where)
        except (_FlagError, GoNumberError, ReservedMemoryError) as error:
            reason = (
                error.in_words_of(rules) if isinstance(error, ReservedMemoryError) else str(error)
            )
            problem = FlagInvalid(
                flag=GoText(_shown(flag)), value=GoText(value), problem=reason, where=where
            )
        all_flags.append(CommandFlag(flag.removeprefix("--"), where, problem))
    if given.get(_RESERVED_MEMORY) == [""]:
        # The kubelet treats an empty text as not set, and the file's list stays.
        del parsed[_RESERVED_MEMORY]
    return GivenFlags(parsed, places, tuple(all_flags))


def _checked(flag: str, value: str, where: Location) -> Finding | None:
    """A finding if this unused flag stops the kubelet. Raises for values of wrong types."""
    known = flag_table.flags().get(flag.removeprefix("--"))
    if known is None:
        return None
    if known.name in _PRINTED:
        if value in ("false", "0", "f", "F", "False", "FALSE"):
            return None
        return FlagShortCircuit(flag=flag, printed=_PRINTED[known.name], where=where)
    if known.type in _CHECKED:
        _PARSERS[known.type]([value])
    return None


def _shown(flag: str) -> str:
    known = flag_table.flags().get(flag.removeprefix("--"))
    # pflag prints the shorthand first.
    return f"-{known.shorthand}, {flag}" if known is not None and known.shorthand else flag


def flag_text(value: object) -> str:
    """A value in the kubelet's flag syntax: booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def applied(config: KubeletConfig, given: GivenFlags) -> KubeletConfig:
    changes: dict[str, Any] = {}
    origins = dict(config.origins)
    for flag, value in given.values.items():
        place, attribute, _ = _setters()[flag]
        changes[attribute] = value
        if flag == _FEATURE_GATES:
            changes[attribute] = MappingProxyType({**config.feature_gates, **value})
            origins |= {f"{place}.{gate}": given.places[flag] for gate in value}
            continue
        # The places of members belong to the map that the flag replaced.
        for known in [known for known in origins if known.startswith((f"{place}.", f"{place}["))]:
            del origins[known]
        origins[place] = given.places[flag]
        if attribute == "eviction_hard":
            changes["uses_default_eviction"] = False
    if config.unknown is not None:
        changes["unknown"] = config.unknown.without(_setters()[flag][0] for flag in given.values)
    flags = (*config.flags, *given.all)
    return replace(config, **changes, flags=flags, origins=MappingProxyType(origins))


def _boolean(values: Sequence[str]) -> bool:
    return go_text.parse_bool(values[-1])


def _long(values: Sequence[str]) -> int:
    try:
        return go_text.atoi(values[-1])
    except GoNumberError as error:
        # pflag parses integers with strconv.ParseInt, whose error names that function.
        raise _FlagError(error.go_text.replace("Atoi", "ParseInt", 1)) from None


def _integer(values: Sequence[str]) -> int:
    number = _long(values)
    if not -(2**31) <= number < 2**31:
        raise GoNumberError("ParseInt", values[-1], "value out of range")
    return number


def _duration(values: Sequence[str]) -> int:
    try:
        return go_text.parse_duration_ns(values[-1])
    except DurationError as error:
        raise _FlagError(error.go_text) from None


def _texts(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for value in values for part in value.split(",") if value)


def _pairs(
    values: Sequence[str], separator: str, kind: str, *, splits: bool = True
) -> Mapping[str, str]:
    pairs = {}
    for pair in (each for value in values for each in (value.split(",") if splits else [value])):
        key, divider, value = pair.partition(separator)
        # Kubelet map flags skip empty pairs, such as after a trailing comma.
        if pair and not divider:
            raise _FlagError(f"malformed pair, expect string{separator}{kind}")
        if pair:
            pairs[key.strip()] = value.strip()
    return MappingProxyType(pairs)


def _gates(values: Sequence[str]) -> Mapping[str, bool]:
    gates = {}
    for gate, value in _pairs(values, "=", "bool").items():
        try:
            gates[gate] = go_text.parse_bool(value)
        except GoNumberError as error:
            raise _FlagError(f"invalid value of {gate}: {value}, err: {error.go_text}") from None
    return MappingProxyType(gates)


_PARSERS: Final[Mapping[str, Parse]] = {
    "bool": _boolean,
    "duration": _duration,
    "int": _long,
    "int32": _integer,
    "int64": _long,
    "Level": _integer,
    "mapStringBool": _gates,
    "mapStringString": partial(_pairs, separator="=", kind="string"),
    "reserved-memory": memory_policy.parse_reserved_memory,
    "string": lambda values: values[-1],
    "stringSlice": _texts,
}
"""By pflag type."""
_OWN_PARSERS: Final[Mapping[str, Parse]] = {
    "--cpu-manager-policy-options": partial(_pairs, separator="=", kind="string", splits=False),
    "--eviction-hard": partial(_pairs, separator="<", kind="string"),
    "--eviction-soft": partial(_pairs, separator="<", kind="string"),
}
_CHECKED: Final = ("bool", "duration", "int", "int32", "int64", "Level")
"""Types whose values are checked even for flags that numalet does not use."""


@cache
def _setters() -> Mapping[str, tuple[str, str, Parse]]:
    """The flags that set a field: field name, attribute, and parser."""
    known = flag_table.flags()
    fields = [(row.flag, row.name, row.attribute) for row in kubelet_fields.HONOURED.values()]
    fields.append(
        (_IGNORES_EVICTION, "experimentalAllocatableIgnoreEviction", "ignore_hard_eviction")
    )
    return MappingProxyType(
        {
            f"--{flag}": (
                name,
                attribute,
                _OWN_PARSERS.get(f"--{flag}") or _PARSERS[known[flag].type],
            )
            for flag, name, attribute in fields
            if flag in known
        }
    )
