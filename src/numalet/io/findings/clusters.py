"""What is wrong with the objects of a cluster, as a dump or an API server has them."""

from __future__ import annotations

from numalet.core.model.findings import Finding, WarningFinding


class ClusterDumpEndsEarly(Finding):
    sentence = "this dump ends in the midst of a list, after {count} objects"
    why = "What is missing could not be told from what does not exist, and answers would be wrong."
    fix = "write the dump again, and see that kubectl ends without an error"
    count: int


class ClusterObjectLeftOut(WarningFinding):
    sentence = "{kind} {name} is left out, because it can not be read: {problem}"
    why = "One bad object is no reason to say nothing about all others."
    kind: str
    name: str
    problem: str


class ClusterMoreLeftOut(WarningFinding):
    sentence = "{count} more objects are left out, because they can not be read"
    count: int


class ClusterMoment(Finding):
    sentence = "{value} is no time such as 2026-01-31T12:00:00Z"
    value: str


class ClusterTaint(Finding):
    sentence = "{value} is no effect of a taint; these are: NoSchedule, PreferNoSchedule, NoExecute"
    value: str


class FleetFileDocuments(Finding):
    code = "fleet-file/documents"
    sentence = "a description of a fleet is one document, and here are {count}"
    count: int


class FleetFileNoPools(Finding):
    code = "fleet-file/no-pools"
    sentence = "there are no pools; give at least one with a name and a machine"


class FleetFilePoolTwice(Finding):
    code = "fleet-file/pool-twice"
    sentence = "there are two pools {name!r}"
    name: str


class FleetFileTaint(Finding):
    code = "fleet-file/taint"
    sentence = (
        "{value} is no taint; write key=value:NoSchedule, or an object with key, value and effect"
    )
    value: str


class ClusterDumpDamaged(Finding):
    sentence = "this compressed file or tarball is damaged or cut off: {problem}"
    fix = "copy it again, or write the dump again"
    problem: str


class ClusterDumpUnpacksTooLarge(Finding):
    sentence = "it unpacks to too much: more than {limit} {what}"
    fix = "unpack it yourself, and give the file or folder"
    what: str
    limit: int
