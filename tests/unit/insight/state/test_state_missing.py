"""A state file that is missing beside another one that has pods."""

from __future__ import annotations

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model.findings import Severity
from numalet.insight.state import verify
from numalet.insight.state import verify as state_missing
from numalet.insight.state.verify import Soundness
from values import state_builders

CPU = cpu_file.write("static", CpuLedger(frozenset({0}), {"u": {"c": frozenset({1})}}))
NO_PODS = cpu_file.write("static", CpuLedger(frozenset({0, 1})))


def test_a_missing_memory_file_is_reported_where_pods_hold_cpus() -> None:
    (finding,) = state_missing.missing_files({cpu_file.FILE_NAME: CPU})

    assert (finding.code, finding.severity) == ("state/file-missing", Severity.WARNING)
    assert finding.where.document == memory_file.FILE_NAME
    assert finding.fields["pods"] == 1
    (_, missing) = verify.verify_directory({cpu_file.FILE_NAME: CPU})
    assert (missing.name, missing.soundness) == (memory_file.FILE_NAME, Soundness.DOUBTFUL)


def test_a_missing_cpu_file_is_reported_where_pods_hold_memory() -> None:
    files = dict(state_builders.files())
    del files[cpu_file.FILE_NAME]

    (finding,) = state_missing.missing_files(files)

    assert finding.where.document == cpu_file.FILE_NAME


def test_nothing_is_missing_where_no_pod_holds_anything() -> None:
    for files in ({}, {cpu_file.FILE_NAME: NO_PODS}, {cpu_file.FILE_NAME: "{"}):
        assert list(state_missing.missing_files(files)) == []
