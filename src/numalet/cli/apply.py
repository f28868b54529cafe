"""``numalet apply``: give pods to an agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from numalet.cli.agent_client import EXIT_REFUSED, EXITS, AgentChoice
from numalet.cli.options import REQUIRED, Options, option, with_options
from numalet.core.model import input_error

if TYPE_CHECKING:
    from numalet.io.agent_client.client import AgentClient

EPILOG = f"""Examples:

  numalet apply -f pod.yaml

  # several, from a pipe
  cat pods/*.yaml | numalet apply -f -

The command returns after the decision. 'numalet ps' lists rejected pods too.

{EXITS}"""

_SUFFIXES: Final = (".yaml", ".yml", ".json")


class ApplyOptions(Options):
    files: list[str] = option(
        "A manifest, a folder of them, or '-'; repeatable.",
        "FILE",
        "-f --filename",
        default=REQUIRED,
    )
    agent: AgentChoice


@with_options
def apply(options: ApplyOptions) -> None:
    """Submit pods to an agent, which admits or rejects them at once."""
    objects = [each for path in options.files for each in _all_objects(path)]
    with options.agent.client() as client:
        results = [_given(client, each) for each in objects]
    raise typer.Exit(0 if all(results) else EXIT_REFUSED)


def _all_objects(path: str) -> list[Mapping[str, Any]]:
    """Return the objects of a file, or of the files of a folder by name."""
    from numalet.core.model.findings import Location

    folder = Path(path)
    paths = [path]
    if path != "-" and folder.is_dir():
        paths = [str(each) for each in sorted(folder.iterdir()) if each.suffix in _SUFFIXES]
    objects = [each for one in paths for each in _objects(one)]
    if not objects:
        raise input_error.NotFound(f"no pods in {path}", where=Location()).bad_input()
    return objects


def _objects(path: str) -> Iterator[Mapping[str, Any]]:
    from numalet.core.model.findings import BadInput, Location
    from numalet.insight.usecases import simulating

    for document in simulating.documents_of(path):
        value = document.value
        if value is None:
            continue
        if document.duplicates:
            raise BadInput(document.duplicates)
        if not isinstance(value, Mapping):
            where = Location(path, "$", document.line_of("$"))
            raise input_error.Invalid(
                "the document is not an object", expected="a Pod or a list of Pods", where=where
            ).bad_input()
        items = value.get("items") if str(value.get("kind", "")).endswith("List") else None
        yield from items if isinstance(items, list) else [value]


def _given(client: AgentClient, value: Mapping[str, Any]) -> bool:
    """Submit one object, report the result, and return whether it may run."""
    from numalet.cli.output import complain, print_line
    from numalet.core.model.findings import Severity
    from numalet.io.agent_client.client import AgentRefused, segment

    metadata = value.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    namespace = str(named.get("namespace") or "default")
    try:
        path = f"/api/v1/namespaces/{segment(namespace)}/pods"
        made = client.post(path, value, {"fieldValidation": "Strict"})
    except AgentRefused as refused:
        complain(Severity.ERROR, f"{refused.reason}: {refused.message}")
        for text in refused.causes:
            if text not in refused.message:
                complain(Severity.ERROR, text)
        return False
    for text in client.warnings:
        complain(Severity.WARNING, text)
    name = f"pod/{made['metadata']['name']}"
    status = made["status"]
    if status.get("reason") and status.get("phase") == "Failed":
        print_line(f"{name} rejected: {status['reason']}: {status['message']}")
        return False
    print_line(f"{name} admitted")
    return True
