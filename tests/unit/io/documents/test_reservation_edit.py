"""``reservedMemory`` written into files as people write them: comments, order, layout."""

from __future__ import annotations

import difflib
import json

import pytest

from numalet.core.config.kubelet_config import ReservedMemory
from numalet.core.model.findings import BadInput
from numalet.core.model.quantity import Quantity
from numalet.io.documents.kubelet import kubelet_config_edit

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
TWO = {0: "100Mi", 1: "200Mi"}


def reserved(amounts: dict[int, str]) -> tuple[ReservedMemory, ...]:
    return tuple(
        ReservedMemory(node, {"memory": Quantity.parse(text)}) for node, text in amounts.items()
    )


def edited(text: str, amounts: dict[int, str] = TWO) -> str:
    return kubelet_config_edit.edited(text, "kubelet.yaml", reserved(amounts))


def changes(text: str, amounts: dict[int, str] = TWO) -> list[str]:
    """Lines taken out and put in."""
    lines = difflib.ndiff(text.splitlines(), edited(text, amounts).splitlines())
    return [line for line in lines if line[0] in "-+"]


def problem(text: str) -> str:
    with pytest.raises(BadInput) as caught:
        edited(text)
    (finding,) = caught.value.findings
    assert finding.code == "input/not-supported"
    return (
        str(finding)
        .removeprefix("cannot edit this file: ")
        .removesuffix("; add the printed lines yourself")
    )


def test_a_new_field_comes_below_the_policy() -> None:
    text = HEAD + "memoryManagerPolicy: Static # pinned\n# cpus\ncpuManagerPolicy: none\n"
    assert edited(text, {0: "1Gi"}) == (
        HEAD + "memoryManagerPolicy: Static # pinned\n"
        "reservedMemory:\n- numaNode: 0\n  limits:\n    memory: 1Gi\n"
        "# cpus\ncpuManagerPolicy: none\n"
    )


def test_without_the_policy_a_new_field_comes_last_even_without_a_line_end() -> None:
    text = HEAD + "maxPods: 5"
    assert edited(text, {3: "1Gi"}) == (
        text + "\nreservedMemory:\n- numaNode: 3\n  limits:\n    memory: 1Gi\n"
    )


def test_a_new_field_comes_after_a_block_of_text() -> None:
    text = HEAD + "providerID: |\n  abc\n"
    assert edited(text, {0: "1Gi"}).startswith(text + "reservedMemory:\n")


def test_amounts_change_in_place_and_keep_comments_and_quotes() -> None:
    text = HEAD + (
        "reservedMemory:   # by hand\n"
        "  # the system\n"
        "  - numaNode: 1\n"
        "    limits:\n"
        "      memory: '3Gi' # enough\n"
        "  # the rest\n"
        "  - limits: {memory: 2Gi} # small\n"
        "    numaNode: 0\n"
        "\n# next\nmaxPods: 5\n"
    )
    assert changes(text) == [
        "-       memory: '3Gi' # enough",
        "+       memory: '200Mi' # enough",
        "-   - limits: {memory: 2Gi} # small",
        "+   - limits: {memory: 100Mi} # small",
    ]


def test_surplus_entries_and_huge_pages_go_and_missing_ones_come() -> None:
    text = HEAD + (
        "reservedMemory:\n"
        "- numaNode: 0\n"
        "  limits:\n"
        "    hugepages-1Gi: 1Gi\n"
        "    memory: 3Gi\n"
        "- numaNode: 7\n"
        "  limits:\n"
        "    memory: 3Gi\n"
        "# next\n"
        "maxPods: 5\n"
    )
    assert edited(text) == HEAD + (
        "reservedMemory:\n"
        "- numaNode: 0\n"
        "  limits:\n"
        "    memory: 100Mi\n"
        "- numaNode: 1\n"
        "  limits:\n"
        "    memory: 200Mi\n"
        "# next\n"
        "maxPods: 5\n"
    )


def test_an_entry_that_is_there_twice_stays_once() -> None:
    entry = "- numaNode: 1\n  limits:\n    memory: 3Gi\n"
    text = HEAD + "reservedMemory:\n" + entry + entry
    assert edited(text, {1: "1Gi"}) == HEAD + "reservedMemory:\n" + entry.replace("3Gi", "1Gi")


def test_an_entry_without_node_is_that_of_node_0_and_may_lack_limits() -> None:
    text = HEAD + "reservedMemory:\n- {}\n"
    assert "memory: 1Gi" in edited(text, {0: "1Gi"})
    text = HEAD + "reservedMemory:\n- numaNode: 0\n  limits:\n"
    assert edited(text, {0: "1Gi"}).endswith("- numaNode: 0\n  limits:\n    memory: 1Gi\n")


@pytest.mark.parametrize("value", ["", " []", " null", " [{numaNode: 0, limits: {memory: 1Gi}}]"])
def test_a_field_in_another_style_is_rewritten_and_keeps_its_comment(value: str) -> None:
    text = HEAD + f"reservedMemory:{value} # why\nmaxPods: 5\n"
    assert edited(text, {0: "2Gi"}) == (
        HEAD + "reservedMemory:  # why\n- numaNode: 0\n  limits:\n    memory: 2Gi\nmaxPods: 5\n"
    )


def test_the_layout_of_other_lists_is_followed() -> None:
    text = HEAD + "registerWithTaints:\n    - key: a\n      effect: NoSchedule\n"
    assert "\n    - numaNode: 0\n      limits:\n        memory: 1Gi\n" in edited(text, {0: "1Gi"})


def test_wide_indentation_inside_an_entry_stays() -> None:
    text = HEAD + "reservedMemory:\n-   numaNode: 0\n    limits:\n        memory: 1Gi\n"
    assert edited(text, {0: "2Gi"}) == text.replace("1Gi", "2Gi")


def test_a_document_that_is_indented_stays_so() -> None:
    text = "".join(f"  {line}\n" for line in (HEAD + "maxPods: 5").splitlines())
    once = edited(text, {0: "1Gi"})
    assert once == text + "  reservedMemory:\n  - numaNode: 0\n    limits:\n      memory: 1Gi\n"
    assert edited(once, {0: "2Gi"}) == once.replace("1Gi", "2Gi")


def test_line_ends_of_windows_stay() -> None:
    text = (
        HEAD + "reservedMemory:\n- numaNode: 0\n  limits:\n    memory: 1Gi\nmaxPods: 5"
    ).replace("\n", "\r\n")
    assert edited(text, {0: "2Gi"}) == text.replace("1Gi", "2Gi")


def test_the_last_line_needs_no_end() -> None:
    text = HEAD + "reservedMemory:\n- numaNode: 0\n  limits:\n    memory: 1Gi"
    assert edited(text, {0: "2Gi"}) == text.replace("1Gi", "2Gi")


def test_an_amount_of_bare_digits_is_quoted() -> None:
    assert "memory: '859000001'" in edited(HEAD + "maxPods: 5\n", {0: "859000001"})


def test_json_stays_json() -> None:
    value = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    text = json.dumps(value, indent=4) + "\n"
    result = edited(text, {0: "1Gi"})
    assert json.loads(result) == value | {
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}]
    }
    assert result.startswith('{\n    "apiVersion"')
    assert result.endswith("}\n")
    assert "\n" not in edited(json.dumps(value))


def test_what_an_alias_shares_is_not_edited() -> None:
    shared = "reservedMemory:\n- numaNode: 0\n  limits: &k {memory: 1Gi}\nkubeReserved: *k\n"
    assert problem(HEAD + shared) == "the result could not be read again"
    last = "kubeReserved: &k {memory: 1Gi}\nreservedMemory:\n- numaNode: 0\n  limits: *k\n"
    assert problem(HEAD + last) == "reservedMemory ends with an alias"


def test_an_alias_that_shares_nothing_outside_is_written_out() -> None:
    text = HEAD + (
        "reservedMemory:\n- numaNode: 0\n  limits: &k {memory: 1Gi}\n"
        "- limits: *k\n  numaNode: 1\nmaxPods: 5\n"
    )
    assert "&k" not in edited(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n- b\n", "it is not a mapping with a line for each field"),
        ("{a: b}\n", "it is a mapping in braces, and no JSON"),
        ("--- {a: b}\n", "it is not a mapping with a line for each field"),
        ("a: [\n", "it cannot be read: while parsing a flow node"),
        ("", "it is not a mapping with a line for each field"),
    ],
)
def test_other_files_are_refused(text: str, expected: str) -> None:
    assert problem(text) == expected
