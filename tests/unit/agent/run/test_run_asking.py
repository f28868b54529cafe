"""How a command asks an agent why there is no place."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numalet.agent.run import beside_agent
from numalet.agent.run.beside_agent import Agent
from numalet.core.model.findings import BadInput
from numalet.insight.explain import story
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output import explanation_document, json_schema
from numalet.io.agent_client.client import AgentClient, AgentRefused, Query
from numalet.io.findings.clients import ClientNoAgent
from values.builders import simple
from values.explain_bench import asking, case, narrow

BUSY = AgentRefused(429, "TooManyRequests", "it explains others")
GONE = AgentRefused(404, "NotFound", "it knows no explanations")


class Answering(AgentClient):
    """A client to whom an agent answers so."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(Path("nowhere"))
        self.answers = list(answers)

    def post(self, path: str, value: object, query: Query | None = None) -> Any:
        """The next answer."""
        assert path.startswith("/apis/numalet.dev/v1alpha1/namespaces/run/")
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def explanation(*answers: Any) -> Any:
    client = Answering(*answers)
    found = Agent(client, Path("root"), simple("one", "1Gi"), ("one",)).explanation()
    assert not client.answers
    return plain(found)


def told() -> dict[str, Any]:
    """What an agent tells."""
    asked = case(asking(narrow(), memory="50Gi"))
    return json_schema.plain(explanation_document.explanation(asked, story.trace(asked), ()))


def plain(found: Explanation | None) -> Any:
    """What came of it, in the form in which it was told."""
    return None if found is None else json_schema.plain(found)


def test_the_story_is_the_agents() -> None:
    assert explanation(told()) == told()


def test_an_agent_that_explains_others_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_agent, "_PAUSE_SECONDS", 0.0)
    assert explanation(BUSY, BUSY, told()) == told()


def test_an_agent_that_has_no_time_at_all_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_agent, "PATIENCE_SECONDS", 0.0)
    assert explanation(BUSY) is None


def test_the_patience_begins_when_the_agent_goes_and_not_with_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(beside_agent, "_PAUSE_SECONDS", 0.0)

    class Slow(Answering):
        """Every question is held back for long."""

        def post(self, path: str, value: object, query: Query | None = None) -> Any:
            """The next answer."""
            clock[0] += beside_agent.PATIENCE_SECONDS
            return super().post(path, value, query)

    agent = Agent(Slow(BUSY, told()), Path("root"), simple("one", "1Gi"), ("one",))
    # The second question took its time too, so a third one would not have been asked.
    assert plain(agent.explanation()) == told()


def _silent(*, waits_until: float) -> list[str]:
    """Codes of what is said of an agent that holds the node state and never answers."""
    problem = ClientNoAgent(path="agent.sock", problem="gone")
    client = Answering(*[BadInput([problem])] * 3, told())
    root = Path("root")
    agent = Agent(client, root, simple("one", "1Gi"), ("one",), waits_until)
    try:
        agent.preview()
    except BadInput as bad:
        return [each.code for each in bad.findings]
    except msgspec.ValidationError:
        # It is told something in the end, which is no place.
        return []
    raise AssertionError


def test_who_waits_waits_for_an_agent_that_holds_the_node_state_and_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(beside_agent, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(beside_agent, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(beside_agent, "_agent_holds_lock", lambda _: True)
    assert _silent(waits_until=0.0) == ["input/unavailable"]
    assert _silent(waits_until=float("inf")) == []


def test_an_agent_that_lets_go_of_the_node_state_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_agent, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(beside_agent, "_agent_holds_lock", lambda _: False)
    with pytest.raises(beside_agent.AgentGone):
        _silent(waits_until=float("inf"))


@pytest.mark.parametrize("answer", [GONE, {}, {"schema": "numalet.explanation/2"}, []])
def test_an_agent_of_another_release_may_tell_it_in_other_words(answer: Any) -> None:
    assert explanation(answer) is None
