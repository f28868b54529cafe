"""Everything that is printed goes through one module, which escapes control characters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from architecture import tree

CONSOLE = "cli/output.py"
OTHERS = {
    "__main__.py": "prints the version before anything is imported",
    "cli/direct_run.py": "prints one note, if it is printable, before anything is imported",
    "cli/streams.py": "makes the streams, and prints nothing",
    "agent/host/logs.py": "writes the log, whose texts it makes printable",
}
_HARMLESS = {"isatty", "flush", "fileno", "encoding"}
_PRINTERS = {
    *("echo", "secho", "echo_via_pager", "confirm", "prompt"),
    *("print_exc", "print_exception", "print_stack", "print_last"),
}
_STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


def _other_ways(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines of a module that print, and how."""
    harmless = set()
    for node in ast.walk(module):
        match node:
            case ast.Attribute(value=ast.Attribute(attr=stream) as inner, attr=name):
                if stream in _STREAMS and name in _HARMLESS:
                    harmless.add(inner)
            case _:
                pass
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Name(id="print" | "echo" | "secho" as name)):
                yield node.lineno, name
            case ast.Attribute(attr=name) if name in _PRINTERS:
                yield node.lineno, name
            case ast.Attribute(value=ast.Name(id="sys"), attr=name):
                if name in _STREAMS and node not in harmless:
                    yield node.lineno, f"sys.{name}"
            case ast.ImportFrom(module="sys", names=names):
                yield from ((node.lineno, each.name) for each in names if each.name in _STREAMS)
            case ast.ImportFrom(module="rich" | "rich.console", names=names):
                for each in names:
                    if each.name in ("Console", "print", "get_console", "inspect"):
                        yield node.lineno, f"rich {each.name}"
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="os"), attr="write"),
                args=[ast.Constant(value=1 | 2), *_],
            ):
                yield node.lineno, "os.write"
            case _:
                pass


def _of_types(module: ast.Module) -> set[int]:
    """The lines that are read by type checkers alone."""
    return {
        line
        for node in ast.walk(module)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def test_one_module_prints() -> None:
    found = []
    for path in tree.modules():
        name = path.relative_to(tree.SOURCE).as_posix()
        if name == CONSOLE or name in OTHERS:
            continue
        module = ast.parse(path.read_text(encoding="utf-8"))
        types = _of_types(module)
        found += [f"{name}:{at} {how}" for at, how in _other_ways(module) if at not in types]
    assert found == [], "print with numalet.cli.output"


def test_every_other_way_is_seen() -> None:
    ways = """
print("a")
typer.echo("a")
click.secho("a")
sys.stdout.write("a")
sys.stderr.buffer.write(b"a")
csv.writer(sys.stdout)
stream = sys.stderr
from sys import stdout
from rich.console import Console
from rich import print
traceback.print_exc()
os.write(2, b"a")
print(sys.stdout.isatty(), file=sys.stderr)
"""
    seen = {at for at, _ in _other_ways(ast.parse(ways))}
    assert seen == set(range(2, 15))
    assert [*_other_ways(ast.parse("sys.stdout.isatty(); sys.stderr.flush()"))] == []


def test_no_exception_is_left_over() -> None:
    for name in OTHERS:
        module = ast.parse((tree.SOURCE / name).read_text(encoding="utf-8"))
        assert any(_other_ways(module)) or name == "cli/streams.py", name
