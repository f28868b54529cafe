"""Gather the input of a comparison: pods, machines, configurations, policies, releases."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from numalet.core.admission import counting
from numalet.core.config.feature_gates import rules_of
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.insight.explain import matrix
from numalet.insight.explain.matrix import NamedConfig, NamedMachine, Options, Order, Variant
from numalet.insight.usecases import kubelet_at_hand, simulating
from numalet.insight.usecases.explaining import machine_named
from numalet.insight.usecases.input_findings import amounts_derived, no_pods, pods_ignored
from numalet.insight.usecases.kubelet_at_hand import with_kubelets
from numalet.insight.usecases.simulating import SimulateInputs
from numalet.io import machines
from numalet.io.documents.cluster import node_labels as node_identities
from numalet.io.documents.kubelet import kubelet_config, kubelet_flags, kubelet_version
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.pods.pod_manifest import PodOptions
from numalet.io.documents.text import yaml_source

LIVE: Final = "this machine"
NO_FILE: Final = "no file"


class Comparison(Value, kw_only=True):
    """The arguments of the user; an empty list keeps the value of the configuration.

    ``options`` are texts in the form of the kubelet's flag, empty for no options; ``releases`` are
    names, or several in one text with commas.
    """

    pieces: SimulateInputs
    pods: Sequence[str]
    machines: Sequence[str] = ()
    configs: Sequence[ConfigSources] = ()
    policies: Sequence[str] = ()
    scopes: Sequence[str] = ()
    options: Sequence[str] = ()
    releases: Sequence[str] = ()


class PreparedMatrix(Value):
    variants: tuple[Variant, ...]
    pods: tuple[Pod, ...]
    notes: tuple[Finding, ...]


def compare(comparison: Comparison) -> PreparedMatrix:
    """Return the variants to compare.

    Raises:
        BadInput: With everything that is wrong in its parts.
    """
    pieces = comparison.pieces
    configs_named = [each.config_file for each in comparison.configs or (pieces.config,)]
    yaml_source.refuse_second_reader((*comparison.pods, *configs_named))
    inputs = [(path, simulating.documents_of(path)) for path in comparison.pods]
    loaded = pod_manifest.pods_of(
        inputs, PodOptions(node_name=pieces.node_name, source=pieces.pod_source)
    )
    ignored = pods_ignored(loaded.ignored)
    if not loaded.pods:
        raise BadInput([no_pods(), *ignored])
    names = comparison.machines or (None,)
    opened = [
        machines.open_machine(None) if name is None else machine_named(pieces, name)
        for name in names
    ]
    releases = _releases(comparison.releases)
    # The kubelet of this node matters only if nothing else was named.
    is_meant = names == (None,) and not comparison.configs
    kubelet = simulating.used_kubelet(
        replace(pieces, uses_kubelet=is_meant and pieces.uses_kubelet)
    )
    sources = [
        each
        if releases
        else with_kubelets(
            each,
            is_live=names == (None,),
            shown=loaded.kubelets,
            node_name=node_identities.name_of(pieces.node_name, loaded.pods),
        )
        for each in comparison.configs or (kubelet.sources,)
    ]
    configs = [kubelet_config.load(each) for each in sources]
    identity = node_identities.of_pods(pieces.node_name, pieces.node_labels, loaded.pods)
    variants = matrix.variants(
        [
            NamedMachine(
                name or LIVE,
                each.info,
                kubelet_at_hand.devices_on(each, pieces.device_file, pieces.devices, kubelet),
                identity,
                kubelet.files,
                kubelet.known_pods,
            )
            for name, each in zip(names, opened, strict=True)
        ],
        [
            NamedConfig(_name_of(given), each.config, replace(each.behaviour, release=release))
            for given, each in zip(sources, configs, strict=True)
            for release in releases or (each.behaviour.release,)
        ],
        _choices("--policies", comparison.policies, [each.value for each in TopologyPolicy]),
        _choices("--scopes", comparison.scopes, [each.value for each in Scope]),
        [_options(text) for text in comparison.options] or [None],
    )
    notes = [*kubelet.notes]
    notes += [note for each in opened for note in each.reading_notes]
    notes += [warning for each in configs for warning in each.warnings]
    notes += (*loaded.notes, *loaded.on_claims, *_derived(loaded.pods, variants), *ignored)
    return PreparedMatrix(variants, tuple(map(counting.at_first, loaded.pods)), tuple(notes))


def _derived(pods: Sequence[Pod], variants: Sequence[Variant]) -> tuple[Finding, ...]:
    """Return the note on pods with derived amounts, if a variant uses these amounts."""
    configs = [each.config for each in variants]
    return amounts_derived(
        pods,
        [rules_of(each.behaviour.release, each.config.feature_gates) for each in configs],
    )


def _name_of(sources: ConfigSources) -> str:
    return NO_FILE if sources.config_file is None else str(sources.config_file)


def _choices(option: str, given: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """Return the given values without duplicates, or all known ones if empty."""
    values = [value.strip() for text in given for value in text.split(",")]
    unknown = [value for value in values if value not in known]
    if unknown:
        raise BadInput(
            input_error.NotSupported(
                f"{option} {value!r} is unknown", expected=f"one of {', '.join(known)}"
            )
            for value in unknown
        )
    # A dictionary instead of a set, to keep the order of the user.
    return list(dict.fromkeys(values)) or known


def _releases(texts: Sequence[str]) -> tuple[Release, ...]:
    """Return the releases of these names without duplicates. Raises ``BadInput``."""
    findings = Findings()
    where = Location(kubelet_version.RELEASE_FLAG)
    names = [name for text in texts for name in text.split(",")]
    read = [kubelet_version.read(name, where, findings) for name in names]
    findings.raise_errors()
    return tuple(dict.fromkeys(release for release in read if release is not None))


def _options(text: str) -> Options:
    """Parse options of the topology policy in the form of the kubelet's flag."""
    if not text:
        return ()
    flags = kubelet_flags.parse([("--topology-manager-policy-options", text)])
    options = kubelet_flags.applied(KubeletConfig(), flags).topology_manager_policy_options
    return tuple((options or {}).items())


def orders(count: int, pods: int, seed: int) -> list[Order]:
    """Return ``count`` orders of the pods: the given one, then random ones by the seed."""
    # The first run is in the order of the input, which users can check by hand.
    arrivals: list[Order] = [range(pods)]
    chance = random.Random(seed)  # noqa: S311 - it is to be repeatable, not secret
    for _ in range(count - 1):
        shuffled = list(range(pods))
        chance.shuffle(shuffled)
        arrivals.append(shuffled)
    return arrivals
