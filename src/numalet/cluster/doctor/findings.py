"""Findings on a cluster. The fix is a command if there is one."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class ClusterServerUnknown(WarningFinding):
    sentence = "the API server is of version {version}; numalet knows releases {oldest} to {newest}"
    why = "other releases may have other fields and verbs"
    fix = "numalet --version; install a later one, if there is one"
    version: str
    oldest: str
    newest: str


class ClusterKubeletUnknown(WarningFinding):
    sentence = "{nodes} with kubelet {version}, {why_unknown}: {names}"
    why = "a decision is worked out by the rules of the kubelet's own release"
    fix = (
        "kubectl get nodes -o custom-columns=NAME:.metadata.name,"
        "KUBELET:.status.nodeInfo.kubeletVersion"
    )
    nodes: str
    version: str
    why_unknown: str
    names: str


class ClusterNoDefinition(Finding):
    sentence = "the cluster does not know the resource {resource}"
    fix = "kubectl apply -k packaging/kubernetes/{folder}"
    resource: str
    folder: str


class ClusterDefinitionVersion(Finding):
    sentence = "{resource} is served as {served}, but this numalet writes and reads {wanted}"
    fix = "kubectl apply -k packaging/kubernetes/crds"
    resource: str
    served: str
    wanted: str


class ClusterForbidden(Finding):
    sentence = "you may not {verbs} {resource}, so facts that depend on it are unknown"
    why = "requires the role numalet-reader"
    fix = (
        "kubectl create clusterrolebinding numalet-reader-of-USER --clusterrole=numalet-reader "
        "--user=USER"
    )
    verbs: str
    resource: str


class ClusterAccountForbidden(Finding):
    sentence = "the account {account} may not {verbs} {resource}"
    fix = "kubectl apply -k packaging/kubernetes/base"
    account: str
    verbs: str
    resource: str


class ClusterAccountsUnknown(NoteFinding):
    sentence = "your credentials do not permit a check of the roles of numalet's service accounts"
    fix = (
        "kubectl auth can-i patch numanodes.numalet.dev "
        "--as=system:serviceaccount:numalet:numalet-publisher"
    )


class ClusterClock(WarningFinding):
    sentence = "the API server's clock is {seconds} s {direction} this machine's"
    why = "ages of objects are differences between clocks"
    fix = "chronyc tracking, or timedatectl timesync-status, on both"
    seconds: str
    direction: str


class ClusterNodeClock(WarningFinding):
    sentence = (
        "{nodes} published with a clock ahead of the API server's, at most {seconds} s: {names}"
    )
    why = "ages of objects are differences between clocks"
    fix = "chronyc tracking, or timedatectl timesync-status, on the nodes"
    nodes: str
    seconds: str
    names: str


class ClusterNotPublished(WarningFinding):
    sentence = "{nodes} without a NumaNode: {names}; their allocations are rebuilt from their pods"
    why = "only the node knows the allocations of deleted pods that influenced the current ones"
    fix = (
        "kubectl -n numalet get pods -l app.kubernetes.io/component=publisher -o wide "
        "--field-selector spec.nodeName={first}"
    )
    nodes: str
    names: str
    first: str


class ClusterPublishedOfNoNode(WarningFinding):
    sentence = "{objects} without a Node: {names}"
    fix = "kubectl delete numanodes.numalet.dev {all_names}"
    objects: str
    names: str
    all_names: str


class ClusterStale(WarningFinding):
    sentence = "{nodes} did not publish for {hours} h or more, although the node is ready: {names}"
    why = "an agent that works writes at least once an hour, also when nothing has changed"
    fix = (
        "kubectl -n numalet logs --tail=50 $(kubectl -n numalet get pods -o name "
        "-l app.kubernetes.io/component=publisher --field-selector spec.nodeName={first})"
    )
    nodes: str
    hours: str
    names: str
    first: str


class ClusterNoClass(Finding):
    sentence = "{nodes} of the class {class_name}, which does not exist: {names}"
    why = "the object of the class contains the machine and the configuration of its nodes"
    fix = "kubectl -n numalet rollout restart daemonset/numalet-publisher"
    nodes: str
    class_name: str
    names: str


class ClusterContradicted(WarningFinding):
    sentence = (
        "{nodes} whose NumaNode contradicts the pods of the cluster: {names}; {first} is {problem}"
    )
    why = (
        "the object is ignored, and the node is rebuilt from its pods; its publisher is broken or "
        "not trustworthy"
    )
    fix = (
        "kubectl -n numalet delete pods -l app.kubernetes.io/component=publisher "
        "--field-selector spec.nodeName={first}; if it persists, check managedFields: "
        "kubectl get numanodes.numalet.dev {first} -o yaml --show-managed-fields"
    )
    nodes: str
    names: str
    first: str
    problem: str


class ClusterTopologyOwner(WarningFinding):
    sentence = "{nodes} whose NodeResourceTopology has zones of another manager, {manager}: {names}"
    why = "two managers would overwrite each other; numalet does not take over"
    fix = (
        "kubectl get noderesourcetopologies.topology.node.k8s.io {first} -o yaml "
        "--show-managed-fields; end {manager}, or let numalet publish without this object"
    )
    nodes: str
    manager: str
    names: str
    first: str
