"""In the pipelines of users: pre-commit itself, the steps of the action, SARIF by its schema.

The programs come from the package index into an environment of their own. Where there is no index,
``NUMALET_OFFLINE=1`` skips these tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import yaml

from architecture import tree
from running import suites

pytestmark = pytest.mark.timeout(900)

EXAMPLE: Final = tree.ROOT / "examples" / "aligned"
_FITTING: Final = """\
apiVersion: v1
kind: Pod
metadata: {name: fitting}
spec:
  containers:
  - name: main
    resources: {limits: {cpu: 2, memory: 1Gi}}
"""
_VAST: Final = _FITTING.replace("fitting", "vast").replace("1Gi", "9000Gi")
_HOOKS: Final = """\
repos:
- repo: {repository}
  rev: {revision}
  hooks:
  - id: numalet-check
    name: the kubelet would start
    args: [-c, kubelet.yaml, -m, machine.yaml, --and, "1.36"]
    files: ^(kubelet|machine)[.]yaml$
  - id: numalet-check-pods
    args: [-c, kubelet.yaml, -m, machine.yaml, --topology-manager-policy, best-effort]
    files: ^pods/
"""
"""A configuration with arguments of the user's own."""
_VALIDATE: Final = """\
import sys
from fluidattacks_core.sarif import SarifLog
SarifLog.model_validate_json(open(sys.argv[1], "rb").read())
"""
_EXPRESSION: Final = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")


def _run(*command: str | Path, cwd: Path, **env: str) -> tuple[int, str]:
    """The exit status, and both streams."""
    ended = subprocess.run(
        [*map(str, command)],
        check=False,
        cwd=cwd,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return ended.returncode, ended.stdout


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs that users run, and of schemas that others maintain."""
    suites.skip_unless_asked("SYSTEMS", "it installs programs of the package index: make systems")
    if os.environ.get("NUMALET_OFFLINE"):
        pytest.skip("NUMALET_OFFLINE is set")
    made = tmp_path_factory.mktemp("tools")
    subprocess.run([sys.executable, "-m", "venv", str(made)], check=True)
    # The models of the last one are generated from the schema of SARIF 2.1.0.
    programs = ("pre-commit", "check-jsonschema", "fluidattacks-core-sarif")
    subprocess.run([made / "bin" / "pip", "install", "--quiet", *programs], check=True)
    return made / "bin"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The repository of a user, with a configuration, a machine and a manifest."""
    made = tmp_path / "a repository"
    (made / "pods").mkdir(parents=True)
    for name in ("kubelet.yaml", "machine.yaml"):
        shutil.copy(EXAMPLE / name, made / name)
    (made / "pods" / "a pod.yaml").write_text(_FITTING, encoding="utf-8")
    for words in (("init", "--quiet"), ("add", "--all")):
        subprocess.run(["git", *words], cwd=made, check=True)
    return made


def test_the_hooks_run_in_the_repository_of_a_user(
    tools: Path, repository: Path, tmp_path: Path
) -> None:
    pre_commit, home = tools / "pre-commit", {"PRE_COMMIT_HOME": str(tmp_path / "home")}
    manifest = tree.ROOT / ".pre-commit-hooks.yaml"
    assert _run(pre_commit, "validate-manifest", manifest, cwd=repository) == (0, "")
    # Hooks come from a commit.
    _, revision = _run("git", "rev-parse", "HEAD", cwd=tree.ROOT)
    config = _HOOKS.format(repository=tree.ROOT, revision=revision.strip())
    (repository / ".pre-commit-config.yaml").write_text(config, encoding="utf-8")
    running = (pre_commit, "run", "--color", "never")
    status, text = _run(*running, "--all-files", cwd=repository, **home)
    assert (status, text.count("Passed")) == (0, 2), text
    pods = repository / "pods" / "a pod.yaml"
    pods.write_text(_VAST, encoding="utf-8")
    other = pods.with_name("other.yaml")
    other.write_text(_FITTING.replace("fitting", "also-fitting"), encoding="utf-8")
    status, text = _run(*running, "--files", pods, other, cwd=repository, **home)
    assert (status, text.count("Failed"), text.count("Skipped")) == (1, 1, 1), text
    assert "at pods/a pod.yaml:6: pod default/vast" in text
    assert "also-fitting" not in text


def test_the_action_shows_findings_and_writes_sarif(
    tools: Path, repository: Path, tmp_path: Path
) -> None:
    schema = ("--builtin-schema", "vendor.github-actions")
    status, text = _run(tools / "check-jsonschema", *schema, tree.ROOT / "action.yml", cwd=tmp_path)
    assert status == 0, text
    given = {
        "config": "kubelet.yaml",
        "machine": "machine.yaml\n",
        "pods": "pods/a *.yaml",
        "arguments": "--ignore\nlint/numa-balancing",
        "sarif-file": "found.sarif",
    }
    action = yaml.safe_load((tree.ROOT / "action.yml").read_text(encoding="utf-8"))
    install, check = action["runs"]["steps"]
    assert action["inputs"].keys() == given.keys()
    # Without a change of the code the runner would install the same again.
    assert _step(install, given, repository, tmp_path)[0] == 0
    status, text = _step(check, given, repository, tmp_path)
    assert (status, text) == (0, "")
    (repository / "pods" / "a pod.yaml").write_text(_VAST, encoding="utf-8")
    status, text = _step(check, given, repository, tmp_path)
    assert status == 1
    assert text.startswith("::error file=pods/a pod.yaml,line=6,title=lint/pod-never-admitted::")
    found = repository / "found.sarif"
    status, text = _run(tools / "python", "-c", _VALIDATE, found, cwd=tmp_path)
    assert status == 0, text
    found.write_text(found.read_text().replace("startLine", "firstLine"), encoding="utf-8")
    assert _run(tools / "python", "-c", _VALIDATE, found, cwd=tmp_path)[0] == 1


def _step(
    step: dict[str, str | dict[str, str]], given: dict[str, str], folder: Path, temp: Path
) -> tuple[int, str]:
    """Run a step as GitHub's runner does: a file for ``bash -eo pipefail``, and no profile."""
    context = {f"inputs.{name}": value for name, value in given.items()}
    context |= {"github.action_path": str(tree.ROOT), "runner.temp": str(temp)}
    script, env = step["run"], step["env"]
    assert isinstance(script, str)
    assert isinstance(env, dict)
    assert (step["shell"], _EXPRESSION.search(script)) == ("bash", None)
    filled = {
        name: _EXPRESSION.sub(lambda found: context[found[1]], text) for name, text in env.items()
    }
    file = temp / "step.sh"
    file.write_text(script, encoding="utf-8")
    shell = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
    return _run(*shell, file, cwd=folder, **filled)


def test_the_documented_pipelines_are_valid(tools: Path, tmp_path: Path) -> None:
    page = (tree.DOCS / "how-to" / "ci.md").read_text(encoding="utf-8")
    hooks, workflow, job = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for name, text in (("hooks", hooks), ("github-workflows", workflow), ("gitlab-ci", job)):
        file = tmp_path / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
        command: tuple[str | Path, ...] = (
            tools / "check-jsonschema",
            "--builtin-schema",
            f"vendor.{name}",
            file,
        )
        if text is hooks:
            command = (tools / "pre-commit", "validate-config", file)
        status, shown = _run(*command, cwd=tmp_path)
        assert status == 0, shown
