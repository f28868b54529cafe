"""What of a pod counts in a release: its status, and what it asks for as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.admission import counting
from numalet.core.config.releases import table
from numalet.core.config.releases.release import V1_32_RULES, ReleaseRules
from numalet.core.model import pod_demand
from numalet.core.model.findings import Findings
from numalet.core.model.pod import Pod, QosClass
from numalet.core.model.value import replace
from numalet.io.documents.pods import pod_document
from numalet.io.documents.pods.pod_document import PodIdentity
from numalet.io.documents.pods.pod_resources import PodSource
from numalet.io.documents.text.typed import Place
from values import whole_pods
from values.whole_pods import asked, pod

MANAGERS = ReleaseRules(pod_level_resources_count=True, pod_level_pods_are_placed_whole=True)


def entry(name: str, **allocated: str) -> dict[str, object]:
    image = {"image": "x", "imageID": "x"}
    return {"name": name, **image, **({"allocatedResources": allocated} if allocated else {})}


def requested(of: Pod) -> dict[str, dict[str, str]]:
    return {c.name: {name: str(q) for name, q in c.requests.items()} for c in of.containers()}


def test_allocated_resources_take_the_place_of_requests() -> None:
    of = pod(
        "u",
        None,
        {name: asked("2", "512Mi", **{"example.com/gpu": "1"}) for name in ("c0", "c1", "c2")},
        status={"containerStatuses": [entry("c0", cpu="1", memory="128Mi"), entry("c1")]},
    )
    gpu = {"example.com/gpu": "1"}

    assert counting.for_managers(of, V1_32_RULES) is of
    assert requested(counting.for_managers(of, ReleaseRules(allocated_resources_count=True))) == {
        "c0": {"cpu": "1", "memory": "128Mi", **gpu},
        "c1": gpu,
        "c2": {"cpu": "2", "memory": "512Mi", **gpu},
    }


def test_a_sidecar_has_its_entry_among_the_init_containers() -> None:
    of = pod(
        "u",
        None,
        {name: asked("2", "512Mi") for name in ("i0", "s0", "c0")},
        status={"initContainerStatuses": [entry("i0", cpu="1"), entry("s0", cpu="1")]},
    )
    before = counting.for_managers(of, ReleaseRules(allocated_resources_count=True))
    after = counting.for_managers(
        of, ReleaseRules(allocated_resources_count=True, sidecar_statuses_count=True)
    )

    assert requested(before) == requested(of)
    assert requested(after) == {**requested(of), "s0": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("release", "cpus"), [("1.32", 2), ("1.33", 0), ("1.34", 0), ("1.35", 2), ("1.36", 2)]
)
def test_an_entry_without_the_member_takes_the_cpus_away(release: str, cpus: int) -> None:
    of = pod("u", None, {"c0": asked("2", "512Mi")}, status={"containerStatuses": [entry("c0")]})
    after, decision = whole_pods.node(whole_pods.config(gates={}), release).admit(of)

    assert decision.admitted
    assert len(decision.placements["c0"].cpus) == cpus
    assert whole_pods.reserved_mib(after) == [512 if cpus else 0, 0]


@pytest.mark.parametrize(
    ("release", "gates", "expected"),
    [
        ("1.32", {}, QosClass.BURSTABLE),
        ("1.33", {"PodLevelResources": True}, QosClass.GUARANTEED),
        ("1.34", {}, QosClass.GUARANTEED),
        ("1.34", {"PodLevelResources": False}, QosClass.BURSTABLE),
    ],
)
def test_the_qos_class_is_that_of_the_pod_as_a_whole(
    release: str, gates: dict[str, bool], expected: QosClass
) -> None:
    rules = whole_pods.node(whole_pods.config(gates=gates), release).rules.release_rules
    of = counting.counted(pod("u", asked("4", "2Gi"), {"c0": asked("1"), "c1": None}), rules)

    assert of.qos_class is expected
    assert counting.counted(of, rules) is of
    # And what it asks for as a whole is the room that it takes.
    whole = expected is QosClass.GUARANTEED
    assert pod_demand.amounts(of)["cpu"] == (4000 if whole else 1000)
    assert counting.counted(of, V1_32_RULES).qos_class is QosClass.BURSTABLE


@pytest.mark.parametrize(
    ("release", "gates", "expected"),
    [
        ("1.33", {}, QosClass.GUARANTEED),
        ("1.34", {}, QosClass.BEST_EFFORT),
        ("1.36", {}, QosClass.BEST_EFFORT),
        ("1.37", {}, QosClass.GUARANTEED),
        ("1.37", {"PodLevelResourcesFixKubeletQOSClass": False}, QosClass.BEST_EFFORT),
    ],
)
def test_empty_resources_of_the_pod_as_a_whole_make_it_best_effort(
    release: str, gates: dict[str, bool], expected: QosClass
) -> None:
    of = pod("u", {}, {"c0": asked("2", "1Gi")})
    known = table.of_name(release)
    rules = known.rules_with(lambda name: gates.get(name, known.gates[name].is_on))

    counted = counting.counted(of, rules)

    assert counted.qos_class is expected
    assert counting.counted(counted, rules) is counted
    said = pod("u", {}, {"c0": asked("2", "1Gi")}, status={"qosClass": "Guaranteed"})
    assert counting.counted(said, rules).qos_class is QosClass.GUARANTEED


def test_a_class_in_the_status_wins() -> None:
    of = pod("u", asked("4", "2Gi"), {"c0": None}, status={"qosClass": "Burstable"})
    assert counting.counted(of, MANAGERS).qos_class is QosClass.BURSTABLE


@pytest.mark.parametrize(
    ("resources", "is_alone"),
    [
        (asked("2", "1Gi"), True),
        (asked("500m", "1Gi"), True),
        (asked("2"), False),
        (asked("", "1Gi"), False),
        (asked("0", "1Gi"), False),
        (None, False),
        ({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": asked("2", "1Gi")["limits"]}, False),
    ],
)
def test_containers_that_are_not_guaranteed_by_themselves_share(
    resources: dict[str, dict[str, str]] | None, is_alone: bool
) -> None:
    of = counting.for_managers(pod("u", asked("4", "2Gi"), {"c0": resources}), MANAGERS)
    assert bool(requested(of)["c0"]) is is_alone


def test_an_ordinary_pod_is_the_same_pod_in_every_release() -> None:
    of = pod("u", None, {"c0": asked("2", "1Gi")})
    for release in table.RELEASES:
        rules = release.rules_with(lambda _: True)
        assert counting.counted(of, rules) is of
        assert counting.for_managers(of, rules) is of


def test_before_its_first_admission_a_pod_has_no_entries_of_nothing() -> None:
    entries = [entry("c0", cpu="1", memory="128Mi"), entry("c1")]
    containers = {name: asked("2", "512Mi") for name in ("c0", "c1")}
    of = pod("u", None, containers, status={"containerStatuses": entries})
    without = pod("u", None, containers, status={"containerStatuses": entries[1:]})

    first = counting.at_first(of)

    assert first.allocated is not None
    assert [*first.allocated.containers] == ["c0"]
    assert counting.at_first(first) == first
    assert counting.at_first(without).allocated is None
    assert [*map(counting.lacks_amounts, (of, without, first))] == [True, True, False]


def test_amounts_are_lacking_only_where_managers_go_by_them() -> None:
    of = pod("u", None, {"c0": asked("2", "512Mi")}, status={"containerStatuses": [entry("c0")]})
    assert not counting.lacks_amounts(replace(of, qos_class=QosClass.BURSTABLE))
    assert not counting.lacks_amounts(replace(of, allocated=None))


FILLED = MANAGERS.and_also(pod_level_limits_are_filled_in=True)


@pytest.mark.parametrize(
    ("whole", "containers", "expected"),
    [
        # The containers have 3 CPUs and 3Gi, more than the pod as a whole requests.
        (("2", "1Gi"), ({"c0": asked("1", "1Gi"), "c1": asked("2", "2Gi")}), ("3", "3Gi")),
        (("4", "4Gi"), ({"c0": asked("1", "1Gi"), "c1": asked("2", "2Gi")}), ("4", "4Gi")),
        # A container without a limit: none is filled in.
        (("4", "4Gi"), ({"c0": asked("1", "1Gi"), "c1": None}), (None, None)),
        (("4", "4Gi"), ({"c0": asked("1", "1Gi"), "c1": asked("2")}), ("4", None)),
    ],
)
def test_the_api_server_fills_in_limits_of_the_pod_as_a_whole(
    whole: tuple[str, str], containers: dict[str, Any], expected: tuple[str | None, ...]
) -> None:
    given = pod("u", {"requests": dict(zip(("cpu", "memory"), whole, strict=True))}, containers)
    before, after = counting.counted(given, MANAGERS), counting.counted(given, FILLED)

    assert before.pod_level is not None
    assert before.pod_level.limits == {}
    assert after.pod_level is not None
    found = {name: str(limit) for name, limit in after.pod_level.limits.items()}
    assert found == {
        name: limit
        for name, limit in zip(("cpu", "memory"), expected, strict=True)
        if limit is not None
    }
    is_guaranteed = expected == whole
    assert after.qos_class is (QosClass.GUARANTEED if is_guaranteed else QosClass.BURSTABLE)


def test_a_static_pod_keeps_what_its_file_says() -> None:
    spec = {
        "containers": [{"name": "c0"}],
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
    }
    value = {"metadata": {"name": "p", "uid": "u"}, "spec": spec}
    identity = PodIdentity(source=PodSource.FILE)
    of = pod_document.decode_pod(value, Place("pod"), identity, Findings())
    assert of is not None

    assert counting.counted(of, MANAGERS).qos_class is QosClass.GUARANTEED
    after = counting.counted(of, FILLED)
    assert after.qos_class is QosClass.BURSTABLE
    assert pod_demand.amounts(after) == {}


def test_the_qos_class_is_that_of_each_container() -> None:
    rules = ReleaseRules(qos_class_is_of_each_container=True)
    crossed = {
        "c0": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
        "c1": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}},
    }
    of = pod("u", None, crossed)

    assert of.qos_class is QosClass.GUARANTEED
    assert counting.counted(of, V1_32_RULES) is of
    assert counting.counted(of, rules).qos_class is QosClass.BURSTABLE
    # The class of a status stays, and so does that of a pod whose containers agree.
    said = pod("u", None, crossed, status={"qosClass": "BestEffort"})
    assert counting.counted(said, rules) is said
    plain = pod("u", None, {"c0": asked("1", "1Gi"), "c1": asked("2", "2Gi")})
    assert counting.counted(plain, rules) is plain
    assert counting.counted(pod("u", None, {"c0": None}), rules).qos_class is QosClass.BEST_EFFORT
