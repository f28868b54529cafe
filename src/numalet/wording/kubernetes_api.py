"""Messages of a kube-apiserver for failed requests, and texts of ``kubectl explain``.

Kubernetes v1.32: ``apimachinery/pkg/api/errors``, ``kubelet/server`` for logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

REFUSED: Final = "Refused: the program would do something else than its author meant."
WARNED: Final = "The pod runs, but this has no effect; creating it prints a warning."
IGNORED: Final = "Ignored: it means nothing to a program of the host."
KEPT: Final = "Kept and shown; nothing follows from it."
PART: Final = "A part of a pod."
UNDER_RULE: Final = "Honoured while the rule {rule} is on, as in exact mode; else ignored."
SINCE: Final = "Not in v1.32; Kubernetes has it since v{release}."

ANSWERS: Final[Mapping[str, str]] = {
    "PodList": "Pods of one moment.",
    "Object": "An object of some kind.",
    "ObjectList": "Objects of one moment.",
    "Status": "A failed request, and why.",
}


NOT_FOUND: Final = '{resource} "{name}" not found'
ALREADY_EXISTS: Final = '{resource} "{name}" already exists'
CONFLICT: Final = 'Operation cannot be fulfilled on {resource} "{name}": {problem}'
UID_DIFFERS: Final = (
    "Precondition failed: UID in precondition: {asked}, UID in object meta: {found}"
)
INVALID: Final = '{kind} "{name}" is invalid: {problems}'
PATH_UNKNOWN: Final = "the server could not find the requested resource"
NO_DASHBOARD: Final = (
    "this agent serves no dashboard, because it has no port for browsers; start it with --kube-api "
    "PORT"
)
UNAUTHORIZED: Final = "Unauthorized"
UNCHANGEABLE: Final = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    " `spec.initContainers[*].image` and `spec.tolerations` (more of them), because the placement"
    " was decided for the rest; delete and recreate the pod"
)
UNCHANGEABLE_TOLERATIONS: Final = (
    "Forbidden: of tolerations that are there only tolerationSeconds may change"
)
UNCHANGEABLE_METADATA: Final = "Forbidden: field is immutable"
UNCHANGEABLE_FILE: Final = (
    "Forbidden: a file in the manifest folder defines the pod; change the file"
)
NAME_DIFFERS: Final = (
    "the name of the object ({found}) does not match the name on the URL ({expected})"
)
PATCH_MEDIA_TYPE: Final = (
    "the body of the request was in an unknown format - accepted media types include:"
    " application/json-patch+json, application/merge-patch+json"
)
PATCH_UNREADABLE: Final = "cannot apply the patch: {problem}"
PATCH_NO_LIST: Final = "a JSON patch is a list of operations"
PATCH_TOO_LONG: Final = "it has more than {most} operations"
PATCH_TOO_DEEP: Final = "its result is nested too deeply"
PATCH_COPIES: Final = "it copies more than {most_bytes} bytes"
VERSION_DIFFERS: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
METHOD: Final = "the server does not allow this method on the requested resource"
MEDIA_TYPE: Final = (
    "the body of the request was in an unknown format - accepted media types include:"
    " application/json, application/yaml"
)
LARGEST_BODY_BYTES: Final = 3 * 1024 * 1024
"""The limit of a kube-apiserver."""

TOO_LARGE: Final = "Request entity too large: limit is {limit_bytes}"
TOO_OLD: Final = "too old resource version: {asked} ({oldest})"
TOO_NEW: Final = "Timeout: Too large resource version: {asked}, current: {current}"
TOO_NEW_CAUSE: Final = "Too large resource version"
VERSION_AND_CONTINUE: Final = "specifying resource version is not allowed when using continue"
CONTINUE_UNREADABLE: Final = "continue key is not valid: not issued by this server"
CONTINUE_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter, or use the continue token in this response to"
    " retrieve the remainder of the results as they are now, which is not consistent with what was"
    " listed before"
)
MATCH_UNKNOWN: Final = 'Unsupported value: "{value}": supported values: "Exact", "NotOlderThan", ""'
MATCH_ALONE: Final = (
    "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
)
MATCH_AND_CONTINUE: Final = "Forbidden: resourceVersionMatch is forbidden when continue is provided"
MATCH_EXACT_ZERO: Final = (
    'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
)
NOT_ACCEPTABLE: Final = "only the following media types are accepted: {accepted}"
NAMESPACE_DIFFERS: Final = (
    "the namespace of the provided object does not match the namespace sent on the request"
)
KIND_DIFFERS: Final = (
    "the object provided is unrecognized: {found} instead of {expected} was found in the body"
)
NOT_ONE_OBJECT: Final = "the body holds {count} objects instead of one"
QUERY: Final = 'invalid value "{value}" of the query parameter {name}: {problem}'
SELECTOR: Final = "unable to parse requirement: {problem}"
FIELD_LABEL: Final = 'field label not supported: "{field}"'
UNSUPPORTED: Final = 'Unsupported value: "{value}": supported values: {supported}'
NOT_DECODED: Final = '{kind} in version "{version}" cannot be handled as a {kind}: {problem}'
NOT_STRICT: Final = "strict decoding error: {problems}"
FIELD_UNKNOWN: Final = 'unknown field "{path}"'
FIELD_TWICE: Final = 'duplicate field "{path}"'
DRY_RUN: Final = 'dryRun: Unsupported value: "{value}": supported values: "All"'
DEVICES_UNKNOWN: Final = "unknown devices {resource}; known are {known}"
OTHER_PID_NAMESPACE: Final = (
    "the command is in another PID namespace than the agent, which could neither watch its process"
    " nor end it; run it in the agent's PID namespace"
)
OBSERVING: Final = (
    "another program manages CPUs and memory of this node, so this agent only observes"
)
CORDONED: Final = (
    "the node is cordoned: it admits no pods without a toleration of"
    " node.kubernetes.io/unschedulable until it is uncordoned (kubectl uncordon)"
)
UNCHANGEABLE_NODE: Final = "Forbidden: of a node only spec.unschedulable may be changed here"
STOPPING: Final = "the agent is stopping; try again when it has restarted"
STORAGE: Final = "cannot write the node state, so the request is refused: {problem}"
STARVED: Final = "the machine lacks something for this request at the moment ({error}); try again"
CLIENT_LEFT: Final = "the client went away before its request was complete"
BUG: Final = "internal error in the agent; see its log"
BUSY: Final = "too many explanations are being worked out; try again"

CONTAINER_NEEDED: Final = (
    "a container name must be specified for pod {pod}, choose one of: [{names}]"
)
CONTAINER_UNKNOWN: Final = "container {container} is not valid for pod {pod}"
CONTAINER_WAITS: Final = 'container "{container}" in pod "{pod}" is waiting to start: {reason}'
OUTPUT_IS_THE_CALLERS: Final = (
    'pod "{pod}" is a command in the foreground: its output is that of its numalet run'
)
NO_PREVIOUS: Final = 'previous terminated container "{container}" in pod "{pod}" not found'


def foreseen(placement: Mapping[str, Any]) -> str:
    """Describe the predicted place of a pod from its placement document."""
    nodes = ", ".join(map(str, placement["numaNodes"]))
    devices: dict[str, list[str]] = {}
    for container in placement["containers"]:
        for resource, ids in container["devices"].items():
            devices.setdefault(resource, []).extend(ids)
    parts = [
        f"memory of NUMA node {nodes}" if nodes else "",
        f"CPUs {placement['cpus']}" if placement["cpus"] else "",
        *(f"{resource} {', '.join(ids)}" for resource, ids in sorted(devices.items())),
    ]
    held = "; ".join(part for part in parts if part)
    return f"dry run: the pod would get {held or 'only shared CPUs and memory'}"
