"""Texts of pods, programs and users are text on every page, and never markup."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from playwright.sync_api import Dialog, Page, expect

from numalet.core.model.pod import ContainerKey
from numalet.dashboard.application import application
from numalet.dashboard.sources import EventRow, Level, NodeView, Note
from running import dashboards
from running.browsers import Visit
from values import shown_nodes
from values.shown_nodes import AT, GIB, guaranteed

_MARKUP: Final = "</pre></textarea><img src=x onerror=window.ran=1><script>window.ran=1</script>"
_UID: Final = "\"'><img src=x onerror=window.ran=1>"
_MADE: Final = """() => [
  ...document.querySelectorAll("img, iframe, object, main script:not([src]), [onerror]")
].map(each => each.outerHTML)"""
"""Elements that no page of the dashboard has, so they came out of the text of others."""


def _view() -> NodeView:
    config, node = shown_nodes.started()
    pods = [
        guaranteed("web-0", 12, 8 * GIB),
        guaranteed("web-1", 6, GIB),
        guaranteed("big", 12, GIB, "team"),
    ]
    pods = [
        replace(
            pod,
            uid=f"{_UID}{pod.name}",
            labels={"app": _MARKUP},
        )
        for pod in pods
    ]
    view = shown_nodes.view_of(config, node, pods, title=f"n1 {_MARKUP}")
    rows = [
        replace(
            row,
            reason=row.reason and f"{row.reason} {_MARKUP}",
            message=f"message {_MARKUP}",
            why=row.why and f"why {_MARKUP}",
            containers=tuple(replace(each, state=_MARKUP) for each in row.containers),
        )
        for row in view.rows
    ]
    return replace(
        view,
        rows=tuple(rows),
        events=(
            EventRow(at=AT, is_warning=True, reason=_MARKUP, message=_MARKUP, pod="default/web-0"),
        ),
        notes=(Note(Level.WARNING, "node/note", _MARKUP, _MARKUP),),
    )


def _check(page: Page, where: str) -> None:
    assert page.evaluate("window.ran === undefined"), where
    assert page.evaluate(_MADE) == [], where


def test_no_page_makes_markup_of_them(page: Page, tmp_path: Path) -> None:
    view = _view()
    source = dashboards.ChangingNode(view)
    output = tmp_path / "output"
    output.write_text(f"first line\n{_MARKUP}\n\x1b[31mred\x00\n")
    source.log(ContainerKey(view.rows[0].pod.uid, "app"), output)
    dialogs: list[str] = []

    def asked(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", asked)
    with dashboards.listening(application(source)) as url:
        for path in (
            "/",
            "/node",
            "/pods",
            "/pods/default/web-0",
            "/pods/team/big",
            "/pods/team/big/ways-out/1",
            "/history",
            "/what-if",
        ):
            page.goto(url + path)
            expect(page.locator("#standing")).to_contain_text(_MARKUP)
            _check(page, path)
            expect(page.locator("#live")).to_have_text("live")
            # The same, put into the page by its script.
            view = replace(view, revision=view.revision + 1, title=f"n{view.revision} {_MARKUP}")
            source.show(view)
            expect(page.locator("#standing")).to_contain_text(view.title)
            _check(page, f"{path}, after a change")
        page.goto(f"{url}/pods/default/web-0")
        expect(page.locator(".log pre")).to_contain_text(_MARKUP)
        expect(page.locator("td.words")).to_have_text(_MARKUP)
    assert dialogs == []


def test_a_manifest_and_a_filter_are_text_too(visit: Callable[..., Visit]) -> None:
    opened = visit()
    opened.expected.append("422")
    page = opened.page
    with dashboards.listening(application(dashboards.ChangingNode(_view()))) as url:
        page.goto(f"{url}/what-if")
        manifest = f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {_MARKUP!r}\nspec: {{}}\n"
        page.locator("#manifest").fill(manifest)
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("#answer")).to_contain_text(_MARKUP[:50])
        expect(page.locator("#manifest")).to_have_value(manifest)
        _check(page, "what-if")
        page.goto(f"{url}/pods")
        page.locator("input[type=search]").fill(_MARKUP)
        expect(page.locator("#count")).to_have_text("1 of 3 pods")
        page.reload()
        expect(page.locator("input[type=search]")).to_have_value(_MARKUP)
        _check(page, "pods")
