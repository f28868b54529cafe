"""``numalet check``: what is printed in each form, and which exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import msgspec
import pytest

from cli.commands import Runner, pod, process
from cli.operating import KUBELET, SHAPE, blocks, make_ready
from numalet.core.checkpoint import memory_file
from numalet.core.managers.memory.ledger import EMPTY_LEDGER
from numalet.core.model.findings import Severity
from numalet.insight.output import check_document, json_schema
from numalet.insight.usecases import checking, live_host
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.machines import MachineChoice
from numalet.io.sysfs.trees import memory_tree

GOLDEN = Path(__file__).parent / "golden"
SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schemas"
WRONG = (
    KUBELET.replace("memory: 3Gi", "memory: 3Gi\n      hugepages-1Gi: 2Gi")
    .replace("2148Mi ", "2Gi ")
    .replace(
        "kubeReserved",
        'topologyManagerPolicyOptions: {max-allowable-numa-nodes: "true"}\nkubeReserved',
    )
)


@pytest.fixture(autouse=True)
def ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_ready(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write("kubelet.yaml", KUBELET)
    write("wrong.yaml", WRONG)


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def with_more(name: str, container: str) -> str:
    """The file of a Guaranteed pod with one more container."""
    return write("pods.yaml", pod(name, "1Gi") + container)


def document(numalet: Runner, *arguments: str) -> dict[str, Any]:
    ended = numalet("check", *SHAPE, "-o", "json", *arguments)
    decoded = json.loads(ended.out)
    assert isinstance(decoded, dict)
    return decoded


def test_a_right_configuration_is_clean(numalet: Runner) -> None:
    ended = numalet("check", "-c", "kubelet.yaml", *SHAPE)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == (
        "The kubelet v1.37 would start with this configuration.\n"
        "Not checked: whether swap is on, the cgroup version, the container runtime.\n"
        "\n"
        "0 errors, 0 warnings, 0 notes; 0 pods given\n"
    )


def test_a_kubelet_that_only_its_managers_let_start_does_not_start(
    numalet: Runner, tmp_path: Path
) -> None:
    soft = tmp_path / "soft.yaml"
    soft.write_text(KUBELET + "evictionSoft: {memory.available: 1Gi}\n", encoding="utf-8")
    ended = numalet("check", "-c", str(soft), *SHAPE)
    assert ended.status == 1
    assert " ".join(ended.out.split()).startswith(
        "The kubelet v1.37 would not start, although its resource managers would: see "
        "lint/soft-eviction-without-grace-period. "
    )
    told = json.loads(numalet("check", "-c", str(soft), *SHAPE, "-o", "json").out)
    assert (told["status"], told["starts"], told["start_error"], told["stopped_by"]) == (
        "does-not-start",
        False,
        None,
        ["lint/soft-eviction-without-grace-period"],
    )
    several = numalet("check", "-c", str(soft), "-c", "kubelet.yaml", *SHAPE)
    assert several.out.endswith("2 combinations: 1 would start, 1 would not\n")
    native = numalet("check", "-c", str(soft), "--native", *SHAPE)
    assert native.out.splitlines()[0].endswith(" would start with this configuration.")


def test_a_wrong_configuration_is_reported_as_documented(numalet: Runner) -> None:
    ended = numalet("check", "-c", "wrong.yaml", *SHAPE)
    assert (ended.status, ended.err) == (1, "")
    assert ended.out == (GOLDEN / "check-wrong.txt").read_text(encoding="utf-8")
    assert max(map(len, ended.out.splitlines())) <= 80


def test_pods_that_can_never_be_admitted_are_reported_as_documented(numalet: Runner) -> None:
    pods = write("pods.yaml", pod("web", "9Gi") + "---" + pod("database", "300Gi"))
    ended = numalet("check", "-c", "kubelet.yaml", *SHAPE, pods)
    assert ended.status == 1
    assert ended.out == (GOLDEN / "check-pods.txt").read_text(encoding="utf-8")


def test_the_page_shows_what_is_printed(numalet: Runner) -> None:
    wrong, _workflow = blocks("check-a-configuration.md", "yaml")
    _command, start, forgotten, clean, never, lost = blocks("check-a-configuration.md", "")
    write("kubelet.yaml", wrong)
    printed = numalet("check", "-c", "kubelet.yaml", *SHAPE)
    assert printed.status == 1
    assert printed.out.startswith(start)
    assert forgotten in printed.out
    write("kubelet.yaml", KUBELET)
    pods = write("pods.yaml", pod("database", "300Gi"))
    assert numalet("check", "-c", "kubelet.yaml", *SHAPE).out == clean
    assert never in numalet("check", "-c", "kubelet.yaml", *SHAPE, pods).out
    proxy = "    - {name: proxy, resources: {}}\n"
    assert lost in numalet("check", "-c", "kubelet.yaml", *SHAPE, with_more("web", proxy)).out


def test_the_document_has_the_kubelets_own_error_first(numalet: Runner) -> None:
    found = document(numalet, "-c", "wrong.yaml")
    assert found["schema"] == "numalet.check/2"
    assert found["starts"] is False
    assert found["start_error"] == {
        "stage": "topology-manager",
        "text": 'unable to convert policy option to integer "max-allowable-numa-nodes":'
        ' strconv.Atoi: parsing "true": invalid syntax',
    }
    first = found["findings"][0]
    assert first["code"] == "config/topology-option-not-integer"
    assert first["kubelet"] == found["start_error"]["text"]
    assert (first["place"]["document"], first["place"]["line"]) == ("wrong.yaml", 6)
    assert found["counts"] == {"error": 6, "warning": 1, "note": 0}


def test_the_document_keeps_to_its_schema(numalet: Runner) -> None:
    text = numalet("check", "-c", "wrong.yaml", *SHAPE, "-o", "json").out
    assert msgspec.json.decode(text, type=check_document.CheckDocument).starts is False
    recorded = json.loads((SCHEMAS / "check.json").read_text(encoding="utf-8"))
    assert recorded == json_schema.of(check_document.CheckDocument)


def test_a_missing_field_is_missing_in_the_file(numalet: Runner) -> None:
    text = KUBELET.partition("reservedMemory")[0]
    found = document(numalet, "-c", write("short.yaml", text))
    assert found["findings"][0]["place"] == {"document": "short.yaml", "path": "$.reservedMemory"}


def test_flags_alone_have_no_file(numalet: Runner) -> None:
    found = document(numalet, "--memory-manager-policy", "Static")
    assert found["findings"][0]["place"] == {"path": "$.reservedMemory"}
    ended = numalet("check", *SHAPE, "--memory-manager-policy", "Static")
    assert "at $.reservedMemory" in ended.out


def test_sarif_is_one_run_with_files_and_lines(numalet: Runner) -> None:
    ended = numalet("check", "-c", "wrong.yaml", *SHAPE, "-o", "sarif")
    (run,) = json.loads(ended.out)["runs"]
    assert ended.status == 1
    physical = run["results"][0]["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": {"uri": "wrong.yaml"}, "region": {"startLine": 6}}
    assert run["tool"]["driver"]["rules"][0]["id"] == "config/topology-option-not-integer"


JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: big
spec:
  template:
    spec:
      containers:
      - name: first
        resources: {limits: {cpu: 1, memory: 1Gi}}
      - name: second
        resources: {limits: {cpu: 1, memory: 300Gi}}
"""


def test_findings_about_pods_have_the_lines_of_their_containers(numalet: Runner) -> None:
    pods = write("pods.yaml", pod("small", "1Gi") + "---\n" + JOB)
    lines = Path(pods).read_text(encoding="utf-8").splitlines()
    line = 1 + lines.index("      - name: second")
    second = write(
        "other.yaml", JOB.replace("name: big", "# moved\n  name: other").replace("300Gi", "400Gi")
    )
    given = ("check", "-c", "kubelet.yaml", *SHAPE, pods, second)
    (run,) = json.loads(numalet(*given, "-o", "sarif").out)["runs"]
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert [(each["artifactLocation"]["uri"], each["region"]["startLine"]) for each in places] == [
        ("pods.yaml", line),
        ("other.yaml", 12),
    ]
    commands = numalet(*given, "-o", "github").out
    assert f"::error file=pods.yaml,line={line},title=lint/pod-never-admitted::" in commands
    issues = json.loads(numalet(*given, "-o", "gitlab").out)
    assert issues[0]["location"] == {"path": "pods.yaml", "lines": {"begin": line}}
    assert f'line="{line}"' in numalet(*given, "-o", "junit").out


def test_a_comment_ignores_a_finding_about_a_container(numalet: Runner) -> None:
    comment = "  # numalet: ignore[lint/pod-never-admitted]"
    pods = write("pods.yaml", JOB.replace("name: second", f"name: second{comment}"))
    assert numalet("check", "-c", "kubelet.yaml", *SHAPE, pods).status == 0


def test_every_sarif_result_has_a_line_of_a_relative_file(numalet: Runner, tmp_path: Path) -> None:
    elsewhere = tmp_path / "a folder"
    elsewhere.mkdir()
    absolute = elsewhere / "kubelet.yaml"
    absolute.write_text(Path("wrong.yaml").read_text())
    broken = write("broken.yaml", "kind: [\n")
    for arguments, status in (
        (["-c", str(absolute), *SHAPE], 1),
        (["-c", "wrong.yaml", *SHAPE, "--memory-manager-policy", "Odd"], 1),
        (["-c", "wrong.yaml", "-m", "0n1c"], 2),
        (["-c", broken, *SHAPE], 2),
        (["-c", "nowhere.yaml", *SHAPE], 2),
    ):
        ended = numalet("check", *arguments, "-o", "sarif")
        assert ended.status == status
        (run,) = json.loads(ended.out)["runs"]
        assert run["results"]
        for result in run["results"]:
            (location,) = result["locations"]
            physical = location["physicalLocation"]
            uri = urlsplit(physical["artifactLocation"]["uri"])
            assert (uri.scheme, uri.netloc) == ("", "")
            assert not uri.path.startswith("/")
            assert physical["region"]["startLine"] >= 1
            assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] in ("error", "warning", "note")
            assert result["message"]["text"]


def test_what_can_not_be_decoded_is_printed_in_the_form_that_was_asked_for(
    numalet: Runner,
) -> None:
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    broken = write("broken.yaml", head + "reservedMemory:\n- numaNode: '0'\n")
    as_json = numalet("check", "-c", broken, *SHAPE, "-o", "json")
    found = json.loads(as_json.out)
    assert (as_json.status, as_json.err) == (2, "")
    assert found["schema"] == "numalet.check/2"
    assert (found["starts"], found["start_error"]) == (None, None)
    assert msgspec.json.decode(as_json.out, type=check_document.CheckDocument).starts is None
    (finding,) = found["findings"]
    assert finding["place"] == {
        "document": "broken.yaml",
        "line": 4,
        "path": "$.reservedMemory[0].numaNode",
    }
    go_text = (
        "json: cannot unmarshal string into Go struct field"
        " MemoryReservation.reservedMemory.numaNode of type int32"
    )
    assert go_text in finding["message"]

    as_commands = numalet("check", "-c", broken, *SHAPE, "-o", "github")
    assert as_commands.status == 2
    place = "file=broken.yaml,line=4,title=config-file/wrong-type"
    assert as_commands.out.startswith(f"::error {place}::")


def test_workflow_commands_are_lines(numalet: Runner) -> None:
    ended = numalet("check", "-c", "wrong.yaml", *SHAPE, "-o", "github")
    lines = ended.out.splitlines()
    assert len(lines) == 7
    assert lines[0].startswith(
        "::error file=wrong.yaml,line=6,title=config/topology-option-not-integer::"
    )


def test_junit_has_a_test_for_the_start_and_for_each_finding(numalet: Runner) -> None:
    ended = numalet("check", "-c", "wrong.yaml", *SHAPE, "-o", "junit")
    (suite,) = ElementTree.fromstring(ended.out)
    start, *others = suite
    assert (suite.get("name"), ended.status) == ("wrong.yaml", 1)
    assert 'strconv.Atoi: parsing "true"' in (start[0].get("message") or "")
    assert codes(numalet, "-c", "wrong.yaml") == [each.get("classname") for each in others]
    failed = [each for each in others if each.find("failure") is not None]
    assert str(len(failed) + 1) == suite.get("failures")
    assert (others[0].get("file"), others[0].get("line")) == ("wrong.yaml", "6")


def test_junit_of_what_is_clean_strange_and_strict(numalet: Runner) -> None:
    clean = numalet("check", "-c", "kubelet.yaml", *SHAPE, "-o", "junit")
    (suite,) = ElementTree.fromstring(clean.out)
    assert (clean.status, suite.get("tests"), suite.get("failures")) == (0, "1", "0")

    odd = write("odd.yaml", KUBELET + '"a\\x07<&\\ud7ff\\uffff": x\n')
    lenient = numalet("check", "-c", odd, *SHAPE, "-o", "junit")
    strict = numalet("check", "-c", odd, *SHAPE, "-o", "junit", "--strict")
    counts = [ElementTree.fromstring(each.out).get("failures") for each in (lenient, strict)]
    assert ([lenient.status, strict.status], counts) == ([0, 1], ["0", "1"])

    unreadable = numalet("check", "-c", "none.yaml", *SHAPE, "-o", "junit")
    assert unreadable.status == 2
    assert ElementTree.fromstring(unreadable.out).get("failures") == "1"


def test_everything_that_can_not_be_read_is_reported_at_once(numalet: Runner) -> None:
    pods = write("pods.yaml", "kind: Odd\n")
    ended = numalet("check", "-c", "none.yaml", "-m", "0n1c", "--state-dir", "nowhere", pods)
    assert (ended.status, ended.out) == (2, "")
    assert len(ended.err.splitlines()) >= 4


def test_state_files_are_checked_and_left_alone(numalet: Runner, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    state = folder / memory_file.FILE_NAME
    state.write_text(memory_file.write("None", EMPTY_LEDGER), encoding="utf-8")
    before = state.read_bytes()
    ended = numalet("check", "-c", "kubelet.yaml", *SHAPE, "--state-dir", str(folder))
    assert ended.status == 1
    assert 'configured policy "Static" differs from state checkpoint policy "None"' in (
        " ".join(ended.out.split())
    )
    assert state.read_bytes() == before


def test_a_finding_about_a_state_file_names_it(numalet: Runner, tmp_path: Path) -> None:
    state = tmp_path / memory_file.FILE_NAME
    state.write_text("{", encoding="utf-8")
    flags = ("-c", "kubelet.yaml", *SHAPE, "--state-dir", str(tmp_path))
    ended = numalet("check", *flags, "-o", "github")
    assert f"::error file={state.name},title=memory-state/not-json::" in ended.out


def test_unknown_fields_are_warnings(numalet: Runner) -> None:
    found = document(numalet, "-c", write("odd.yaml", KUBELET + "memoryManagerPolice: Static\n"))
    assert [(f["code"], f["severity"]) for f in found["findings"]] == [
        ("config-file/unknown-field", "warning")
    ]


def test_a_pod_is_placed_in_its_file(numalet: Runner) -> None:
    first, second = write("a.yaml", pod("a", "1Gi")), write("b.yaml", pod("b", "900Gi"))
    (found,) = document(numalet, "-c", "kubelet.yaml", first, second)["findings"]
    assert found["place"] == {"document": "b.yaml", "line": 8, "path": "pod default/b, container c"}


@pytest.mark.parametrize(
    ("text", "expected"), [("1\n", 1), ("0\n", 0), ("", None), ("odd", None), ("-1", None)]
)
def test_numa_balancing_is_read_from_the_machine(text: str, expected: int | None) -> None:
    tree = memory_tree({"proc/sys/kernel/numa_balancing": text.encode()}, {}, set())
    assert live_host.numa_balancing(tree) == expected


def test_numa_balancing_of_a_description_is_unknown() -> None:
    assert live_host.numa_balancing(None) is None
    assert live_host.numa_balancing(memory_tree({}, {}, set())) is None


def test_help_has_examples(numalet: Runner) -> None:
    ended = numalet("check", "--help")
    assert ended.status == 0
    assert "numalet check -c kubelet.yaml" in ended.out


def test_a_library_call_gives_rows() -> None:
    pieces = checking.CheckInputs(
        machine=MachineChoice("2n1c", "8Gi"), config=ConfigSources(config_file="wrong.yaml")
    )
    result = checking.check(pieces)
    assert Severity.ERROR in {row.severity for row in result.rows}
    assert len(result.rows) == len(result.checked.findings)


def test_the_configuration_comes_from_the_standard_input() -> None:
    inside = "".join(f"    {line}\n" for line in WRONG.splitlines())
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: k}}\ndata:\n  kubelet: |\n{inside}"
    ended = process("check", "-c", "-", *SHAPE, "-o", "json", stdin=text)

    assert ended.status == 1, ended.err
    rows = json.loads(ended.out)["findings"]
    (row,) = [row for row in rows if row["code"] == "lint/reserved-hugepages"]
    line = next(at for at, each in enumerate(text.split("\n"), 1) if "hugepages-1Gi" in each)
    assert ("-", line) == (row["place"]["document"], row["place"]["line"])
    (note,) = [row for row in rows if row["code"] == "config-file/read-from"]
    assert (
        note["severity"],
        note["message"],
    ) == ("note", "read from here: ConfigMap k, its key kubelet")


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_the_standard_input_has_one_reader(command: str) -> None:
    ended = process(command, "-c", "-", *SHAPE, "-", stdin=KUBELET)

    assert (ended.status, ended.out) == (2, "")
    assert "numalet can read the standard input only once" in ended.err


def test_pods_to_check_come_from_the_standard_input() -> None:
    text = pod("huge", "300Gi")
    ended = process("check", "-c", "kubelet.yaml", *SHAPE, "-o", "json", "-", stdin=text)

    assert "lint/pod-never-admitted" in [row["code"] for row in json.loads(ended.out)["findings"]]


def codes(numalet: Runner, *arguments: str) -> list[str]:
    return [row["code"] for row in document(numalet, *arguments)["findings"]]


def test_findings_are_chosen_by_code_and_by_area(numalet: Runner) -> None:
    everything = codes(numalet, "-c", "wrong.yaml")
    lint = [code for code in everything if code.startswith("lint/")]
    assert lint
    assert set(lint) < set(everything)
    assert lint == codes(numalet, "-c", "wrong.yaml", "--select", "lint")
    assert lint[:1] == codes(numalet, "-c", "wrong.yaml", "--select", lint[0])
    rest = [code for code in everything if code not in lint]
    assert rest == codes(numalet, "-c", "wrong.yaml", "--ignore", "lint")
    chosen = numalet("check", "-c", "wrong.yaml", *SHAPE, "--ignore", f"{','.join(everything)}")
    assert chosen.status == 1, "the kubelet does not start, whatever is ignored"
    assert f"{len(everything)} not counted" in chosen.out


def test_a_comment_excuses_a_finding_of_its_line(numalet: Runner) -> None:
    text = KUBELET + "memoryManagerPolicyy: x\n"
    unknown = "config-file/unknown-field"
    assert unknown in codes(numalet, "-c", write("a.yaml", text))
    behind = text.replace("yy: x", f"yy: x  # numalet: ignore[{unknown}]")
    above = text.replace(
        "memoryManagerPolicyy", "# numalet: ignore[config-file]\nmemoryManagerPolicyy"
    )
    other = text.replace("yy: x", "yy: x  # numalet: ignore[lint]")
    assert unknown not in codes(numalet, "-c", write("b.yaml", behind))
    assert unknown not in codes(numalet, "-c", write("c.yaml", above))
    assert unknown in codes(numalet, "-c", write("d.yaml", other))


def test_strict_fails_for_warnings(numalet: Runner) -> None:
    path = write("a.yaml", KUBELET + "memoryManagerPolicyy: x\n")
    arguments = ("check", "-c", path, *SHAPE)
    assert numalet(*arguments).status == 0
    assert numalet(*arguments, "--strict").status == 1
    assert numalet(*arguments, "--strict", "--ignore", "config-file").status == 0
    assert numalet("check", "-c", "kubelet.yaml", *SHAPE, "--strict").status == 0


def test_a_code_is_explained(numalet: Runner) -> None:
    one = numalet("check", "--explain", "lint/unbalanced-reservation")
    assert one.status == 0
    assert one.out.startswith("lint/unbalanced-reservation\n")
    assert "  rule: " in one.out
    assert "  fix: " in one.out
    area = numalet("check", "--explain", "lint")
    assert area.out.count("lint/") > 20


@pytest.mark.parametrize("option", ["--select", "--ignore", "--explain"])
def test_an_unknown_code_is_refused(numalet: Runner, option: str) -> None:
    ended = numalet("check", "-c", "kubelet.yaml", *SHAPE, option, "lint/unbalanced-reservatio")
    assert (ended.status, ended.out) == (2, "")
    assert "nearest: lint/unbalanced-reservation" in ended.err


def test_pods_that_get_less_than_they_ask_for_are_reported(numalet: Runner) -> None:
    devices = ("--device", "nvidia.com/gpu=gpu0@0", "--cpu-manager-policy", "static")
    limits = "limits: {cpu: 1500m, memory: 1Gi, nvidia.com/gpus: 1}"
    pods = with_more("web", f"    - {{name: more, resources: {{{limits}}}}}\n")
    found = document(numalet, "-c", "kubelet.yaml", *devices, "--select", "lint", pods)["findings"]
    place = {"document": "pods.yaml", "line": 10, "path": "pod default/web, container more"}
    assert [(row["code"], row["severity"], row["place"]) for row in found] == [
        ("lint/fractional-cpus", "warning", place),
        ("lint/resource-almost-offered", "warning", place),
    ]
    assert found[1]["fix"] == "write nvidia.com/gpu"


def test_a_configuration_that_does_not_do_what_it_says_is_reported(numalet: Runner) -> None:
    flags = ("--cpu-manager-policy", "static", "--reserved-cpus", "0-1,32-33")
    found = document(numalet, "-c", "kubelet.yaml", *flags)["findings"]
    assert [(row["code"], row["place"].get("line")) for row in found] == [
        ("lint/cpu-reservation-overridden", 6),
        ("lint/cpu-reservation-overridden", 7),
    ]
    alone = write("alone.yaml", KUBELET.partition("reservedMemory")[0])
    found = document(numalet, "-c", alone, "--memory-manager-policy", "None")["findings"]
    assert [(row["code"], row["place"]["line"]) for row in found] == [
        ("lint/alignment-without-hints", 5)
    ]


def test_a_pod_of_the_standard_input_beside_a_file_has_its_place() -> None:
    write("web.yaml", pod("web", "300Gi"))
    text = pod("huge", "400Gi")
    ended = process(
        "check", "-c", "kubelet.yaml", *SHAPE, "-o", "json", "-", "web.yaml", stdin=text
    )

    found = json.loads(ended.out)["findings"]
    assert [row["place"]["document"] for row in found] == ["-", "web.yaml"]


def test_the_mend_of_a_misspelt_resource_says_what_can_be_reserved(numalet: Runner) -> None:
    path = write("a.yaml", KUBELET.replace("memory: 4Gi}", "memroy: 4Gi}"))
    found = {row["code"]: row for row in document(numalet, "-c", path)["findings"]}
    assert found["config/reserved-resource"]["fix"] == (
        "write cpu, memory, ephemeral-storage or pid, or remove memroy"
    )
