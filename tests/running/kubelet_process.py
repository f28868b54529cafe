"""A process that is called kubelet, and whose program says which version it was built as."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SHELL = "/bin/sh"
_BUILT_AS = "-ldflags=\"-X 'k8s.io/component-base/version.gitVersion={version}' -s -w\""


@contextmanager
def kubelet_process(folder: Path, version: str, *arguments: str) -> Iterator[int]:
    """Such a process, with these arguments; its pid. Without a version the program says none."""
    folder.mkdir(exist_ok=True)
    program = folder / "kubelet"
    shutil.copy(_SHELL, program)
    if version:
        with program.open("ab") as file:
            file.write(_BUILT_AS.format(version=version).encode())
    # It waits for a line that never comes, and ends with whoever holds the other end. Its name and
    # command line are there a moment after Popen returns, and certainly once it says something.
    command = [str(program), "-c", "echo begun; read line", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        try:
            yield process.pid
        finally:
            process.kill()
