"""All codes of findings and reasons, with the classes that have their words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

_MODULES: Final = (
    "shared.findings.agent",
    "agent.findings.events",
    "agent.findings.kubelet",
    "shared.findings.publish",
    "agent.findings.run",
    "shared.findings.runtime",
    "agent.host.runtime.fake",
    "agent.host.runtime.fake_files",
    "cluster.doctor.findings",
    "cluster.doctor.scheduler_findings",
    "cluster.extender.wire",
    "cluster.findings",
    "core.admission.reasons",
    "core.findings.cluster",
    "core.findings.config",
    "core.findings.machine",
    "core.findings.managers",
    "core.findings.policy_options",
    "core.findings.reservation",
    "core.findings.state_files",
    "core.hints.provider",
    "core.hints.walking",
    "core.managers.cpu.reasons",
    "core.managers.device.reasons",
    "core.managers.memory.reasons",
    "core.model.input_error",
    "core.model.machine_shape",
    "dashboard.history_points",
    "insight.decision_notes",
    "insight.explain.change",
    "insight.fleet.fit",
    "insight.fleet.kube_scheduler",
    "insight.fleet.obstacles",
    "insight.fleet.variants",
    "insight.lint.choosing",
    "insight.lint.on_claim_amounts",
    "insight.lint.on_claim_devices",
    "insight.lint.on_claim_documents",
    "insight.lint.on_claims",
    "insight.lint.on_effects",
    "insight.lint.on_host",
    "insight.lint.on_lost_cpus",
    "insight.lint.on_nodes",
    "insight.lint.on_pods",
    "insight.lint.on_requests",
    "insight.lint.on_reservation",
    "insight.lint.on_restarts",
    "insight.lint.option_findings",
    "insight.python_api.arguments",
    "insight.simulate.runner",
    "insight.state.block_rules",
    "insight.state.cpu_rules",
    "insight.state.device_rules",
    "insight.state.memory_rules",
    "insight.state.native_rules",
    "insight.state.rebase",
    "insight.state.restart_check",
    "insight.state.state_drift",
    "insight.state.verify",
    "insight.upgrade.compare",
    "insight.upgrade.files",
    "insight.upgrade.pods",
    "insight.upgrade.rule_changes",
    "insight.usecases.clusters",
    "insight.usecases.comparing",
    "insight.usecases.explaining",
    "insight.usecases.input_findings",
    "insight.usecases.fleets",
    "insight.usecases.kubelet_at_hand",
    "insight.usecases.replaying",
    "insight.usecases.reserving",
    "insight.usecases.scenario_document",
    "insight.usecases.scenario_file",
    "insight.usecases.simulating",
    "insight.usecases.state_doctor",
    "io.findings.clients",
    "io.findings.config_files",
    "io.findings.devices",
    "io.findings.documents",
    "io.findings.files",
    "io.findings.kube_api",
    "io.findings.machines",
    "io.findings.pods",
)
"""Modules below ``numalet`` that define them; all load without the extras.

Tests find missing modules, and those that need an extra.
"""


def classes() -> Mapping[str, type[Any]]:
    every = {each.code: each for name in _MODULES for each in _of_module(name)}
    return dict(sorted(every.items()))


def _of_module(name: str) -> Iterator[type[Any]]:
    for each in vars(import_module(f"numalet.{name}")).values():
        if isinstance(each, type) and isinstance(code := getattr(each, "code", None), str) and code:
            yield each
