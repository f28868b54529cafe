"""What ``numalet run`` loads: nothing that only the agent's servers need."""

from __future__ import annotations

import subprocess
import sys

SERVERS = {"grpc", "google", "starlette", "uvicorn", "prometheus_client", "watchfiles"}


def test_a_command_in_the_foreground_loads_no_server() -> None:
    program = "import sys, numalet.agent.run.command; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set() == SERVERS & {name.partition(".")[0] for name in done.stdout.split()}
