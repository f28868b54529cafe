"""Writes ``cpu_manager_state`` from a ledger.

One walk over the ledger makes the file and Go's printed form of it for the checksum (``go_dump``).
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.checkpoint import both_forms, data_member, go_dump, pod_entries
from numalet.core.checkpoint.both_forms import BothForms
from numalet.core.checkpoint.checksum import fnv1a_32
from numalet.core.checkpoint.go_json import string
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet


def text(policy_name: str, ledger: CpuLedger, rules: ReleaseRules) -> str:
    """Return one line, without blanks and without a newline at the end."""
    default = cpu_set.text(ledger.default)
    entries_dump, entries = both_forms.map_of(ledger.exclusive, _containers)
    # A CPU list needs no JSON escapes. The kubelet omits an empty member.
    members = f'"policyName":{string(policy_name)},"defaultCpuSet":"{default}"'
    members += f',"entries":{entries}' if ledger.exclusive else ""
    pods_dump, further = None, ""
    if rules.state_files_have_pods:
        pods_dump, pods = both_forms.map_of(ledger.pods, both_forms.cpus_of_pod)
        further = f',"{pod_entries.MEMBER}":{pods}' if ledger.pods else ""
    if not rules.state_files_have_data:
        checksum = fnv1a_32(go_dump.cpu_of(policy_name, default, entries_dump, pods_dump))
        return f'{{{members}{further},"checksum":{checksum}}}'
    if rules.state_files_have_baselines and (all_ := ledger.baselines()):
        _, baselines = both_forms.map_of(all_, _baselines)
        further += f',"baselines":{baselines}'
    checksum = fnv1a_32(go_dump.cpu_of(policy_name, default, entries_dump))
    return data_member.text(members, checksum, further)


def _containers(containers: Mapping[str, CpuSet]) -> BothForms:
    return both_forms.map_of(containers, both_forms.cpus)


def _baselines(containers: Mapping[str, CpuSet]) -> BothForms:
    return both_forms.map_of(containers, _baseline)


def _baseline(held: CpuSet) -> BothForms:
    return "", f'{{"baseline":"{cpu_set.text(held)}"}}'
