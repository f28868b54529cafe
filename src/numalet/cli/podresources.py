"""``numalet podresources``: the answers of a node's PodResources API."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from numalet.cli import output
from numalet.cli.options import Options, argument, option, with_options
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


class PodresourcesOptions(Options):
    question: PodResourcesQuestion = argument(
        "All pods (default), what the node has to give, or one pod.",
        "[list|allocatable|get]",
        default=PodResourcesQuestion.LIST,
    )
    name: str | None = argument("The pod's name, for 'get'.", "[POD]")
    namespace: str = option("The pod's namespace.", "NAME", "-n", default="default")
    socket: Path | None = option("The server's socket.", "PATH")
    api: Api = option("The interface; the older knows devices.", default=Api.V1)
    timeout: float = option("How long to wait.", "SECONDS", default=10.0, min=0.1)
    output: OutputFormat = option("What to print.", name="-o", default=OutputFormat.TABLE)


@with_options
def podresources(options: PodresourcesOptions) -> None:
    """Show the PodResources API: which container holds which CPUs, memory and devices."""
    _check(options)
    from numalet.io.pod_resources_client import CallRefused, PodResourcesClient

    client = PodResourcesClient(options.socket or _default_socket(), options.timeout)
    answer = _ask(client, options)
    if isinstance(answer, CallRefused):
        output.complain(
            Severity.ERROR,
            input_error.Unavailable(
                f"the server at {str(client.socket)!r} refused the request: {answer.code}: "
                f"{answer.text}"
            ).located,
        )
        raise typer.Exit(EXIT_REFUSED)
    _print(options, dict(answer.document))


def _check(options: PodresourcesOptions) -> None:
    question, name, api = options.question, options.name, options.api
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


def _ask(client: PodResourcesClient, options: PodresourcesOptions) -> JsonAnswer | CallRefused:
    match options.question:
        case PodResourcesQuestion.LIST if options.api is Api.V1ALPHA1:
            return client.list_pods_v1alpha1()
        case PodResourcesQuestion.LIST:
            return client.list_pods()
        case PodResourcesQuestion.ALLOCATABLE:
            return client.allocatable()
        case PodResourcesQuestion.GET:
            return client.pod(options.namespace, options.name or "")


def _print(options: PodresourcesOptions, document: dict[str, Any]) -> None:
    if options.output is not OutputFormat.TABLE:
        output.print_document(document, options.output)
        return
    from numalet.cli import podresources_tables as tables

    match options.question:
        case PodResourcesQuestion.LIST:
            output.print_all(tables.of_pods(document.get("podResources", ())))
        case PodResourcesQuestion.GET:
            output.print_all(tables.of_pods([document.get("podResources", {})]))
        case PodResourcesQuestion.ALLOCATABLE:
            output.print_all(tables.of_allocatable(document))
