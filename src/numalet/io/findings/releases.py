"""What is wrong, or worth knowing, about the release that is to be followed."""

from __future__ import annotations

from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class ReleaseUnreadable(Finding):
    sentence = (
        "{value} is no release of Kubernetes; write 1.34, v1.34, or a version such as v1.34.9; "
        "known are {known}"
    )
    value: str
    known: str


class ReleaseUnknown(Finding):
    sentence = (
        "release {release}{source} can not be followed: {problem}; known are {known}, the nearest "
        "is {nearest}: --release {nearest}"
    )
    release: str
    source: str
    problem: str
    known: str
    nearest: str


class ReleaseOfKubelet(NoteFinding):
    sentence = "release {release} is followed: the kubelet is {version}, as {source} says"
    release: str
    source: str
    version: str


class ReleaseOtherKubelet(WarningFinding):
    sentence = (
        "release {release} is followed, as {chosen_by} says, but the kubelet is {version}, as "
        "{source} says"
    )
    release: str
    chosen_by: str
    source: str
    version: str


class ReleaseOfNothing(WarningFinding):
    sentence = "{source} says {version!r}, which is no version of a kubelet, so it does not count"
    source: str
    version: str


class ReleaseSeveralKubelets(Finding):
    sentence = (
        "kubelets of several releases were given: {versions}; name the node (--node-name NAME) or "
        "the release (--release {newest})"
    )
    versions: str
    newest: str
