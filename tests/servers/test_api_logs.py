"""Logs over a real socket."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from numalet.core.model.pod import ContainerKey
from numalet.core.workload.run import ContainerPhase, PodRun
from numalet.io.agent_client.client import AgentClient
from servers.pods import pod
from servers.served import Api
from servers.test_api_pods import refused

PODS = "/api/v1/namespaces/default/pods"
LOG = f"{PODS}/a/log"


@pytest.fixture
def file(api: Api, client: AgentClient, tmp_path: Path) -> Path:
    """The log of container c of the pod a."""
    uid = client.post(PODS, pod("a"))["metadata"]["uid"]
    path = tmp_path / "c.log"
    path.write_text("one\ntwo\nthree\n")
    api.do(lambda door: door.logs.update({(ContainerKey(uid, "c"), False): path}))
    return path


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({}, "one\ntwo\nthree\n"),
        ({"container": "c"}, "one\ntwo\nthree\n"),
        ({"tailLines": 2}, "two\nthree\n"),
        ({"tailLines": 3}, "one\ntwo\nthree\n"),
        ({"tailLines": 9}, "one\ntwo\nthree\n"),
        ({"tailLines": 0}, ""),
        ({"limitBytes": 5}, "one\nt"),
        ({"tailLines": 1, "limitBytes": 3}, "thr"),
    ],
)
@pytest.mark.usefixtures("file")
def test_a_log_is_shown(client: AgentClient, query: dict[str, str | int], text: str) -> None:
    assert client.text(LOG, query) == text


def test_the_last_lines_of_a_long_log_are_found_from_its_end(
    client: AgentClient, file: Path
) -> None:
    file.write_text("".join(f"line {number}\n" for number in range(40_000)) + "no end")
    assert client.text(LOG, {"tailLines": 2}) == "line 39999\nno end"
    assert client.text(LOG, {"tailLines": 30_000}).startswith("line 10001\n")


def _ended(run: PodRun) -> PodRun:
    return replace(run, containers={"c": replace(run.of("c"), phase=ContainerPhase.TERMINATED)})


def test_a_log_is_followed_over_a_rotation_until_the_container_ends(
    api: Api, client: AgentClient, file: Path
) -> None:
    lines = api.client().stream(LOG, {"follow": True, "tailLines": 1})
    assert next(lines) == b"three\n"
    with file.open("a") as log:
        log.write("four\n")
    assert next(lines) == b"four\n"
    file.rename(file.with_suffix(".1"))
    file.write_text("five\n")
    assert next(lines) == b"five\n"
    file.write_text("six\n")
    assert next(lines) == b"six\n"
    with file.open("a") as log:
        log.write("last\n")
    api.do(lambda door: door.update("a", _ended))
    assert list(lines) == [b"last\n"]


def test_a_log_that_is_put_aside_is_waited_for(api: Api, file: Path) -> None:
    lines = api.client().stream(LOG, {"follow": True})
    assert [next(lines) for _ in range(3)] == [b"one\n", b"two\n", b"three\n"]
    file.rename(file.with_suffix(".1"))
    api.do(lambda door: door.update("a", _ended))
    assert list(lines) == []


def test_what_has_no_log_says_why(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    api.do(lambda door: door.update("a", lambda run: replace(run, containers={})))
    waits = refused(client.text, LOG)
    assert (waits.code, waits.reason) == (400, "BadRequest")
    assert waits.message == 'container "c" in pod "a" is waiting to start: ContainerCreating'
    previous = refused(client.text, LOG, {"previous": True})
    assert previous.message == 'previous terminated container "c" in pod "a" not found'
    client.post(PODS, pod("wide", "40Gi"))
    assert "UnexpectedAdmissionError" in refused(client.text, f"{PODS}/wide/log").message
    assert refused(client.text, f"{PODS}/b/log").code == 404


def test_a_container_must_be_named_where_there_are_several(client: AgentClient) -> None:
    two = pod("two")
    two["spec"]["containers"].append({**two["spec"]["containers"][0], "name": "d"})
    client.post(PODS, two)
    log = f"{PODS}/two/log"
    assert refused(client.text, log).message == (
        "a container name must be specified for pod two, choose one of: [c d]"
    )
    assert refused(client.text, log, {"container": "x"}).message == (
        "container x is not valid for pod two"
    )


def test_a_container_that_runs_without_a_log_has_no_output(
    api: Api, client: AgentClient, tmp_path: Path
) -> None:
    uid = client.post(PODS, pod("a"))["metadata"]["uid"]
    assert client.text(LOG) == ""
    assert client.text(LOG, {"tailLines": 3, "timestamps": True}) == ""
    # Followed, it is that of the file which comes later.
    path = tmp_path / "c.log"
    api.do(lambda door: door.logs.update({(ContainerKey(uid, "c"), False): path}))
    lines = api.client().stream(LOG, {"follow": True})
    path.write_text("late\n")
    assert next(lines) == b"late\n"
    path.unlink()
    api.do(lambda door: door.update("a", _ended))
    assert list(lines) == []


def test_a_log_file_that_went_is_no_output(client: AgentClient, file: Path) -> None:
    file.unlink()
    assert client.text(LOG) == ""


ENTRIES = (
    "2026-01-02T03:04:05.000000001Z stdout F one\n"
    "2026-01-02T03:04:06.500000000Z stderr P tw\n"
    "2026-01-02T03:04:06.600000000Z stderr F o\n"
    "2026-01-02T03:04:07.000000000Z stdout F \n"
    "2026-01-02T03:04:08.000000000Z stdout F last"
)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({}, "one\ntwo\n\nlast"),
        ({"tailLines": 2}, "\nlast"),
        ({"limitBytes": 5}, "one\nt"),
        ({"sinceTime": "2026-01-02T03:04:06Z"}, "two\n\nlast"),
        ({"sinceTime": "2026-01-02T04:04:07+01:00"}, "\nlast"),
        ({"sinceSeconds": 10}, ""),
        ({"sinceSeconds": 900_000_000}, "one\ntwo\n\nlast"),
        ({"timestamps": True, "tailLines": 1}, "2026-01-02T03:04:08.000000000Z last"),
        (
            {"timestamps": True, "limitBytes": 70},
            "2026-01-02T03:04:05.000000001Z one\n2026-01-02T03:04:06.500000000Z two\n",
        ),
    ],
)
def test_what_the_runtime_noted_is_not_what_the_program_wrote(
    client: AgentClient, file: Path, query: dict[str, str | int], text: str
) -> None:
    file.write_text(ENTRIES)
    assert client.text(LOG, query) == text


@pytest.mark.usefixtures("file")
def test_an_entry_without_an_end_does_not_pile_up(client: AgentClient, file: Path) -> None:
    file.write_text("x" * 3_000_000)
    assert client.text(LOG) == "x" * 3_000_000


@pytest.mark.parametrize(
    ("name", "value"),
    [("sinceTime", "yesterday"), ("sinceSeconds", "x"), ("sinceSeconds", 10**10)],
)
@pytest.mark.usefixtures("file")
def test_a_moment_that_is_none_is_reported(
    client: AgentClient, name: str, value: str | int
) -> None:
    assert refused(client.text, LOG, {name: value}).reason == "BadRequest"
