"""Flags that a release does not have, or whose values it does not take, stop its start."""

from __future__ import annotations

from numalet.core.config import start
from numalet.core.config.kubelet_config import CommandFlag, KubeletConfig
from numalet.core.config.rules import NodeRules, StartRefused, StartStage
from numalet.core.findings.config import FlagSyntax
from numalet.core.model.findings import Location
from numalet.wording import kubelet_start
from values import builders

GONE = CommandFlag("network-plugin", Location("args", "--network-plugin", 1))
NEWER = CommandFlag("max-pod", Location("args", "--max-pod", 2))
SYNTAX = CommandFlag("", Location("args"), FlagSyntax(problem="bad flag syntax: --="))
KNOWN = CommandFlag("max-pods", Location("args", "--max-pods", 3))
MACHINE = builders.machine(2)


def refused(config: KubeletConfig) -> StartRefused:
    resolved = start.resolve(config, MACHINE)
    assert isinstance(resolved, StartRefused)
    return resolved


def test_the_first_flag_stops_the_start_and_the_rest_is_examined() -> None:
    found = refused(KubeletConfig(flags=(KNOWN, GONE, NEWER, SYNTAX), max_pods=-1))

    assert found.stage is StartStage.FLAGS
    assert kubelet_start.text(found) == (
        "failed to parse kubelet flag: unknown flag: --network-plugin"
    )
    assert [str(each.where.line) + each.code for each in found.findings] == ["1flag/unknown"]
    assert [each.code for each in found.further] == [
        "flag/unknown",
        "flag/syntax",
        "config/field-value",
    ]


def test_flags_stop_the_start_before_a_type_does() -> None:
    wrong = FlagSyntax(problem="stands in for a type")
    config = KubeletConfig(undecoded=(wrong,))

    assert refused(config).findings == (wrong,)
    assert refused(KubeletConfig(flags=(GONE,), undecoded=(wrong,))).stage is StartStage.FLAGS


def test_flags_of_the_release_do_not_matter() -> None:
    config = KubeletConfig(flags=(KNOWN,))

    assert isinstance(start.resolve(config, MACHINE), NodeRules)
    assert "flags" not in repr(config)


def test_a_gate_on_a_command_line_in_a_file_is_one_of_the_flag() -> None:
    where = Location("kubelet.service", "--feature-gates", 7)
    config = KubeletConfig(feature_gates={"Nope": True}, origins={"featureGates.Nope": where})

    assert [each.code for each in refused(config).findings] == ["config/gate-unknown-in-flag"]
