"""Documents that ``numalet state`` prints: plain, with sentences and rules."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused, StartStage
from numalet.insight.output import json_schema, state_document
from numalet.insight.state import (
    reading,
    rebase,
    restart_check,
    state_diff,
)
from numalet.insight.state import (
    verify as state_verify,
)
from values import builders, state_builders
from values.made_up import MadeUp
from values.state_builders import CPU, MEMORY

FILES = state_builders.files()


def plain(typed: Struct, schema: str) -> Any:
    """The document, which is JSON and names its schema."""
    document = json_schema.plain(typed)
    assert document == json.loads(json.dumps(document))
    assert schema == document["schema"]
    return document


def test_a_verification_names_rules() -> None:
    reports = state_verify.verify({CPU: '{"policyName":"none","checksum":0}', MEMORY: "{"})
    files = plain(state_document.verified(reports), "numalet.state-verify/1")["files"]

    assert [each["soundness"] for each in files] == ["doubtful", "broken"]
    assert [each["seal"] for each in files] == ["unsealed", None]
    assert files[0]["findings"][0]["rule"] == "The checksum must match the content."


def test_a_comparison_has_both_values() -> None:
    before, after = reading.read(FILES), reading.read({CPU: FILES[CPU]})
    found = state_diff.differences(before, after)
    document = plain(state_document.ComparedDocument(found, ()), "numalet.state-diff/1")

    assert None is document["differences"][0]["after"]
    assert document["unreadable"] == []


def test_a_check_has_the_kubelets_error() -> None:
    config = KubeletConfig()
    refused = restart_check.check(config, builders.machine(10), FILES)
    document = plain(
        state_document.checked(refused, "/var/lib/kubelet"), "numalet.state-restore-check/1"
    )

    assert document["answer"] == "refused"
    assert document["start_error"].startswith("start cpu manager error: could not restore state")
    assert document["start_error_stage"] == "cpu-manager-start"
    lost = document["rebase"]["lost"]
    assert {"pod_uid", "container", "file", "code", "text"} <= lost[0].keys()
    assert {CPU, MEMORY} == {each["file"] for each in lost}
    bad = restart_check.check(KubeletConfig(memory_manager_policy="x"), builders.machine(10), FILES)
    assert None is state_document.checked(bad, "/x").rebase
    good = restart_check.check(config, builders.machine(10), {})
    assert None is state_document.checked(good, "/x").start_error


def test_where_the_kubelet_has_no_words_there_are_none() -> None:
    crash = StartRefused(StartStage.NUMALET, (MadeUp(),))

    assert None is state_document.start_error(crash, "/x")


def test_a_rebase_names_backups_and_unusable_files() -> None:
    result = rebase.rebase(state_builders.staff(state_builders.rules()), FILES | {MEMORY: "{"})
    document = plain(state_document.rebased(result, {"/a": "/a.bak"}), "numalet.state-rebase/1")

    assert document["written"] == {"/a": "/a.bak"}
    assert [each["file"] for each in document["unusable"]] == [MEMORY]
    assert document["changes"] == []
