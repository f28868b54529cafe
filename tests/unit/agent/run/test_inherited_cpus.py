"""Which CPUs a command may get: those of the inherited affinity, or of the NUMA node of a rank."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from numalet.agent.controller import owners, settings
from numalet.agent.controller.recovery import Premises
from numalet.agent.controller.shared_state import SharedState
from numalet.agent.host.runtime import enforcement
from numalet.agent.run import inherited_cpus, request
from numalet.agent.run.inherited_cpus import AllowedCpus
from numalet.agent.run.placing import NoPlace, Placed, Placer
from numalet.agent.run.request import RunRequest
from numalet.core.config.behaviour import NATIVE
from numalet.core.model.findings import BadInput
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import Pod
from numalet.io.machines import MachineChoice

PlacerMaker = Callable[[AllowedCpus | None], Placer]


@pytest.fixture(scope="module")
def machine() -> MachineInfo:
    return MachineChoice(text="2n4c1t", memory_per_node="16Gi").open().info


@pytest.fixture
def placers(tmp_path: Path, machine: MachineInfo) -> PlacerMaker:
    """Makers of what places commands of one root folder, within CPUs."""
    state = SharedState(tmp_path / "root")
    assert state.prepare()
    premises = Premises(config=settings.fitted(machine), machine=machine, behaviour=NATIVE)
    places = owners.beside(tmp_path)

    def of(within: AllowedCpus | None) -> Placer:
        ground = enforcement.ground()
        return Placer(state, tmp_path / "root", premises, ground, places, within)

    return of


def asked(cpus: int, uid: str = "asked") -> Pod:
    return request.pod(RunRequest(command=("./app",), cpus=str(cpus), memory=None), uid)


def test_a_command_gets_inherited_cpus_and_the_others_stay_free(placers: PlacerMaker) -> None:
    second = frozenset({4, 5, 6, 7})
    placed = placers(AllowedCpus(second)).place(asked(3, "a"), ("./a",))
    assert isinstance(placed, Placed)
    assert placed.placement.cpus < second
    # The stored state has the CPUs that were withheld.
    rest = placers(None).preview(asked(3, "b"))
    assert isinstance(rest, Placed)
    assert rest.placement.cpus == {1, 2, 3}
    assert inherited_cpus.WITHHELD not in rest.snapshot.assumed
    assert rest.snapshot.cpu.holders(inherited_cpus.WITHHELD.pod_uid) == []


def test_a_command_that_needs_other_cpus_never_fits(placers: PlacerMaker) -> None:
    answer = placers(AllowedCpus(frozenset({4, 5}))).preview(asked(3))
    assert isinstance(answer, NoPlace)
    assert not answer.fits_when_empty
    # A kubelet would refuse to start if the reserved CPUs were withheld.
    (reserved,) = answer.node.snapshot.cpu.default - {4, 5}
    assert reserved == 0


def test_if_every_cpu_is_allowed_none_is_withheld(machine: MachineInfo, tmp_path: Path) -> None:
    config = settings.fitted(machine)
    premises = Premises(config=config, machine=machine, behaviour=NATIVE)
    state = SharedState(tmp_path / "root")
    assert state.prepare()
    every = AllowedCpus(frozenset(machine.cpu_ids))
    ground, places = enforcement.ground(), owners.beside(tmp_path)
    placed = Placer(state, tmp_path / "root", premises, ground, places, every).preview(asked(1))
    assert isinstance(placed, Placed)
    assert inherited_cpus.WITHHELD not in placed.snapshot.assumed


@pytest.mark.parametrize("name", inherited_cpus.RANKS)
def test_every_launcher_tells_the_rank(name: str) -> None:
    assert inherited_cpus.rank({name: "3"}) == 3


def test_mpirun_below_a_batch_script_of_slurm_tells_the_rank() -> None:
    assert inherited_cpus.rank({"SLURM_LOCALID": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}) == 1


@pytest.mark.parametrize("env", [{}, {"PMI_RANK": "first"}])
def test_without_a_launcher_there_is_no_rank(env: dict[str, str]) -> None:
    with pytest.raises(BadInput, match="start it with mpirun or srun"):
        inherited_cpus.rank(env)


def test_ranks_go_around_the_nodes_with_inherited_cpus(machine: MachineInfo) -> None:
    def nodes_of(*inherited: int) -> list[list[int]]:
        of = [inherited_cpus.of_rank(machine, frozenset(inherited), rank) for rank in range(3)]
        return [sorted(cpus) for cpus in of]

    assert nodes_of(*range(8)) == [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3]]
    assert nodes_of(2, 6, 7) == [[2], [6, 7], [2]]
    assert nodes_of(6, 7) == [[6, 7]] * 3
    # CPUs that the machine does not know.
    assert nodes_of(90) == [[90]] * 3


def test_the_allowed_cpus_follow_the_options(
    machine: MachineInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 5})
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1")

    def cpus(*, any_cpu: bool = False, per_rank: bool = False) -> frozenset[int] | None:
        found = inherited_cpus.allowed(machine, any_cpu=any_cpu, per_rank=per_rank)
        return None if found is None else found.cpus

    assert cpus() == frozenset({1, 5})
    assert cpus(any_cpu=True) is None
    assert cpus(per_rank=True) == frozenset({5})
    assert cpus(any_cpu=True, per_rank=True) == frozenset({4, 5, 6, 7})
