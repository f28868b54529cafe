#!/usr/bin/python3 -SE
"""runc, but no container is bound to CPUs and NUMA nodes.

A kubelet of these tests sees another machine than the one that it runs on, and the kernel refuses
cpusets with CPUs that are not there. The program is copied with the path of runc in its place.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

RUNC = "@RUNC@"


def _unbind(resources: dict[str, Any]) -> None:
    for name in ("cpus", "mems"):
        resources.get("cpu", {}).pop(name, None)


def _main(words: list[str]) -> None:
    if "create" in words:
        file = Path(words[words.index("--bundle") + 1], "config.json")
        spec = json.loads(file.read_bytes())
        _unbind(spec["linux"].get("resources", {}))
        file.write_text(json.dumps(spec))
    if "update" in words:
        resources = json.load(sys.stdin)
        _unbind(resources)
        reads, writes = os.pipe()
        os.write(writes, json.dumps(resources).encode())
        os.close(writes)
        os.dup2(reads, 0)
    os.execv(RUNC, [RUNC, *words])


if __name__ == "__main__":
    _main(sys.argv[1:])
