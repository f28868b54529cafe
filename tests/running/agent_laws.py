"""What must hold of an agent that has nothing left to do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from numalet.agent.controller import store_files
from numalet.agent.controller.controller import Controller
from numalet.agent.controller.desired_settings import DesiredSettings
from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.runtime.fake import FakeRuntime
from numalet.agent.host.runtime.port import Runtime
from numalet.agent.host.runtime.shim import process_tree
from numalet.agent.servers.door import AgentView
from numalet.core.enforcement import cgroup_paths, comparison, limits
from numalet.core.model.pod import ContainerKey
from numalet.core.snapshot import invariants, placement
from numalet.core.workload import lifecycle
from numalet.core.workload.run import ContainerPhase, ContainerRun
from numalet.io.documents.pods import pod_record
from numalet.io.files import state_directory


def broken(
    root: Path, controller: Controller, runtime: Runtime, tree: CgroupTree | None = None
) -> list[str]:
    """Every law that does not hold, in a few words.

    To be asked while nothing is being written, as it is after ``controller.settled()``.
    """
    view = controller.view()
    found = [*_node_state(view), *_disk(root, view), *_under_way(view)]
    if isinstance(runtime, FakeRuntime):
        return [*found, *_entries(view, runtime)]
    found += _processes(root, view)
    return found if tree is None else [*found, *_cgroups(view, tree)]


def up(view: AgentView) -> dict[ContainerKey, int]:
    """The containers that run according to the node state, and their attempts."""
    return {key: run.attempt for key, run in _runs(view) if run.phase is ContainerPhase.RUNNING}


def processes(root: Path) -> dict[str, list[int]]:
    """The processes of programs below a root folder, by the folder of their attempt."""
    word = f"{process_tree.MARK}={root}/"
    found: dict[str, list[int]] = {}
    for each in process_tree.all_processes():
        try:
            environment = Path(process_tree.PROC, str(each.pid), "environ").read_text(
                errors="replace"
            )
        except OSError:
            continue
        for variable in environment.split("\0"):
            if variable.startswith(word) and not each.is_dead:
                found.setdefault(variable.partition("=")[2], []).append(each.pid)
    return found


def shims(root: Path) -> list[str]:
    """The folders of attempts below a root folder that are watched."""
    found = []
    for each in process_tree.all_processes():
        try:
            words = Path(process_tree.PROC, str(each.pid), "cmdline").read_text(errors="replace")
        except OSError:
            continue
        last = words.rstrip("\0").rpartition("\0")[2]
        if last.startswith(f"{root}/") and "shim" in words and not each.is_dead:
            found.append(last)
    return found


def _node_state(view: AgentView) -> list[str]:
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
        found.append("state files differ from the node state")
    texts = store_files.read_records(root).by_uid
    records = {uid: pod_record.decode(text, uid) for uid, text in texts.items()}
    if records != dict(view.records):
        found.append("records on the disk differ from those in memory")
    return found


def _runs(view: AgentView) -> list[tuple[ContainerKey, ContainerRun]]:
    return [
        (ContainerKey(uid, name), run)
        for uid, record in view.records.items()
        for name, run in record.run.containers.items()
    ]


def _under_way(view: AgentView) -> list[str]:
    starting = [key for key, run in _runs(view) if run.phase is ContainerPhase.STARTING]
    return [f"still starting: {starting}"] if starting else []


def _processes(root: Path, view: AgentView) -> list[str]:
    """Every running container has its program and its shim, and nobody else has any."""
    wanted = Counter((key.pod_uid, str(attempt)) for key, attempt in up(view).items())
    found = []
    for what, folders in (("programs", processes(root)), ("shims", shims(root))):
        there = Counter(
            (uid, Path(each).name) for each in folders for uid in Path(each).parts[-3:-2]
        )
        more, fewer = there - wanted, wanted - there
        if twice := [each for each in more if each in wanted]:
            found.append(f"{what} twice: {twice}")
        if strangers := [each for each in more if each not in wanted]:
            found.append(f"{what} left: {strangers}")
        if fewer:
            found.append(f"{what} lost: {sorted(fewer)}")
    return found


def pod_cgroups(tree: CgroupTree) -> list[str]:
    """The paths of the cgroups of pods."""
    parents = (cgroup_paths.ROOT, cgroup_paths.BURSTABLE, cgroup_paths.BEST_EFFORT)
    return sorted(
        "/".join(filter(None, (parent, name)))
        for parent in parents
        for name in tree.children(parent)
        if name.startswith(cgroup_paths.POD_PREFIX)
    )


def _cgroups(view: AgentView, tree: CgroupTree) -> list[str]:
    """What runs is where the node state says and as it says, and there is no cgroup of others."""
    pods = {cgroup_paths.of_pod(record.workload.pod) for record in view.records.values()}
    there = pod_cgroups(tree)
    strangers = sorted(set(there) - pods)
    found = [f"cgroups left: {strangers}"] if strangers else []
    wanted = DesiredSettings(
        limits.resolve(view.config, view.node.rules.machine, view.node.rules.behaviour)
    )
    desired = [wanted.settings(view.records, view.node.snapshot, key) for key in up(view)]
    inside = [f"{pod}/{name}" for pod in there for name in tree.children(pod)]
    populated = sorted(path for path in inside if tree.processes(path))
    if populated != sorted(each.path for each in desired):
        found.append(f"programs left or lost in cgroups: {populated}")
    for each in desired:
        seen = interface_files.settings(tree, each.path, each.cgroup.hugetlb_max_bytes)
        names = comparison.differences(each.cgroup, seen)
        if unlike := [name for name in names if tree.read(each.path, name) is not None]:
            found.append(f"lost: {unlike} of {each.path}")
    return found


def _entries(view: AgentView, runtime: FakeRuntime) -> list[str]:
    found = []
    running = up(view)
    if running != runtime.running():
        found.append(f"the node state says {running} run, the runtime {runtime.running()}")
    if runtime.doubled:
        found.append(f"started twice: {runtime.doubled}")
    strangers = set(runtime.known()) - set(view.records)
    if strangers:
        found.append(f"left at the runtime: {sorted(strangers)}")
    wanted = DesiredSettings(
        limits.resolve(view.config, view.node.rules.machine, view.node.rules.behaviour)
    )
    for key in running:
        desired = wanted.settings(view.records, view.node.snapshot, key).cgroup
        if runtime.settings_of(key) != desired:
            found.append(f"{key} has {runtime.settings_of(key)}, wanted {desired}")
    return found
