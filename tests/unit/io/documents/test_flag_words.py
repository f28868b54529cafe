"""Words as flags: as pflag reads them, with everything that stops a kubelet."""

from __future__ import annotations

import shlex

import pytest

from numalet.core.config import command_flags
from numalet.core.config.releases import flag_table, table
from numalet.core.model.findings import NOWHERE
from numalet.io.documents.kubelet import flag_words, kubelet_config, kubelet_flags
from numalet.io.documents.kubelet.flag_words import GivenFlag
from numalet.io.documents.kubelet.kubelet_config import ConfigSources

PARSE = "failed to parse kubelet flag: "


def pairs(words: str, program: str = "kubelet") -> list[tuple[str, str]]:
    given = [*flag_words.of_program(shlex.split(words), program)]
    assert [each for each in given if each.problem is not None] == []
    return [(each.name, each.value) for each in given]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--max-pods=9 --v 2", [("max-pods", "9"), ("v", "2")]),
        ("--max_pods 9", [("max-pods", "9")]),
        ("--fail-swap-on --v=2", [("fail-swap-on", "true"), ("v", "2")]),
        ("--fail-swap-on=false", [("fail-swap-on", "false")]),
        ("--kube-reserved= --node-ip ''", [("kube-reserved", ""), ("node-ip", "")]),
        ("--node-labels --v=2", [("node-labels", "--v=2")]),
        ("-v 2 -v3 -v=4 -hv5", [("v", "2"), ("v", "3"), ("v", "4"), ("help", "true"), ("v", "5")]),
        (
            "--network-plugin cni --gone --v=2",
            [("network-plugin", "cni"), ("gone", ""), ("v", "2")],
        ),
        ("--gone", [("gone", "")]),
    ],
)
def test_a_flag_takes_its_value_as_pflag_does(words: str, expected: list[tuple[str, str]]) -> None:
    assert expected == pairs(words)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--max-pods", f"{PARSE}flag needs an argument: --max-pods"),
        ("-v", f"{PARSE}flag needs an argument: 'v' in -v"),
        ("-hv", f"{PARSE}flag needs an argument: 'v' in -v"),
        ("---v=2", f"{PARSE}bad flag syntax: ---v=2"),
        ("--=2", f"{PARSE}bad flag syntax: --=2"),
        ("-max-pods=9", f"{PARSE}unknown shorthand flag: 'm' in -max-pods=9"),
        ("--fail-swap-on false --v=2", "unknown command false"),
        ("run -- --v=2", "unknown command run"),
        ("-- --v=2", "unknown command --v=2"),
        ("-", "unknown command -"),
    ],
)
def test_what_stops_a_kubelet_is_said_in_its_words(words: str, problem: str) -> None:
    found = [each.problem for each in flag_words.parsed(words.split()) if each.problem is not None]

    assert [each.in_kubelet_words for each in found] == [problem]


@pytest.mark.parametrize(
    ("words", "program"),
    [
        ("server --disable traefik --kubelet-arg=max-pods=9 --kubelet-arg fail-swap-on", "k3s"),
        ("agent --kubelet-arg=--max-pods=9 --kubelet-arg=fail-swap-on --kubelet-arg", "rke2"),
        ("worker --kubelet-extra-args='--max-pods=9 --fail-swap-on' kubelet-extra-args=x", "k0s"),
        (
            "start --extra-config=kubelet.max-pods=9 --extra-config=kubelet.fail-swap-on"
            " --extra-config=apiserver.v=2",
            "minikube",
        ),
    ],
)
def test_other_programs_pass_flags_on(words: str, program: str) -> None:
    given = [each for each in pairs(words, program) if each[0]]

    assert given == [("max-pods", "9"), ("fail-swap-on", "true")]


@pytest.mark.parametrize(
    ("flag", "value", "problem"),
    [
        (
            "v",
            "much",
            f'{PARSE}invalid argument "much" for "-v, --v" flag: '
            'strconv.ParseInt: parsing "much": invalid syntax',
        ),
        (
            "rotate-certificates",
            "maybe",
            f'{PARSE}invalid argument "maybe" for "--rotate-certificates" flag: '
            'strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            "sync-frequency",
            "5",
            f'{PARSE}invalid argument "5" for "--sync-frequency" flag: '
            'time: missing unit in duration "5"',
        ),
        ("help", "true", "with --help the kubelet prints its help and does not start"),
        ("version", "raw", "with --version the kubelet prints its version and does not start"),
        ("version", "false", None),
        ("eviction-soft", "memory.available<1Gi", None),
        ("node-labels", "a,b=c", None),
    ],
)
def test_flags_that_decide_nothing_else_may_stop_the_start(
    flag: str, value: str, problem: str | None
) -> None:
    (given,) = kubelet_flags.parse_placed([(flag, value, NOWHERE)]).all

    assert problem == (given.problem and str(given.problem))


def test_a_flag_of_no_release_is_unknown_with_the_nearest_one() -> None:
    flags = [("cpu-manager-polcy", "static"), ("network-plugin", "cni"), ("cloud-config", "x")]
    config = kubelet_config.load(ConfigSources(flags=flags)).config

    hints = {
        release.name: [
            each.fields["hint"] for each in command_flags.problems(config.flags, release)
        ]
        for release in (table.BASE, table.NEWEST)
    }
    assert hints == {
        "1.32": ["; did you mean --cpu-manager-policy?", ""],
        "1.37": [
            "; did you mean --cpu-manager-policy?",
            "",
            " (v1.33 is the last release that has it)",
        ],
    }
    kept = command_flags.accepted(config.flags, table.BASE)
    assert [flag.name for flag in kept] == ["cloud-config"]


def test_every_release_has_its_flags() -> None:
    assert flag_table.by_shorthand().keys() == {"v", "h"}
    for release in table.RELEASES:
        assert {"config", "v", "help", "reserved-memory"} <= release.flags
        assert all(flag_table.flags()[name].name == name for name in release.flags)
    assert GivenFlag().name == ""
