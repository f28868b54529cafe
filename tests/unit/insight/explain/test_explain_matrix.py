"""Many variants of a node: what is admitted, stranded, grouped; how wide and far placements are."""

from __future__ import annotations

import json
from dataclasses import replace

from msgspec import UNSET

from numalet.core.model.pod import Pod, QosClass
from numalet.core.node.node import Node
from numalet.insight.explain import matrix, measures
from numalet.insight.explain.matrix import (
    Matrix,
    NamedConfig,
    NamedMachine,
    Variant,
    VariantDocument,
)
from numalet.insight.explain.measures import StrandedDocument
from numalet.insight.output import explanation_document, json_schema
from values.builders import container, machine, pod, simple
from values.explain_bench import (
    GPU,
    GPUS,
    STATIC_CPUS,
    asking,
    case,
    config,
    narrow,
    session,
    shape,
    wide,
)

TWO = NamedMachine("two", shape())
PLAIN = NamedConfig("plain", config())
GIVEN = ((0, 1),)


def row(
    variant: Variant, *pods: Pod, orders: tuple[tuple[int, ...], ...] = GIVEN
) -> VariantDocument:
    """The row of one variant."""
    return matrix.row(variant, pods, orders, lambda _: None).document


def after(*pods: Pod, begun: Node | None = None) -> Node:
    """A node after these pods."""
    node = begun or session().node
    for each in pods:
        node, _ = node.admit(each)
    return node


def test_rejections_in_the_first_order_have_their_cause() -> None:
    found = matrix.row(
        Variant(TWO, PLAIN, "single-numa-node", "pod", ()), [wide(), narrow()], ((0, 1), (1, 0)),
        lambda _: None, explanation_document.causes,
    ).document  # fmt: skip
    (first, second) = found.runs
    (cause,) = (str(each.cause) for each in first.rejected)
    assert cause.startswith("the pod needs 15Gi memory on one NUMA node; the best node has 10Gi")
    assert [each.cause for each in second.rejected] == [UNSET]


def test_variants_are_all_combinations_but_none_is_one() -> None:
    found = matrix.variants(
        [TWO],
        [PLAIN, NamedConfig("other", config())],
        ["none", "restricted"],
        ["container", "pod"],
        [(), (("prefer-closest-numa-nodes", "true"),)],
    )
    assert len(found) == 2 * (1 + 2 * 2)
    assert [(each.policy, each.scope, each.options) for each in found[:2]] == [
        ("none", "container", None),
        ("restricted", "container", ()),
    ]


def test_a_row_counts_what_was_admitted_in_every_order() -> None:
    found = row(
        Variant(TWO, PLAIN, "restricted", "container"), wide(), narrow(), orders=((0, 1), (1, 0))
    )
    assert [run.admitted for run in found.runs] == [1, 1]
    assert found.admitted == (1, 1, 1)
    assert found.groups == 0.5
    assert found.mean_span == 1.5
    assert found.mean_distance == (15 + 10) / 2


def test_options_of_a_variant_replace_those_of_the_configuration() -> None:
    closest = (("prefer-closest-numa-nodes", "true"),)
    node = Variant(TWO, PLAIN, "restricted", "container", closest).start()
    assert isinstance(node, Node)
    assert node.rules.topology.prefer_closest_numa_nodes


def test_a_variant_that_does_not_start_has_no_runs() -> None:
    ticks: list[int] = []
    nine = Variant(NamedMachine("nine", shape("9n2c1t")), PLAIN, "restricted", "container")
    found = matrix.row(nine, [wide(), narrow()], [(0, 1), (1, 0)], ticks.append)

    assert found.refused is not None
    assert (found.document.runs, ticks) == ([], [4])
    figures = matrix.figures(found.document)
    assert figures["start_error"]


def test_pods_that_hold_nothing_have_no_span() -> None:
    idle = pod("idle", container("c"), qos=QosClass.BURSTABLE)
    found = row(Variant(TWO, PLAIN, "restricted", "container"), idle, orders=((0,),))

    assert (found.admitted, found.mean_span, found.mean_distance) == ((1, 1, 1), None, None)


def test_a_span_counts_memory_cpus_and_devices() -> None:
    begun = session(config("none", **STATIC_CPUS), devices=GPUS)
    asked = case(asking(narrow(), cpu="1", gpu="4"), begun=begun)
    node, decision = asked.node.admit(asked.pod)

    assert decision.admitted
    assert measures.span_of(node.roster, node.snapshot, asked.pod) == 0b11
    off = {**STATIC_CPUS, "memoryManagerPolicy": "None", "reservedMemory": []}
    only_cpus = case(asking(narrow(), cpu="9"), begun=session(config("none", **off)))
    node, _ = only_cpus.node.admit(only_cpus.pod)
    assert measures.span_of(node.roster, node.snapshot, only_cpus.pod) == 0b11


def test_a_device_on_no_node_does_not_widen_a_span() -> None:
    begun = session(config("none"), devices={GPU: [replace(GPUS_LIST[0], numa_nodes=())]})
    asked = case(asking(narrow(), gpu="1"), begun=begun)
    node, _ = asked.node.admit(asked.pod)
    assert measures.span_of(node.roster, node.snapshot, asked.pod) == 0b1


GPUS_LIST = list(GPUS[GPU])


def test_mean_distance_is_over_all_ordered_pairs() -> None:
    far = machine(1, 1, distances=((10, 30), (20, 10)))
    assert measures.mean_distance(far, 0b11) == (10 + 30 + 20 + 10) / 4
    assert measures.mean_distance(far, 0b00) is None
    assert measures.mean_distance(machine(1, 1), 0b01) is None
    short = machine(1, 1, distances=((10,), (20, 10)))
    assert measures.mean_distance(short, 0b01) is None


def test_groups_are_those_in_use() -> None:
    assert measures.groups(after(wide()).snapshot) == (0b11,)
    assert measures.groups(after(narrow()).snapshot) == ()


def test_memory_is_stranded_where_nobody_of_the_list_can_go() -> None:
    gi = 1 << 30
    node = after(wide())

    assert [each.memory_bytes for each in measures.stranded(node, [wide(), narrow()])] == [
        {"memory": 0},
        {"memory": 5 * gi - (100 << 20)},
    ]
    assert measures.stranded(after(narrow()), [narrow()]) == [
        StrandedDocument(0, {"memory": 0}, 0),
        StrandedDocument(1, {"memory": 0}, 0),
    ]


def test_a_kind_is_asked_about_once_and_leftovers_count_as_free() -> None:
    node = after(simple("a", "9Gi"), simple("b", "9Gi")).remove("a")
    again = measures.stranded(node, [simple("c", "9Gi"), simple("d", "9Gi")])
    assert [each.memory_bytes["memory"] for each in again] == [0, 1 << 30]


def test_cpus_are_stranded_with_the_memory_gone() -> None:
    begun = session(config(**STATIC_CPUS)).node
    node = after(asking(simple("a", "9Gi"), cpu="1"), begun=begun)
    found = measures.stranded(node, [asking(simple("b", "9Gi"), cpu="1")])

    assert [each.cpus for each in found] == [6, 0]


def test_without_a_policy_what_the_memory_manager_could_use_is_in_reach() -> None:
    begun = session(config("none")).node
    node = after(simple("a", "9Gi"), begun=begun)
    found = measures.stranded(node, [simple("b", "9Gi")])

    assert [bool(each.memory_bytes["memory"]) for each in found] == [True, False]


def test_a_pod_that_holds_nothing_is_at_home_everywhere() -> None:
    idle = pod("idle", container("c"), qos=QosClass.BURSTABLE)
    off = config("none", memoryManagerPolicy="None", reservedMemory=[])
    found = measures.stranded(session(off).node, [idle])
    assert found == [StrandedDocument(0, {}, 0), StrandedDocument(1, {}, 0)]


def test_on_many_nodes_only_the_chosen_set_is_known_to_be_in_reach() -> None:
    options = {"max-allowable-numa-nodes": "16"}
    begun = session(config(topologyManagerPolicyOptions=options), shape("12n2c1t")).node
    found = measures.stranded(begun, [narrow()])
    assert [bool(each.memory_bytes["memory"]) for each in found] == [False] + [True] * 11


def test_rows_are_plain_data() -> None:
    rows = [
        row(Variant(TWO, PLAIN, "restricted", "container"), wide(), narrow()),
        row(
            Variant(
                NamedMachine("nine", shape("9n2c1t")),
                PLAIN,
                "restricted",
                "pod",
                (("prefer-closest-numa-nodes", "true"),),
            ),
            wide(),
            narrow(),
        ),
    ]
    found = json_schema.plain(Matrix("numalet.what-if/1", 7, rows))
    assert json.loads(json.dumps(found)) == found
    assert (found["schema"], found["seed"]) == ("numalet.what-if/1", 7)
    first, second = found["variants"]
    assert (first["options"], first["runs"][0]["groups"]) == (None, [[0, 1]])
    assert (second["runs"], "NUMA" in second["start_error"]) == ([], True)
    heading, one, two = matrix.table(rows)
    cells = dict(zip(heading, one, strict=True))
    assert cells["stranded_memory_bytes_by_node"] == "0=0;1=5263851520"
    assert cells["admitted_given_order"] == "1"
    refused = dict(zip(heading, two, strict=True))
    assert refused["options"] == "prefer-closest-numa-nodes=true"
    assert (refused["admitted_min"], bool(refused["start_error"])) == ("", True)
