"""What must hold of an agent that has nothing left to do."""

from __future__ import annotations

from pathlib import Path

from numalet.adapters.documents import pod_record
from numalet.adapters.files import state_directory
from numalet.adapters.runtime.fake import FakeRuntime
from numalet.agent.keeper import Keeper
from numalet.agent.wanted import FromBooks
from numalet.enforcement import limits
from numalet.model.pod import ContainerKey
from numalet.servers.door import AgentView
from numalet.snapshot import invariants, placement
from numalet.workload import lifecycle
from numalet.workload.run import ContainerPhase


def broken(root: Path, keeper: Keeper, runtime: FakeRuntime) -> list[str]:
    """Every law that does not hold, in a few words."""
    view = keeper.view()
    return [*_books(view), *_disk(root, view), *_runtime(view, runtime)]


def _books(view: AgentView) -> list[str]:
    snapshot = view.node.snapshot
    found = [f"invariant: {each}" for each in invariants.violations(snapshot)]
    goes_on = {uid for uid, record in view.records.items() if not _is_over(view, uid)}
    if goes_on != set(snapshot.pods):
        found.append(f"active {sorted(snapshot.pods)}, going on {sorted(goes_on)}")
    holders = {key.pod_uid for key in placement.of_all(snapshot)}
    if not holders <= goes_on:
        found.append(f"leaked holds of {sorted(holders - goes_on)}")
    # Containers of one pod may follow one another on the same CPUs.
    pods = [frozenset().union(*of_pod.values()) for of_pod in snapshot.cpu.exclusive.values()]
    cpus = [cpu for of_pod in pods for cpu in of_pod]
    if len(cpus) != len(set(cpus)) or set(cpus) & snapshot.cpu.default:
        found.append(f"CPUs held twice: {sorted(cpus)}, shared {sorted(snapshot.cpu.default)}")
    return found


def _is_over(view: AgentView, uid: str) -> bool:
    record = view.records[uid]
    return lifecycle.next_steps(record.workload, record.run, view.started_at).finished


def _disk(root: Path, view: AgentView) -> list[str]:
    found = []
    if dict(state_directory.read(root).files) != view.node.state_files():
        found.append("state files differ from the books")
    records = [
        pod_record.decode(path.read_bytes(), str(path)) for path in (root / "pods").glob("*.json")
    ]
    if {each.uid: each for each in records} != dict(view.records):
        found.append("records on the disk differ from those in memory")
    return found


def _runtime(view: AgentView, runtime: FakeRuntime) -> list[str]:
    runs = {
        ContainerKey(uid, name): run
        for uid, record in view.records.items()
        for name, run in record.run.containers.items()
    }
    up = {key: run.attempt for key, run in runs.items() if run.phase is ContainerPhase.RUNNING}
    found = []
    if up != runtime.running():
        found.append(f"books say {up} run, the runtime {runtime.running()}")
    if runtime.doubled:
        found.append(f"started twice: {runtime.doubled}")
    starting = [key for key, run in runs.items() if run.phase is ContainerPhase.STARTING]
    if starting:
        found.append(f"still starting: {starting}")
    strangers = set(runtime.known()) - set(view.records)
    if strangers:
        found.append(f"left at the runtime: {sorted(strangers)}")
    wanted = FromBooks(limits.resolve(view.config, view.node.rules.machine))
    for key in up:
        desired = wanted.settings(view.records, view.node.snapshot, key).cgroup
        if runtime.settings_of(key) != desired:
            found.append(f"{key} has {runtime.settings_of(key)}, wanted {desired}")
    return found
