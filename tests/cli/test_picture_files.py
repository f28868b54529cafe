"""Pictures as files: whole or not at all, beside what is printed, and complete in themselves."""

from __future__ import annotations

import html
import os
import re
import stat
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.commands import DOCUMENTED, EXAMPLES, GUARANTEED, SECOND, UID, Ended, Runner, pod, process
from running import kubelet_node

_MACHINE = ("machine", "2n4c2t", "--memory-per-node", "8Gi")


class Page(HTMLParser):
    """What a page asks for from elsewhere, and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.scripts = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count scripts, and keep every address."""
        self.scripts += tag == "script"
        for name, value in attrs:
            leads_away = name in ("src", "srcset", "action", "data", "poster")
            if leads_away or (name == "href" and not (value or "").startswith("#")):
                self.asked.append(f"{tag} {name}={value}")


def checked_page(path: Path) -> str:
    """The text of a page that is complete in itself."""
    text = path.read_text()
    page = Page(text)
    assert page.asked == []
    assert page.scripts == 1
    assert not re.search(r"url\((?!#)|@import", text)
    assert "default-src 'none'" in text
    return text


def test_a_page_says_how_to_make_it_again(numalet: Runner, tmp_path: Path) -> None:
    page = tmp_path / "a page.html"
    numalet(*_MACHINE, "--html", str(page))
    command = f"numalet machine 2n4c2t --memory-per-node 8Gi --html '{page}'"
    assert f"<code>{command}</code>" in html.unescape(checked_page(page))


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_pictures_have_the_mode_that_the_umask_leaves(
    mask: int, mode: int, numalet: Runner, tmp_path: Path
) -> None:
    page, drawing = tmp_path / "m.html", tmp_path / "m.svg"
    before = os.umask(mask)
    try:
        assert numalet(*_MACHINE, "--html", str(page), "--svg", str(drawing)).status == 0
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (page, drawing)] == [mode, mode]


def test_a_machine_as_a_page_and_as_a_drawing(numalet: Runner, tmp_path: Path) -> None:
    page, drawing = tmp_path / "m.html", tmp_path / "m.svg"
    page.write_text("before")
    plain = numalet(*_MACHINE)
    done = numalet(*_MACHINE, "--html", str(page), "--svg", str(drawing))
    assert done == Ended(0, plain.out, f"written: {page}\nwritten: {drawing}\n")
    text = checked_page(page)
    assert "numalet machine" in text
    assert "2n4c2t" in text
    marks = [each for each in ElementTree.parse(drawing).iter() if "data-cpu" in each.attrib]
    assert len(marks) == 16
    assert sorted(tmp_path.iterdir()) == [page, drawing]


def test_a_page_on_the_standard_output_stands_alone() -> None:
    done = process(*_MACHINE, "--html", "-")
    assert done.status == 0
    assert done.err == ""
    assert done.out.startswith("<!doctype html>")
    assert done.out.rstrip().endswith("</html>")


def test_places_that_can_not_be_written(numalet: Runner, tmp_path: Path) -> None:
    page = tmp_path / "m.html"
    for where in (tmp_path, tmp_path / "none" / "m.svg"):
        done = numalet(*_MACHINE, "--html", str(page), "--svg", str(where))
        assert done.status == 2
        assert done.out == ""
        assert str(where) in done.err
        assert not page.exists()


def test_both_can_not_go_to_the_standard_output(numalet: Runner) -> None:
    done = numalet(*_MACHINE, "--html", "-", "--svg", "-")
    assert (done.status, done.out) == (2, "")
    assert "--html and --svg" in done.err


def test_the_devices_of_a_machine_are_on_its_drawing(numalet: Runner, tmp_path: Path) -> None:
    path = tmp_path / "m.svg"
    numalet("machine", "profile:dgx-h100", "--svg", str(path))
    assert path.read_text(encoding="utf-8").count("data-device=") == 8


def test_a_list_of_machines_has_no_picture(numalet: Runner, tmp_path: Path) -> None:
    done = numalet("machine", "--profiles", "--html", str(tmp_path / "m.html"))
    assert done.status == 2
    assert not [*tmp_path.iterdir()]


def test_a_simulation_as_a_page_has_every_decision(numalet: Runner, tmp_path: Path) -> None:
    page, drawing = tmp_path / "s.html", tmp_path / "s.svg"
    plain = numalet.simulate(GUARANTEED, SECOND)
    done = numalet.simulate(GUARANTEED, SECOND, "--html", str(page), "--svg", str(drawing))
    assert (done.status, done.out) == (plain.status, plain.out)
    text = checked_page(page)
    assert text.count("<caption>Decisions</caption>") == 1
    assert "Admitted" in text
    assert "of kubelet v1.37" in text or "1.37" in text
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")


def test_what_others_wrote_is_never_markup(numalet: Runner, tmp_path: Path) -> None:
    machine, config = tmp_path / "<img src=x onerror=m>.yaml", tmp_path / "<script>c<b>.yaml"
    machine.write_text((EXAMPLES / "machine.yaml").read_text())
    config.write_text((EXAMPLES / "kubelet.yaml").read_text())
    page = tmp_path / "page.html"
    assert numalet("machine", str(machine), "--html", str(page)).status == 0
    assert "&lt;img src=x onerror=m&gt;" in checked_page(page)
    asked = ("-c", str(config), *DOCUMENTED[2:4], "-m", str(machine), GUARANTEED)
    assert numalet("what-if", *asked, "--html", str(page)).status == 0
    assert "&lt;script&gt;c&lt;b&gt;" in checked_page(page)


def test_an_explanation_as_a_page(numalet: Runner, tmp_path: Path) -> None:
    manifest = tmp_path / "large.yaml"
    manifest.write_text(pod("large", "900Gi"))
    page = tmp_path / "e.html"
    done = numalet("explain", *DOCUMENTED, str(manifest), "--html", str(page))
    assert done.status == 1
    text = checked_page(page)
    assert "default/large (Guaranteed) is rejected" in text
    matrix = text[text.index("Where it could go") :]
    matrix = matrix[matrix.index("<svg") : matrix.index("</svg>") + len("</svg>")]
    marks = [*ElementTree.fromstring(matrix).iter()]
    assert "Where c could go" in text or "Where pod could go" in text
    assert any(each.get("data-status") == "not offered" for each in marks)
    assert " accepts " in text
    assert "What would have admitted it" in text


def test_an_admitted_pod_explained_has_no_ways_out(numalet: Runner, tmp_path: Path) -> None:
    page = tmp_path / "e.html"
    done = numalet("explain", *DOCUMENTED, GUARANTEED, "--html", str(page))
    assert done.status == 0
    text = checked_page(page)
    assert "is admitted on NUMA nodes" in text
    assert "What would have admitted it" not in text


def test_a_comparison_as_a_page(numalet: Runner, tmp_path: Path) -> None:
    page = tmp_path / "w.html"
    asked = ("what-if", *DOCUMENTED, GUARANTEED, SECOND)
    plain = numalet(*asked)
    done = numalet(*asked, "--html", str(page))
    assert (done.status, done.out) == (plain.status, plain.out)
    text = checked_page(page)
    assert "<caption>Variants</caption>" in text
    for policy in ("none", "best-effort", "restricted", "single-numa-node"):
        assert f"<td>{policy}</td>" in text


@pytest.mark.slow
def test_a_page_of_a_large_node_is_below_a_megabyte(numalet: Runner, tmp_path: Path) -> None:
    manifest = tmp_path / "pods.yaml"
    manifest.write_text("---".join(pod(f"pod-{at}", "1Gi") for at in range(500)))
    page, config = tmp_path / "s.html", tmp_path / "kubelet.yaml"
    config.write_text(
        "{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration,"
        " cpuManagerPolicy: static, reservedSystemCPUs: '0', memoryManagerPolicy: Static,"
        " reservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}], maxPods: 600}"
    )
    size = ("-m", "64n8c2t", "--memory-per-node", "64Gi")
    done = numalet("simulate", "-c", str(config), *size, str(manifest), "--html", str(page))
    assert done.status == 0, done.err
    text = checked_page(page)
    assert text.count("data-pod") > 1000
    assert len(text.encode()) < 1_000_000


def test_state_files_as_a_page_and_compared(numalet: Runner, tmp_path: Path) -> None:
    for name, pods in (("one", [GUARANTEED]), ("two", [SECOND])):
        (tmp_path / name).mkdir()
        numalet.simulate("--state-dir", str(tmp_path / name), *pods)
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    page, drawing = tmp_path / "p.html", tmp_path / "p.svg"
    plain = numalet("state", "show", one)
    done = numalet("state", "show", one, "--html", str(page), "--svg", str(drawing))
    assert (done.status, done.out) == (0, plain.out)
    assert UID in checked_page(page)
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")
    plain = numalet("state", "diff", one, two)
    done = numalet("state", "diff", one, two, "--html", str(page))
    assert (done.status, done.out) == (1, plain.out)
    text = checked_page(page)
    assert text.count("<svg") == 2
    assert "What differs" in text
    names = ("--pods", str(GUARANTEED), "--pods", str(SECOND))
    numalet("state", "diff", one, two, *names, "--colours", "namespace", "--html", str(page))
    text = checked_page(page)
    assert "unknown pod" not in text
    assert "A default: " in text or ">default: " in text


def test_state_files_are_drawn_on_their_machine_with_what_contradicts_it(
    numalet: Runner, tmp_path: Path
) -> None:
    kubelet = kubelet_node.made(tmp_path / "k")
    kubelet.admit("one")
    page = tmp_path / "p.html"
    shape = ("-m", "2n8c1t", "--memory-per-node", "16Gi", "--device", "example.com/gpu=g0@1")
    files = str(kubelet.root)
    assert numalet("state", "show", files, *shape, "--html", str(page)).status == 0
    text = checked_page(page)
    assert text.count("data-cpu=") == 16
    assert text.count("data-device=") == 1
    assert "on this machine" in text
    assert "Does not match" not in text
    assert numalet("state", "diff", files, files, *shape, "--html", str(page)).status == 0
    assert checked_page(page).count("data-cpu=") == 32
    assert numalet("state", "show", files, "-m", "1n2c", "--html", str(page)).status == 0
    assert "Does not match the machine" in checked_page(page)
    plain = numalet("state", "show", files, "-m", "nonsense", "--html", str(page))
    assert plain.status == 2


def test_state_files_that_are_not_readable_are_said_to_be(numalet: Runner, tmp_path: Path) -> None:
    (tmp_path / "memory_manager_state").write_text("no document")
    page = tmp_path / "p.html"
    numalet("state", "show", str(tmp_path), "--html", str(page))
    assert "Not readable" in checked_page(page)


def test_colours_are_of_pods_or_of_a_namespace_on_request() -> None:
    def drawn(*more: str) -> str:
        return process("simulate", *DOCUMENTED, GUARANTEED, "--svg", "-", *more).out

    assert ">default/guaranteed: " in drawn()
    assert ">default: " in drawn("--colours", "namespace")
