"""Tries the numalet that is installed for this Python; it needs the standard library alone.

    python installed.py VERSION [EXTRA ...]

It prints what failed, and ends with 1 then.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tempfile
from pathlib import Path

NUMALET = Path(sys.executable).parent / "numalet"
MACHINE = ("-m", "2n4c2t", "--memory-per-node", "8Gi")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: tried}
spec:
  containers:
  - name: main
    command: [sleep, "600"]
    resources: {limits: {cpu: "1", memory: 64Mi}}
"""
FLEET = "pools: [{name: some, count: 2, machine: 2n4c2t, memory_per_node: 8Gi}]"
FILES = (
    "share/man/man1/numalet-run.1",
    "share/bash-completion/completions/numalet",
    "share/doc/numalet/tutorial.md",
)


def main(version: str, extras: list[str]) -> None:
    """Try everything that these extras promise."""
    assert importlib.metadata.version("numalet") == version
    must(0, f"numalet {version}", "--version")
    import numalet

    for name in numalet.__all__:
        assert getattr(numalet, name) is not None, name
    for place in FILES:
        assert (Path(sys.prefix) / place).is_file(), place
    must(0, "2 NUMA nodes", "machine", *MACHINE)
    with tempfile.TemporaryDirectory(prefix="numalet-", dir="/tmp") as made:
        folder = Path(made)
        pods = folder / "manifests" / "pod.yaml"
        pods.parent.mkdir()
        pods.write_text(POD, encoding="utf-8")
        must(0, "Admitted", "simulate", *MACHINE, str(pods))
        must(0, "is admitted", "explain", *MACHINE, str(pods))
        root = ("--root", str(folder / "root"))
        must(0, "", "run", *root, "--cpus", "100m", "--", "true")
        if "agent" in extras:
            try_agent(root, pods.parent)
        else:
            must(2, "pip install '.[agent,cluster]'", "agent", "--runtime", "fake", *root)
        fleet = folder / "fleet.yaml"
        fleet.write_text(FLEET, encoding="utf-8")
        must(0, "1 of 1 fit", "fleet", "fit", str(pods), "--fleet", str(fleet))


def must(status: int, text: str, *words: str) -> str:
    """Run a command, which ends with this status and prints this text; all that it printed."""
    command = [str(NUMALET), *words]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    said = done.stdout
    if done.returncode != status or text not in " ".join(said.split()):
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}, not {status}:\n{said}")
    return said


def try_agent(root: tuple[str, str], manifests: Path) -> None:
    """Let an agent run one pod until it says that the pod runs."""
    command = [str(NUMALET), "agent", "--runtime", "fake", *MACHINE, *root]
    with subprocess.Popen(
        [*command, "--manifests", str(manifests)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as agent:  # fmt: skip
        assert agent.stdout
        lines = []
        for line in agent.stdout:
            lines.append(line)
            if "Pod admitted" in line:
                break
        else:
            sys.exit(f"{' '.join(command)}\nended before it admitted its pod:\n{''.join(lines)}")
        try:
            while " Running " not in (listed := must(0, "tried", "ps", *root)):
                assert " Pending " in listed, listed
        finally:
            agent.terminate()
            agent.stdout.read()
    assert agent.returncode == 0, agent.returncode


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
