"""``pip install`` in empty environments of every Python there is, and the README's first screen."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from architecture import tree
from running import installations, pythons, suites
from systems.test_pythons import PYTHONS

_PIPS: Final = {"checkout": "pip==23.0", "sdist": "pip"}
"""The oldest and the newest pip are tried with the oldest Python."""

_README: Final = (tree.ROOT / "README.md").read_text(encoding="utf-8")
_SHOWN: Final = re.compile(r"^```console\n\$ ((?:.*\\\n)*.*\n)((?s:.*?))^```", re.MULTILINE)
_INSTALL: Final = re.compile(r"^(pip install .*?)(?:\s+#.*)?$", re.MULTILINE)
_ROW: Final = re.compile(r"^\|[^|]*\|((?:\\\||[^|])*)\|", re.MULTILINE)
_STATUS: Final = {
    "fleet": (0, 1, 2), "explain": (0, 1), "check": (0, 1), "run": (0, 125), "replay": (0,),
}  # fmt: skip
"""How the commands of the table may end on a machine of any size, with the inputs below."""

_DUMP: Final = """\
{"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"},
  "status": {"capacity": {"cpu": "8", "memory": "16Gi", "pods": "110"},
             "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}}}]}
"""
_POD: Final = """\
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rejected", "namespace": "default"},
 "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}}
"""
# It knows the kinds of every cluster, as kubectl does where nothing else is installed.
_KUBECTL: Final = f"""\
#!/bin/sh
case $2 in
  nodes,pods,pdb) cat << 'END'
{_DUMP}END
  ;;
  pod) cat << 'END'
{_POD}END
  ;;
  *) echo "error: the server doesn't have a resource type in $2" >&2; exit 1 ;;
esac
"""


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What is installed; only where this suite is asked for."""
    suites.skip_unless_asked("SYSTEMS", "it installs numalet in many environments: make systems")
    return installations.artefacts(tmp_path_factory.mktemp("artefacts"))


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[str, str]]:
    """Version and program of the Pythons here, by their release."""
    return {each.rpartition(".")[0]: (each, path) for each, path in pythons.here().items()}


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("artefact", "extras"), installations.COMBINATIONS)
@pytest.mark.parametrize("release", pythons.declared())
def test_pip_installs_it(
    artefacts: dict[str, Path], found: dict[str, tuple[str, str]], tmp_path: Path,
    release: str, artefact: str, extras: str,
) -> None:  # fmt: skip
    if release not in found:
        suite = next((name for name, of in PYTHONS.items() if release == f"{of[0]}.{of[1]}"), "")
        instead = f"; that of Debian {suite} is tried" if suite else ", so nothing was tried on it"
        pytest.skip(f"Python {release} is not here{instead}")
    installations.try_one(
        installations.run, found[release][1], str(tmp_path / "venv"), str(artefacts[artefact]),
        extras, pip_release=_PIPS.get(artefact, "") if release == pythons.declared()[0] else "",
    )  # fmt: skip


@pytest.mark.timeout(900)
def test_it_works_with_the_oldest_dependencies(
    artefacts: dict[str, Path], found: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    constraints = tmp_path / "oldest.txt"
    constraints.write_text("\n".join(pythons.oldest_dependencies()), encoding="utf-8")
    _, program = found[pythons.declared()[0]]
    installations.try_one(
        installations.run, program, str(tmp_path / "venv"), str(artefacts["wheel"]),
        "agent,cluster", options=["--constraint", str(constraints)],
    )  # fmt: skip


@pytest.mark.timeout(900)
def test_the_first_screen_of_the_readme(
    artefacts: dict[str, Path], found: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    checkout = artefacts["checkout"]
    _, program = found[pythons.declared()[0]]
    installations.run(program, "-m", "venv", str(tmp_path / "venv"))
    folder = tmp_path / "here"
    folder.mkdir()
    for name, text in (("kubectl", _KUBECTL), ("app", "#!/bin/sh\n")):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    (folder / "kubelet.yaml").write_bytes(
        (checkout / "examples/tutorial/kubelet.yaml").read_bytes()
    )
    (folder / "recorded.jsonl.gz").write_bytes(_recorded().read_bytes())
    path = f"{tmp_path}/venv/bin:{folder}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_STATE_HOME": str(tmp_path), "COLUMNS": "80"}

    def ended(command: str, where: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], cwd=where, env=environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    installing = _INSTALL.findall(_README)
    assert len(installing) >= 3
    for command in installing:
        done = ended(f"{command} --quiet --disable-pip-version-check", checkout)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    shown = _SHOWN.search(_README)
    assert shown
    done = ended(shown[1], checkout / "examples" / "documented")
    assert (done.returncode, done.stdout) == (1, shown[2])
    commands = [
        command.replace("\\|", "|").replace("numalet run", f"numalet run --root {tmp_path}/root")
        for row in _ROW.findall(_README.partition("## The shortest path")[2].partition("\n## ")[0])
        for command in re.findall(r"`([^`]+)`", row)
        if "..." not in command
    ]
    assert len(commands) >= 5
    for command in commands:
        done = ended(command, folder)
        named = re.search(r"numalet ([\w-]+)", command)
        allowed = _STATUS[named[1]] if named else (0,)
        assert done.returncode in allowed, f"{command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr


def _recorded() -> Path:
    return min((tree.TESTS / "conformance" / "data").rglob("*.jsonl.gz"), key=os.path.getsize)
