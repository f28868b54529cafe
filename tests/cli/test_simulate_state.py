"""``numalet simulate``: state directories, recordings, scenarios; what is written, and when."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from cli.commands import CONFIGURED, DOCUMENTED, GUARANTEED, SECOND, UID, Runner, pod

NAMES = ["cpu_manager_state", "memory_manager_state"]
OTHER_UID = "6f2ad7f2-5c0e-4a44-9f0b-5c7c8f6c7d11"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """An empty state directory."""
    directory = tmp_path / "state"
    directory.mkdir()
    return directory


def contents(directory: Path) -> dict[str, bytes]:
    """What is in a directory, hidden files included."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def uids(directory: Path) -> list[str]:
    """The pods in the memory manager's state file."""
    document = json.loads((directory / NAMES[1]).read_text(encoding="utf-8"))
    return list(document.get("entries", {}))


def test_state_files_are_written_and_found_again(numalet: Runner, state: Path) -> None:
    first = numalet.simulate("--release", "1.36", "--state-dir", str(state), GUARANTEED)
    written = contents(state)
    second = numalet.simulate("--release", "1.36", "--state-dir", str(state), SECOND)

    assert (first.status, first.err) == (0, f"written: {', '.join(NAMES)}\n")
    assert list(written) == NAMES
    assert written[NAMES[1]].endswith(b'"checksum":17296941}')
    assert (second.status, second.err) == (1, "")
    assert second.out.startswith("release: 1.36\nassumed running: 1 (pods of the state files)\n")
    assert contents(state) == written


def test_state_files_are_for_their_owner_only(numalet: Runner, state: Path) -> None:
    numalet.simulate("--state-dir", str(state), GUARANTEED)

    assert [oct((state / name).stat().st_mode & 0o777) for name in NAMES] == ["0o600", "0o600"]


def test_a_pod_with_a_manifest_is_not_assumed(numalet: Runner, state: Path) -> None:
    numalet.simulate("--state-dir", str(state), GUARANTEED)

    again = numalet.simulate("--state-dir", str(state), GUARANTEED)

    assert (again.status, again.err) == (0, "")
    assert again.out.splitlines()[2].split()[:2] == ["default/guaranteed", "Admitted"]


def test_pods_keep_their_memory_until_it_is_their_turn(
    numalet: Runner, state: Path, tmp_path: Path
) -> None:
    both = tmp_path / "both.yaml"
    both.write_text(pod("a", "100Gi") + "---" + pod("b", "100Gi"), encoding="utf-8")
    numalet.simulate("--state-dir", str(state), str(both))
    before = contents(state)
    both.write_text(pod("b", "100Gi") + "---" + pod("a", "100Gi"), encoding="utf-8")

    ended = numalet.simulate("--state-dir", str(state), str(both))

    assert (ended.status, contents(state)) == (0, before)


def test_a_forgotten_pod_gives_its_memory_back(numalet: Runner, state: Path) -> None:
    numalet.simulate("--state-dir", str(state), GUARANTEED)

    ended = numalet.simulate("--state-dir", str(state), "--forget", UID, SECOND)

    assert (ended.status, uids(state)) == (0, [OTHER_UID])
    assert ended.out.startswith("release: 1.37\nforgotten: 1 (pods of the state files)\n")


def test_all_pods_can_be_forgotten_without_new_ones(numalet: Runner, state: Path) -> None:
    numalet.simulate("--state-dir", str(state), GUARANTEED)

    ended = numalet.simulate("--state-dir", str(state), "--forget", "all", "-o", "json")

    assert json.loads(ended.out)["forgotten"] == [UID]
    assert (ended.status, uids(state)) == (0, [])


def finished(manifest: str, phase: str) -> str:
    """The manifest of a pod, as YAML, with a phase."""
    return f"{manifest}status: {{phase: {phase}}}\n"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_of_the_state_files_holds_nothing(
    phase: str, numalet: Runner, state: Path, tmp_path: Path
) -> None:
    running, new = pod("done", "100Gi"), pod("new", "100Gi")
    first, then = tmp_path / "first.yaml", tmp_path / "then.yaml"
    first.write_text(running, encoding="utf-8")
    then.write_text(f"{finished(running, phase)}---{new}", encoding="utf-8")
    numalet.simulate("--state-dir", str(state), str(first))

    explained = numalet("explain", *DOCUMENTED, str(then), "--state-dir", str(state))
    first.write_text(new, encoding="utf-8")
    named = numalet(
        "explain", *DOCUMENTED, str(first), "--state-dir", str(state), "--pods", str(then)
    )
    assert (explained.status, named.status) == (0, 0)
    assert explained.err == "note: ignored: 1 (finished)\n"
    assert "assumed running" not in explained.out + named.out
    ended = numalet.simulate("--state-dir", str(state), str(then))
    counts = ["forgotten: 1 (pods of the state files)", "ignored: 1 (finished)"]
    assert ended.out.splitlines()[1:3] == counts
    assert (ended.status, uids(state)) == (0, ["new"])


def test_who_is_not_there_can_not_be_forgotten(numalet: Runner, state: Path) -> None:
    numalet.simulate("--state-dir", str(state), GUARANTEED)
    before = contents(state)

    ended = numalet.simulate("--state-dir", str(state), "--forget", "x", "--forget", UID)

    assert (ended.status, contents(state)) == (2, before)
    assert ended.err == (
        f"error: --forget 'x': the state files contain no pod with this uid, only {UID}\n"
    )


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (NAMES[1], b"", "unexpected end of JSON input"),
        (NAMES[1], b'{"policyName":"Static"', "unexpected end of JSON input"),
        (NAMES[1], b"{} tail", "cannot be decoded"),
        (
            NAMES[1],
            b'{"policyName":"Static","machineState":{},"entries":{},"checksum":1}',
            "has checksum 1",
        ),
        (NAMES[0], b"\xff", "cannot be decoded"),
        (NAMES[0], b"x", "cannot be decoded"),
        (NAMES[0], b" " * (33 << 20), "too large"),
    ],
    ids=["empty", "truncated", "tail", "checksum", "bytes", "letter", "large"],
)
def test_a_damaged_state_file_is_named_and_stays(
    name: str, content: bytes, complaint: str, numalet: Runner, state: Path
) -> None:
    (state / name).write_bytes(content)

    ended = numalet.simulate("--state-dir", str(state), GUARANTEED)

    assert (ended.status, ended.out) == (2, "")
    last = ended.err.splitlines()[-1]
    assert last.startswith(f"error: {state / name}: ")
    assert complaint in last
    assert contents(state) == {name: content}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((*DOCUMENTED, "--memory-manager-policy", "None"), "has policy 'Static'"),
        (
            (*CONFIGURED[:2], "--reserved-memory", "0:memory=5220Mi", "-m", "1n4c2t"),
            "this machine does not have that node",
        ),
        ((*CONFIGURED, "-m", "2n4c2t"), "does not match this machine"),
        (
            (*DOCUMENTED, "--topology-manager-policy", "sometimes"),
            '"sometimes" must be one of',
        ),
    ],
    ids=["policy", "node", "machine", "configuration"],
)
def test_nothing_is_written_when_the_start_is_refused(
    arguments: tuple[str, ...], complaint: str, numalet: Runner, state: Path
) -> None:
    numalet.simulate("--state-dir", str(state), GUARANTEED)
    (state / NAMES[0]).unlink()
    before = contents(state)

    ended = numalet("simulate", *arguments, "--state-dir", str(state), GUARANTEED)

    assert (ended.status, contents(state)) == (2, before)
    assert complaint in ended.err


@pytest.mark.parametrize("place", ["nowhere", "a-file"])
def test_a_state_directory_must_be_there(place: str, numalet: Runner, tmp_path: Path) -> None:
    (tmp_path / "a-file").touch()

    ended = numalet.simulate("--state-dir", str(tmp_path / place), GUARANTEED)

    assert ended.status == 2
    assert ended.err.startswith("error: there is no directory ")


def test_a_directory_in_the_place_of_a_state_file_is_refused(numalet: Runner, state: Path) -> None:
    (state / NAMES[0]).mkdir()

    ended = numalet.simulate("--state-dir", str(state), GUARANTEED)

    assert (ended.status, "is not a regular file" in ended.err) == (2, True)


def test_nothing_is_printed_as_done_that_could_not_be_written(
    numalet: Runner, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("numalet.io.files.temporary.create", refuse)

    ended = numalet.simulate("--state-dir", str(state), GUARANTEED)

    assert (ended.status, ended.out, contents(state)) == (2, "", {})
    assert ": Permission denied; nothing was changed" in ended.err


def test_a_recorded_simulation_can_be_replayed(numalet: Runner, tmp_path: Path) -> None:
    file = tmp_path / "recorded.jsonl"

    numalet.simulate(GUARANTEED, SECOND, "--record", str(file))
    numalet.simulate(SECOND, "--record", str(file))
    refused = numalet.simulate(
        SECOND, "--record", str(file), "--topology-manager-policy", "sometimes"
    )

    assert refused.status == 2
    replayed = numalet("replay", str(file))
    assert (replayed.status, replayed.out.splitlines()[-1]) == (0, "3 passed, 0 failed")


def test_a_last_line_without_its_end_is_ended_first(numalet: Runner, tmp_path: Path) -> None:
    file = tmp_path / "recorded.jsonl"
    numalet.simulate(SECOND, "--record", str(file))
    file.write_text(file.read_text(encoding="utf-8").rstrip("\n"), encoding="utf-8")
    file.chmod(0o644)

    numalet.simulate(SECOND, "--record", str(file))

    assert len(file.read_text(encoding="utf-8").splitlines()) == 2
    assert oct(file.stat().st_mode & 0o777) == "0o644"


def test_running_pods_without_their_past_can_not_be_recorded(
    numalet: Runner, state: Path, tmp_path: Path
) -> None:
    numalet.simulate("--state-dir", str(state), GUARANTEED)
    before = contents(state)
    file = tmp_path / "recorded.jsonl"

    ended = numalet.simulate("--state-dir", str(state), SECOND, "--record", str(file))

    assert (ended.status, contents(state), file.exists()) == (2, before, False)
    assert f"without assigned pods ({UID})" in ended.err


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("recorded.json", "a name that ends with .jsonl"),
        ("folder.jsonl", "Is a directory"),
        ("nowhere/recorded.jsonl", ": No such file or directory; nothing was changed"),
    ],
)
def test_a_place_where_nothing_can_be_recorded(
    name: str, complaint: str, numalet: Runner, tmp_path: Path
) -> None:
    (tmp_path / "folder.jsonl").mkdir()

    ended = numalet.simulate(SECOND, "--record", str(tmp_path / name))

    assert (ended.status, ended.out) == (2, "")
    assert complaint in ended.err


@pytest.fixture
def scenario(numalet: Runner, tmp_path: Path) -> Path:
    """A file with one scenario."""
    file = tmp_path / "one.jsonl"
    numalet.simulate(GUARANTEED, SECOND, "--record", str(file))
    return file


def test_a_scenario_stands_for_all_pieces(numalet: Runner, scenario: Path) -> None:
    expected = numalet.simulate(GUARANTEED, SECOND)
    as_json = scenario.with_suffix(".json")
    as_json.write_bytes(scenario.read_bytes())
    compressed = scenario.with_suffix(".jsonl.gz")
    compressed.write_bytes(gzip.compress(scenario.read_bytes()))

    for file in (scenario, as_json, compressed):
        assert numalet("simulate", str(file)) == expected


def test_a_scenario_with_a_key_twice_is_refused(numalet: Runner, tmp_path: Path) -> None:
    file = tmp_path / "twice.yaml"
    file.write_text("machine: {}\nsteps: []\nsteps: []\n", encoding="utf-8")

    assert "is given twice" in numalet("simulate", str(file)).err


def test_one_scenario_at_a_time(numalet: Runner, scenario: Path) -> None:
    as_json = scenario.with_suffix(".json")
    as_json.write_bytes(scenario.read_bytes())
    beside = numalet("simulate", str(as_json), GUARANTEED)
    scenario.write_bytes(scenario.read_bytes() * 2)
    several = numalet("simulate", str(scenario))

    assert (beside.status, several.status) == (2, 2)
    assert "2 documents, some of them scenarios" in beside.err
    assert "2 documents, some of them scenarios" in several.err


def test_a_scenario_goes_with_no_other_piece(numalet: Runner, scenario: Path) -> None:
    ended = numalet("simulate", str(scenario), "-m", "2n4c2t", "--kube-reserved", "cpu=1")

    assert ended.status == 2
    assert ended.err.startswith("error: --machine, --kube-reserved cannot be combined with")


def _with_steps(scenario: Path, steps: list[object]) -> str:
    document = json.loads(scenario.read_text(encoding="utf-8"))
    document["steps"] += steps
    document.pop("expect")
    scenario.write_text(json.dumps(document), encoding="utf-8")
    return str(scenario)


def test_removals_and_restarts_are_shown(numalet: Runner, scenario: Path) -> None:
    path = _with_steps(scenario, [{"remove": OTHER_UID}, {"restart": {"order": [UID]}}])

    ended = numalet("simulate", path)
    steps = json.loads(numalet("simulate", path, "-o", "json").out)["steps"]

    assert ended.status == 1
    rows = [line.split()[:2] for line in ended.out.splitlines()[2:7]]
    assert rows == [
        ["default/guaranteed", "Admitted"],
        ["default/second", "TopologyAffinityError"],
        [OTHER_UID, "removed"],
        ["kubelet", "restarted"],
        ["default/guaranteed", "Admitted"],
    ]
    assert steps[2] == {"remove": OTHER_UID}
    assert steps[3]["restart"]["readmitted"][0]["name"] == "guaranteed"


def test_a_failed_restart_ends_the_simulation(numalet: Runner, scenario: Path) -> None:
    broken = {"state_files": {"memory_manager_state": "{}"}, "order": []}
    path = _with_steps(scenario, [{"restart": broken}, {"remove": UID}])

    ended = numalet("simulate", path)
    steps = json.loads(numalet("simulate", path, "-o", "json").out)["steps"]

    assert ended.status == 2
    assert "kubelet             does not start\n" in ended.out
    assert "kubelet: start memory manager error: " in ended.out
    assert "start memory manager error: " in steps[-1]["restart"]["start_error"]
    assert UID not in [step.get("remove") for step in steps]
