"""What ``numalet state`` finds, as plain documents: what its commands print with ``-o json``.

Every document names its schema; a change that breaks a reader gives it the next number. Sizes are
bytes. A finding has its code, its severity, its place, its values and its sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.insight.state.holder_map import GroupRow, HolderRow, StateMap
from numalet.insight.state.rebase import Rebased
from numalet.insight.state.restart_check import RestoreCheck
from numalet.insight.state.state_diff import StateDifference
from numalet.insight.state.verify import FileReport
from numalet.wording import english, english_state_rules, kubelet_start

SHOWN: Final = "numalet.state-show/1"
VERIFIED: Final = "numalet.state-verify/1"
COMPARED: Final = "numalet.state-diff/1"
CHECKED: Final = "numalet.state-restore-check/1"
REBASED: Final = "numalet.state-rebase/1"

Document = dict[str, Any]


def shown(chart: StateMap, unreadable: Iterable[Finding]) -> Document:
    """What the files say."""
    return {
        "schema": SHOWN,
        "policies": dict(chart.policies),
        "groups": [_group(row) for row in chart.groups],
        "default_cpu_set": chart.pool,
        "registered_devices": {name: list(ids) for name, ids in chart.registered.items()},
        "holders": [_holder(row) for row in chart.holders],
        "unreadable": [finding(each) for each in unreadable],
    }


def _group(row: GroupRow) -> Document:
    return {
        "numa_nodes": list(row.node_ids),
        "types": [asdict(each) for each in row.sums],
        "nodes": [asdict(node) | {"types": [asdict(t) for t in node.types]} for node in row.nodes],
        "containers": [_key(key) for key in row.holders],
    }


def _holder(row: HolderRow) -> Document:
    return _key(row.key) | {
        "name": row.name,
        "memory": [
            {"numa_nodes": list(part.node_ids), "type": part.resource, "size": part.size_bytes}
            for part in row.memory
        ],
        "cpus": row.cpus,
        "devices": dict(row.devices),
        "stale": row.is_stale,
    }


def _key(key: ContainerKey) -> Document:
    return {"pod_uid": key.pod_uid, "container": key.container}


def verified(reports: Iterable[FileReport]) -> Document:
    """Whether the files are sound."""
    return {
        "schema": VERIFIED,
        "files": [
            {
                "file": report.name,
                "soundness": report.soundness.value,
                "policy": report.policy_name,
                "seal": None if report.seal is None else report.seal.value,
                "checksum": report.checksum,
                "expected_checksum": report.expected,
                "findings": [
                    finding(each) | {"rule": english_state_rules.RULES[each.code]}
                    for each in report.findings
                ],
            }
            for report in reports
        ],
    }


def compared(differences: Iterable[StateDifference], unreadable: Iterable[Finding]) -> Document:
    """What differs between two sets of files."""
    return {
        "schema": COMPARED,
        "differences": [asdict(each) | {"change_bytes": each.change_bytes} for each in differences],
        "unreadable": [finding(each) for each in unreadable],
    }


def checked(check: RestoreCheck, root_dir: str) -> Document:
    """Whether a kubelet accepts the files, and what became different."""
    return {
        "schema": CHECKED,
        "mode": check.mode.value,
        "answer": check.answer.value,
        "start_error": None if check.refused is None else start_error(check.refused, root_dir),
        "start_error_stage": None if check.refused is None else check.refused.stage.value,
        "drift": [finding(each) for each in check.drift],
        "rebase": None if check.rebased is None else _rebased(check.rebased),
    }


def start_error(refused: StartRefused, root_dir: str) -> str | None:
    """The kubelet's own text; None where it would crash or hang."""
    if refused.stage is StartStage.NUMALET:
        return None
    return kubelet_start.text(refused, root_dir)


def rebased(result: Rebased, backups: Mapping[str, str]) -> Document:
    """What a rebase keeps and loses; ``backups`` are paths by the path that was replaced."""
    return {"schema": REBASED, **_rebased(result), "written": dict(backups)}


def _rebased(result: Rebased) -> Document:
    return {
        "changes": sorted(result.files),
        "kept": {name: [_key(key) for key in keys] for name, keys in result.kept.items()},
        "lost": [_key(each.key) | finding(each.why) | {"file": each.file} for each in result.lost],
        "unusable": [finding(each) | {"file": name} for name, each in result.unusable.items()],
    }


def finding(of: Finding) -> Document:
    """One finding, with its sentence."""
    return {
        "code": of.code,
        "severity": of.severity.value,
        "file": of.where.document,
        "path": of.where.path,
        "fields": {name: of.fields[name] for name in sorted(of.fields)},
        "text": english.of_finding(of),
    }
