"""The questions of the command line as Python functions with values in and out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

from numalet.core.checkpoint.state_files import StateFiles
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import Scope, StartRefused, TopologyPolicy
from numalet.core.model.device_claims import NO_CLAIMS, ClaimDocuments
from numalet.core.model.pod import Pod
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.insight.explain import cases as cases
from numalet.insight.explain import matrix, search, story
from numalet.insight.explain.matrix import NamedConfig, NamedMachine, Options
from numalet.insight.explain.tally import Tally
from numalet.insight.lint import rows, rules
from numalet.insight.lint.rows import FindingRow
from numalet.insight.lint.subject import LintSubject
from numalet.insight.output import explanation_document, json_schema
from numalet.insight.python_api.arguments import at_least, checked, require
from numalet.insight.python_api.nodes import (
    AnyMachine,
    choices,
    following,
    machine_and_devices,
    machine_info,
    start_node,
)
from numalet.insight.python_api.tables import Answer, MatrixRows, decision_rows
from numalet.insight.simulate import simulation_document
from numalet.insight.simulate.session import NO_FILES, Session, decisions
from numalet.insight.state import restart_check, verify
from numalet.insight.state.restart_check import RestoreCheck
from numalet.insight.state.verify import FileReport
from numalet.insight.usecases import comparing, explaining, reserving, state_doctor
from numalet.insight.usecases.reserving import Plan
from numalet.io.documents.cluster import node_labels
from numalet.io.files import state_directory
from numalet.io.machines import LoadedMachine, open_machine

AnyPath: TypeAlias = str | PathLike[str]

_POLICIES: Final = tuple(policy.value for policy in TopologyPolicy)
_SCOPES: Final = tuple(scope.value for scope in Scope)


@checked
def explain(
    node: Node,
    pod: Pod,
    *,
    after: Iterable[Pod] = (),
    config: KubeletConfig | None = None,
    files: StateFiles = NO_FILES,
    devices: Devices = NO_DEVICES,
    budget_seconds: float = 5.0,
) -> dict[str, Any]:
    """Explain an admission or rejection, as ``numalet explain -o json``.

    Args:
        node: the node; its device plugins are not called.
        pod: the pod.
        after: pods that ask for admission before it, in this order.
        config: the configuration of the node. With it, changes are searched that would admit a
            rejected pod or align an admitted one; the node must then be one that just started, with
            these ``files`` and ``devices``.
        files: state files at the start of the node.
        devices: devices at the start of the node.
        budget_seconds: time limit of the search; 0 for no limit.

    Raises:
        ValueError: there is a configuration, and pods are already active on the node.
    """
    if config is not None and node.snapshot.pods:
        raise ValueError("with a config the node is one that was just started; see 'after'")
    at_least(0, budget_seconds=budget_seconds)
    # A search decides many times, and a plugin may act on a device whenever it is called.
    quiet = node.without_plugins()
    beginning = Session(
        config or KubeletConfig(), node.rules.machine, quiet, devices, pods=node.snapshot.pods
    )
    case = cases.build(beginning, after, pod, files=files)
    traced = story.trace(case)
    is_searched = config is not None and budget_seconds > 0
    tallies: tuple[Tally, ...] = ()
    if is_searched:
        tallies = tuple(search.search(case, traced, explaining.budgeted(budget_seconds)))
    return json_schema.plain(explanation_document.explanation(case, traced, tallies))


@checked
def simulate(
    config: KubeletConfig,
    machine: AnyMachine,
    pods: Iterable[Pod],
    *,
    files: StateFiles = NO_FILES,
    devices: Devices | None = None,
    behaviour: Behaviour = EXACT,
    release: str | Release | None = None,
) -> Answer:
    """Decide on these pods one after the other, as ``numalet simulate -o json``.

    If the kubelet would not start, ``start_error`` is its text, and there are no steps.

    Args:
        config: the configuration.
        machine: the machine in any form.
        pods: the pods in the order of their admission.
        files: state files that the kubelet finds.
        devices: devices that plugins report; by default those of the machine's profile.
        behaviour: the rules of exact or of native mode.
        release: the release of the kubelet, such as ``1.34``; by default that of the behaviour.

    Raises:
        BadInput: the text names no machine, or the release is not known.
    """
    rules = following(behaviour, release)
    node = start_node(config, machine, files, devices, behaviour=rules)
    if isinstance(node, StartRefused):
        refused = simulation_document.not_started(node, rules.release)
        return Answer(str(node), json_schema.plain(refused), ())
    session, records = Session(config, node.rules.machine, node).through(pods)
    made = decisions(records)
    document = simulation_document.simulation(
        session, records, causes=explanation_document.causes(session, made)
    )
    rows = decision_rows(made)
    return Answer("Decisions", json_schema.plain(document), rows, session.node)


@checked
def what_if(
    pods: Sequence[Pod],
    machines: Mapping[str, AnyMachine],
    configs: Mapping[str, KubeletConfig],
    *,
    policies: Sequence[str] = _POLICIES,
    scopes: Sequence[str] = _SCOPES,
    options: Sequence[Mapping[str, str] | None] = (None,),
    orders: int = 1,
    seed: int = 0,
    behaviour: Behaviour = EXACT,
    releases: Sequence[str | Release] = (),
) -> MatrixRows:
    """Run the same pods on every combination; return a row of figures for each, for a data frame.

    Args:
        pods: the pods in the order of their admission.
        machines: machines in any form, by their names in the rows.
        configs: configurations, by their names in the rows.
        policies: topology policies to try.
        scopes: topology scopes to try.
        options: options of the topology policy; None keeps those of the configuration.
        orders: number of admission orders: the given one, then random ones.
        seed: makes the random orders reproducible.
        behaviour: the rules of exact or of native mode.
        releases: releases to try, such as ``1.32``; empty for that of the behaviour.

    Raises:
        BadInput: a text names no machine, or a policy, scope or release is not known.
    """
    require(machines=machines, configs=configs, policies=policies, scopes=scopes, options=options)
    at_least(1, orders=orders)
    tried = choices("policies", policies, _POLICIES), choices("scopes", scopes, _SCOPES)
    followed = [following(behaviour, each) for each in releases] or [behaviour]
    opened = [
        NamedMachine(name, *machine_and_devices(machine)) for name, machine in machines.items()
    ]
    chosen: list[Options | None] = [
        None if each is None else tuple(each.items()) for each in options
    ]
    variants = matrix.variants(
        opened,
        [
            NamedConfig(name, config, rules)
            for name, config in configs.items()
            for rules in followed
        ],
        *tried,
        chosen,
    )
    asked = comparing.orders(orders, len(pods), seed)
    return MatrixRows(
        matrix.figures(matrix.row(variant, pods, asked, lambda count: None).document)
        for variant in variants
    )


@checked
def check(
    config: KubeletConfig,
    machine: AnyMachine,
    *,
    pods: Iterable[Pod] = (),
    files: StateFiles = NO_FILES,
    devices: Devices | None = None,
    behaviour: Behaviour = EXACT,
    release: str | Release | None = None,
    claims: ClaimDocuments = NO_CLAIMS,
    node_name: str = "",
) -> tuple[FindingRow, ...]:
    """Check a configuration on a machine; return a row for each finding.

    The errors that keep the kubelet from starting are first, then the findings of ``numalet
    check``. Facts that only the host knows (swap, cgroups, the socket of a runtime) are not
    checked.

    Args:
        config: the configuration.
        machine: the machine in any form.
        pods: pods for the node.
        files: state files that the kubelet would find.
        devices: devices that plugins report; by default those of the machine's profile.
        behaviour: the rules of exact or of native mode.
        release: the release of the kubelet, such as ``1.34``; by default that of the behaviour.
        claims: resource claims, their classes, and the devices that drivers offer.
        node_name: the name of the node among the offered devices; by default that of the pods.

    Raises:
        BadInput: the text names no machine, or the release is not known.
    """
    choices("files", files, state_directory.FILE_NAMES)
    followed = following(behaviour, release)
    opened = open_machine(machine) if isinstance(machine, str | PathLike) else machine
    # Opened here, because only a loaded machine has the notes of its reader.
    noticed = opened.reading_notes if isinstance(opened, LoadedMachine) else ()
    info, its_devices = machine_and_devices(opened)
    given = tuple(pods)
    subject = LintSubject(
        config=config,
        machine=info,
        pods=given,
        state_files=files,
        devices=its_devices if devices is None else devices,
        behaviour=followed,
        identity=node_labels.of_pods(node_name or None, None, given),
        claims=claims,
    )
    return rows.rows(rules.check(subject, noticed).findings)


@checked
def reserve(
    config: KubeletConfig,
    machine: AnyMachine,
    *,
    strategy: str = "even",
    behaviour: Behaviour = EXACT,
    release: str | Release | None = None,
) -> Plan:
    """A ``reservedMemory`` with which the kubelet starts; its ``entries`` go into the config.

    Args:
        config: the configuration; its reservations determine the amount.
        machine: the machine in any form.
        strategy: how it is shared between NUMA nodes, as ``--strategy`` of the command has it.
        behaviour: the rules of exact or of native mode.
        release: the release of the kubelet, such as ``1.34``; by default that of the behaviour.

    Raises:
        BadInput: there is no legal reservation, or no such strategy, machine or release.
    """
    rules = following(behaviour, release)
    info = machine_info(machine)
    return reserving.plan_for(config, info, strategy, rules)


@checked
def read_state_files(path: AnyPath) -> dict[str, str]:
    """Read the state files of a directory, or one state file, by their kubelet names.

    Raises:
        BadInput: state files are missing, or one cannot be read.
    """
    return dict(state_doctor.read(Path(path)).files)


@checked
def verify_state_files(
    files: StateFiles,
    machine: AnyMachine | None = None,
    *,
    release: str | Release | None = None,
) -> tuple[FileReport, ...]:
    """Verify that state files are sound and, with a machine, that they match it.

    They must have the format of the release; without a release any format is accepted.

    Raises:
        BadInput: the text names no machine, or the release is not known.
    """
    choices("files", files, state_directory.FILE_NAMES)
    info = None if machine is None else machine_info(machine)
    followed = None if release is None else following(EXACT, release).release
    return verify.verify(files, info, followed)


@checked
def check_restart(
    config: KubeletConfig,
    machine: AnyMachine,
    files: StateFiles,
    *,
    behaviour: Behaviour = EXACT,
    release: str | Release | None = None,
) -> RestoreCheck:
    """Check whether a kubelet would start with these state files, and the changes since.

    Args:
        config: the configuration.
        machine: the machine in any form.
        files: texts of state files by name.
        behaviour: the rules of exact or of native mode.
        release: the release of the kubelet, such as ``1.36``; by default that of the behaviour.

    Raises:
        BadInput: the text names no machine, or the release is not known.
    """
    choices("files", files, state_directory.FILE_NAMES)
    rules = following(behaviour, release)
    return restart_check.check(config, machine_info(machine), files, rules)
