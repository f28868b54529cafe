"""What no file of the project says, and what every module says."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from architecture import tree

# Put together from parts, so that this file does not hold what it looks for.
_UNFINISHED = re.compile(
    "|".join(["TO" + "DO", "FIX" + "ME", r"\bXX" + r"X\b", "NotImplemented" + "Error"])
)
_OUTSIDE = re.compile(
    "|".join(["/wo" + "rk/", r"\.\./sha" + "red", "/tmp/st" + "udio", "far" + "m-"])
)
_WORKPLACE = re.compile(r"\bissu[e] #?\d+\b", re.IGNORECASE)


_FOLDERS = (
    "core",
    "wording",
    "io",
    "insight",
    "drawing",
    "pages",
    "dashboard",
    "agent",
    "cli",
    "lab",
)
_PRIVATE = frozenset(
    [
        "told",
        "tell",
        "tells",
        "telling",
        "heard",
        "hear",
        "hears",
        "look",
        "looked",
        "looks",
        "looking",
        "found",
        "taken",
        "take",
        "takes",
        "took",
        "taking",
        "books",
        "book",
        "papers",
        "whoever",
        "somebody",
        "someone",
        "nobody",
        "ours",
    ]
)
"""Words that stood for many things each; the glossary has one for every one of them."""
_TERMS = frozenset(
    {
        "book_id",  # A level of the CPU topology of mainframes, as in cAdvisor's MachineInfo.
        "NotFound",  # As ``field.NotFound`` of Kubernetes.
        "NOT_FOUND",  # The reason ``NotFound`` of Kubernetes.
        "not_found",
        "_NOT_FOUND",  # As execve says of a program that is not there.
        "EXIT_NOT_FOUND",
        "pod_resources_not_found",
    }
)
_KEPT = frozenset(
    {
        "found",  # A field of findings, in documents and records.
        # Classes named after their codes, which are a contract.
        "RebaseCpusTaken",
        "RuntimeOfferNotTaken",
        "RuntimeProgramNotFound",
    }
)
_TAKING = "core/managers/cpu"
"""Its functions are the kubelet's ``takeByTopology`` and siblings."""
_NOT_IN_PROSE = re.compile(r"\b(?:somebody|whoever|nobody|books|papers|heard)\b", re.IGNORECASE)
_NOT_IN_COMMENTS = re.compile(
    r"\b(?:told|tells?|telling|heard|hears?|look(?:s|ed|ing)?|books?|papers|"
    r"whoever|somebody|someone|nobody)\b",
    re.IGNORECASE,
)
# The name is not published: its first owner would run code where such advice is followed.
_UNPUBLISHED = re.compile(
    r"numalet\[[a-z]|\b(pipx?|uv\s+(pip|tool))\s+install\s+[^\n`#]*?(?<![/.\w-])numalet\b(?![-/.…])"
)
_LITERAL = re.compile(r"``[^`]*``")
_CODE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{tree.relative(path)}:{number}: {line.strip()}"
        for path in tree.texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]


def test_nothing_is_left_unfinished() -> None:
    assert _lines_with(_UNFINISHED) == []


def test_nothing_names_a_place_outside_the_project() -> None:
    assert _lines_with(_OUTSIDE) == []


def test_nothing_refers_to_the_work_that_made_it() -> None:
    assert _lines_with(_WORKPLACE) == []


def test_nothing_says_to_install_by_name() -> None:
    folders = [tree.ROOT / "packaging", tree.ROOT / "src"]
    others = [path for each in folders for path in each.rglob("*") if path.is_file()]
    texts = {*tree.texts(), *others} - {*tree.ROOT.glob("tests/systems/*.py")}
    found = [
        tree.relative(path)
        for path in texts
        if path.suffix not in (".pyc", ".gz", ".png")
        and _UNPUBLISHED.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "is_advice"),
    [
        ("pip install 'numa" "let[agent]'", True),
        ("pip install numa" "let", True),
        ("pip install -U numa" "let", True),
        ("uv tool install numa" "let", True),
        ("pip install '.[agent]'", False),
        ("pip install ./numalet", False),
    ],
)  # fmt: skip
def test_advice_to_install_by_name_is_recognised(text: str, is_advice: bool) -> None:
    assert bool(_UNPUBLISHED.search(text)) is is_advice


def test_every_module_says_why_it_exists() -> None:
    silent = [path for path in tree.modules() if ast.get_docstring(tree.parsed(path)) is None]
    assert [tree.relative(path) for path in silent] == []


def _names(module: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name, node.lineno
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case _:
                pass


def _words(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")


def test_words_of_a_name_are_those_of_a_class_too() -> None:
    assert _words("_LooksTaken") == ["", "looks", "taken"]
    assert _words("look_again_at") == ["look", "again", "at"]


def test_names_use_no_private_verbs() -> None:
    private = [
        f"{tree.relative(path)}:{line} {name}"
        for folder in _FOLDERS
        for path in sorted((tree.SOURCE / folder).rglob("*.py"))
        for name, line in _names(tree.parsed(path))
        if name not in _TERMS | _KEPT
        and _PRIVATE.intersection(_words(name))
        and not (_TAKING in path.as_posix() and "tak" in name)
    ]
    assert private == []


def test_pages_for_users_use_no_private_words() -> None:
    """Decisions are as they were written, and the glossary names what the words stand for."""
    pages = [
        path
        for path in tree.pages()
        if not {"decisions", "tests"} & {*path.relative_to(tree.ROOT).parts}
        and path.name not in {"CHANGELOG.md", "glossary.md", "documentation-statements.md"}
    ]
    private = [
        f"{tree.relative(path)}: {word}"
        for path in pages
        for word in _NOT_IN_PROSE.findall(_CODE.sub("", path.read_text(encoding="utf-8")))
    ]
    assert len(pages) > 30
    assert private == []


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings, those of attributes too, and comments, without the code in them."""
    for node in ast.walk(tree.parsed(path)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, _LITERAL.sub("", text)
            case _:
                pass
    with tokenize.open(path) as lines:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], _LITERAL.sub("", token.string)


def test_docstrings_and_comments_use_no_private_verbs() -> None:
    private = [
        f"{tree.relative(path)}:{line} {word}"
        for path in tree.modules()
        for line, text in _prose(path)
        for word in _NOT_IN_COMMENTS.findall(text)
    ]
    assert private == []


def test_on_the_dashboard_a_pod_is_rejected_and_nothing_refused() -> None:
    templates = sorted(tree.SOURCE.joinpath("pages", "templates").rglob("*.html"))
    assert templates != []
    lines = [
        f"{tree.relative(path)}:{number}: {line.strip()[:80]}"
        for path in templates
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        # Members of documents have their old names.
        if "refus" in re.sub(r"each\.refus\w+|\"refusing_nodes\"", "", line).lower()
    ]
    assert lines == []
