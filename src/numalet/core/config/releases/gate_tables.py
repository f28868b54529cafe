"""How a release states its feature gates: names in texts, one for each stage and default."""

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
    """Gates by name, from their names in one text for each stage and default.

    Alpha gates are off and beta and GA ones on, unless the argument says otherwise.
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
    """What gates need, from a text of each name, a colon, and the names of what it needs."""
    needed: dict[str, tuple[str, ...]] = {}
    gate = ""
    for word in text.split():
        if word.endswith(":"):
            gate = word[:-1]
            needed[gate] = ()
        else:
            needed[gate] += (word,)
    return needed
