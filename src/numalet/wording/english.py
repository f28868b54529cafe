"""Every sentence for people, by code; from a finding or a reason and its values.

Each area has a file of sentences beside this one. A sentence is a ``str.format`` template over
the fields of its finding or reason, and shows the offending value. A translation is a second
set of such files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from numalet.core.admission.reasons import NothingToPreempt, OutOfResource
from numalet.core.hints.hint import Hint
from numalet.core.hints.reasons import Reason
from numalet.core.model import numa_mask, resources
from numalet.core.model.findings import Finding, Location
from numalet.wording import (
    english_agent,
    english_api,
    english_config,
    english_cpu,
    english_decisions,
    english_devices,
    english_doctor,
    english_explain,
    english_files,
    english_lab,
    english_lint,
    english_machine,
    english_pods,
    english_procfs,
    english_reserve,
    english_rpc,
    english_run,
    english_runtime,
    english_samples,
    english_scenarios,
    english_state,
    english_workload,
)

SENTENCES: Mapping[str, str] = {
    **english_agent.SENTENCES,
    **english_api.SENTENCES,
    **english_config.SENTENCES,
    **english_cpu.SENTENCES,
    **english_decisions.SENTENCES,
    **english_devices.SENTENCES,
    **english_doctor.SENTENCES,
    **english_explain.SENTENCES,
    **english_files.SENTENCES,
    **english_lab.SENTENCES,
    **english_lint.SENTENCES,
    **english_machine.SENTENCES,
    **english_pods.SENTENCES,
    **english_procfs.SENTENCES,
    **english_reserve.SENTENCES,
    **english_rpc.SENTENCES,
    **english_run.SENTENCES,
    **english_runtime.SENTENCES,
    **english_samples.SENTENCES,
    **english_scenarios.SENTENCES,
    **english_state.SENTENCES,
    **english_workload.SENTENCES,
}

_MASKS = frozenset({"mask", "group", "best", "nodes"})


def sentence(about: Finding | Reason) -> str:
    """What a finding says, its place before it, or what a reason says, its causes included."""
    if isinstance(about, Finding):
        where = place(about.where)
        return f"{where}: {of_finding(about)}" if where else of_finding(about)
    return of_reason(about)


def of_finding(finding: Finding) -> str:
    """The sentence of a finding, without its place."""
    template = SENTENCES.get(finding.code)
    if template is None:
        return _without_sentence(finding.code, finding.fields)
    return template.format(**finding.fields)


def of_shortfall(code: str) -> str:
    """What is not enforced; the code alone if there is no sentence for it without values."""
    sentence_ = english_runtime.SHORTFALLS.get(code) or SENTENCES.get(code, code)
    return code if "{" in sentence_ else sentence_


def of_reason(reason: Reason) -> str:
    """The sentence of a reason, causes included."""
    values = {name: _shown(name, value) for name, value in fields_of(reason).items()}
    if isinstance(reason, OutOfResource):
        for name in ("requested", "used", "capacity"):
            values[name] = amount(reason.resource, values[name])
    elif isinstance(reason, NothingToPreempt):
        lacking = (f"{amount(each, lack)} of {each}" for each, lack in reason.lacking)
        values["lacking"] = ", ".join(lacking)
    template = SENTENCES.get(reason.code) or _own_template(reason)
    return _without_sentence(reason.code, values) if template is None else template.format(**values)


def _own_template(reason: Reason) -> str | None:
    """The sentence that a reason brings along, as those of a manager from outside may."""
    template = getattr(reason, "sentence", None)
    return template if isinstance(template, str) else None


def _without_sentence(code: str, values: Mapping[str, Any]) -> str:
    """What is known, for want of a sentence: codes from outside the project may have none."""
    listed = ", ".join(f"{name}: {value}" for name, value in values.items())
    return f"{code} ({listed})" if listed else code


def fields_of(reason: Reason) -> dict[str, Any]:
    """The figures of a reason, by name, as they are."""
    if not is_dataclass(reason):
        return {}
    return {field.name: getattr(reason, field.name) for field in fields(reason)}


def _shown(name: str, value: Any) -> Any:
    if name.endswith("_bytes"):
        return size(value)
    if isinstance(value, Hint):
        return hint(value)
    if name in _MASKS | {"affinity"} and isinstance(value, int):
        return numa_mask.text(value)
    if isinstance(value, Reason):
        return of_reason(value)
    return value


def hint(value: Hint) -> str:
    """A hint as people say it."""
    nodes = "any NUMA node" if value.mask is None else f"NUMA nodes {numa_mask.text(value.mask)}"
    return f"{nodes}, {'preferred' if value.preferred else 'not preferred'}"


def place(where: Location) -> str:
    """Where a finding is: document, line, path, as far as they are known."""
    document = where.document if where.line is None else f"{where.document}:{where.line}"
    return ": ".join(part for part in (document, where.path) if part)


_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def rounded_size(size_bytes: int) -> str:
    """Bytes for people, all in one form: in the largest unit that they fill, rounded."""
    value, unit = float(size_bytes), ""
    for name in _UNITS:
        if abs(value) < 1024:
            break
        value, unit = value / 1024, name
    return f"{value:.0f}{unit}" if value.is_integer() else f"{value:.2f}{unit}"


def amount(resource: str, value: int) -> str:
    """So much of a resource as a node counts it: CPU in thousandths, sizes in bytes."""
    if resource == resources.CPU:
        return f"{value / 1000:.10g}"
    is_size = resources.is_memory_type(resource) or resource == resources.EPHEMERAL_STORAGE
    return size(value) if is_size else str(value)


def size(size_bytes: int) -> str:
    """Bytes for people: exact in the largest unit that divides them, else two decimals."""
    value, unit = size_bytes, ""
    for name in _UNITS:
        if value == 0 or value % 1024:
            break
        value, unit = value // 1024, name
    if value < 10_000:
        return f"{value}{unit}"
    scaled = float(size_bytes)
    for name in _UNITS:
        scaled /= 1024
        if scaled < 1024:
            return f"{scaled:.2f}{name}"
    return f"{scaled:.2f}{_UNITS[-1]}"
