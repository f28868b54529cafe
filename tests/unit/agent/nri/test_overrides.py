"""Another program that sets CPUs: undone, and the container is left to it if it insists."""

from __future__ import annotations

import pytest

from numalet.agent.nri import plan
from numalet.agent.nri.choices import Mode, PinningChoice
from numalet.agent.nri.plan import MOST_OVERRIDES, OVERRIDES_WITHIN_SECONDS
from numalet.agent.nri.seen import Sets
from numalet.core.model import cpu_set
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from running.fake_runtime import BURSTABLE, container, request
from running.plugin_runtime import EVERY_CPU, PluginRuntime, permitting

EVERYTHING = Sets(cpu_set.parse(EVERY_CPU), frozenset({0, 1}))
LEFT = (
    "SetByAnotherProgram default/db: container app: another program set its CPUs or NUMA nodes 3 "
    "times within 10 minutes, so it is left to that program until it ends"
)


@pytest.fixture
def runtime() -> PluginRuntime:
    return PluginRuntime(PinningChoice(Mode.ENFORCE))


def asks(runtime: PluginRuntime, of: nri.Container, cpus: str, nodes: str = "") -> None:
    """A client of the runtime asks for these; the answer of the plugin changes the question."""
    linux = runtime.containers[of.id].linux.resources
    linux.cpu.cpus, linux.cpu.mems = cpus or linux.cpu.cpus, nodes or linux.cpu.mems
    asked = request(runtime.sandboxes[of.pod_sandbox_id], of)
    asked.linux_resources.cpu.cpus, asked.linux_resources.cpu.mems = cpus, nodes
    payload = runtime.handlers["UpdateContainer"](asked.SerializeToString())
    runtime.update(nri.UpdatesResponse.FromString(payload).update)


def test_a_client_that_asks_again_and_again_gets_the_container_and_no_other(
    runtime: PluginRuntime,
) -> None:
    app = runtime.create(runtime.sandbox("db"))
    web = runtime.create(runtime.sandbox("web", BURSTABLE), cpu=1)
    had = runtime.sets(app)
    for _ in range(MOST_OVERRIDES - 1):
        asks(runtime, app, EVERY_CPU)
        assert runtime.sets(app) == had
    assert runtime.told == []
    for cpus in (EVERY_CPU, "3", "4"):
        asks(runtime, app, cpus)
        assert runtime.sets(app) == (cpus, had[1])
    assert runtime.told == [LEFT]
    # All others stay off the CPUs that it was given, and the plugin goes on.
    own, other = cpu_set.parse(had[0]), runtime.create(runtime.sandbox("other"))
    given = cpu_set.parse(runtime.sets(other)[0])
    assert len(given) == 2
    assert not given & own
    runtime.repair()
    assert runtime.sets(app)[0] == "4"
    assert cpu_set.parse(runtime.sets(web)[0]) == cpu_set.parse(EVERY_CPU) - own - given
    assert runtime.plugin.enforces


def test_a_container_is_left_until_it_ends(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    app = runtime.create(pod)
    had = runtime.sets(app)
    for _ in range(MOST_OVERRIDES):
        asks(runtime, app, EVERY_CPU)
    # The runtime may be restarted meanwhile.
    runtime.synchronize()
    runtime.repair()
    assert runtime.sets(app)[0] == EVERY_CPU
    assert runtime.told == [LEFT]
    assert plan.left(runtime.plugin.plan) == {app.id}
    runtime.stop(app)
    assert runtime.sets(runtime.create(pod)) == had
    assert plan.left(runtime.plugin.plan) == set()


def test_what_is_set_past_the_runtime_counts_too(runtime: PluginRuntime) -> None:
    app = runtime.create(runtime.sandbox("db"))
    for at in range(MOST_OVERRIDES):
        assert app.id not in plan.left(runtime.plugin.plan)
        runtime.plugin.differing = {}
        runtime.repair({app.id: EVERYTHING})
        assert runtime.plugin.counts.repaired == min(at + 1, MOST_OVERRIDES - 1)
    assert runtime.told[-1] == LEFT
    assert runtime.plugin.counts.unpinned_starts["audit"] == MOST_OVERRIDES
    # What it sets from now on is neither repaired nor reported; the runtime does not know it.
    runtime.plugin.differing = {}
    runtime.repair({app.id: EVERYTHING})
    runtime.repair()
    assert runtime.plugin.counts.repaired == MOST_OVERRIDES - 1
    assert runtime.plugin.counts.unpinned_starts["audit"] == MOST_OVERRIDES
    assert runtime.told[-1] == LEFT
    assert runtime.plugin.plan.members[app.id].in_force == EVERYTHING


def test_a_repair_that_the_runtime_does_not_apply_shows_no_other_program(
    runtime: PluginRuntime,
) -> None:
    app = runtime.create(runtime.sandbox("db"))
    for _ in range(3 * MOST_OVERRIDES):
        runtime.containers[app.id].linux.resources.cpu.cpus = EVERY_CPU
        runtime.repair({app.id: EVERYTHING})
    assert plan.left(runtime.plugin.plan) == set()
    assert runtime.plugin.counts.repaired == 3 * MOST_OVERRIDES


def test_rare_overrides_are_undone_for_ever(runtime: PluginRuntime) -> None:
    app = runtime.create(runtime.sandbox("db"))
    made = runtime.plugin.plan
    step = OVERRIDES_WITHIN_SECONDS / (MOST_OVERRIDES - 1)
    for at in range(9):
        made = plan.overridden(made, {app.id: EVERYTHING}, at * step)
        assert plan.left(made) == set()
    made = plan.overridden(made, {app.id: EVERYTHING}, 9 * step - 1)
    assert plan.left(made) == {app.id}
    # It is not left twice.
    assert plan.overridden(made, {app.id: EVERYTHING}, 9e9) == made


@pytest.mark.parametrize("nodes", ["", "0"])
def test_asking_for_what_the_plan_says_is_no_override(runtime: PluginRuntime, nodes: str) -> None:
    app = runtime.create(runtime.sandbox("db"))
    cpus, had = runtime.sets(app)
    for _ in range(2 * MOST_OVERRIDES):
        asks(runtime, app, cpus, nodes)
    assert had == "0"
    assert runtime.sets(app) == (cpus, had)
    assert plan.left(runtime.plugin.plan) == set()


def test_numa_nodes_count_where_the_plan_has_some(runtime: PluginRuntime) -> None:
    app = runtime.create(runtime.sandbox("db"))
    web = runtime.create(runtime.sandbox("web", BURSTABLE), cpu=1)
    for _ in range(MOST_OVERRIDES):
        asks(runtime, app, "", "1")
        asks(runtime, web, "", "1")
    assert plan.left(runtime.plugin.plan) == {app.id}
    assert runtime.sets(web)[1] == "1"


def test_nothing_counts_while_nothing_is_enforced() -> None:
    runtime = PluginRuntime(PinningChoice())
    app = runtime.create(runtime.sandbox("db"))
    for _ in range(MOST_OVERRIDES):
        asks(runtime, app, EVERY_CPU)
    assert plan.left(runtime.plugin.plan) == set()
    assert runtime.plugin.plan.members[app.id].in_force.cpus == EVERYTHING.cpus


def test_an_unknown_container_is_nobodys(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    unknown = container(pod)
    runtime.containers[unknown.id] = unknown
    asks(runtime, unknown, "4")
    assert runtime.plugin.plan.members == {}


def test_a_pod_that_is_left_alone_may_have_cpus_from_another_program() -> None:
    runtime = PluginRuntime(
        PinningChoice(Mode.ENFORCE, permissions=permitting(placement=["ignore"]))
    )
    pod = runtime.sandbox("alone", numalet_dev__placement="ignore")
    app = container(pod)
    app.linux.resources.cpu.cpus = "5"
    runtime.handlers["CreateContainer"](request(pod, app).SerializeToString())
    runtime.containers[app.id] = app
    for _ in range(2 * MOST_OVERRIDES):
        asks(runtime, app, "3-4")
    assert runtime.sets(app)[0] == "3-4"
    assert runtime.plugin.enforces
    assert runtime.told == []
