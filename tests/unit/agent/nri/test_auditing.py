"""Rounds of the audit beside a kernel that another program writes to."""

from __future__ import annotations

import asyncio
from pathlib import Path

from numalet.agent.controller.recovery import Premises
from numalet.agent.nri import plan
from numalet.agent.nri.auditing import AuditChoice, AuditRounds
from numalet.agent.nri.choices import Mode, PinningChoice
from numalet.agent.nri.connection import RuntimeConnection
from numalet.agent.nri.following import FollowedPods
from numalet.agent.nri.plan import MOST_OVERRIDES
from numalet.agent.nri.seen import Sets
from numalet.core.config.behaviour import NATIVE
from numalet.core.model import cpu_set
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.nri.session import Handlers
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from running import agents
from running.plugin_runtime import EVERY_CPU, PluginRuntime

PID = 7


class Repaired(RuntimeConnection):
    """Asks for the repairs, and applies them to the containers of a ``PluginRuntime``."""

    def __init__(self, runtime: PluginRuntime) -> None:
        super().__init__(Path("nri.sock"), "10", runtime.plugin, runtime.lines.append)
        self.runtime = runtime
        self.repairs = 0

    def repair(self, given: Handlers) -> None:
        self.repairs += 1
        has = self.runtime.sandboxes.values(), self.runtime.containers.values()
        asked = nri.SynchronizeRequest(pods=has[0], containers=has[1])
        payload = given["Synchronize"](asked.SerializeToString())
        self.runtime.update(nri.SynchronizeResponse.FromString(payload).update)


def allowed(proc: Path, container: str, cpus: str, nodes: str = "0-1") -> None:
    (proc / str(PID)).mkdir(exist_ok=True)
    (proc / str(PID) / "cgroup").write_text(f"3:cpuset:/kubepods/pod/{container}\n")
    status = f"Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t{nodes}\n"
    (proc / str(PID) / "status").write_text(status)


def test_a_container_that_is_left_is_compared_and_not_repaired(tmp_path: Path) -> None:
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE))
    app = runtime.create(runtime.sandbox("db"), pid=PID)
    connection, config = Repaired(runtime), kubelet_config.decode({}, "kubelet.yaml")
    rounds = AuditRounds(
        AuditChoice(tmp_path, 5.0, tmp_path, tmp_path),
        Premises(config=config, machine=agents.SHAPE.open().info, behaviour=NATIVE),
        runtime.plugin,
        FollowedPods(),
        connection,
    )
    for at in range(MOST_OVERRIDES):
        assert connection.repairs == at
        # The other program is back at once: no audit sees the sets of the plan.
        allowed(tmp_path, app.id, EVERY_CPU)
        asyncio.run(rounds._repair())
    assert plan.left(runtime.plugin.plan) == {app.id}
    for cpus in (EVERY_CPU, "3-15"):
        allowed(tmp_path, app.id, cpus)
        asyncio.run(rounds._repair())
    assert connection.repairs == MOST_OVERRIDES
    assert runtime.plugin.counts.repaired == MOST_OVERRIDES - 1
    # What differs for another reason is still repaired.
    late = runtime.create(runtime.sandbox("late"))
    runtime.plugin.plan = plan.observed(runtime.plugin.plan, {late.id: Sets()})
    asyncio.run(rounds._repair())
    assert connection.repairs == MOST_OVERRIDES + 1
    in_force = runtime.plugin.plan.members[app.id].in_force
    assert in_force == Sets(cpu_set.parse(EVERY_CPU), frozenset({0, 1}))
