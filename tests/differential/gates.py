"""The feature gates of a real kubelet release beside those of numalet.

``make record`` prints the text that ``v1_NN.py`` needs for a new release, and ``make differential``
compares the table of the release.
"""

from __future__ import annotations

import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from differential.oracle_program import Oracle, OracleFailedError
from numalet.core.config.releases.release import Gate, GateStage

Gates = Mapping[str, Gate]

_ARGUMENTS: Final = {
    "alpha": Gate(GateStage.ALPHA, False),
    "alpha_on": Gate(GateStage.ALPHA, True),
    "beta": Gate(GateStage.BETA, True),
    "beta_off": Gate(GateStage.BETA, False),
    "ga": Gate(GateStage.GA, True),
    "ga_locked": Gate(GateStage.GA, True, is_locked=True),
    "deprecated_off": Gate(GateStage.DEPRECATED, False),
    "deprecated_on": Gate(GateStage.DEPRECATED, True),
    "deprecated_off_locked": Gate(GateStage.DEPRECATED, False, is_locked=True),
    "deprecated_on_locked": Gate(GateStage.DEPRECATED, True, is_locked=True),
}
"""The arguments of ``gate_tables.gates``."""


class _Written(msgspec.Struct):
    stage: str
    on: bool
    locked: bool
    needs: list[str] | None = None


def of_kubelet(oracle: Oracle) -> Gates:
    """Ask an oracle for all gates of its release. Raises ``OracleFailedError``."""
    done = subprocess.run([oracle.program, "gates"], capture_output=True, check=False)
    if done.returncode:
        raise OracleFailedError(done.stderr.decode())
    every = msgspec.json.decode(done.stdout, type=dict[str, _Written])
    stages = {each.value.lower(): each for each in GateStage}
    return {
        name: Gate(
            # Kubernetes writes the stage of a GA gate as nothing.
            stages[each.stage.lower() or "ga"],
            each.on,
            each.locked,
            tuple(sorted(each.needs or ())),
        )
        for name, each in every.items()
    }


def differences(ours: Gates, kubelets: Gates) -> list[str]:
    """Return a line for each gate that numalet and a kubelet have otherwise."""
    return [
        f"{name}: numalet {_shown(ours.get(name))}, kubelet {_shown(kubelets.get(name))}"
        for name in sorted(ours.keys() | kubelets.keys())
        if _shown(ours.get(name)) != _shown(kubelets.get(name))
    ]


def source(before: Gates, after: Gates) -> str:
    """Return the gates of ``v1_NN.py``, as the difference to the release before."""
    changed = {name: gate for name, gate in after.items() if _bare(gate) != _bare(before.get(name))}
    by_argument = {
        argument: [name for name, gate in changed.items() if _bare(gate) == wanted]
        for argument, wanted in _ARGUMENTS.items()
    }
    by_argument["gone"] = [name for name in before if name not in after]
    lines = ["_GATES: Final = gates("]
    for argument, names in by_argument.items():
        if names:
            lines += [f'    {argument}="""', *_wrapped(sorted(names), 88), '    """,']
    lines += [")", '_NEEDS: Final = needs("""', *_needs(before, after), '""")']
    return "\n".join(lines)


def _needs(before: Gates, after: Gates) -> Iterator[str]:
    for name, gate in sorted(after.items()):
        old = before[name].needs if name in before else ()
        if sorted(gate.needs) != sorted(old):
            line = f"    {name}: {' '.join(sorted(gate.needs))}".rstrip()
            yield from [line] if len(line) <= 99 else [f"    {name}:", *_wrapped(gate.needs, 99)]


def _wrapped(names: list[str] | tuple[str, ...], width: int) -> list[str]:
    indent = " " * 8
    return textwrap.wrap(" ".join(names), width, initial_indent=indent, subsequent_indent=indent)


def _bare(gate: Gate | None) -> Gate | None:
    return None if gate is None else Gate(gate.stage, gate.is_on, gate.is_locked)


def _shown(gate: Gate | None) -> str:
    if gate is None:
        return "without it"
    words = [gate.stage.value, "on" if gate.is_on else "off", *["locked"] * gate.is_locked]
    return " ".join([*words, *(f"needs {each}" for each in sorted(gate.needs))])
