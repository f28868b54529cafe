"""What schedulers send, and worse, is answered; nothing that comes breaks what comes next."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from numalet.cluster.extender import app, command
from numalet.cluster.extender.app import BUG, BodyReader, application
from numalet.cluster.extender.log import ExtenderLog
from numalet.core.cluster.cluster import ClusterPod
from numalet.insight.scheduling.filtering import NOT_KNOWN, Filtered
from numalet.wording.log_line import LogLine
from running.extender_parts import AskedExtender, at_work, served
from values import gpu_fleet

POD = {"metadata": {"name": "a", "uid": "a"}, "spec": {"containers": [{"name": "c"}]}}
ANSWER_MEMBERS = {"Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"}


async def test_nodes_are_filtered_by_name() -> None:
    async with at_work() as extender:
        answer = await extender.asked(4, "full", "empty")
        assert set(answer) == ANSWER_MEMBERS
        assert (answer["NodeNames"], answer["Nodes"], answer["Error"]) == (["empty"], None, "")
        assert set(answer["FailedNodes"]) == {"full"}
        # No pod there is of a lower priority.
        assert set(answer["FailedAndUnresolvableNodes"]) == {"full"}
        assert await extender.metric("nodes_total", verdict="passed") == 1
        assert await extender.metric("nodes_total", verdict="unresolvable") == 1
        assert await extender.metric("nodes_total", verdict="failed") == 0
        assert await extender.metric("requests_total", verb="filter", result="answered") == 1


async def test_a_pod_that_no_kubelet_would_refuse_passes_everywhere() -> None:
    async with at_work() as extender:
        body = {"Pod": POD, "NodeNames": ["full", "x"]}
        answer = (await extender.call("filter", body)).json()
        assert set(answer) == ANSWER_MEMBERS
        assert (answer["NodeNames"], answer["Error"]) == (["full", "x"], "")
        assert (answer["FailedNodes"], answer["FailedAndUnresolvableNodes"]) == ({}, {})


async def test_node_objects_are_answered_as_they_came() -> None:
    async with at_work() as extender:
        items = [{"metadata": {"name": each, "labels": {"a": "b"}}} for each in ("full", "empty")]
        body = {"Pod": extender.pod(4), "Nodes": {"metadata": {}, "items": items}}
        answer = (await extender.call("filter", body)).json()
        assert (answer["NodeNames"], answer["Nodes"]) == (None, {"items": [items[1]]})


@pytest.mark.parametrize(
    ("sent", "nodes", "names"),
    [
        ({"NodeNames": []}, None, []),
        ({"NodeNames": None, "Nodes": None}, None, []),
        ({}, None, []),
        ({"Nodes": {"items": []}}, {"items": []}, None),
        ({"Nodes": {"metadata": {}, "items": None}}, {"items": []}, None),
    ],
)
async def test_no_nodes_are_answered_in_the_form_in_which_they_came(
    sent: dict[str, Any], nodes: Any, names: Any
) -> None:
    async with at_work() as extender:
        answer = (await extender.call("filter", {"Pod": extender.pod(4), **sent})).json()
        assert (answer["Nodes"], answer["NodeNames"], answer["Error"]) == (nodes, names, "")


async def test_a_name_that_comes_twice_is_answered_once_and_no_other_name_at_all() -> None:
    async with at_work() as extender:
        answer = await extender.asked(4, "empty", "empty", "nowhere", "empty")
        assert answer["NodeNames"] == ["empty", "nowhere"]
        answer = await extender.asked(4, "full", "full")
        assert (answer["NodeNames"], set(answer["FailedNodes"])) == ([], {"full"})
        assert await extender.metric("nodes_total", verdict="unknown") == 1


async def test_five_thousand_names_are_answered() -> None:
    async with at_work() as extender:
        names = [f"a-node-with-a-rather-long-name-{at:04}.example.com" for at in range(5000)]
        answer = await extender.asked(4, *names, "full")
        assert answer["NodeNames"] == names
        assert NOT_KNOWN not in answer["FailedNodes"].values()


UNREADABLE = {
    "nothing": b"",
    "no JSON": b"<html>",
    "half": b'{"Pod": {"meta',
    "no object": b"[]",
    "no pod": b'{"NodeNames": []}',
    "members in lower case": json.dumps({"pod": POD, "nodenames": []}).encode(),
    "names that are none": json.dumps({"Pod": POD, "NodeNames": [1]}).encode(),
    "an object without a name": json.dumps({"Pod": POD, "Nodes": {"items": [{}]}}).encode(),
    "a list instead of a node": json.dumps({"Pod": POD, "Nodes": {"items": [[]]}}).encode(),
    "no UTF-8": b'{"Pod": {}, "NodeNames": ["\xff"]}',
    "a pod that is null": b'{"Pod": null, "NodeNames": []}',
    "a pod without anything": b'{"Pod": {}, "NodeNames": []}',
    "a pod without a uid": json.dumps(
        {"Pod": {**POD, "metadata": {"name": "a"}}, "NodeNames": []}
    ).encode(),
    "a pod without containers": json.dumps({"Pod": {**POD, "spec": {}}}).encode(),
    "nesting without end": b'{"Pod": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
async def test_what_can_not_be_read_is_an_error_that_the_user_can_read(body: bytes) -> None:
    async with at_work() as extender:
        answer = await extender.call("filter", body)
        assert answer.status_code == 200
        assert set(answer.json()) == {"Error"}
        assert answer.json()["Error"].startswith("numalet: ")
        assert "Traceback" not in answer.text
        assert len(extender.said("cannot read")) == 1
        assert await extender.metric("requests_total", verb="filter", result="unreadable") == 1
        assert (await extender.asked(4, "empty"))["NodeNames"] == ["empty"]


@pytest.mark.parametrize("verb", ["prioritize", "preempt"])
async def test_verbs_without_a_member_for_errors_answer_500_and_say_why(verb: str) -> None:
    async with at_work() as extender:
        for body in UNREADABLE.values():
            answer = await extender.call(verb, body)
            assert answer.status_code == 500 or answer.json() in ([], {"NodeNameToMetaVictims": {}})
            assert answer.status_code == 200 or answer.text.startswith("numalet: ")
            assert "Traceback" not in answer.text
        refused = await extender.metric("requests_total", verb=verb, result="unreadable")
        assert (refused or 0) > 5
        assert await extender.metric("requests_total", verb=verb, result="failed") is None


async def test_what_comes_again_and_again_is_said_ever_more_seldom() -> None:
    async with at_work() as extender:
        for _ in range(9):
            await extender.call("filter", b"")
        lines = extender.said("cannot read")
        assert [each.keys["times"] for each in lines] == [1, 2, 4, 8]


async def test_a_bug_is_an_error_and_the_next_request_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with at_work() as extender:
        with monkeypatch.context() as patched:
            patched.setattr(extender.state, "filtered", lambda *_: 1 // 0)
            assert await extender.asked(4, "empty") == {"Error": f"numalet: {BUG}"}
        (line,) = extender.said("a bug")
        assert line.is_error
        assert "ZeroDivisionError" in line.keys["bug"]
        assert "test_calls.py" in line.keys["where"]
        assert await extender.metric("requests_total", verb="filter", result="failed") == 1
        assert (await extender.asked(4, "empty"))["NodeNames"] == ["empty"]


async def test_what_is_not_there_is_404_and_other_methods_are_405() -> None:
    async with at_work() as extender:
        assert (await extender.call("bound", {})).status_code == 404
        assert (await extender.call("scheduler/filter", {})).status_code == 404
        for method in ("GET", "PUT", "DELETE"):
            answer = await extender.http.request(method, f"{extender.url}/filter")
            assert answer.status_code == 405
        assert (await extender.call("metrics", {})).status_code == 405


async def _in_parts(size: int) -> Any:
    for _ in range(size // 1000):
        yield b" " * 1000


async def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_its_length() -> None:
    async with at_work(bodies=BodyReader(100_000)) as extender:
        for content in (b" " * 100_001, _in_parts(200_000)):
            answer = await extender.http.post(f"{extender.url}/filter", content=content)
            assert (answer.status_code, "100000" in answer.text) == (413, True)
        assert await extender.metric("requests_total", verb="filter", result="too-large") == 2
        assert (await extender.asked(4, "empty"))["NodeNames"] == ["empty"]


@pytest.mark.slow
async def test_node_objects_of_seventy_megabytes_are_answered() -> None:
    async with at_work() as extender:
        more = {"status": {"images": [{"names": ["x" * 14_000]}]}}
        items = [{"metadata": {"name": f"node-{at}"}, **more} for at in range(5000)]
        body = {"Pod": extender.pod(4), "Nodes": {"items": items}}
        answer = await extender.call("filter", body)
        assert answer.status_code == 200
        assert len(answer.json()["Nodes"]["items"]) == 5000


@pytest.mark.parametrize(
    ("verb", "asked"),
    [
        ("filter", {"Nodes": {"items": [{}] * 20_001}}),
        ("prioritize", {"NodeNames": ["a"] * 20_001}),
        ("preempt", {"NodeNameToVictims": {str(at): {} for at in range(20_001)}}),
    ],
)
async def test_more_nodes_than_any_cluster_has_are_refused(
    verb: str, asked: dict[str, Any]
) -> None:
    async with at_work() as extender:
        answer = await extender.call(verb, {"Pod": extender.pod(4), **asked})
        assert "20001 nodes" in answer.text


async def test_a_body_of_very_many_values_is_refused_before_it_is_decoded() -> None:
    async with at_work() as extender:
        body = b'{"Pod":{},"Nodes":{"items":[' + b"{}," * app.MOST_VALUES + b"{}]}}"
        answer = await extender.http.post(f"{extender.url}/filter", content=body)
        assert (answer.status_code, "2000000 values" in answer.text) == (413, True)


async def test_a_pod_that_no_api_server_takes_is_refused() -> None:
    async with at_work() as extender:
        pod = {**extender.pod(4), "x": "y" * (3 << 20)}
        answer = await extender.call("filter", {"Pod": pod, "NodeNames": ["empty"]})
        assert "its Pod has" in answer.json()["Error"]


async def test_small_bodies_are_read_while_large_ones_take_all_there_is() -> None:
    async with at_work(bodies=BodyReader(3_200_000)) as extender:
        answers: list[httpx.Response] = []

        async def held(others: int) -> Any:
            yield b" " * 3_100_000
            if others:
                content = held(others - 1)
                await extender.http.post(f"{extender.url}/filter", content=content)
            else:
                asked = {"Pod": extender.pod(4), "NodeNames": ["empty"]}
                answers.append(await extender.call("filter", asked))

        await extender.http.post(f"{extender.url}/filter", content=held(2))
        assert answers[0].json()["NodeNames"] == ["empty"]


async def test_too_many_large_bodies_at_once_are_refused() -> None:
    async with at_work(bodies=BodyReader(100_000)) as extender:
        reader = extender.http

        async def slowly() -> Any:
            for _ in range(90):
                yield b" " * 1000
            # Of the three the third has no room, while those before it are still being read.
            answers.append(await reader.post(f"{extender.url}/filter", content=b" " * 99_000))
            answers.append(await reader.post(f"{extender.url}/healthz", content=b""))

        answers: list[httpx.Response] = []

        async def nested() -> Any:
            yield b" " * 90_000
            await reader.post(f"{extender.url}/filter", content=slowly())

        await reader.post(f"{extender.url}/filter", content=nested())
        assert [each.status_code for each in answers] == [503, 405]
        assert (await extender.asked(4, "empty"))["NodeNames"] == ["empty"]


async def test_a_client_that_goes_in_the_middle_of_its_body_breaks_nothing() -> None:
    async with at_work() as extender:

        async def half() -> Any:
            yield b"{"
            raise httpx.WriteError("gone")

        with pytest.raises(httpx.WriteError):
            await extender.http.post(f"{extender.url}/filter", content=half())
        assert (await extender.asked(4, "empty"))["NodeNames"] == ["empty"]


async def test_requests_come_on_one_connection() -> None:
    async with at_work() as extender:
        limits = httpx.Limits(max_connections=1)
        async with httpx.AsyncClient(trust_env=False, limits=limits) as http:
            for _ in range(3):
                answer = await http.get(f"{extender.url}/healthz")
                assert "connection" not in answer.headers
                assert answer.text == "ok\n"


async def _refused(extender: AskedExtender, uid: str) -> None:
    answer = await extender.asked(8, "full", "empty", uid=uid)
    assert answer["NodeNames"] == []


async def test_a_pod_that_no_node_admits_is_said_once_for_each_set_of_causes() -> None:
    async with at_work() as extender:
        for uid in ("a", "a", "b", "a"):
            await _refused(extender, uid)
        (first, second) = extender.said("no node admits the pod")
        assert (first.keys["nodes"], "2 numalet: " in first.keys["why"]) == (2, True)
        assert second.keys["pod"] != first.keys["pod"]
        assert await extender.metric("pods_refused_by_all_total") == 2


def test_a_cause_is_said_once_of_a_pod_whichever_others_come_and_go() -> None:
    lines: list[LogLine] = []
    log, pod = ExtenderLog(lines.extend), ClusterPod(pod=gpu_fleet.pod("a", 4))
    said = [
        log.refused_by_all(pod, Filtered(passed=(), failed=dict(nodes_with(causes))))
        for causes in ("x", "xy", "x", "y", "yx", "z")
    ]
    assert said == [True, True, False, False, False, True]
    assert len(lines) == 3
    log.forget("a")
    assert log.refused_by_all(pod, Filtered(passed=(), failed={"node": "x"}))


def nodes_with(causes: str) -> Iterator[tuple[str, str]]:
    """Nodes, each with one of these causes."""
    for at, cause in enumerate(causes):
        yield f"node-{at}", cause


async def test_no_line_is_written_for_a_request_unless_it_is_asked_for() -> None:
    async with at_work() as extender:
        await extender.asked(4, "empty")
        (line,) = extender.said("'verb': 'filter'")
        assert line.level > 2


async def test_connections_are_kept_for_longer_than_the_scheduler_keeps_them() -> None:
    assert command.PATIENCE_SECONDS > 90
    async with (
        at_work() as extender,
        served(application(extender.state), command.PATIENCE_SECONDS) as patient,
        served(application(extender.state), 0.05) as impatient,
    ):
        kept = await _connected(patient)
        for _ in range(2):
            # Each of these is closed while that one is kept.
            reader, writer = await _connected(impatient)
            assert await reader.read() == b""
            writer.close()
        kept[1].write(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
        assert (await kept[0].readline()).startswith(b"HTTP/1.1 200")
        kept[1].close()


async def _connected(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
    assert (await reader.readuntil(b"ok\n")).startswith(b"HTTP/1.1 200")
    return reader, writer
