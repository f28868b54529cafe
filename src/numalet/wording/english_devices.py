"""Sentences about devices: refusals, hints that are not made, files and flags."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "device/changed-request": (
        "Container {container} of pod {pod_uid} holds {recorded} of {resource} and asks for"
        " {requested} now; the number of a container that has its devices may not change."
    ),
    "device/not-registered": (
        "Container {container} asks for {resource}, for which no device plugin is registered any"
        " more."
    ),
    "device/none-healthy": (
        "Container {container} asks for {resource}, which has no healthy device."
    ),
    "device/held-not-healthy": (
        "Container {container} holds the device {device} of {resource}, which is not healthy any"
        " more."
    ),
    "device/too-few-free": (
        "Container {container} needs {needed} more of {resource}; {free} are free."
    ),
    "device/preference-failed": (
        "The device plugin of {resource} could not say which devices it prefers for container"
        " {container}: {error}"
    ),
    "device/vetoed": (
        "The device plugin of {resource} did not accept the devices of container {container}:"
        " {error}"
    ),
    "device/empty-response": (
        "The device plugin of {resource} was asked for container {container} and answered for no"
        " container at all: {answer}"
    ),
    "device/other-number-held": (
        "{held} of {resource} are held already, and {requested} are asked for; only the same"
        " number can be placed again."
    ),
    "device/fewer-than-asked": (
        "{requested} of {resource} are asked for; {usable} are free on the whole machine."
    ),
    "device/no-set-of-nodes": (
        "{requested} of {resource} are asked for, and no set of NUMA nodes has as many; devices"
        " without a NUMA node do not count."
    ),
    "device/leaves-out-reused": (
        "The device {device} of {resource}, which the pod uses again, is not on NUMA nodes {mask}."
    ),
    "device/too-few-on-nodes": (
        "NUMA nodes {mask} have {usable} of {resource} to give; {requested} are asked for."
    ),
    "device-state/not-json": (
        "The device manager's checkpoint can not be decoded: {error}. The kubelet goes on without"
        " it, and knows of no device that is in use."
    ),
    "device-state/corrupted": (
        "The device manager's checkpoint says checksum {checksum}, but its content has checksum"
        " {expected}. The kubelet goes on without it, and knows of no device that is in use."
    ),
    "devices/flag": (
        "{value!r} does not say which devices there are; write a resource, '=' and device ids with"
        " their NUMA nodes, for example example.com/gpu=gpu0@0,gpu1@1"
    ),
    "devices/one-document": (
        "this file holds {count} documents; a device file holds one list of resources with their"
        " devices"
    ),
    "devices/resource-name": (
        "{value!r} is no name of an extended resource; write a domain, '/' and a name of up to 63"
        " letters, digits, '-', '_' and '.', for example example.com/gpu; kubernetes.io is not"
        " allowed"
    ),
    "devices/resource-twice": "{value!r} is listed twice; one list for each resource is allowed",
    "devices/id-missing": "a device of {resource} has an empty id; every device needs one",
    "devices/id-twice": (
        "{resource} has two devices with the id {value!r}; an id names one device only"
    ),
    "devices/numa-node": (
        "{value} is no NUMA node id of device {device!r}; whole numbers from 0 to {most} are"
        " allowed"
    ),
    "devices/numa-node-twice": ("device {device!r} names NUMA node {value} twice; once is enough"),
    "devices/absent-numa-node": (
        "device {device!r} of {resource} is listed on NUMA node {value}, which the machine"
        " does not have; it has {nodes}"
    ),
    "devices/health": "{value} is no health of device {device!r}; Healthy and Unhealthy are",
}
