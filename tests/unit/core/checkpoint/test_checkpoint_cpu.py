"""The CPU state file: bytes, checksums, both formats, and what is wrong with bad ones."""

from __future__ import annotations

import pytest

from numalet.core.checkpoint import cpu_file
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding
from numalet.wording import kubelet_start
from values import builders
from values.builders import node, rules

WRITTEN = [
    ("none", "", {}, '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'),
    ("static", "0-3", {}, '{"policyName":"static","defaultCpuSet":"0-3","checksum":611748604}'),
    (
        "static",
        "0,4",
        {"u1": {"c1": "1,5"}},
        '{"policyName":"static","defaultCpuSet":"0,4","entries":{"u1":{"c1":"1,5"}},'
        '"checksum":1870581776}',
    ),
    (
        "static",
        "0-9",
        {"b": {"y": "10", "x": "11"}, "a": {"z": "12-13"}},
        '{"policyName":"static","defaultCpuSet":"0-9","entries":{"a":{"z":"12-13"},'
        '"b":{"x":"11","y":"10"}},"checksum":3980427531}',
    ),
]


@pytest.mark.parametrize(("policy", "default", "entries", "text"), WRITTEN)
def test_files_are_written_to_the_byte_and_read_again(
    policy: str, default: str, entries: dict[str, dict[str, str]], text: str
) -> None:
    exclusive = {
        uid: {name: cpu_set.parse(cpus) for name, cpus in containers.items()}
        for uid, containers in entries.items()
    }
    ledger = CpuLedger(cpu_set.parse(default), exclusive)

    assert cpu_file.write(policy, ledger) == text
    assert cpu_file.load(text, policy) == ledger


def test_a_checksum_of_zero_or_none_is_accepted() -> None:
    for text in ('{"policyName":"none","checksum":0}', '{"policyName":"none"}'):
        assert cpu_file.load(text, "none") == CpuLedger()


def test_the_first_format_is_read_if_it_names_no_containers() -> None:
    empty = '{"policyName":"none","defaultCpuSet":"1-3","checksum":1694838852}'
    assert cpu_file.load(empty, "none") == CpuLedger(frozenset({1, 2, 3}))
    named = (
        '{"policyName":"none","defaultCpuSet":"1-3","entries":{"containerID1":"4-6",'
        '"containerID2":"1-3"},"checksum":3680390589}'
    )
    finding = cpu_file.load(named, "none")
    assert isinstance(finding, Finding)
    assert (finding.code, finding.fields["container_id"]) == (
        "cpu-state/unknown-container-id",
        "containerID1",
    )


def test_the_newest_format_is_tried_first_by_some_releases() -> None:
    newest_first = ReleaseRules(oldest_cpu_format_is_tried_last=True)

    def complaint(text: str, rules: ReleaseRules) -> str:
        finding = cpu_file.load(text, "static", rules)
        assert isinstance(finding, Finding)
        return finding.in_kubelet_words

    entries = '"entries":{"u":{"c":"1"}}'
    bad = f'{{"policyName":"static","defaultCpuSet":"0,4",{entries},"checksum":5}}'
    assert complaint(bad, ReleaseRules()) == "checkpoint is corrupted"
    assert complaint(bad, newest_first) == (
        "json: cannot unmarshal object into Go struct field CPUManagerCheckpointV1.entries of type "
        "string"
    )
    first = '{"policyName":"static","defaultCpuSet":"0-7","entries":{"id1":"2-3"}}'
    missing = "containerID 'id1' not found in initial containers list"
    assert complaint(first, ReleaseRules()) == (
        f"error migrating v1 checkpoint state to v2 checkpoint state: {missing}"
    )
    assert complaint(first, newest_first) == (
        f"failed to migrate checkpoint from v1 to v2: {missing}"
    )
    for _, _, _, text in WRITTEN:
        assert cpu_file.load(text, "static", newest_first) == cpu_file.load(text, "static")


def test_a_pod_without_containers_stays_in_the_file() -> None:
    text = (
        '{"policyName":"static","defaultCpuSet":"0-3","entries":{"u":{}},'
        f'"checksum":{_checksum("u:map[]")}}}'
    )

    ledger = cpu_file.load(text, "static")

    assert ledger == CpuLedger(frozenset({0, 1, 2, 3}), {"u": {}})
    assert isinstance(ledger, CpuLedger)
    assert cpu_file.write("static", ledger) == text


@pytest.mark.parametrize(
    ("entries", "dumped"),
    [
        ("null", "(map[string]map[string]string)<nil>"),
        ("{}", "(map[string]map[string]string)map[]"),
        ("null", "(map[string]string)<nil>"),
        ('{"u":null}', "(map[string]map[string]string)map[u:<nil>]"),
        ('{"u":{}}', "(map[string]map[string]string)map[u:map[]]"),
    ],
)
def test_the_checksum_tells_null_from_empty(entries: str, dumped: str) -> None:
    def sound(checksum: int) -> bool:
        text = (
            f'{{"policyName":"static","defaultCpuSet":"0-3","entries":{entries},'
            f'"checksum":{checksum}}}'
        )
        return isinstance(cpu_file.load(text, "static"), CpuLedger)

    other = dumped.replace("<nil>", "map[]") if "<nil>" in dumped else dumped[:-5] + "<nil>"
    assert sound(_checksum_of(dumped))
    assert not sound(_checksum_of(other))


def _checksum(entries: str) -> int:
    return _checksum_of(f"(map[string]map[string]string)map[{entries}]")


def _checksum_of(entries: str) -> int:
    """By the rule in words: FNV-1a over the dump of the struct."""
    dump = (
        "(*state.CPUManagerCheckpoint){PolicyName:(string)static DefaultCPUSet:(string)0-3"
        f" Entries:{entries} Checksum:(checksum.Checksum)0}}"
    )
    value = 2166136261
    for byte in dump.encode():
        value = (value ^ byte) * 16777619 % 2**32
    return value


START = "start cpu manager error: could not restore state from checkpoint: "
DRAIN = (
    ", please drain this node and delete the CPU manager checkpoint file"
    ' "/var/lib/kubelet/cpu_manager_state" before restarting Kubelet'
)
BAD = [
    ("", "unexpected end of JSON input"),
    ('{"policyName":"none","checksum":1}', "checkpoint is corrupted"),
    (
        '{"policyName":"static"}',
        'configured policy "none" differs from state checkpoint policy "static"',
    ),
    (
        '{"policyName":"none","defaultCpuSet":"x"}',
        'could not parse default cpu set "x": strconv.Atoi: parsing "x": invalid syntax',
    ),
    (
        '{"policyName":"none","entries":{"u":{"c":"3-1"}}}',
        'could not parse cpuset "3-1" for container "c" in pod "u": invalid range "3-1" (3 > 1)',
    ),
    (
        '{"policyName":"none","entries":{"u":{"c":1}}}',
        "json: cannot unmarshal number into Go struct field CPUManagerCheckpoint.entries of type"
        " string",
    ),
    (
        '{"policyName":"none","entries":[]}',
        "json: cannot unmarshal array into Go struct field CPUManagerCheckpoint.entries of type"
        " map[string]map[string]string",
    ),
    (
        '{"policyName":"none","defaultCpuSet":"0-3\\n"}',
        r'could not parse default cpu set "0-3\n": strconv.Atoi: parsing "3\n": invalid syntax',
    ),
    (
        '{"policyName":"a\\"b"}',
        r'configured policy "none" differs from state checkpoint policy "a\"b"',
    ),
    ('"none"', "json: cannot unmarshal string into Go value of type state.CPUManagerCheckpoint"),
    ("null", 'configured policy "none" differs from state checkpoint policy ""'),
    (
        '{"policyName":"none","entries":{"id":"1"}}',
        "error migrating v1 checkpoint state to v2 checkpoint state: containerID 'id' not found"
        " in initial containers list",
    ),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad_files_are_refused_with_the_kubelets_words(text: str, words: str) -> None:
    refused = builders.restored(rules(builders.machine(10)), {"cpu_manager_state": text})

    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.CPU_MANAGER_START
    assert kubelet_start.text(refused) == f"{START}{words}{DRAIN}"


def test_the_cpu_file_is_complained_about_first_and_the_memory_file_too() -> None:
    files = {"cpu_manager_state": "", "memory_manager_state": ""}
    refused = builders.restored(rules(builders.machine(10)), files)

    assert isinstance(refused, StartRefused)
    assert [f.code for f in refused.findings + refused.further] == [
        "cpu-state/not-json",
        "memory-state/not-json",
    ]
    alone = builders.restored(rules(builders.machine(10)), {"cpu_manager_state": ""})
    assert isinstance(alone, StartRefused)
    assert alone.further == ()


def test_policy_none_writes_its_file_too() -> None:
    assert node(rules(builders.machine(10))).state_files()["cpu_manager_state"] == WRITTEN[0][3]
