"""How a command asks an agent why there is no place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import simple
from explain_bench import asking, case, narrow
from numalet.adapters.agent_client.client import AgentClient, AgentRefused, Query
from numalet.agent.foreground import beside_agent
from numalet.agent.foreground.beside_agent import Agent
from numalet.explain import document, story

BUSY = AgentRefused(429, "TooManyRequests", "it explains others")
GONE = AgentRefused(404, "NotFound", "it knows no explanations")


class Answering(AgentClient):
    """A client to whom an agent answers so."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(Path("nowhere"))
        self.answers = list(answers)

    def post(self, path: str, value: object, query: Query | None = None) -> Any:
        """The next answer."""
        assert path.endswith("/namespaces/run/explanations")
        answer = self.answers.pop(0)
        if isinstance(answer, AgentRefused):
            raise answer
        return answer


def explanation(*answers: Any) -> Any:
    client = Answering(*answers)
    found = Agent(client, Path("root"), simple("one", "1Gi"), ("one",)).explanation()
    assert not client.answers
    return found


def told() -> dict[str, Any]:
    """What an agent tells."""
    asked = case(asking(narrow(), memory="50Gi"))
    return document.explanation(asked, story.tell(asked.node, asked.pod), ())


def test_the_story_is_the_agents() -> None:
    assert explanation(told()) == told()


def test_an_agent_that_explains_others_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_agent, "_PAUSE_SECONDS", 0.0)
    assert explanation(BUSY, BUSY, told()) == told()


def test_an_agent_that_has_no_time_at_all_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_agent, "PATIENCE_SECONDS", 0.0)
    assert explanation(BUSY) is None


@pytest.mark.parametrize("answer", [GONE, {}, {"schema": "numalet.explanation/2"}, []])
def test_an_agent_of_another_release_may_tell_it_in_other_words(answer: Any) -> None:
    assert explanation(answer) is None
