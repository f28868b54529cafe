"""Every command that prints a document prints what is wrong with its input as one, too."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from cli.commands import Runner
from numalet.cli import output
from numalet.cli.output import OutputFormat
from numalet.core.model.findings import Severity
from numalet.insight.output.findings_document import FindingsDocument

MACHINE = ("-m", "2n16c2t", "--memory-per-node", "64Gi")


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", *MACHINE, "nowhere.yaml", "-o", "json"),
        ("simulate", *MACHINE, "broken.yaml", "--output=json"),
        ("explain", *MACHINE, "broken.yaml", "-ojson"),
        ("what-if", *MACHINE, "broken.yaml", "-o", "json"),
        ("reserve", *MACHINE, "-c", "broken.yaml", "-o", "json"),
        ("machine", "-m", "0n1c", "-o", "json"),
        ("state", "verify", "nowhere", "-o", "json"),
        ("state", "show", "nowhere", "-o", "json"),
        ("state", "diff", "nowhere", "nowhere", "-o", "json"),
        ("state", "restore-check", "nowhere", *MACHINE, "-c", "broken.yaml", "-o", "json"),
        ("state", "rebase", "nowhere", *MACHINE, "-c", "broken.yaml", "-o", "json"),
        ("podresources", "--socket", "nowhere.sock", "-o", "json"),
        ("run", "--dry-run", "--cpus", "many", "-o", "json", "--", "true", "-o", "yaml"),
        ("simulate", "--no-such-flag", "-o", "json"),
    ],
)
def test_bad_input_is_reported_as_a_document(
    words: tuple[str, ...], numalet: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.yaml").write_text("kind: [\n")

    ended = numalet(*words)

    assert ended.status == 2
    document = msgspec.json.decode(ended.out, type=FindingsDocument)
    assert document.findings
    for finding in document.findings:
        assert finding.severity is Severity.ERROR
        assert finding.message
        assert finding.message.splitlines()[0] in ended.err


def test_an_unusable_recording_is_reported_as_a_document(numalet: Runner, tmp_path: Path) -> None:
    ended = numalet("replay", str(tmp_path / "nowhere.jsonl"), "-o", "json")

    assert ended.status == 2
    (file,) = json.loads(ended.out)["files"]
    assert "nowhere.jsonl" in file["problems"][0]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["-o", "json"], OutputFormat.JSON),
        (["-o", "table", "--output", "yaml"], OutputFormat.YAML),
        (["-o"], None),
        (["-o", "sarif"], None),
        (["--", "-o", "json"], None),
        ([], None),
    ],
)
def test_the_command_line_says_which_document(words: list[str], asked: OutputFormat | None) -> None:
    assert output.asked_format(words) is asked
