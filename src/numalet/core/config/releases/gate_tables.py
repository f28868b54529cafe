"""Tables of feature gates: names in one text for each stage and default."""

from __future__ import annotations

from numalet.core.config.releases.release import Gate, GateStage


def gates(
    *,
    alpha: str = "",
    alpha_on: str = "",
    beta: str = "",
    beta_off: str = "",
    ga: str = "",
    ga_locked: str = "",
    deprecated_off: str = "",
    deprecated_on: str = "",
    deprecated_off_locked: str = "",
    deprecated_on_locked: str = "",
    gone: str = "",
) -> dict[str, Gate | None]:
    """Return gates by name.

    Alpha gates are off, beta and GA gates are on, unless the argument's name says otherwise.
    """
    stages = (
        (alpha, Gate(GateStage.ALPHA, False)),
        (alpha_on, Gate(GateStage.ALPHA, True)),
        (beta, Gate(GateStage.BETA, True)),
        (beta_off, Gate(GateStage.BETA, False)),
        (ga, Gate(GateStage.GA, True)),
        (ga_locked, Gate(GateStage.GA, True, is_locked=True)),
        (deprecated_off, Gate(GateStage.DEPRECATED, False)),
        (deprecated_on, Gate(GateStage.DEPRECATED, True)),
        (deprecated_off_locked, Gate(GateStage.DEPRECATED, False, is_locked=True)),
        (deprecated_on_locked, Gate(GateStage.DEPRECATED, True, is_locked=True)),
        (gone, None),
    )
    return {name: gate for names, gate in stages for name in names.split()}


def needs(text: str) -> dict[str, tuple[str, ...]]:
    """Parse dependencies: each gate, a colon, and the gates that it depends on."""
    needed: dict[str, tuple[str, ...]] = {}
    gate = ""
    for word in text.split():
        if word.endswith(":"):
            gate = word[:-1]
            needed[gate] = ()
        else:
            needed[gate] += (word,)
    return needed
