"""Findings about a kubelet on this machine."""

from __future__ import annotations

from numalet.core.config.releases import versions
from numalet.core.config.releases.versions import FollowedRelease
from numalet.core.model.findings import Finding, NoteFinding, WarningFinding


class KubeletWouldNotStart(WarningFinding):
    sentence = (
        "a kubelet v{release} with the configuration {config} would not start with these state "
        "files: {text}"
    )
    text: str
    config: str
    release: str


class KubeletReleaseFollowed(NoteFinding):
    sentence = "the kubelet is {version}; the rules of release {release} apply"
    version: str
    release: str


class KubeletReleaseOther(WarningFinding):
    sentence = "the kubelet is {version}, but the rules of the chosen release {release} apply"
    version: str
    release: str


class KubeletReleaseUnknown(WarningFinding):
    sentence = (
        "the kubelet is {version}, and numalet knows only {known}: the rules of release {release} "
        "apply, and whether the kubelet would start is not checked"
    )
    version: str
    release: str
    known: str


class KubeletVersionUnknown(NoteFinding):
    sentence = (
        "cannot detect the version of the kubelet: the rules of release {release} apply; set "
        "--kubelet-version"
    )
    release: str


def of_release(followed: FollowedRelease) -> Finding:
    """The finding about the release whose rules apply to the kubelet."""
    version, release = followed.kubelet_version, followed.release.name
    if followed.may_have_unknown_rules:
        known = versions.known_names()
        return KubeletReleaseUnknown(version=version, release=release, known=known)
    if followed.is_of_kubelet is None:
        return KubeletVersionUnknown(release=release)
    if followed.is_of_kubelet:
        return KubeletReleaseFollowed(version=version, release=release)
    return KubeletReleaseOther(version=version, release=release)


class KubeletCpusDiffer(WarningFinding):
    sentence = "the kubelet assigned CPUs {promised}, but CPUs {found} are in force"
    promised: str
    found: str


class KubeletMemoryNodesDiffer(WarningFinding):
    sentence = (
        "the kubelet assigned memory of NUMA nodes {promised}, but NUMA nodes {found} are in force"
    )
    promised: str
    found: str


class KubeletMemoryMisplaced(WarningFinding):
    sentence = (
        "{bytes} bytes of its memory are on other NUMA nodes than {promised}, which the kubelet "
        "assigned"
    )
    bytes: int
    promised: str


class KubeletStateChanged(NoteFinding):
    sentence = "the kubelet wrote {files}"
    files: str


class KubeletStateRemoved(NoteFinding):
    sentence = "state files of the kubelet were removed: {files}"
    files: str


class KubeletStarted(NoteFinding):
    sentence = "a kubelet started in {root}: {kubelet}"
    kubelet: str
    root: str


class KubeletNotRunning(WarningFinding):
    sentence = "no kubelet runs in {root}, though its state files are there"
    root: str


class KubeletKeepsRestarting(WarningFinding):
    sentence = "the kubelet in {root} has restarted repeatedly in the last {minutes} minutes"
    root: str
    minutes: int
