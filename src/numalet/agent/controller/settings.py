"""An agent's settings from its options.

Without a configuration file, they fit the machine: static policies, and a reservation split over
NUMA nodes as by ``numalet reserve``.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Final

from numalet.agent.controller import root_claim
from numalet.agent.controller.kubelet_configuration import ConfigurationReader
from numalet.agent.controller.recovery import OnInvalidState, Premises
from numalet.agent.findings.kubelet import of_release
from numalet.agent.host import procfs
from numalet.agent.servers import endpoints
from numalet.agent.servers.endpoints import KubeApi, PodResourcesSettings
from numalet.core.admission import predicates
from numalet.core.config import feature_gates, node_allocatable, reservation
from numalet.core.config.behaviour import EXACT, Behaviour, Mode
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.numalet_config import PublishSettings
from numalet.core.config.releases import versions
from numalet.core.config.releases.release import Release
from numalet.core.config.reservation import Spread
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Location, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.value import Value, field, replace
from numalet.io import devices as device_door
from numalet.io import kubelets
from numalet.io.agent_client.places import SYSTEM_ROOT
from numalet.io.documents.kubelet import kubelet_config, kubelet_version
from numalet.io.documents.kubelet.kubelet_config import ConfigSources, LoadedConfig
from numalet.io.documents.kubelet.kubelet_version import KubeletAtHand
from numalet.io.files import trust
from numalet.io.machines import LoadedMachine, MachineChoice
from numalet.shared.kubernetes import node_object

_GI: Final = 1 << 30
_MI: Final = 1 << 20


class RuntimeKind(Enum):
    PROCESS = "process"
    FAKE = "fake"


class OwnerChoice(Enum):
    AUTO = "auto"
    """Observe if there are others."""
    ENFORCE = "enforce"
    OBSERVE = "observe"


class AgentOptions(Value, kw_only=True):
    root: Path = SYSTEM_ROOT
    config_file: Path | None = None
    manifests: Path | None = None
    runtime: RuntimeKind = RuntimeKind.PROCESS
    exact: bool = False
    release: str | None = None
    kubelet_version: str | None = None
    machine: MachineChoice = field(default_factory=MachineChoice)
    devices_file: str | None = None
    devices: Sequence[str] = ()
    on_invalid_state: OnInvalidState = OnInvalidState.BY_MODE
    node_name: str = ""
    ownership: OwnerChoice = OwnerChoice.AUTO
    verbosity: int = 2
    log_format: str = "console"
    podresources_qps: float = endpoints.REQUESTS_PER_SECOND
    kube_api: str = ""
    kube_api_certificate: Path | None = None
    kube_api_key: Path | None = None
    kubelet_root: Path = kubelets.ROOT


class KubeletChoice(Value, kw_only=True):
    """The named release and version of the kubelet.

    ``refusal``: why an enforcing agent cannot follow that version.
    """

    release: Release | None = None
    version: str = ""
    refusal: Finding | None = None


class AgentSettings(Value, kw_only=True):
    """``notes`` are for the administrator."""

    premises: Premises
    root: Path
    manifests: Path | None
    runtime: RuntimeKind
    node_name: str
    is_node_named: bool = False
    verbosity: int = 2
    log_format: str = "console"
    ownership: OwnerChoice = OwnerChoice.AUTO
    observe: bool = False
    asking: PodResourcesSettings = field(default_factory=PodResourcesSettings)
    notes: tuple[Finding, ...] = ()
    kube_api: KubeApi | None = None
    config_file: Path | None = None
    kubelet_root: Path = kubelets.ROOT
    kubelet: KubeletChoice = field(default_factory=KubeletChoice)
    publish: PublishSettings | None = None


def resolve(options: AgentOptions) -> AgentSettings:
    """Raises ``BadInput`` with all problems."""
    options = _from_here(options)
    findings = Findings()
    machine = findings.collect(options.machine.open)
    mode = Mode.EXACT if options.exact else None
    sources = ConfigSources(config_file=options.config_file, mode=mode, release=options.release)
    loaded = findings.collect(lambda: kubelet_config.load(sources))
    reached = findings.collect(lambda: _kube_api(options))
    version = kubelet_version.of_option(options.kubelet_version, findings)
    findings.raise_errors()
    if machine is None or loaded is None:
        raise BadInput(findings.all)
    _refuse_described(options, machine)
    chosen = _kubelet(loaded, version)
    behaviour = loaded.behaviour
    if not options.exact and not loaded.has_own_settings:
        # No mode was named, and an agent need not reproduce the kubelet's bugs.
        behaviour = replace(loaded.numalet, mode=Mode.NATIVE).behaviour
    followed = versions.followed(chosen.release, chosen.version)
    behaviour = replace(behaviour, release=followed.release)
    config = loaded.config if options.config_file is not None else fitted(machine.info)
    named = device_door.devices_on(machine, options.devices_file, list(options.devices))
    return AgentSettings(
        premises=Premises(
            config=config,
            machine=machine.info,
            behaviour=behaviour,
            devices=named,
            on_invalid_state=options.on_invalid_state,
            root=str(options.root),
            identity=_identity(options, machine.info),
        ),
        root=options.root,
        manifests=options.manifests,
        runtime=options.runtime,
        node_name=_node_name(options),
        is_node_named=bool(options.node_name),
        verbosity=options.verbosity,
        log_format=options.log_format,
        ownership=options.ownership,
        asking=_asking(options, config, behaviour),
        notes=(*machine.reading_notes, *loaded.warnings, *_of_folders(options)),
        kube_api=reached,
        config_file=options.config_file,
        kubelet_root=options.kubelet_root,
        kubelet=chosen,
        publish=loaded.numalet.publish,
    )


def _kubelet(loaded: LoadedConfig, kubelets_given: Sequence[KubeletAtHand]) -> KubeletChoice:
    """The named release and its version."""
    named = loaded.named_release
    findings = Findings()
    kubelet_version.choose(named, kubelet_version.RELEASE_FLAG, kubelets_given, findings)
    refusal = next(iter(findings.all), None)
    version = next((each.version for each in kubelets_given), "")
    return KubeletChoice(release=named, version=version, refusal=refusal)


def _from_here(options: AgentOptions) -> AgentOptions:
    """Make paths absolute: they are stored, shown, and part of pod uids."""
    config, manifests = options.config_file, options.manifests
    return replace(
        options,
        root=options.root.absolute(),
        kubelet_root=options.kubelet_root.absolute(),
        config_file=None if config is None else config.absolute(),
        manifests=None if manifests is None else manifests.absolute(),
    )


def _of_folders(options: AgentOptions) -> tuple[Finding, ...]:
    """Notes about the folders. Raises ``BadInput``."""
    runs_here = options.runtime is RuntimeKind.PROCESS
    others = root_claim.other_roots(options.root) if runs_here else ()
    folder = options.manifests
    if folder is None:
        return others
    finding = trust.doubt(folder) if runs_here else None
    if finding is not None:
        raise BadInput([finding])
    if folder.exists():
        return others
    # It may be created later, or its name may be misspelt.
    where = Location(str(folder))
    return (
        *others,
        input_error.NotFound(
            "the manifest folder does not exist; the agent waits for it, as the kubelet does",
            where=where,
            severity=Severity.WARNING,
        ),
    )


def _kube_api(options: AgentOptions) -> KubeApi | None:
    return endpoints.resolve(options.kube_api, options.kube_api_certificate, options.kube_api_key)


def _asking(
    options: AgentOptions, config: KubeletConfig, behaviour: Behaviour
) -> PodResourcesSettings:
    """Whether ``Get`` is available: always in native mode, else by the feature gate."""
    rules = feature_gates.rules_of(behaviour.release, config.feature_gates)
    return PodResourcesSettings(
        get_is_enabled=rules.pod_resources_answer_get or behaviour.release_at_once,
        requests_per_second=options.podresources_qps or None,
    )


def _identity(options: AgentOptions, machine: MachineInfo) -> NodeIdentity:
    name = _node_name(options)
    labels = node_object.labels(name, machine.os, procfs.architecture())
    # Programs have the groups of their user.
    return NodeIdentity(name=name, labels=labels, has_all_labels=True, has_strict_groups=False)


def _node_name(options: AgentOptions) -> str:
    return (options.node_name or socket.gethostname()).lower()


def _refuse_described(options: AgentOptions, machine: LoadedMachine) -> None:
    """Programs cannot be pinned on a machine that is only described."""
    if options.machine.text is not None and options.runtime is RuntimeKind.PROCESS:
        raise input_error.NotSupported(
            f"the agent cannot pin programs on {options.machine.text}, which is only described "
            f"({len(machine.info.nodes)} NUMA nodes); use --runtime fake to try it, or leave out "
            "-m",
            where=Location("-m"),
        ).bad_input()


def observing(settings: AgentSettings, proc: Path = kubelets.PROC) -> AgentSettings:
    """Settings of an observing agent: exact rules, and the kubelet's node name.

    The kubelet's configuration applies, if known and no other one was named.
    """
    rules = replace(EXACT, release=settings.premises.behaviour.release)
    premises = replace(settings.premises, behaviour=rules, on_invalid_state=OnInvalidState.STOP)
    root = settings.kubelet_root
    name = "" if settings.is_node_named else kubelets.node_name(root, proc)
    if name:
        labels = {**premises.identity.labels, predicates.HOST_LABEL: name}
        premises = replace(premises, identity=replace(premises.identity, name=name, labels=labels))
    seeing = replace(
        settings, observe=True, premises=premises, node_name=name or settings.node_name
    )
    theirs = configuration_reader(seeing, proc).read()
    notes = (*settings.notes, *theirs.findings)
    if theirs.release.kubelet_version or kubelets.process_of(root, proc) is not None:
        notes = (*notes, of_release(theirs.release))
    return replace(seeing, premises=theirs.premises, notes=notes)


def enforcing(settings: AgentSettings) -> AgentSettings:
    """Settings of an enforcing agent. Raises ``BadInput`` for an unknown kubelet release."""
    if settings.kubelet.refusal is not None:
        raise BadInput([settings.kubelet.refusal])
    return settings


def configuration_reader(
    settings: AgentSettings, proc: Path = kubelets.PROC
) -> ConfigurationReader:
    named = "" if settings.config_file is None else str(settings.config_file)
    chosen = settings.kubelet
    return ConfigurationReader(
        settings.premises,
        settings.kubelet_root,
        proc,
        named,
        release=chosen.release,
        version=chosen.version,
    )


def fitted(machine: MachineInfo) -> KubeletConfig:
    """The default configuration for a machine. Raises ``BadInput`` if it is too small."""
    memory = machine.memory_capacity_bytes
    # 5 % of memory, between 256 MiB and 2 GiB.
    kept_back = max(256 * _MI, min(2 * _GI, memory // 20 // _MI * _MI))
    config = KubeletConfig(
        cpu_manager_policy="static",
        memory_manager_policy="Static",
        topology_manager_policy="restricted",
        kube_reserved={
            "cpu": "500m" if machine.cpu_count < 4 else "1",
            "memory": f"{kept_back // _MI}Mi",
        },
        eviction_hard=node_allocatable.default_eviction(machine.os),
    )
    findings = Findings()
    parts = reservation.memory_parts(config, machine, findings)
    findings.raise_errors()
    shares = reservation.split(machine, parts.total, Spread.EVEN)
    if isinstance(shares, Finding):
        raise BadInput([shares])
    return replace(config, reserved_memory=reservation.entries(shares))
