"""Which of some nodes admit a pod, and why not the others, as a scheduler's extender answers.

Reasons are short, say whose they are, and are equal for equal causes: the scheduler counts them and
shows them to the user as "0/40 nodes are available: 38 numalet: ...".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from numalet.core.cluster.cluster import ClusterPod
from numalet.insight.scheduling import reasons
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.shape_verdicts import ShapeMemory

NOT_EXAMINED: Final = "numalet: not examined in time"
NOT_KNOWN: Final = "numalet: nothing is known of this node"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterRules:
    """What becomes of nodes on which nothing is decided.

    ``passes_unknown``: nodes of which too little is known pass. ``passes_unexamined``: so do those
    for which there was no time.
    """

    passes_unknown: bool = True
    passes_unexamined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """The answer: nodes that may have the pod, and the reason of each other one.

    ``unresolvable`` are those of the failed ones on which the pod would not be admitted either if
    all other pods were gone.
    """

    passed: Sequence[str]
    failed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    unresolvable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    unexamined: int = 0
    unknown: int = 0


class NodeFilter:
    """Answers about one pod after the other, and remembers. For one thread."""

    def __init__(self, nodes: ExpectedNodes, rules: FilterRules = FilterRules()) -> None:
        self._nodes = nodes
        self._rules = rules
        self.memory = ShapeMemory(nodes)

    def filtered(
        self,
        pod: ClusterPod,
        names: Sequence[str],
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> Filtered:
        """Which of these nodes admit the pod.

        ``may_go_on`` says whether there is still time; it is asked every few decisions.
        """
        of = self.memory.of(pod.pod)
        late = frozenset(self.memory.decide(of, names, may_go_on))
        passed: list[str] = []
        failed: dict[str, str] = {}
        unresolvable: dict[str, str] = {}
        unknown = 0
        for name in names:
            verdict = of.by_name.get(name)
            if verdict is None:
                is_late = name in late
                unknown += not is_late
                if self._rules.passes_unexamined if is_late else self._rules.passes_unknown:
                    passed.append(name)
                else:
                    failed[name] = NOT_EXAMINED if is_late else NOT_KNOWN
            elif verdict.rejection is None:
                passed.append(name)
            else:
                text, is_lasting = reasons.of(of, verdict, self._nodes.nodes[name])
                failed[name] = text
                if is_lasting:
                    unresolvable[name] = text
        return Filtered(
            passed=passed,
            failed=failed,
            unresolvable=unresolvable,
            unexamined=len(late),
            unknown=unknown,
        )
