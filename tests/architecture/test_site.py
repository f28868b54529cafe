"""The source of the documentation site: complete, filled from the code, and without dead links."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from architecture import test_links, tree
from numalet.agent.telemetry.metrics import DEFINITIONS
from numalet.cli import code_index, main, manual
from site_source import assembling, descriptions, markdown


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    assembling.assemble(tree.DOCS, target)
    return target


@cache
def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_every_page_is_in_it_and_every_mark_is_filled(site: Path) -> None:
    pages = {path.relative_to(tree.DOCS) for path in tree.DOCS.rglob("*.md")}
    assert {path for path in pages if not (site / path).exists()} == set()
    assert [path for path in site.rglob("*.md") if "<!-- made:" in _text(path)] == []


def test_the_table_of_exit_statuses_has_what_is_special_of_each_command(site: Path) -> None:
    rows = _text(site / "reference" / "exit-status.md").splitlines()
    assert "| `numalet fleet fit` | 0 all copies fit; 1 fewer fit |" in rows
    assert "| `numalet replay` | 0 all scenarios passed; 1 a scenario failed |" in rows
    (check,) = (row for row in rows if "`numalet check`" in row)
    assert "; 4 unknown whether it starts" in check
    (run,) = (row for row in rows if "`numalet run`" in row)
    assert "; 125 it does not fit; 126 " in run
    silent = [page.name for page in manual.pages() if not page.exit_status]
    assert silent == []


def test_every_file_that_a_page_links_to_is_in_it(site: Path) -> None:
    targets = {
        (page.relative_to(site).as_posix(), target)
        for page in site.rglob("*.md")
        for target in re.findall(r"\]\(([^)\s:#]+)(?:#[^)\s]*)?\)", _without_code(_text(page)))
        if not (page.parent / target).exists()
    }
    assert targets == set()


def test_every_link_to_a_heading_leads_to_one(site: Path) -> None:
    dead = {
        (page.relative_to(site).as_posix(), target)
        for page in site.rglob("*.md")
        for target in test_links.dead_headings(page)
    }
    assert dead == set()


def test_every_page_has_a_title_of_its_own_and_a_description(site: Path) -> None:
    titles: dict[str, list[str]] = {}
    for page in site.rglob("*.md"):
        name, text = page.relative_to(site).as_posix(), _text(page)
        (title,) = re.findall(r"^# (.+)$", _without_code(text), re.MULTILINE)[:1]
        titles.setdefault(title, []).append(name)
        assert text.startswith("---\nmyst:\n  html_meta:\n    description: "), name
    assert [names for names in titles.values() if len(names) > 1] == []


def test_a_description_is_the_first_paragraph_without_markup() -> None:
    page = "# A\n\n| a | b |\n|---|---|\n\n```\ncode\n```\n\nSee [the\npage](b.md), `c`:\n\nMore.\n"
    assert descriptions.of_page(page) == "See the page, c"
    assert descriptions.of_page("# A\n\n- a\n") == ""
    assert descriptions.described("# A\n") == "# A\n"
    long = descriptions.of_page("word, " * 60)
    assert (len(long) <= 160, long[-7:]) == (True, " word …")


def _without_code(text: str) -> str:
    return re.sub(r"^(```|~~~).*?^\1|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def test_every_command_finding_and_metric_is_in_it(site: Path) -> None:
    names = [each.name for each in main.app().registered_commands]
    names += [each.name for each in main.app().registered_groups]
    assert [name for name in names if not (site / f"reference/commands/{name}.md").exists()] == []
    findings = _text(site / "reference" / "findings.md")
    assert [code for code in code_index.classes() if f"### `{code}`" not in findings] == []
    assert "member" not in findings.partition("### `fleet/not-decided`")[2].partition("###")[0]
    metrics = _text(site / "reference" / "metrics.md")
    assert [each.name for each in DEFINITIONS if f"| `{each.name}` |" not in metrics] == []
    assert "| `numalet_extender_requests_total` | counter |" in metrics
    assert "| `numalet_publish_writes_total` | counter |" in metrics


def test_texts_of_the_code_are_no_markup() -> None:
    assert markdown.escaped("a <b> *c* ``d_e``") == r"a \<b\> \*c\* `d_e`"
