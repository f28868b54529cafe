"""The page of metrics, as Prometheus reads it."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from numalet.agent.servers import metrics as metrics_page
from numalet.agent.servers.door import OwnershipMode
from numalet.agent.telemetry import admission_counts, metrics
from numalet.agent.telemetry.metrics import DEFINITIONS, Counts
from numalet.core.admission.decision import Collector
from numalet.core.config.behaviour import EXACT, NATIVE
from numalet.core.config.releases.v1_36 import V1_36
from numalet.core.model.value import replace
from numalet.wording.metric_help import HELP
from servers import views

# The kubelet's own names are as they are; promtool would have them otherwise.
REMARKS = {
    "kubelet_container_aligned_compute_resources_count",
    "kubelet_container_aligned_compute_resources_failure_count",
    "kubelet_cpu_manager_exclusive_cpu_allocation_count",
    "kubelet_topology_manager_admission_duration_ms",
}


def _page() -> str:
    from values import builders

    node, counts = views.started(), Counts()
    for name, memory in (("wide", "40Gi"), ("small", "4Gi")):
        recording = Collector()
        node, decision = node.admit(builders.simple(name, memory), recording)
        counts = admission_counts.after_admission(
            counts, node.rules, decision, recording.events, 0.0005
        )
    counts = admission_counts.after_rejection(counts, "TopologyAffinityError")
    counts = counts.plus(metrics.DRIFT_CORRECTED, (("setting", "cpuset.mems"),))
    return metrics_page.text(views.view(node, counts=counts)).decode()


def test_every_metric_has_help_and_type() -> None:
    observed = metrics_page.text(views.view(standing=OwnershipMode.OBSERVING)).decode()
    rules = views.started().rules
    for page, is_observing in ((_page(), False), (observed, True)):
        definitions = metrics.shown(rules, is_observing=is_observing)
        for definition in definitions:
            assert f"# HELP {definition.name} {HELP[definition.name]}\n" in page
            assert f"# TYPE {definition.name} {definition.kind.value}\n" in page
        own = re.findall("^# TYPE (?!process_)", page, re.MULTILINE)
        assert len(own) == len(definitions)


def test_each_metric_is_shown_by_one_kind_of_agent_at_least() -> None:
    native = views.started(behaviour=NATIVE).rules
    gated = replace(views.CONFIG, feature_gates={"PodLevelResourceManagers": True})
    before_1_37 = views.started(config=gated, behaviour=replace(EXACT, release=V1_36)).rules
    shown = [
        metrics.shown(native, is_observing=True),
        metrics.shown(native, is_observing=False),
        metrics.shown(before_1_37, is_observing=False),
    ]
    assert {each for metrics_ in shown for each in metrics_} == {*DEFINITIONS}


def test_values_are_where_prometheus_looks_for_them() -> None:
    page = _page().splitlines()
    for line in (
        "kubelet_memory_manager_pinning_requests_total 1.0",
        "kubelet_topology_manager_admission_requests_total 2.0",
        "kubelet_topology_manager_admission_errors_total 1.0",
        'kubelet_topology_manager_admission_duration_ms_bucket{le="0.05"} 2.0',
        'kubelet_topology_manager_admission_duration_ms_bucket{le="819.2"} 2.0',
        'kubelet_topology_manager_admission_duration_ms_bucket{le="+Inf"} 2.0',
        "kubelet_topology_manager_admission_duration_ms_sum 0.0",
        "kubelet_topology_manager_admission_duration_ms_count 2.0",
        "kubelet_container_aligned_compute_resources_count"
        '{boundary="numa_node",scope="container"} 1.0',
        'kubelet_admission_rejections_total{reason="TopologyAffinityError"} 1.0',
        "kubelet_cpu_manager_exclusive_cpu_allocation_count 1.0",
        'numalet_numa_reserved_bytes{numa_node="0",type="memory"} 4.294967296e+09',
        'numalet_drift_corrected_total{setting="cpuset.mems"} 1.0',
        'numalet_guarantee_level{level="process"} 1.0',
    ):
        assert line in page, line


def test_vectors_are_absent_and_plain_counters_zero_before_their_first_use() -> None:
    page = metrics_page.text(views.view()).decode()
    assert "\nkubelet_memory_manager_pinning_requests_total 0.0\n" in page
    assert "\nkubelet_admission_rejections_total{" not in page
    assert "\nkubelet_container_aligned_compute_resources_count{" not in page


def test_the_page_can_be_parsed() -> None:
    families = {family.name for family in text_string_to_metric_families(_page())}
    assert "numalet_numa_free_bytes" in families


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_remarks_only_on_the_kubelets_own_names() -> None:
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=_page(), capture_output=True, text=True, check=False
    )
    remarked = {line.split()[0] for line in (done.stdout + done.stderr).splitlines() if line}
    assert remarked <= REMARKS, done.stdout + done.stderr
