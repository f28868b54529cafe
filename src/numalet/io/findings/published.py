"""What is wrong with the objects that nodes publish."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class NumaNodeText(Finding):
    code = "numa-node/text"
    sentence = "this part of a published state can not be read: {problem}"
    problem: str
    why = "the state was written by another program, or by a later version of this one"
    fix = "publish the node anew with this version: numalet publish"


class NumaNodeClassRelease(Finding):
    code = "numa-node/class-release"
    sentence = "this class follows {what} {value}, which this version does not know"
    what: str
    value: str
    why = "a node of it can not be decided on: its kubelet may follow other rules"
    fix = "use a version of numalet that knows it"


class NumaNodeClassName(Finding):
    code = "numa-node/class-name"
    sentence = "this class is called {name}, and its content has the name {expected}"
    name: str
    expected: str
    why = (
        "a class is named by its content, so one of the two was changed, or a later version made it"
    )
    fix = "delete the object; the nodes of the class create it anew"
