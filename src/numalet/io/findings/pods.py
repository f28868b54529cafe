"""What is wrong with the manifest of a pod."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding
from numalet.io.findings.documents import PartMissing, ValueNotAllowed


class PodsClaimsPassedOver(NoteFinding):
    sentence = (
        "pods with claims of devices: {count}, {first} among them; claims are allocated by the "
        "scheduler, and these pods are decided on by their requests alone"
    )
    fix = "give the claims and slices to 'numalet check'"
    count: int
    first: str


class PodsDuplicateContainer(Finding):
    sentence = (
        "two containers are called {name!r}; every container of a pod, init containers included, "
        "needs a name of its own"
    )
    name: str


class PodsDuplicateName(WarningFinding):
    sentence = (
        "{count} pods are called {pod}; they are treated as different pods, though a cluster has "
        "one of a name at a time: is one of them there by mistake?"
    )
    pod: str
    count: int


class PodsDuplicateUid(Finding):
    sentence = "{pod} and {other} both have the uid {uid!r}; every pod needs a uid of its own"
    uid: str
    pod: str
    other: str


class PodsEmptyDocument(Finding):
    sentence = "nothing is in it; a Pod or another object with pods is needed"


class ResourceRefused(Finding):
    """An amount of a resource that can not be so."""

    resource: str
    value: str
    nearest: str


class PodsHugePageSize(ResourceRefused):
    sentence = (
        "{resource!r} names no size of huge pages; write hugepages-2Mi or hugepages-1Gi, for "
        "example"
    )


class PodsHugePagesAlone(Finding):
    sentence = (
        "{resource!r} is asked for without cpu and without memory; huge pages need one of them"
    )
    resource: str


class PodsKind(Finding):
    sentence = "the kind is {value}, and nothing is known about such objects; known: {nearest}"
    value: str
    nearest: str


class PodsKubeletConfig(Finding):
    sentence = "this is a {kind}, which configures kubelets and has no pods; give the file with -c"
    kind: str


class PodsLimitMissing(Finding):
    sentence = "{request} of {resource!r} are requested without a limit; the two must be equal"
    resource: str
    request: str


class PodsNameMissing(PartMissing):
    sentence = "the {what} has no name; every {what} needs one"


class PodsNegative(ResourceRefused):
    sentence = "{value} of {resource!r} is negative; 0 or more is allowed"


class PodsNestedList(Finding):
    sentence = "a {kind} is inside a list; lists hold single objects only"
    kind: str


class PodsTooManyContainers(Finding):
    sentence = "the pod has {count} containers; {most} are possible"
    count: int
    most: int


class PodsNoContainers(PartMissing):
    sentence = "the pod has no containers; at least one is needed"


class PodsNotWhole(ResourceRefused):
    sentence = "{value} of {resource!r} is not whole; devices are counted in ones"


class PodsNotForAPod(ResourceRefused):
    sentence = (
        "{value} of {resource!r} are asked for by the pod as a whole, which is possible for cpu, "
        "memory and hugepages-<size> alone; ask for it in a container"
    )


class PodsPartOfAHugePage(ResourceRefused):
    sentence = (
        "{value} of {resource!r} is not a whole number of pages; a multiple of the page size is "
        "needed"
    )


class PodsPhase(ValueNotAllowed):
    sentence = "{value!r} is no phase of a pod; Pending, Running, Succeeded, Failed and Unknown are"


class PodsQosClass(ValueNotAllowed):
    sentence = "{value!r} is no QoS class; Guaranteed, Burstable and BestEffort are"


class PodsQuantity(Finding):
    sentence = "{value} is no quantity: {cause}; write 500m, 4Gi or 100M, for example"
    value: str
    cause: str


class PodsReplicas(Finding):
    sentence = "{value} pods are asked for; 0 to {most} are allowed"
    value: str
    most: int


class RequestBesideLimit(Finding):
    """A request that does not fit its limit."""

    resource: str
    request: str
    limit: str


class PodsRequestAboveLimit(RequestBesideLimit):
    sentence = (
        "{request} of {resource!r} are requested, but the limit is {limit}; a request may be as "
        "large as the limit at most"
    )


class PodsRequestIsNotLimit(RequestBesideLimit):
    sentence = (
        "{request} of {resource!r} are requested and the limit is {limit}; for this resource the "
        "two must be equal"
    )


class PodsRestartPolicy(Finding):
    sentence = (
        "an init container has the restart policy {value!r}; only 'Always' (a sidecar) is "
        "allowed, or none"
    )
    value: str


class PodsSeveralNodes(Finding):
    sentence = (
        "the pods are on several nodes ({names}); name the node whose pods are meant (--node-name)"
    )
    names: str


class PodsTemplateMissing(Finding):
    sentence = "the {kind} has no pod template; spec.template is needed"
    kind: str


class PodsUnknownResource(ResourceRefused):
    sentence = (
        "{value} of {resource!r} are asked for, but no resource has that name; known: {nearest}, "
        "hugepages-<size>, and names with a domain such as example.com/gpu"
    )


class PodsLabel(ValueNotAllowed):
    sentence = (
        "{value} is no legal name; lower-case letters, digits and '-' are allowed, 63 of them "
        "at most, with a letter or digit at both ends"
    )


class PodsSubdomain(ValueNotAllowed):
    sentence = (
        "{value} is no legal name; lower-case letters, digits, '-' and '.' are allowed, 253 of "
        "them at most, with a letter or digit at both ends and beside every '.'"
    )
