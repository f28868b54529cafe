"""What a user asks ``numalet run`` for, as a pod, and the words of its command line."""

from __future__ import annotations

import pytest

from harness.bad_inputs import refused_with
from numalet.agent.run import request
from numalet.agent.run.request import RunRequest
from numalet.cli.main import run
from numalet.cli.run import with_wait
from numalet.core.model.findings import BadInput
from numalet.core.model.pod import QosClass


def _asked(**given: object) -> dict[str, str]:
    whole = {"command": ("./app",), "cpus": "2", "memory": "1Gi", **given}
    pod = request.pod(RunRequest(**whole), "u")  # type: ignore[arg-type]
    assert QosClass.GUARANTEED is pod.qos_class
    (container,) = pod.app_containers
    assert container.requests == container.limits
    return {name: str(amount) for name, amount in container.limits.items()}


def test_a_command_is_a_guaranteed_pod() -> None:
    assert _asked() == {"cpu": "2", "memory": "1Gi"}
    assert request.pod(RunRequest(command=("a/app",), cpus="1", memory="1Gi"), "u").name == "app"


def test_huge_pages_are_counted_or_measured() -> None:
    asked = _asked(hugepages={"1Gi": "4", "2Mi": "4Mi"})
    assert (asked["hugepages-1Gi"], asked["hugepages-2Mi"]) == ("4Gi", "4Mi")


def test_devices_are_asked_for_by_number() -> None:
    assert _asked(devices={"example.com/gpu": "2"})["example.com/gpu"] == "2"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"cpus": "x"}, "invalid quantity 'x'"),
        ({"memory": "-1Gi"}, "not greater than 0"),
        ({"memory": "0"}, "not greater than 0"),
        ({"hugepages": {"1Gi": "0"}}, "not greater than 0"),
        ({"hugepages": {"1Gi": "5Mi"}}, "not a multiple of the page size"),
        ({"hugepages": {"x": "1"}}, "invalid huge page size"),
        ({"hugepages": {"1Gi": "x"}}, "invalid quantity 'x'"),
        ({"devices": {"example.com/gpu": "many"}}, "invalid quantity 'many'"),
    ],
)
def test_what_is_no_amount_is_found(given: dict[str, object], problem: str) -> None:
    with refused_with("input/invalid", problem) as bad:
        _asked(**given)
    assert len(bad.value.findings) == 1


def test_everything_wrong_is_found_at_once() -> None:
    with pytest.raises(BadInput) as bad:
        _asked(cpus="x", memory="y")
    assert len(bad.value.findings) == 2


def test_pairs_have_a_name_and_an_amount() -> None:
    assert request.parse_pairs(("a=1", "b=2"), "--device") == {"a": "1", "b": "2"}
    for texts in (("a",), ("=1",), ("a=",), ("a=1", "a=2")):
        with pytest.raises(BadInput):
            request.parse_pairs(texts, "--device")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--wait -- app", "--wait=forever -- app"),
        ("--cpus 1 --wait --memory 1 app --wait", "--cpus 1 --wait=forever --memory 1 app --wait"),
        ("--wait=5s app", "--wait=5s app"),
        ("--dry-run --wait -q app", "--dry-run --wait=forever -q app"),
        ("--cpus=1 --wait", "--cpus=1 --wait=forever"),
        ("-- app --wait", "-- app --wait"),
        ("", ""),
    ],
)
def test_waiting_may_stand_without_a_time(given: str, meant: str) -> None:
    assert meant.split() == with_wait(given.split())


def test_without_memory_no_size_is_asked_for_and_cpus_are_its_own() -> None:
    assert _asked(memory=None) == {"cpu": "2"}


@pytest.mark.parametrize("apart", ["30", "30s", "5m", "100ms", "1h"])
def test_a_time_that_stands_apart_is_no_command(apart: str) -> None:
    with pytest.raises(BadInput) as bad:
        with_wait(["--wait", apart, "./app"])
    assert [each.code for each in bad.value.findings] == ["input/invalid"]
    assert with_wait(["--wait", "30x"]) == ["--wait=forever", "30x"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("-c 8 ./app", "--cpus 8 (srun's -c)?"),
        ("-c8 ./app", "--cpus 8 (srun's -c)?"),
        ("--cpus-per-task=8 ./app", "--cpus COUNT?"),
        ("-N 0 ./app", "--cpus COUNT --memory SIZE?"),
        ("-C 0-3 ./app", "--cpus COUNT?"),
        ("--cpus 4 -m0 ./app", "--memory SIZE?"),
        ("--mem=4G ./app", "--memory SIZE?"),
        ("--cpus 1 --wait=-5s ./app", "it is negative"),
    ],
)
def test_options_of_other_programs_are_named(
    words: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", *words.split()]) == 2
    assert meant in capsys.readouterr().err


def test_options_of_the_command_are_its_own() -> None:
    assert run(["run", "--help", "--", "numactl", "-N", "0"]) != 2
