"""The page about pod manifests has the tables that the table of Pod fields gives."""

from __future__ import annotations

from architecture import tree
from numalet.io.documents.pods.pod_table import page
from numalet.io.documents.pods.pod_table.kinds import FieldUse

PAGE = (tree.DOCS / "reference" / "pod-manifests.md").read_text(encoding="utf-8")


def test_the_tables_of_the_page_are_those_of_the_fields() -> None:
    assert page.filled(PAGE) == PAGE, "make schemas writes them anew"


def test_the_page_has_a_table_for_every_use() -> None:
    assert [use for use in FieldUse if f"<!-- table: {use.value} -->" not in PAGE] == []
