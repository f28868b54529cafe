"""Reads one container of a manifest into the program that the agent runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from numalet.core.config.behaviour import Behaviour
from numalet.core.model import input_error
from numalet.core.model.findings import Findings
from numalet.core.model.pod import ContainerKind
from numalet.core.model.value import Value, field
from numalet.core.workload.expansion import Expander
from numalet.core.workload.spec import ContainerSpec
from numalet.io.documents.pods import workload_fields
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

_VARIABLE: Final = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


class Reading(Value, kw_only=True):
    """Shared by the containers of one pod; ``ignored`` collects the fields for its one note."""

    pod_security: Mapping[str, Any]
    at_pod_security: Place
    program_needed: bool
    behaviour: Behaviour
    findings: Findings
    ignored: set[str]
    expander: Expander = field(default_factory=Expander)


def read(
    value: Mapping[str, Any], kind: ContainerKind, place: Place, reading: Reading
) -> ContainerSpec:
    """Read a container whose members have the right types."""
    findings, command, args = reading.findings, value.get("command"), value.get("args")
    ignored = workload_fields.check_container(value, kind, place, reading.behaviour, findings)
    if reading.program_needed:
        if not command and not args:
            findings.add(
                input_error.Required(
                    f"container {value['name']!r} has neither a command nor args",
                    expected="a command, because the agent does not read images",
                    where=place.location,
                )
            )
    else:
        ignored.discard("image")
    reading.ignored.update(ignored)
    env = _environment(value.get("env") or (), place.member("env"), reading)
    variables = dict(env)
    user, group = _ids(value.get("securityContext") or {}, place.member("securityContext"), reading)
    return ContainerSpec(
        name=value["name"],
        kind=kind,
        image=value.get("image") or "",
        command=_words(command, variables, place.member("command"), reading),
        args=_words(args, variables, place.member("args"), reading),
        env=env,
        working_dir=_working_dir(value.get("workingDir"), place.member("workingDir"), findings),
        run_as_user=user,
        run_as_group=group,
    )


def _environment(
    variables: Iterable[Mapping[str, Any]], place: Place, reading: Reading
) -> tuple[tuple[str, str], ...]:
    findings, known = reading.findings, dict[str, str]()
    result: list[tuple[str, str]] = []
    for index, variable in enumerate(variables):
        at, name = place.item(index), variable["name"]
        if _VARIABLE.fullmatch(name) is None:
            shown = typed.described(name)
            findings.add(
                input_error.Invalid(
                    f"invalid name of a variable {shown}",
                    expected="letters, digits, '_', '-' and '.', not beginning with a digit",
                    where=at.member("name").location,
                )
            )
        if variable.get("valueFrom"):
            where = at.member("valueFrom").location
            source = ", ".join(sorted(map(str, variable["valueFrom"])))
            shown = typed.described(name)
            findings.add(
                input_error.NotSupported(
                    f"the variable {shown} takes its value from {source}",
                    expected=(
                        "a value, because the agent has no config maps and secrets, and "
                        "does not read fields"
                    ),
                    where=where,
                )
            )
        # In order: a variable may refer to earlier ones, and a repeated one replaces its value.
        known[name] = _expanded(
            variable.get("value") or "", known, at.member("value"), reading, name
        )
        result.append((name, known[name]))
    return tuple(result)


def _words(
    words: list[str] | None, variables: Mapping[str, str], place: Place, reading: Reading
) -> tuple[str, ...]:
    return tuple(
        _expanded(word, variables, place.item(index), reading)
        for index, word in enumerate(words or ())
    )


def _expanded(
    text: str, variables: Mapping[str, str], place: Place, reading: Reading, name: str = ""
) -> str:
    _check_text(text, place, reading.findings)
    made = reading.expander.expanded(text, variables, name)
    if isinstance(made, str):
        return made
    reading.findings.add(
        input_error.TooLarge(
            f"{made.counted} would exceed the limit of the kernel",
            expected=f"at most {made.limit_bytes} bytes",
            where=place.location,
        )
    )
    return ""


def _working_dir(path: str | None, place: Place, findings: Findings) -> str:
    if path and not path.startswith("/"):
        findings.add(
            input_error.Invalid(
                f"the working directory {typed.described(path)} is relative",
                expected="a path that begins with '/'",
                where=place.location,
            )
        )
    _check_text(path or "", place, findings)
    return path or ""


def _check_text(text: str, place: Place, findings: Findings) -> None:
    # The kernel reads words and paths up to the first NUL.
    if "\0" in text:
        findings.add(
            input_error.Invalid(
                f"{typed.described(text)} contains a NUL character",
                expected="a text without NUL characters",
                where=place.location,
            )
        )


def _ids(own: Mapping[str, Any], place: Place, reading: Reading) -> tuple[int | None, int | None]:
    """User and group; the container's settings override the pod's."""
    findings = reading.findings
    user, _ = _stronger("runAsUser", own, place, reading)
    group, _ = _stronger("runAsGroup", own, place, reading)
    non_root, at = _stronger("runAsNonRoot", own, place, reading)
    # Without a user the program would run as the agent's own user.
    if non_root and not user:
        shown = "no user" if user is None else "user 0"
        findings.add(
            input_error.Forbidden(
                f"runAsNonRoot is true, but the container would run with {shown}",
                expected="a runAsUser other than 0",
                where=at.member("runAsNonRoot").location,
            )
        )
    return user, group


def _stronger(
    name: str, own: Mapping[str, Any], place: Place, reading: Reading
) -> tuple[Any, Place]:
    of_container = own.get(name)
    if of_container is not None:
        return of_container, place
    return reading.pod_security.get(name), reading.at_pod_security
