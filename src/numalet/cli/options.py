"""Options of a command: typer's parameters are generated from the fields of a class.

A command is a function with one parameter, whose annotation is a subclass of ``Options``::

    class DeleteOptions(Options):
        pods: list[str] = argument("Names, or namespace/name.", "POD...", default=REQUIRED)
        grace_period: int | None = option("How long they may take to end.", "SECONDS", min=0)
        agent: AgentChoice

    @with_options
    def delete(options: DeleteOptions) -> None: ...

Each field is an option, an argument or a group. ``--help`` lists them in the order of the fields.
The name of an option is that of its field: ``--grace-period``.

A group is a field whose type is another subclass of ``Options``: its options stand in its place,
and the value of the field is an instance of that class. ``Annotated[Group, Part(...)]`` leaves
some of them out, which then have their defaults, or puts them under a title of their own.

``check`` of a class refuses values that contradict each other. Groups are checked in the order of
the fields, before the command runs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, dataclass_transform, get_args, get_origin, get_type_hints

import typer

from numalet.cli.output import OutputFormat
from numalet.core.model.value import Value

REQUIRED: Final = ...
"""The default of a required option or argument."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Options:
    """The values of options. The fields of subclasses are made by ``option`` and ``argument``."""

    def __init__(self, **given: Any) -> None:
        """Use the given values, and the defaults of the others."""
        kind: Any = type(self)
        members = _group(kind, Part()).members
        vars(self).update({name: _default(each) for name, each in members.items()} | given)
        self.check()

    def check(self) -> None:
        """Raise ``BadInput`` if the values contradict each other."""


class Part(Value):
    """A group without some of its options; ``panel`` is the title of the others in ``--help``."""

    without: tuple[str, ...] = ()
    panel: str | None = None


class _Field(Value):
    """``make`` is typer's function for it, ``names`` are option names (by default the field's)."""

    make: Callable[..., Any]
    names: tuple[str, ...]
    default: object
    settings: dict[str, Any]

    def parameter(self, name: str, annotation: Any, panel: str | None) -> inspect.Parameter:
        """Return the parameter that typer reads."""
        names, settings = self.names, dict(self.settings)
        if self.make is typer.Option and not any(each.startswith("--") for each in names):
            names = (*names, f"--{name.replace('_', '-')}")
        if panel is not None:
            settings["rich_help_panel"] = panel
        made = self.make(self._default_of(annotation), *names, **settings)
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, keyword, default=made, annotation=annotation)

    def _default_of(self, annotation: Any) -> object:
        """Return the default; without one a list is empty, a switch off, and any other None."""
        if self.default is not None:
            return self.default
        if annotation is bool:
            return False
        return [] if get_origin(annotation) is list else None


def option(
    text: str,
    metavar: str | None = None,
    name: str = "",
    *,
    default: Any = None,
    panel: str | None = None,
    **settings: Any,
) -> Any:
    """Make a field an option with this help text.

    ``name`` has its names, separated by blanks, if they differ from the field's: ``-o`` is added
    to it, ``--no-wait`` is instead of it. ``settings`` are those of ``typer.Option``.
    """
    settings |= {"help": text, "metavar": metavar, "rich_help_panel": panel}
    return _Field(typer.Option, tuple(name.split()), default, settings)


def argument(text: str, metavar: str, *, default: Any = None) -> Any:
    """Make a field a positional argument with this help text."""
    return _Field(typer.Argument, (), default, {"help": text, "metavar": metavar})


RESULT: Final = option("How the result is printed.", name="-o", default=OutputFormat.TABLE)
"""The option of commands that print a table or a document."""


class _Group(Value):
    """Builds a value from its members; ``left_out`` parameters have their defaults."""

    make: Callable[..., Any]
    members: Mapping[str, inspect.Parameter | _Group]
    left_out: tuple[str, ...] = ()

    def parameters(self) -> Iterator[inspect.Parameter]:
        """Yield the parameters of all options, in order."""
        for name, member in self.members.items():
            if isinstance(member, _Group):
                yield from member.parameters()
            elif name not in self.left_out:
                yield member

    def value(self, given: Mapping[str, Any]) -> Any:
        """Return the value for these arguments, by the names of the parameters."""
        values: dict[str, Any] = {}
        for name, member in self.members.items():
            if isinstance(member, _Group):
                values[name] = member.value(given)
            else:
                values[name] = _default(member) if name in self.left_out else given[name]
        return self.make(**values)


def _default(member: inspect.Parameter | _Group) -> Any:
    """Return the default value of a member."""
    return member.make() if isinstance(member, _Group) else member.default.default


@functools.cache
def _group(annotation: Any, outer: Part) -> _Group:
    """Return the group of a class, or of ``Annotated``, within a group with this part."""
    kind, inner = (
        get_args(annotation) if get_origin(annotation) is Annotated else (annotation, Part())
    )
    part = Part((*inner.without, *outer.without), inner.panel or outer.panel)
    members: dict[str, inspect.Parameter | _Group] = {}
    for name, each in get_type_hints(kind, include_extras=True).items():
        field = getattr(kind, name, None)
        if isinstance(field, _Field):
            members[name] = field.parameter(name, each, part.panel)
        else:
            members[name] = _group(each, part)
    return _Group(kind, members, part.without)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command as typer takes it: a function with a parameter for each option.

    Parameters of other types stay, such as ``typer.Context``.
    """
    written = inspect.signature(command, eval_str=True).parameters.values()
    group = _Group(dict, {each.name: _member(each) for each in written})
    parameters = list(group.parameters())

    @functools.wraps(command)
    def with_values(**given: Any) -> None:
        command(**group.value(given))

    with_values.__annotations__ = {each.name: each.annotation for each in parameters}
    # typer reads the parameters with inspect.signature.
    vars(with_values)["__signature__"] = inspect.Signature(parameters)
    return with_values


def _member(parameter: inspect.Parameter) -> inspect.Parameter | _Group:
    """Return the group that a parameter of a command stands for, or else the parameter."""
    kind = parameter.annotation
    written = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if isinstance(written, type) and issubclass(written, Options):
        return _group(kind, Part())
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
