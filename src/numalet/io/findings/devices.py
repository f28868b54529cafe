"""What is wrong with a file of devices."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class DevicesFlag(Finding):
    sentence = (
        "{value!r} does not say which devices there are; write a resource, '=' and device ids "
        "with their NUMA nodes, for example example.com/gpu=gpu0@0,gpu1@1"
    )
    value: str


class DevicesOneDocument(Finding):
    sentence = (
        "this file holds {count} documents; a device file holds one list of resources with their "
        "devices"
    )
    count: int


class DevicesResourceName(Finding):
    sentence = (
        "{value!r} is no name of an extended resource; write a domain, '/' and a name of up to 63 "
        "letters, digits, '-', '_' and '.', for example example.com/gpu; kubernetes.io is not "
        "allowed"
    )
    value: str


class DevicesResourceTwice(Finding):
    sentence = "{value!r} is listed twice; one list for each resource is allowed"
    value: str


class DevicesIdMissing(Finding):
    sentence = "a device of {resource} has an empty id; every device needs one"
    resource: str


class DevicesIdTwice(Finding):
    sentence = "{resource} has two devices with the id {value!r}; an id names one device only"
    resource: str
    value: str


class DevicesNumaNode(Finding):
    sentence = (
        "{value} is no NUMA node id of device {device!r}; whole numbers from 0 to {most} are "
        "allowed"
    )
    device: str
    value: str
    most: int


class DevicesNumaNodeTwice(Finding):
    sentence = "device {device!r} names NUMA node {value} twice; once is enough"
    device: str
    value: int


class DevicesAbsentNumaNode(Finding):
    sentence = (
        "device {device!r} of {resource} is listed on NUMA node {value}, which the machine does "
        "not have; it has {nodes}"
    )
    device: str
    resource: str
    value: int
    nodes: str


class DevicesHealth(Finding):
    sentence = "{value} is no health of device {device!r}; Healthy and Unhealthy are"
    device: str
    value: str
