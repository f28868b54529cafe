"""Checks the arguments of public functions against their annotations, and shortens tracebacks.

A program that is not type-checked gets one error that names the argument, not an exception from
the inside of numalet. Other errors in a value name the argument, too, where the command line would
name a flag or only a file.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sized
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar, Union

from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.input_error import InputFinding
from numalet.core.model.value import replace
from numalet.io.findings import documents

P = ParamSpec("P")
T = TypeVar("T")

_MAKERS: Final = {
    "KubeletConfig": "decode_config or load_config makes one",
    "Pod": "read_pods or load_pods makes them",
    "Node": "start_node makes one",
    "Cluster": "Fleet.from_dump or Fleet.from_kubeconfig makes one",
}
_MOST_SHOWN: Final = 80
_FLAG: Final = re.compile(r"--([a-z-]+) (?=[A-Z0-9])")
"""As in ``use --context NAME``."""


class ApiWrongType(Finding):
    sentence = "{argument} takes {expected}, not {given}"
    argument: str
    expected: str
    given: str


def checked(function: Callable[P, T], *not_empty: str) -> Callable[P, T]:
    """Make the function raise ``BadInput`` for an argument of another type.

    The lists of these names must not be empty. Errors of the function name its arguments, and have
    no traceback of its inside.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as unbound:
            raise TypeError(f"{function.__name__}() {unbound}") from None
        hints = _hints(function)
        try:
            for name, each in given.arguments.items():
                # An iterator can be read only once.
                is_iterator = isinstance(each, Iterator)
                value = given.arguments[name] = tuple(each) if is_iterator else each
                wrong = None if name not in hints else _wrong(value, hints[name])
                if wrong is not None:
                    raise BadInput([_finding(name, wrong[0], hints[name])])
                if name in not_empty:
                    require(**{name: value})
            return function(*given.args, **given.kwargs)
        except (BadInput, OSError) as error:
            bad = documents.unusable_path(error) if isinstance(error, OSError) else error
            if bad is None:
                raise
            raise BadInput(_naming(each, given) for each in bad.findings) from None

    return call


def require(**given: object) -> None:
    """Raise ``BadInput`` if one of these lists or mappings is empty."""
    for name, each in given.items():
        if isinstance(each, Sized) and len(each) == 0:
            raise input_error.Required(f"{name} is empty", expected="at least one").bad_input()


def at_least(least: int, **given: float) -> None:
    """Raise ``BadInput`` if one of these numbers is smaller."""
    for name, each in given.items():
        if not each >= least:
            raise input_error.Invalid(
                f"{name} {each} is too small", expected=f"{least} or more"
            ).bad_input()


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(function)


def _wrong(value: object, hint: Any) -> tuple[object] | None:
    """Return the value, or the element of it, that is not of this type."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        found = [_wrong(value, each) for each in args]
        # If a list has a wrong element, the element is named, not the list.
        return None if None in found else min(found, key=lambda each: each == (value,))
    kind = origin or hint
    if not isinstance(kind, type):
        return None
    if getattr(kind, "_is_protocol", False):
        members = (name for name in vars(kind) if not name.startswith("_"))
        return None if all(hasattr(value, each) for each in members) else (value,)
    is_kind = isinstance(value, (int, float) if kind is float else kind)
    if not is_kind or (isinstance(value, bool) and kind in (int, float)):
        return (value,)
    if not args or not isinstance(value, Iterable):
        return None
    if isinstance(value, str | bytes):
        # It would be read letter by letter.
        return (value,)
    if isinstance(value, Mapping):
        if not issubclass(kind, Mapping):
            return (value,)
        return next((wrong for each in value.values() if (wrong := _wrong(each, args[1]))), None)
    return next((wrong for each in value if (wrong := _wrong(each, args[0]))), None)


def _finding(argument: str, value: object, hint: Any) -> Finding:
    names = list(dict.fromkeys(_names(hint)))
    makers = [maker for kind, maker in _MAKERS.items() if kind in " ".join(names).split()]
    text = repr(value) if isinstance(value, str) else " ".join(str(value).split())
    shown = f"{text[:_MOST_SHOWN]}..." if len(text) > _MOST_SHOWN else text
    return ApiWrongType(
        argument=argument,
        expected=" or ".join(names) + (f" ({'; '.join(makers)})" if makers else ""),
        given=f"{type(value).__name__} {shown}",
    )


def _naming(finding: Finding, given: inspect.BoundArguments) -> Finding:
    """Put the name of the argument in the place of a flag, and before a path without a place."""

    def argument(flag: str) -> str | None:
        name = flag.strip("-").replace("-", "_")
        return next(
            (each for each in given.signature.parameters if each in (name, f"{name}s")), None
        )

    if isinstance(finding, InputFinding):
        message = _FLAG.sub(
            lambda found: f"{name}=" if (name := argument(found[1])) else found[0], finding.message
        )
        finding = replace(finding, message=message)
    where = finding.where
    if where.path or where.line is not None:
        return finding
    if where.document.startswith("--"):
        return finding.at(replace(where, document=argument(where.document) or where.document))
    if where.document or isinstance(finding, documents.DocumentUnreadable):
        for name, value in given.arguments.items():
            if where.document in _texts(value):
                return finding.at(replace(where, document=f"{name}={where.document!r}"))
    return finding


def _texts(value: object) -> Container[str]:
    """Return a text or a path, or those in a list or mapping, as a finding may show them."""
    each = value.values() if isinstance(value, Mapping) else value
    listed = each if isinstance(each, Iterable) and not isinstance(each, str) else (each,)
    paths = [one for one in listed if isinstance(one, str | PathLike)]
    return {text for one in paths for text in (fspath(one), str(Path(one)))}


def _names(hint: Any) -> Iterable[str]:
    """Yield the names of the types that are expected, without those of collections."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        for each in args:
            yield from _names(each)
    elif origin is PathLike:
        yield "a path"
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        for each in _names(args[1]):
            yield f"a mapping to {each}"
    elif isinstance(origin, type) and issubclass(origin, Iterable):
        yield f"a list of {' or '.join(_names(args[0]))}"
    elif hint is not type(None):
        yield getattr(origin or hint, "__name__", str(hint))
