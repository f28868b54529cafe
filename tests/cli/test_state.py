"""``numalet state``: shown, verified, compared, tried, made anew; and how each of them ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.commands import CONFIGURED, DOCUMENTED, EXAMPLES, GUARANTEED, UID, Runner
from numalet.cli import main
from numalet.cli.state import state_app
from numalet.io import kubelets
from values import state_builders
from values.state_builders import CPU, DEVICE, MEMORY

GOLDEN = Path(__file__).parent / "golden"
MACHINE = (EXAMPLES / "machine.yaml").read_text(encoding="utf-8")
MOVED = MACHINE.replace("134987354112", "134934925312").replace("135286722560", "135339151360")


@pytest.fixture(autouse=True)
def registered() -> None:
    """The commands are part of the program."""
    if all(group.name != "state" for group in main.app().registered_groups):
        main.app().add_typer(state_app, name="state")


@pytest.fixture
def documented(numalet: Runner, tmp_path: Path) -> Path:
    """State files after the documented pod."""
    directory = tmp_path / "state"
    directory.mkdir()
    assert numalet.simulate("--state-dir", str(directory), GUARANTEED).status == 0
    return directory


@pytest.fixture
def moved(tmp_path: Path) -> str:
    """The documented machine after a reboot: 50Mi are on the other node."""
    path = tmp_path / "moved.yaml"
    path.write_text(MOVED)
    return str(path)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """State files with memory, CPUs and devices of several pods."""
    directory = tmp_path / "mixed"
    (directory / "device-plugins").mkdir(parents=True)
    for name, text in state_builders.files().items():
        folder = directory / "device-plugins" if name == DEVICE else directory
        (folder / name).write_text(text)
    return directory


def golden(name: str, text: str) -> None:
    """Compare with what is kept."""
    assert (GOLDEN / f"state-{name}.txt").read_text(encoding="utf-8") == text


def test_show_draws_groups_and_holders(numalet: Runner, mixed: Path, tmp_path: Path) -> None:
    pods = tmp_path / "pods.json"
    metadata = {"uid": "u2", "name": "vm-with-a-rather-long-name", "namespace": "databases"}
    pods.write_text(json.dumps({"kind": "Pod", "metadata": metadata}))
    ended = numalet("state", "show", str(mixed), "--pods", str(pods))

    assert (ended.status, ended.err) == (0, "")
    golden("show", ended.out)


def test_show_marks_what_gone_and_finished_pods_still_hold(
    numalet: Runner, mixed: Path, tmp_path: Path
) -> None:
    assert "stale" not in numalet("state", "show", str(mixed)).out
    for uid in ("u1", "u2"):
        (mixed / "pods" / uid).mkdir(parents=True)
    finished = {"metadata": {"uid": "u2", "name": "done"}, "status": {"phase": "Succeeded"}}
    listed = tmp_path / "pods.json"
    listed.write_text(json.dumps({"items": [{"kind": "Pod", **finished}]}))
    ended = numalet("state", "show", str(mixed), "--pods", str(listed), "-o", "json")
    shown = {each["pod_uid"]: each["stale"] for each in json.loads(ended.out)["holders"]}
    assert {uid: shown[uid] for uid in ("u1", "u2")} == {"u1": False, "u2": True}
    assert {True} == {stale for uid, stale in shown.items() if uid not in ("u1", "u2")}
    drawn = numalet("state", "show", str(mixed), "--pods", str(listed)).out
    assert "default/done/c (stale)" in drawn
    assert "stale: the pod is deleted or finished" in drawn


def test_show_finds_names_by_what_pods_hold(numalet: Runner, mixed: Path, tmp_path: Path) -> None:
    memory = [{"memoryType": "memory", "size": "16106127360"}]
    memory[0] |= {"topology": {"nodes": [{"ID": "1"}, {"ID": "2"}]}}  # type: ignore[dict-item]
    container = {"name": "c", "cpuIds": ["4", "5"], "memory": memory}
    dump = {"podResources": [{"name": "vm", "namespace": "a", "containers": [container]}]}
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    ended = numalet(
        "state", "show", str(mixed), "--pods", str(tmp_path / "dump.json"), "-o", "json"
    )
    document = json.loads(ended.out)

    assert document["schema"] == "numalet.state-show/1"
    assert [each["name"] for each in document["holders"]] == ["u1", "a/vm", "u3", "u3"]


def test_show_draws_what_is_there_of_broken_files(numalet: Runner, mixed: Path) -> None:
    (mixed / CPU).write_text("{")
    (mixed / MEMORY).write_text(
        (mixed / MEMORY).read_text().replace('"cells":[0]', '"cells":[0,1]')
    )
    ended = numalet("state", "show", str(mixed))

    assert ended.status == 0
    assert "cannot be decoded: unexpected end of JSON input" in ended.err
    assert "no node is in this group" in ended.out
    assert "Shared pool" not in ended.out


def test_show_of_an_empty_node_says_that_nothing_is_held(numalet: Runner, tmp_path: Path) -> None:
    for name, text in state_builders.files(pods=()).items():
        (tmp_path / name).write_text(text)
    ended = numalet("state", "show", str(tmp_path))

    assert ended.out.endswith("No container holds anything.\n")
    (tmp_path / MEMORY).unlink()
    (tmp_path / CPU).unlink()
    assert numalet("state", "show", str(tmp_path)).out.startswith("policies: not known\n")


def test_show_draws_a_block_that_is_on_no_node(numalet: Runner, tmp_path: Path) -> None:
    text = (
        '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{},'
        '"cells":[]}},"entries":{"u":{"c":[{"numaAffinity":[],"type":"memory","size":10}]}},'
        '"checksum":1}'
    )
    (tmp_path / "memory_manager_state").write_text(text)
    ended = numalet("state", "show", str(tmp_path))
    assert ended.status == 0
    assert "NUMA nodes {}  one group, 1 container" in ended.out


def test_show_abbreviates_many_nodes(numalet: Runner, tmp_path: Path) -> None:
    pod = state_builders.pod("big", state_builders.container("c", "1", "85Gi"))
    big = state_builders.files(state_builders.rules(state_builders.machine(10)), [pod])
    (tmp_path / MEMORY).write_text(big[MEMORY])

    assert "{0-9}" in numalet("state", "show", str(tmp_path)).out


def test_sound_files_verify(numalet: Runner, documented: Path) -> None:
    machine = str(EXAMPLES / "machine.yaml")
    ended = numalet("state", "verify", str(documented), "-m", machine, "--strict")

    assert (ended.status, ended.err) == (0, "")
    golden("verify", ended.out)


def test_broken_rules_are_named(numalet: Runner, mixed: Path) -> None:
    value = json.loads((mixed / MEMORY).read_text())
    value["machineState"]["0"]["memoryMap"]["memory"]["free"] -= 1
    value["machineState"]["1"]["cells"] = [1]
    (mixed / MEMORY).write_text(state_builders.sealed(MEMORY, value))
    (mixed / CPU).write_text((mixed / CPU).read_text().replace("u1", "u9"))
    ended = numalet("state", "verify", str(mixed))

    assert (ended.status, ended.err) == (1, "")
    golden("verify-broken", ended.out)


def test_warnings_count_where_they_are_asked_to(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / CPU
    path.write_text('{"policyName":"none"}')

    assert numalet("state", "verify", str(path)).status == 0
    assert numalet("state", "verify", str(path), "--strict").status == 1
    document = json.loads(numalet("state", "verify", str(path), "-o", "json").out)
    assert document["schema"] == "numalet.state-verify/1"
    assert [each["soundness"] for each in document["files"]] == ["doubtful"]


def test_verify_takes_a_shape(numalet: Runner, documented: Path) -> None:
    ended = numalet(
        *("state", "verify", str(documented), "-m", "2n8c"),
        *("--memory-per-node", "64Gi", "--hugepages-per-node", "1Gi=1"),
    )

    assert ended.status == 1
    assert "rule: The file must match this machine." in ended.out


def test_diff_names_what_differs(numalet: Runner, documented: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    numalet("simulate", *DOCUMENTED, "--state-dir", str(other), GUARANTEED)
    same = numalet("state", "diff", str(documented), str(other))
    assert (same.status, same.out) == (0, "The content is the same.\n")

    text = (other / MEMORY).read_text()
    (other / MEMORY).write_text(text.replace("134987354112", "134934925312").replace(UID, "other"))
    ended = numalet("state", "diff", str(documented), str(other))
    assert (ended.status, ended.err) == (1, "")
    golden("diff", ended.out)
    document = json.loads(numalet("state", "diff", str(documented), str(other), "-o", "json").out)
    assert document["schema"] == "numalet.state-diff/1"
    assert document["differences"][0]["change_bytes"] == -(50 << 20)


def test_diff_of_a_file_that_can_not_be_decoded(numalet: Runner, documented: Path) -> None:
    bad = documented.parent / "bad-memory_manager_state"
    bad.write_text("{")
    ended = numalet("state", "diff", str(bad), str(bad))

    assert (ended.status, ended.out) == (1, "")
    assert "unexpected end of JSON input" in ended.err


def test_the_machine_that_wrote_the_files_takes_them_back(
    numalet: Runner, documented: Path
) -> None:
    ended = numalet("state", "restore-check", str(documented), *DOCUMENTED)

    assert (
        ended.status,
        ended.out,
        ended.err,
    ) == (0, "The kubelet starts with these files.\n", "")


def test_a_reboot_is_recognised(numalet: Runner, documented: Path, moved: str) -> None:
    ended = numalet("state", "restore-check", str(documented), *CONFIGURED, "-m", moved)

    assert (ended.status, ended.err) == (1, "")
    golden("restore-check", ended.out)
    document = json.loads(
        numalet(
            "state", "restore-check", str(documented), *CONFIGURED, "-m", moved, "-o", "json"
        ).out
    )
    assert document["schema"] == "numalet.state-restore-check/1"
    assert [each["code"] for each in document["drift"]] == ["drift/randomised"] * 2


def test_a_damaged_file_is_said_to_be_lost(numalet: Runner, documented: Path) -> None:
    (documented / MEMORY).write_text((documented / MEMORY).read_text()[:-5] + "7}")
    ended = numalet("state", "restore-check", str(documented), *DOCUMENTED)

    assert ended.status == 1
    words = f'checkpoint file "{documented}/{MEMORY}" before restarting Kubelet'
    assert "".join(words.split()) in "".join(ended.out.split())
    assert "nothing can be kept" in ended.out
    assert "Drain the node and delete the file." in ended.out


@pytest.mark.parametrize("command", ["restore-check", "rebase"])
def test_a_configuration_without_a_start_is_unusable(
    numalet: Runner, documented: Path, command: str
) -> None:
    policy = ("--memory-manager-policy", "Sometimes")
    ended = numalet("state", command, str(documented), *DOCUMENTED, *policy)
    assert ended.status == 2
    assert 'the kubelet v1.37 would not start: unknown policy: "Sometimes"' in ended.err
    assert "whatever the files say" in ended.out
    plain = numalet("state", command, str(documented), *DOCUMENTED, *policy, "-o", "json")
    assert json.loads(plain.out)["answer"] == "not-asked"


def test_where_the_kubelet_would_crash_our_own_words_stand(
    numalet: Runner, documented: Path
) -> None:
    ended = numalet(
        *("state", "restore-check", str(documented), "-m", "65n1c", "--memory-per-node", "1Gi"),
        *("--memory-manager-policy", "Static", "--kube-reserved", "memory=924Mi"),
        *("--reserved-memory", "0:memory=1Gi"),
    )

    assert ended.status == 2
    assert "would not start:" not in ended.err
    assert "error: " in ended.err


def test_a_rebase_only_says_what_it_would_do(numalet: Runner, documented: Path, moved: str) -> None:
    before = contents(documented)
    ended = numalet("state", "rebase", str(documented), *CONFIGURED, "-m", moved)

    assert (ended.status, ended.err) == (0, "")
    assert before == contents(documented)
    golden("rebase", ended.out)


def test_a_rebase_that_writes_keeps_what_was_there(
    numalet: Runner, documented: Path, moved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubelets, "at_work_in", lambda *_: None)
    before = contents(documented)
    arguments = (str(documented), *CONFIGURED, "-m", moved)
    ended = numalet("state", "rebase", *arguments, "--write")

    assert (ended.status, ended.err) == (0, "")
    assert ended.out.endswith(
        f"written: {documented}/{MEMORY}\nbackup:  {documented}/{MEMORY}.bak\n"
    )
    assert contents(documented)[f"{MEMORY}.bak"] == before[MEMORY]
    assert numalet("state", "restore-check", *arguments).status == 0
    again = numalet("state", "rebase", *arguments, "--write")
    assert "There is nothing to write." in again.out
    written = numalet("state", "rebase", *arguments, "-o", "json").out
    document = json.loads(written)
    assert (document["schema"], document["written"]) == ("numalet.state-rebase/1", {})


def contents(directory: Path) -> dict[str, bytes]:
    """What is in a directory."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_a_rebase_stays_away_from_a_running_kubelet(
    numalet: Runner, documented: Path, moved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubelets, "at_work_in", lambda *_: "process 7, kubelet")
    before = contents(documented)
    arguments = ("state", "rebase", str(documented), *CONFIGURED, "-m", moved)
    ended = numalet(*arguments, "--write")

    assert (ended.status, ended.out) == (2, "")
    assert "a kubelet uses" in ended.err
    assert before == contents(documented)
    assert numalet(*arguments).status == 0


def test_what_is_lost_is_listed(numalet: Runner, documented: Path, tmp_path: Path) -> None:
    smaller = tmp_path / "smaller.yaml"
    smaller.write_text(MACHINE.replace("135286722560", "20286722560"))
    (documented / CPU).write_text(
        '{"policyName":"none","defaultCpuSet":"1-3","entries":{"containerID1":"4-6",'
        '"containerID2":"1-3"},"checksum":3680390589}'
    )
    ended = numalet("state", "rebase", str(documented), *CONFIGURED, "-m", str(smaller))

    assert (ended.status, ended.err) == (1, "")
    golden("rebase-lost", ended.out)


def test_no_argument_shows_the_help(numalet: Runner) -> None:
    ended = numalet("state", "--help")

    assert ended.status == 0
    for command in ("show", "verify", "diff", "restore-check", "rebase"):
        assert f"  {command}" in ended.out
        assert numalet("state", command, "--help").status == 0


@pytest.mark.parametrize("command", ["show", "verify", "restore-check", "rebase"])
def test_a_directory_that_is_not_there_is_unusable(
    numalet: Runner, tmp_path: Path, command: str
) -> None:
    ended = numalet("state", command, str(tmp_path / "missing"))

    assert (ended.status, ended.out) == (2, "")
    assert "no file or directory" in ended.err


def test_a_short_listing_in_yaml(numalet: Runner, documented: Path) -> None:
    found: Any = yaml.safe_load(numalet("state", "show", str(documented), "-o", "yaml").out)
    assert [
        found["schema"],
        [group["numa_nodes"] for group in found["groups"]],
    ] == ["numalet.state-show/1", [[0, 1]]]


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("show", "state-files.md"),
        ("verify-broken", "state-files.md"),
        ("diff", "state-files.md"),
        ("restore-check", "after-a-reboot.md"),
        ("rebase", "after-a-reboot.md"),
    ],
)
def test_the_pages_show_what_the_commands_print(name: str, page: str) -> None:
    how_to = Path(__file__).resolve().parents[2] / "docs/how-to" / page
    text = (GOLDEN / f"state-{name}.txt").read_text(encoding="utf-8")

    assert text in how_to.read_text(encoding="utf-8")
