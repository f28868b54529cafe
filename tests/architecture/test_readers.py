"""A module that reads texts is driven to each limit by ``property/test_limits_of_readers.py``.

One that is not listed here fails: give it an entry in ``READERS`` there, or find the entry whose
reader calls it, and then list it.
"""

from __future__ import annotations

import re

from architecture import tree

_READS = re.compile(
    r"yaml_source\.(?:load_documents|read_text|read_bytes)|json\.(?:loads|decode|Decoder)\(|"
    r"decode_json\(|tomllib\.loads|csv\.reader|tarfile\.open|GzipFile"
)
_ROOMS = ("io/documents", "core/checkpoint", "insight/usecases")
_DRIVEN_TEXT = """
    core/checkpoint/cpu_file core/checkpoint/data_member core/checkpoint/device_file
    core/checkpoint/go_json core/checkpoint/memory_file insight/usecases/checking
    insight/usecases/fleets
    insight/usecases/reserving insight/usecases/scenario_file insight/usecases/simulating
    insight/usecases/state_doctor io/documents/claims/device_claims
    io/documents/cluster/cluster_decoder io/documents/cluster/cluster_dump
    io/documents/cluster/cluster_objects io/documents/cluster/cluster_pods
    io/documents/cluster/cluster_values io/documents/cluster/custom_resources
    io/documents/cluster/fleet_file io/documents/cluster/numa_node_class
    io/documents/kubelet/bottlerocket io/documents/kubelet/command_text
    io/documents/kubelet/enclosed_config io/documents/kubelet/kubelet_config_edit
    io/documents/kubelet/kubelet_config_file io/documents/machine/profile_library
    io/documents/pods/listed_pods io/documents/pods/pod_manifest io/documents/pods/pod_record
    io/documents/pods/pod_shapes io/documents/pods/pod_trace io/documents/text/object_stream
    io/documents/text/typed
"""

_OWN_FILES = {"io/documents/pods/pod_table/table"}
"""Modules that read files of this package alone."""


def test_every_module_that_reads_texts_is_driven_to_the_limits() -> None:
    reading = {
        tree.relative(path).removeprefix("src/numalet/").removesuffix(".py")
        for path in tree.modules()
        if _READS.search(path.read_text())
    }
    assert {each for each in reading if each.startswith(_ROOMS)} == {
        *_DRIVEN_TEXT.split(),
        *_OWN_FILES,
    }
