"""What is wrong with a pod manifest, in English."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "document/field-missing": "the field {name!r} is missing and has no default",
        "document/one-of": "{value} is not allowed here; these are: {allowed}",
        "document/range": "{value} is not allowed here; {least} to {most} are",
        "document/type": "{expected} is expected, not {got}",
        "document/unknown-field": "no field is called {name!r} here; known: {nearest}",
        "pods/duplicate-container": (
            "two containers are called {name!r}; every container of a pod, init containers "
            "included, needs a name of its own"
        ),
        "pods/duplicate-name": (
            "{count} pods are called {pod}; they are treated as different pods, though a cluster"
            " has one of a name at a time: is one of them there by mistake?"
        ),
        "pods/duplicate-uid": (
            "{pod} and {other} both have the uid {uid!r}; every pod needs a uid of its own"
        ),
        "pods/empty-document": "nothing is in it; a Pod or another object with pods is needed",
        "pods/huge-page-size": (
            "{resource!r} names no size of huge pages; write hugepages-2Mi or hugepages-1Gi, "
            "for example"
        ),
        "pods/huge-pages-alone": (
            "{resource!r} is asked for without cpu and without memory; huge pages need one of them"
        ),
        "pods/kind": (
            "the kind is {value}, and nothing is known about such objects; known: {nearest}"
        ),
        "pods/label": (
            "{value} is no legal name; lower-case letters, digits and '-' are allowed, 63 of them "
            "at most, with a letter or digit at both ends"
        ),
        "pods/limit-missing": (
            "{request} of {resource!r} are requested without a limit; the two must be equal"
        ),
        "pods/name-missing": "the {what} has no name; every {what} needs one",
        "pods/negative": "{value} of {resource!r} is negative; 0 or more is allowed",
        "pods/nested-list": "a {kind} is inside a list; lists hold single objects only",
        "pods/too-many-containers": "the pod has {count} containers; {most} are possible",
        "pods/no-containers": "the pod has no containers; at least one is needed",
        "pods/not-whole": "{value} of {resource!r} is not whole; devices are counted in ones",
        "pods/part-of-a-huge-page": (
            "{value} of {resource!r} is not a whole number of pages; a multiple of the page size "
            "is needed"
        ),
        "pods/phase": (
            "{value!r} is no phase of a pod; Pending, Running, Succeeded, Failed and Unknown are"
        ),
        "pods/pod-level-resources": (
            "resources of the whole pod are ignored, as the kubelet v1.32 does while the feature "
            "gate PodLevelResources is off"
        ),
        "pods/qos-class": ("{value!r} is no QoS class; Guaranteed, Burstable and BestEffort are"),
        "pods/quantity": "{value} is no quantity: {why}; write 500m, 4Gi or 100M, for example",
        "pods/replicas": "{value} pods are asked for; 0 to {most} are allowed",
        "pods/request-above-limit": (
            "{request} of {resource!r} are requested, but the limit is {limit}; a request may be "
            "as large as the limit at most"
        ),
        "pods/request-is-not-limit": (
            "{request} of {resource!r} are requested and the limit is {limit}; for this resource "
            "the two must be equal"
        ),
        "pods/restart-policy": (
            "an init container has the restart policy {value!r}; only 'Always' (a sidecar) is "
            "allowed, or none"
        ),
        "pods/several-nodes": (
            "the pods are on several nodes ({names}); name the node whose pods are "
            "meant (--node-name)"
        ),
        "pods/subdomain": (
            "{value} is no legal name; lower-case letters, digits, '-' and '.' are allowed, 253 of "
            "them at most, with a letter or digit at both ends and beside every '.'"
        ),
        "pods/template-missing": "the {kind} has no pod template; spec.template is needed",
        "pods/unknown-resource": (
            "{value} of {resource!r} are asked for, but no resource has that name; known: "
            "{nearest}, hugepages-<size>, and names with a domain such as example.com/gpu"
        ),
    }
)
