"""Options that several commands have, written once.

A *group* is some options and the one value that they make together. A command asks for the value
with one parameter, ``Annotated[Value, OptionGroup(...)]``; ``expanded`` puts the options of the
group in its place, so that typer, and ``--help``, see them where the command has the group.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from copy import copy
from typing import Annotated, Any, get_args

from numalet.core.model.value import Value


class OptionGroup(Value):
    """Options in the order of ``--help``, and what is made of their values, given by name."""

    options: tuple[inspect.Parameter, ...]
    make: Callable[..., object]

    def pop_from(self, given: dict[str, Any]) -> object:
        """The value of the group; its options are removed from ``given``."""
        return self.make(**{option.name: given.pop(option.name) for option in self.options})


def option(name: str, annotation: object, default: object = None) -> inspect.Parameter:
    """One option of a group, as the parameter that typer makes it from."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=annotation)


def in_group(annotation: Any, title: str) -> object:
    """The annotation of an option, which ``--help`` shows under this title."""
    kind, info, *others = get_args(annotation)
    moved = copy(info)
    moved.rich_help_panel = title
    return Annotated[(kind, moved, *others)]


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its groups instead of the groups."""
    signature = inspect.signature(command, eval_str=True)
    groups = _groups_of(signature)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        group = groups.get(parameter.name)
        parameters += [parameter] if group is None else group.options

    @functools.wraps(command)
    def with_values(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group.pop_from(given)
        command(**given)

    with_values.__annotations__ = {each.name: each.annotation for each in parameters}
    # What typer, as everybody else, asks for through inspect.signature.
    vars(with_values)["__signature__"] = signature.replace(parameters=parameters)
    return with_values


def _groups_of(signature: inspect.Signature) -> Mapping[str, OptionGroup]:
    """The groups among the parameters, by the name of the parameter."""
    return {
        name: extra
        for name, parameter in signature.parameters.items()
        for extra in get_args(parameter.annotation)
        if isinstance(extra, OptionGroup)
    }
