"""The kubelet's checks of the names in ``defaultPodSysctls``.

Kubelet: ``ValidateKubeletConfiguration``, ``sysctl.GetNamespace`` of component-helpers, v1.37.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from numalet.core.config import feature_gates
from numalet.core.config.field_checks import Check, Checked, needs_gate, rule
from numalet.core.findings.config import ConfigFieldValue
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText

_FIELD: Final = "defaultPodSysctls"
_SEGMENT: Final = "[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?"
_NAME: Final = rf"(?:{_SEGMENT}[./])*{_SEGMENT}"
_LONGEST: Final = 253
_NAMESPACED: Final = frozenset(
    f"kernel.{name}"
    for name in (
        *("domainname", "sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm"),
        *("msgmax", "msgmnb", "msgmni", "msg"),
    )
)
_NAMESPACED_BELOW: Final = ("net.", "fs.mqueue.", "user.")
_SWAPPED: Final = str.maketrans("./", "/.")


def _names(of: Checked) -> Iterator[Finding]:
    """Yield findings in the order of the names; the kubelet's order is random."""
    gates, rules = of.gates, of.rules
    is_on = gates.enabled(feature_gates.DEFAULT_POD_SYSCTLS)
    seen: set[str] = set()
    for name in sorted(of(_FIELD) or ()) if is_on and rules.pod_sysctls_are_checked else ():
        for problem in _problems(name, seen):
            yield ConfigFieldValue(field=_FIELD, problem=problem, where=of.config.where(_FIELD))


def _problems(name: str, seen: set[str]) -> Iterator[str]:
    if len(name) > _LONGEST or not re.fullmatch(_NAME, name, re.ASCII):
        yield f"{GoText(name):q} is not a valid sysctl name for defaultPodSysctls"
        return
    normal = _normal(name)
    if normal not in _NAMESPACED and not normal.startswith(_NAMESPACED_BELOW):
        yield f"{GoText(name):q} is not known to be namespaced for defaultPodSysctls"
    if normal in seen:
        yield f"duplicate sysctl {GoText(normal):q} found in defaultPodSysctls"
    seen.add(normal)


def _normal(name: str) -> str:
    """Return the form with dots; in the form with slashes a dot stands for a slash.

    The first separator shows which form it is.
    """
    first = next((each for each in name if each in "./"), ".")
    return name if first == "." else name.translate(_SWAPPED)


CHECKS: Final[tuple[Check, ...]] = (
    needs_gate(
        _FIELD,
        feature_gates.DEFAULT_POD_SYSCTLS,
        "DefaultPodSysctls feature gate is required for Kubelet configuration option "
        "defaultPodSysctls",
        when=rule("pod_sysctls_are_checked"),
    ),
    _names,
)
