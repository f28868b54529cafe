"""The examples of the page about the Python API hold, in their order."""

from __future__ import annotations

import ast
import doctest
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import numalet

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "python-api.md"
SHOWN = {
    *("open_machine", "decode_config", "read_pods", "load_pods", "start_node"),
    *("read_claims", "load_claims"),
    *("machine_info", "restart_node", "fits", "explain", "what_if", "check", "reserve"),
    *("read_state_files", "verify_state_files", "check_restart", "replay"),
    *("decision_rows", "placement_rows", "simulate"),
    *("Fleet.from_dump", "Fleet.from_kubeconfig", "open_cluster", "load_config"),
    *(".fit", ".traps", ".free", ".why", ".rejected"),
    *("admit", "pod_started", "remove", "devices_reported", "state_files", "restart"),
}
_SIGNATURE = re.compile(r"`((?:Fleet|)\.\w+|\w+)\(([^`]*)\)`")
_POSITIONAL, _KEYWORD = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
_EXAMPLE = re.compile(r"```pycon\n(.*?)```", re.DOTALL)


def test_the_examples_of_the_page_hold() -> None:
    text = PAGE.read_text(encoding="utf-8")
    runner = doctest.DocTestRunner()
    names: dict[str, object] = {}
    for example in _EXAMPLE.finditer(text):
        line = text.count("\n", 0, example.start())
        test = doctest.DocTestParser().get_doctest(
            example.group(1), names, PAGE.name, str(PAGE), line
        )
        runner.run(test, clear_globs=False)
        names = test.globs
    assert runner.summarize(verbose=False).attempted > 20
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.slow
def test_strict_types_accept_the_examples(tmp_path: Path) -> None:
    """Those who use the page's calls in their own programs have types for them."""
    lines = [
        source
        for example in _EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
        for each in doctest.DocTestParser().get_examples(example)
        for source in [each.source]
    ]
    program = tmp_path / "examples.py"
    program.write_text("".join(lines), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(program)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "MYPY_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def _documented() -> dict[str, list[inspect.Parameter]]:
    """The signatures that the page shows, by name; what is shown as a call is none."""
    found = {}
    for name, shown in _SIGNATURE.findall(PAGE.read_text(encoding="utf-8")):
        try:
            definition = ast.parse(f"def f({shown}): ...").body[0]
        except SyntaxError:
            continue
        assert isinstance(definition, ast.FunctionDef)
        given = definition.args
        optional = len(given.args) - len(given.defaults)
        found[name] = [
            _parameter(each.arg, is_optional=at >= optional) for at, each in enumerate(given.args)
        ]
        found[name] += [
            _parameter(each.arg, is_optional=default is not None, kind=_KEYWORD)
            for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        ]
    return found


def _parameter(name: str, *, is_optional: bool, kind: Any = _POSITIONAL) -> inspect.Parameter:
    default = None if is_optional else inspect.Parameter.empty
    return inspect.Parameter(name, kind, default=default)


def _real(name: str) -> list[inspect.Parameter]:
    """The parameters of a public function, or of a method of a fleet or a node."""
    if "." in name:
        owner, _, method = name.rpartition(".")
        real = _in_short(inspect.signature(getattr(numalet.Fleet, method)))
        return real if owner else real[1:]
    if hasattr(numalet, name):
        return _in_short(inspect.signature(getattr(numalet, name)))
    return _in_short(inspect.signature(getattr(numalet.Node, name)))[1:]


def _in_short(signature: inspect.Signature) -> list[inspect.Parameter]:
    """Names, kinds, and whether there is a default."""
    return [
        _parameter(
            each.name, is_optional=each.default is not inspect.Parameter.empty, kind=each.kind
        )
        for each in signature.parameters.values()
    ]


def test_the_signatures_of_the_page_are_the_real_ones() -> None:
    documented = _documented()
    assert set(documented) == SHOWN
    for name, shown in documented.items():
        real = _real(name)
        # Those in order are shown from the first one, and whatever is left out is optional.
        in_order = [each for each in shown if each.kind is _POSITIONAL]
        assert real[: len(in_order)] == in_order, name
        assert [each for each in shown if each not in real] == [], name
        left_out = [each for each in real if each not in shown]
        assert [each.name for each in left_out if each.default is inspect.Parameter.empty] == []


def test_the_attributes_of_a_node_on_the_page_are_there() -> None:
    node = numalet.start_node(numalet.decode_config({}, "none"), "1n1c")
    for name in ("snapshot", "rules"):
        assert f"| `{name}` |" in PAGE.read_text(encoding="utf-8")
        assert hasattr(node, name)


def test_a_machine_that_is_not_named_is_the_one_it_runs_on() -> None:
    assert numalet.open_machine().info == numalet.open_machine(None).info


def test_every_public_name_is_on_the_page() -> None:
    words = set(re.findall(r"\w+", PAGE.read_text(encoding="utf-8")))
    assert set(numalet.__all__) - words == set()
