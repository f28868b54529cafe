"""Writes ``cpu_manager_state`` from a ledger.

One walk over the ledger makes the file and Go's printed form of it for the checksum (``go_dump``).
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.checkpoint import both_forms, go_dump, pod_entries
from numalet.core.checkpoint.both_forms import BothForms
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.go_json import string
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet


def text(policy_name: str, ledger: CpuLedger, has_pods: bool) -> str:
    """Return one line, without blanks and without a newline at the end.

    ``has_pods``: in the format that includes the CPUs of whole pods.
    """
    default = cpu_set.text(ledger.default)
    entries_dump, entries = both_forms.map_of(ledger.exclusive, _containers)
    # The kubelet omits an empty member.
    members = f'"entries":{entries},' if ledger.exclusive else ""
    pods_dump = None
    if has_pods:
        pods_dump, pods = both_forms.map_of(ledger.pods, both_forms.cpus_of_pod)
        members += f'"{pod_entries.MEMBER}":{pods},' if ledger.pods else ""
    checksum = fnv1a_32(go_dump.cpu_of(policy_name, default, entries_dump, pods_dump))
    # A CPU list needs no JSON escapes.
    return (
        f'{{"policyName":{string(policy_name)},"defaultCpuSet":"{default}",'
        f'{members}"checksum":{checksum}}}'
    )


def _containers(containers: Mapping[str, CpuSet]) -> BothForms:
    return both_forms.map_of(containers, both_forms.cpus)
