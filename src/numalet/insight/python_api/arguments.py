"""Checks the arguments of public functions against their annotations, and shortens tracebacks.

A program that is not type-checked gets one error that names the argument, not an exception from
the inside of numalet.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Final, ParamSpec, TypeVar, Union

from numalet.core.model.findings import BadInput, Finding

P = ParamSpec("P")
T = TypeVar("T")

_MAKERS: Final = {
    "KubeletConfig": "decode_config or load_config makes one",
    "Pod": "read_pods or load_pods makes them",
    "Node": "start_node makes one",
    "Cluster": "Fleet.from_dump or Fleet.from_kubeconfig makes one",
}
_MOST_SHOWN: Final = 80


class ApiWrongType(Finding):
    sentence = "{argument} takes {expected}, not {given}"
    argument: str
    expected: str
    given: str


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Make the function raise ``BadInput`` for an argument of another type.

    Errors of the function have no traceback of its inside.
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
            return function(*given.args, **given.kwargs)
        except BadInput as bad:
            raise bad.with_traceback(None) from None

    return call


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
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return None
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
    elif origin is not None and args:
        yield f"a list of {' or '.join(_names(args[0]))}"
    elif hint is not type(None):
        yield getattr(hint, "__name__", str(hint))
