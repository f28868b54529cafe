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
    core/checkpoint/cpu_file core/checkpoint/device_file core/checkpoint/go_json
    core/checkpoint/memory_file insight/usecases/checking insight/usecases/fleets
    insight/usecases/reserving insight/usecases/scenario_file insight/usecases/simulating
    insight/usecases/state_doctor io/documents/bottlerocket io/documents/cluster_decoder
    io/documents/cluster_dump io/documents/cluster_objects io/documents/cluster_pods
    io/documents/cluster_values io/documents/command_text io/documents/custom_resources
    io/documents/device_claims io/documents/enclosed_config io/documents/fleet_file
    io/documents/kubelet_config_edit io/documents/kubelet_config_file io/documents/listed_pods
    io/documents/numa_node_class io/documents/object_stream
    io/documents/pod_manifest io/documents/pod_record io/documents/pod_shapes
    io/documents/pod_trace io/documents/profile_library io/documents/typed
"""

_OWN_FILES = {"io/documents/pod_table/table"}
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
