"""The page about numalet in a cluster: its commands name what there is, and are not many."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, Final

import jsonpatch
import pytest
import typer.main
import yaml

from cli import console_page
from cluster import manifests
from numalet.cli import main

ROOT: Final = console_page.ROOT
TEXT: Final = (ROOT / "docs" / "how-to" / "install-in-a-cluster.md").read_text(encoding="utf-8")
FENCED: Final = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
BLOCKS: Final = [text for language, text in FENCED if not language]
COMMANDS: Final = [shlex.split(line) for block in BLOCKS for line in block.splitlines()]
DEPLOYMENTS: Final = manifests.of_kind("Deployment")


def of(program: str) -> list[list[str]]:
    return [words[1:] for words in COMMANDS if words[0] == program]


def test_no_way_takes_more_than_ten_commands() -> None:
    assert len(BLOCKS) > 5
    assert max(len(block.splitlines()) for block in BLOCKS) <= 10


@pytest.mark.parametrize("words", of("numalet"), ids=" ".join)
def test_our_commands_are_read(words: list[str]) -> None:
    command: Any = typer.main.get_command(main.app())
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    assert command.make_context("command", words) is not None


def test_folders_and_files_are_there() -> None:
    named = [word for words in COMMANDS for word in words if word.startswith("packaging/")]
    assert len(named) > 8
    assert [each for each in named if not (ROOT / each).exists()] == []
    for words in of("kubectl"):
        if "-k" in words:
            assert (ROOT / words[words.index("-k") + 1] / "kustomization.yaml").is_file()


def test_make_knows_its_targets() -> None:
    for (target,) in of("make"):
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, check=False)
        assert done.returncode == 0
        assert b"build/numalet.oci.tar" in done.stdout


def test_patches_fit_the_manifests(tmp_path: Path) -> None:
    (patch,) = (words[words.index("-p") + 1] for words in of("kubectl") if "-p" in words)
    patched = jsonpatch.JsonPatch.from_string(patch).apply(DEPLOYMENTS["numalet-breaker"])
    args = patched["spec"]["template"]["spec"]["containers"][0]["args"]
    command: Any = typer.main.get_command(main.app())
    assert command.commands["breaker"].make_context("breaker", args[1:]).params["act"]
    (own,) = re.findall(r"^```yaml\n(resources:.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    for each in yaml.safe_load(own)["patches"]:
        operations = yaml.safe_load(each["patch"])
        target = manifests.of_kind(each["target"]["kind"])[each["target"]["name"]]
        # What is replaced is there, and is the reader's to name.
        jsonpatch.JsonPatch(operations).apply(target)
        assert all("YOUR-" in operation["value"] for operation in operations)


def test_the_pod_of_the_page_is_for_the_second_scheduler_and_its_nodes() -> None:
    (text,) = re.findall(r"^```yaml\n(spec:.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    spec = yaml.safe_load(text)["spec"]
    (profile,) = manifests.configurations()["second-scheduler"]["profiles"]
    assert spec["schedulerName"] == profile["schedulerName"]
    (tolerated,) = spec["tolerations"]
    (taint,) = (words[-1] for words in of("kubectl") if words[0] == "taint")
    assert taint == f"{tolerated['key']}={tolerated['value']}:{tolerated['effect']}"
