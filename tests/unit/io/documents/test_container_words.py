"""Words and variables of containers: in order, and refused before they grow."""

from __future__ import annotations

from typing import Any

from numalet.core.model import limits
from numalet.core.model.findings import Findings
from numalet.io.documents.pods.workload import WorkloadOptions, decode_workload
from numalet.io.documents.text.typed import Place
from running import agents


def with_env(*variables: tuple[str, str], **more: Any) -> dict[str, Any]:
    value = agents.manifest("p")
    env = [{"name": name, "value": text} for name, text in variables]
    value["spec"]["containers"][0] |= {"env": env, **more}
    return value


def test_a_variable_sees_those_before_it_only() -> None:
    given = (("A", "$(B)"), ("B", "2"), ("C", "$(B)"), ("B", "3$(B)"), ("D", "$(B)"))
    workload = agents.workload(with_env(*given, args=["$(A) $(D)"]))
    (container,) = workload.containers
    assert container.env == (
        ("A", "$(B)"),
        ("B", "2"),
        ("C", "2"),
        ("B", "32"),
        ("D", "32"),
    )
    assert container.args == ("$(B) 32",)


def test_variables_that_double_are_refused_with_their_place_and_the_limit() -> None:
    doubling = [(f"A{i}", f"$(A{i - 1})$(A{i - 1})") for i in range(1, 2_000)]
    findings = Findings()
    value = with_env(("A0", "0123456789"), *doubling)
    options = WorkloadOptions(uid="u", node_name="n")
    assert decode_workload(value, Place("pod.yaml"), options, findings) is None
    first = findings.all[0]
    assert first.code == "input/too-large"
    assert first.located == (
        "pod.yaml: $.spec.containers[0].env[14].value: one word or variable would exceed "
        f"the limit of the kernel; expected at most {limits.WORD_BYTES} bytes"
    )
