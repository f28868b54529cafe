"""What is wrong with what a pod is to run."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding
from numalet.io.findings.documents import NumberNotAllowed, ValueNotAllowed


class FieldRefused(Finding):
    """A field of a pod that is refused, because ignoring it would change what the pod does."""

    field: str


class WorkloadAnnotationsSize(Finding):
    sentence = "the annotations have {size_bytes} bytes together; {most_bytes} are allowed"
    size_bytes: int
    most_bytes: int


class WorkloadGracePeriod(Finding):
    sentence = "the termination grace period is {value}; 0 to {most} seconds are allowed"
    value: str
    most: int


class WorkloadIgnored(NoteFinding):
    sentence = "ignored, as containers run as programs of the host and on this node only: {names}"
    names: str


class WorkloadKind(Finding):
    sentence = "the {member} is {value}; only {expected!r} can be run"
    member: str
    value: str
    expected: str


class WorkloadLabelName(Finding):
    sentence = (
        "{value} is no name of a label or an annotation; letters, digits, '-', '_' and '.' are "
        "allowed, 63 at most, with a letter or digit at both ends, and a domain and '/' before"
    )
    value: str


class WorkloadLabelValue(Finding):
    sentence = (
        "{value} is no value of a label; letters, digits, '-', '_' and '.' are allowed, 63 at "
        "most, with a letter or digit at both ends"
    )
    value: str


class WorkloadNoCommand(Finding):
    sentence = (
        "the container {container!r} has neither a command nor args; there is no image that would "
        "name a program, so write a command"
    )
    container: str


class WorkloadNul(Finding):
    sentence = "{value} has a NUL character in it, which no program can be given"
    value: str


class WorkloadTooLong(Finding):
    sentence = "this becomes too long: {counted} may have {limit} bytes"
    why = "the kernel starts no program with more"
    limit: int
    counted: str


class WorkloadNotJson(Finding):
    sentence = (
        "{value} can not be kept: numbers of 64 bits, texts of Unicode characters, lists and "
        "objects can"
    )
    value: str


class WorkloadProbe(WarningFinding):
    sentence = (
        "{name} is not run: the container counts as started and ready as soon as it runs, and is "
        "started again only when it ends"
    )
    name: str


class WorkloadProtection(WarningFinding):
    sentence = (
        "not enforced, as the program runs on the host without a container around it: {names}"
    )
    names: str


class WorkloadRelativePath(Finding):
    sentence = "the working directory {value} does not begin with '/'"
    value: str


class WorkloadRestartRules(FieldRefused):
    sentence = (
        "{field} is set for this container, and only the pod's restartPolicy is followed here"
    )


class WorkloadRoot(Finding):
    sentence = (
        "runAsNonRoot is true, but the container would run with {user}; set runAsUser to another "
        "id than 0"
    )
    user: str


class WorkloadSystem(Finding):
    sentence = "the pod is for {value}; only linux programs can be run"
    value: str


class WorkloadUid(Finding):
    sentence = (
        "{value} is no uid that can be part of a file's name; letters, digits, '-' and single '.' "
        "are allowed, {most} of them at most, with a letter or digit at both ends"
    )
    value: str
    most: int


class WorkloadValueFrom(Finding):
    sentence = (
        "the variable {name} takes its value from {source}, which does not exist here; write the "
        "value"
    )
    name: str
    source: str


class WorkloadVariableName(Finding):
    sentence = (
        "{value} is no name of a variable; letters, digits, '_', '-' and '.' are allowed, and no "
        "digit at the beginning"
    )
    value: str


class WorkloadDeadline(FieldRefused):
    sentence = (
        "{field} is set, but deadlines are not enforced here; remove it, or end the command with "
        "timeout(1)"
    )


class WorkloadEnvFrom(FieldRefused):
    sentence = (
        "{field} is set, and there are no config maps and secrets here; write the variables under"
        " env"
    )


class WorkloadEphemeralContainers(FieldRefused):
    sentence = "{field} is set, and such containers are not run here; use a container of its own"


class WorkloadLifecycleHooks(FieldRefused):
    sentence = (
        "{field} is set, and hooks are not run here: the program would begin or end otherwise "
        "than it expects; let the command do the work of the hook"
    )


class WorkloadMounts(FieldRefused):
    sentence = (
        "{field} is set, and nothing is mounted here: the program would find the host's own files"
        " at that path; name the host's path in the command, and drop the mount"
    )


class WorkloadResourceClaims(FieldRefused):
    sentence = (
        "{field} is set, and claims are not allotted here; ask for a device by its resource name "
        "under limits"
    )


class WorkloadSchedulingGates(FieldRefused):
    sentence = "{field} is set, so the pod should not run yet, and nothing here removes the gates"


class WorkloadId(NumberNotAllowed):
    sentence = "{value} is no id of a user or group; {least} to {most} are allowed"


class WorkloadRestartPolicy(ValueNotAllowed):
    sentence = "{value} is no restart policy; these are: {allowed}"
