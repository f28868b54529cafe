"""What an agent makes of what it finds at its start."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bad_inputs import refused_with
from numalet.agent.controller import store_files
from numalet.agent.controller.recovery import OnInvalidState
from numalet.agent.controller.wiring import RUNS, Hooks
from numalet.agent.host.runtime.fake import FakeRuntime
from numalet.agent.telemetry.metrics import RECORDS_LOST
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.snapshot import placement
from numalet.shared.kubernetes.pod_object import pod_object
from running import agent_laws, agents

EARLIER_RECORD = Path(__file__).parents[1] / "unit/io/documents/golden/pod_record_with_text.jsonl"


async def _two_pods(root: Path) -> None:
    async with agents.running(agents.settings(root)) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.controller.create(agents.pod("two", memory="3Gi"))
        await agent.until(lambda: agent.phase("one") == agent.phase("two") == "running")
        await agent.controller.settled()


def _lose_record(root: Path, uid: str) -> None:
    """A commit that nobody made says that this pod went."""
    with (root / store_files.RECORD_FILE).open("ab") as file:
        file.write(store_files.commit_line({}, [uid]))


async def test_a_hold_without_a_record_is_released_and_its_program_ended(tmp_path: Path) -> None:
    await _two_pods(tmp_path)
    _lose_record(tmp_path, "uid-one")
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.controller.settled()
        assert agent.names() == ["two"]
        assert {ContainerKey("uid-two", "main"): 1} == agent.runtime.running()
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []


async def test_an_end_that_was_not_seen_is_taken_over(tmp_path: Path) -> None:
    await _two_pods(tmp_path)
    file = tmp_path / RUNS / "uid-one" / "main.json"
    entry = json.loads(file.read_text())
    entry["exit"] = {"code": 7, "finished_at": entry["started_at"]}
    file.write_text(json.dumps(entry))
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.until(lambda: agent.record("one").run.of("main").attempt == 2)
        ended = agent.record("one").run.of("main").last_exit
        assert ended is not None
        assert ended.code == 7
        assert agent.record("two").run.of("main").attempt == 1


async def test_a_program_that_is_gone_without_a_trace_is_started_again(tmp_path: Path) -> None:
    await _two_pods(tmp_path)
    (tmp_path / RUNS / "uid-one" / "main.json").unlink()
    async with agents.running(agents.settings(tmp_path)) as agent:
        await agent.until(lambda: agent.record("one").run.of("main").attempt == 2)
        ended = agent.record("one").run.of("main").last_exit
        assert ended is not None
        assert ended.reason.value == "ContainerStatusUnknown"


async def test_an_end_that_an_earlier_release_recorded_as_a_text_is_still_shown(
    tmp_path: Path,
) -> None:
    await _two_pods(tmp_path)
    said = "'mine' was not found; name its path, or set PATH"
    earlier = EARLIER_RECORD.read_text(encoding="utf-8").strip()
    for old, new in (("uid-1", "uid-one"), ("web", "one"), ("a", "main")):
        earlier = earlier.replace(f'"{old}"', f'"{new}"')
    assert said in earlier
    with (tmp_path / store_files.RECORD_FILE).open("ab") as file:
        file.write(store_files.commit_line({"uid-one": earlier.encode()}, []))
    for _ in range(2):
        async with agents.running(agents.settings(tmp_path)) as agent:
            await agent.controller.settled()
            pod = pod_object(agent.record("one"))
            (status,) = pod["status"]["containerStatuses"]
            assert said == status["lastState"]["terminated"]["message"]
            # So that its record is written again.
            await agent.controller.delete("default", "two", grace_seconds=None)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (["uid-two", "uid-nobody", "uid-one"], ["uid-two", "uid-one"]),
        (["uid-two"], ["uid-two", "uid-one"]),
        ([], ["uid-one", "uid-two"]),
    ],
)
async def test_on_a_described_machine_pods_ask_again_in_the_order_that_was_said(
    said: list[str], heard: list[str], tmp_path: Path
) -> None:
    await _two_pods(tmp_path)
    (tmp_path / RUNS / "order.json").write_text(json.dumps(said))
    asked: list[str] = []
    hooks = Hooks(on_decision=lambda each: asked.append(each.decision.pod.uid))
    async with agents.running(agents.settings(tmp_path), hooks=hooks):
        assert heard == asked


@pytest.mark.parametrize(
    ("file", "text", "code"),
    [
        ("order.json", "uid-one", "input/invalid"),
        ("order.json", '{"uid-one": 1}', "document/type"),
        ("uid-one/main.json", "{", "input/invalid"),
        ("uid-one/main.json", '{"pod_uid": "uid-one"}', "document/field-missing"),
    ],
)
def test_a_described_machine_that_can_not_be_read_stops_the_start(
    file: str, text: str, code: str, tmp_path: Path
) -> None:
    async def scene() -> None:
        await _two_pods(tmp_path)
        (tmp_path / RUNS / file).write_text(text)
        async with agents.running(agents.settings(tmp_path)):
            pytest.fail("it has started")

    with pytest.raises(BadInput) as caught:
        asyncio.run(scene())
    (finding,) = caught.value.findings
    assert (code, str(tmp_path / RUNS / file)) == (finding.code, finding.where.document)
    assert file in finding.located


async def test_a_running_pod_whose_promise_is_gone_stops_the_start(tmp_path: Path) -> None:
    await _two_pods(tmp_path)
    for name in ("cpu_manager_state", "memory_manager_state"):
        (tmp_path / name).unlink()
    with refused_with("input/invalid"):
        async with agents.running(agents.settings(tmp_path)):
            pass
    given = agents.settings(tmp_path, on_invalid_state=OnInvalidState.REBASE)
    async with agents.running(given) as agent:
        await agent.controller.settled()
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []
        assert len(placement.of_all(agent.controller.view().node.snapshot)) == 2


async def test_files_of_another_machine_stop_the_start_until_they_are_rebased(
    tmp_path: Path,
) -> None:
    await _two_pods(tmp_path)
    given = agents.settings(tmp_path, on_invalid_state=OnInvalidState.STOP)
    nodes = tuple(
        replace(node, memory_bytes=node.memory_bytes - (1 << 30))
        for node in given.premises.machine.nodes
    )
    machine = replace(given.premises.machine, nodes=nodes)
    changed = replace(given, premises=replace(given.premises, machine=machine))
    with pytest.raises(BadInput) as refused:
        async with agents.running(changed):
            pass
    codes = [finding.code for finding in refused.value.findings]
    assert codes[0] == "agent/state-invalid"
    assert len(codes) > 1
    assert "expected machine state is different" in str(refused.value.findings[0].fields["text"])
    rebasing = replace(changed.premises, on_invalid_state=OnInvalidState.REBASE)
    told: list[Finding] = []
    hooks = replace(agents.NO_HOOKS, on_findings=told.extend)
    corrected = replace(changed, premises=rebasing)
    async with agents.running(corrected, FakeRuntime(tmp_path / RUNS), hooks) as agent:
        await agent.controller.settled()
        assert told
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []
        assert agent.record("one").run.of("main").attempt == 1


async def test_a_state_file_that_is_no_text_any_more_is_rebased_too(tmp_path: Path) -> None:
    await _two_pods(tmp_path)
    (tmp_path / "memory_manager_state").write_bytes(b"\xae\xff\x00")
    with pytest.raises(BadInput) as refused:
        async with agents.running(agents.settings(tmp_path)):
            pass
    assert refused.value.findings[0].code == "agent/state-invalid"
    given = agents.settings(tmp_path, on_invalid_state=OnInvalidState.REBASE)
    async with agents.running(given, FakeRuntime(tmp_path / RUNS)) as agent:
        await agent.controller.settled()
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []


async def test_what_was_deleted_while_no_agent_ran_to_the_end_still_goes(tmp_path: Path) -> None:
    given = agents.settings(tmp_path)
    async with agents.running(given) as agent:
        await agent.controller.create(agents.pod("one"))
        await agent.until(lambda: agent.phase("one") == "running")
        await agent.controller.settled()
        # The agent stops between the answer and the end of the program.
        await agent.controller.delete("default", "one", grace_seconds=30)
    async with agents.running(given) as agent:
        await agent.until(lambda: not agent.names())
        await agent.controller.settled()
        assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []


def _spoil(root: Path, uid: str) -> bytes:
    """Write into the record what no reader takes; returns the text."""
    text = store_files.read_records(root).by_uid[uid]
    bad = text.replace(b'"run_as_user":null', b'"run_as_user":-1')
    assert bad != text
    with (root / store_files.RECORD_FILE).open("ab") as file:
        file.write(store_files.commit_line({uid: bad}, []))
    return bad


@pytest.mark.parametrize("damage", ["record", "line"])
async def test_a_record_that_cannot_be_read_is_put_into_quarantine(
    tmp_path: Path, damage: str
) -> None:
    await _two_pods(tmp_path)
    if damage == "record":
        expected, bad = "record/quarantined", _spoil(tmp_path, "uid-one")
    else:
        _lose_record(tmp_path, "uid-one")
        expected, bad = "record/damaged-line", b"half a li"
        with (tmp_path / store_files.RECORD_FILE).open("ab") as file:
            file.write(bad + b"\n" + store_files.commit_line({}, []))
    told: list[Finding] = []
    hooks = replace(agents.NO_HOOKS, on_findings=told.extend)
    for times in (1, 0):
        async with agents.running(agents.settings(tmp_path), hooks=hooks) as agent:
            await agent.controller.settled()
            assert agent.names() == ["two"]
            assert {ContainerKey("uid-two", "main"): 1} == agent.runtime.running()
            assert agent_laws.broken(tmp_path, agent.controller, agent.runtime) == []
            labels = (("file", "pods.jsonl"),)
            assert agent.controller.counts().of(RECORDS_LOST, labels) == times
        assert (tmp_path / "pods.unreadable").read_bytes() == bad + b"\n"
    assert [each.code for each in told] == [expected]


async def test_what_is_in_quarantine_already_is_not_added_again(tmp_path: Path) -> None:
    await _two_pods(tmp_path)
    bad = _spoil(tmp_path, "uid-one")
    store_files.quarantine(tmp_path, [b"other"])
    store_files.quarantine(tmp_path, [bad])
    async with agents.running(agents.settings(tmp_path)):
        assert (tmp_path / "pods.unreadable").read_bytes() == b"other\n" + bad + b"\n"
