"""``numalet podresources``: the answers of a node's PodResources API."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from numalet.cli import output
from numalet.cli.output import OutputFormat
from numalet.core.model import input_error
from numalet.core.model.findings import Location, Severity

if TYPE_CHECKING:
    from numalet.io.pod_resources_client import CallRefused, JsonAnswer, PodResourcesClient

EPILOG = """Examples:

  numalet podresources

  numalet podresources allocatable

  numalet podresources get web-0 -n shop -o yaml

  numalet podresources --socket /var/lib/kubelet/pod-resources/kubelet.sock

Without --socket it asks the numalet agent of this machine, or else its kubelet.

Exit status: 0 answered, 1 the server refused, 2 no server answers, 3 a bug.
"""

SOCKETS: Final = (
    Path("/var/lib/numalet/pod-resources/kubelet.sock"),
    Path("/var/lib/kubelet/pod-resources/kubelet.sock"),
)
EXIT_REFUSED: Final = 1


class PodResourcesQuestion(StrEnum):
    LIST = "list"
    ALLOCATABLE = "allocatable"
    GET = "get"


class Api(StrEnum):
    V1 = "v1"
    V1ALPHA1 = "v1alpha1"


def podresources(
    question: Annotated[
        PodResourcesQuestion,
        typer.Argument(
            metavar="[list|allocatable|get]",
            help="All pods (default), what the node has to give, or one pod.",
        ),
    ] = PodResourcesQuestion.LIST,
    name: Annotated[
        str | None, typer.Argument(metavar="[POD]", help="The pod's name, for 'get'.")
    ] = None,
    *,
    namespace: Annotated[
        str, typer.Option("-n", "--namespace", metavar="NAME", help="The pod's namespace.")
    ] = "default",
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="PATH", help="The server's socket.", show_default=False),
    ] = None,
    api: Annotated[Api, typer.Option("--api", help="The interface; the older knows devices.")] = (
        Api.V1
    ),
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long to wait.")
    ] = 10.0,
    chosen: Annotated[
        OutputFormat, typer.Option("-o", "--output", help="What to print.")
    ] = OutputFormat.TABLE,
) -> None:
    """Show the PodResources API: which container holds which CPUs, memory and devices."""
    _check(question, name, api)
    from numalet.io.pod_resources_client import CallRefused, PodResourcesClient

    client = PodResourcesClient(socket or _default_socket(), timeout)
    answer = _ask(client, question, namespace, name or "", api)
    if isinstance(answer, CallRefused):
        output.complain(
            Severity.ERROR,
            input_error.Unavailable(
                f"the server at {str(client.socket)!r} refused the request: {answer.code}: "
                f"{answer.text}"
            ).located,
        )
        raise typer.Exit(EXIT_REFUSED)
    _print(question, dict(answer.document), chosen)


def _check(question: PodResourcesQuestion, name: str | None, api: Api) -> None:
    if (question is PodResourcesQuestion.GET) != (name is not None):
        where = Location("podresources")
        if name is None:
            raise input_error.Required(
                "'podresources get' needs the name of a pod", where=where
            ).bad_input()
        raise input_error.Conflict(
            f"'podresources {question.value}' takes no name, but got {name!r}; use 'get "
            f"{name}' for one pod",
            where=where,
        ).bad_input()
    if api is Api.V1ALPHA1 and question is not PodResourcesQuestion.LIST:
        where = Location("--api")
        raise input_error.NotSupported(
            f"{api.value} does not support {question.value!r}; it supports only 'list'", where=where
        ).bad_input()


def _default_socket() -> Path:
    """Return the agent's socket if it exists, else the kubelet's."""
    return next((path for path in SOCKETS if path.exists()), SOCKETS[-1])


def _ask(
    client: PodResourcesClient, question: PodResourcesQuestion, namespace: str, name: str, api: Api
) -> JsonAnswer | CallRefused:
    match question:
        case PodResourcesQuestion.LIST if api is Api.V1ALPHA1:
            return client.list_pods_v1alpha1()
        case PodResourcesQuestion.LIST:
            return client.list_pods()
        case PodResourcesQuestion.ALLOCATABLE:
            return client.allocatable()
        case PodResourcesQuestion.GET:
            return client.pod(namespace, name)


def _print(question: PodResourcesQuestion, document: dict[str, Any], chosen: OutputFormat) -> None:
    if chosen is not OutputFormat.TABLE:
        output.print_document(document, chosen)
        return
    from numalet.cli import podresources_tables as tables

    match question:
        case PodResourcesQuestion.LIST:
            output.print_all(tables.of_pods(document.get("podResources", ())))
        case PodResourcesQuestion.GET:
            output.print_all(tables.of_pods([document.get("podResources", {})]))
        case PodResourcesQuestion.ALLOCATABLE:
            output.print_all(tables.of_allocatable(document))
