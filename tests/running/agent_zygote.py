"""A process that has the whole program imported and forks copies of itself.

A copy costs some milliseconds where a new interpreter costs more than half a second, and what it
runs is the same: the command line of ``numalet``, word by word. It is started as a program with the
number of a socket, over which ``agent_processes.Forks`` asks it for copies and for their ends.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn

import coverage

# A program has its own folder on the path, not the one of its package.
sys.path.append(str(Path(__file__).parents[1]))

import numalet.cli.main
from numalet.__main__ import main
from running import faults

LARGEST_ORDER: Final = 1 << 16
_STREAMS: Final = 3
_USED: Final = (
    *(
        "numalet.cli.main",
        "numalet.agent.controller.main",
        "numalet.agent.run.command",
        "numalet.agent.run.beside_agent",
        "anyio._backends._asyncio",
        "uvicorn.lifespan.off",
    ),
    *("uvicorn.protocols.http.httptools_impl", "encodings.idna", "encodings.utf_8_sig"),
)
"""What an agent imports, directly or at some time."""


def import_all() -> None:
    """Import what an agent needs until its end."""
    for name in _USED:
        importlib.import_module(name)
    numalet.cli.main.commands()


def serve(control: socket.socket) -> None:
    """Do what is asked until nobody can ask any more; then nobody is left."""
    alive: set[int] = set()
    while True:
        text, descriptors, _, _ = socket.recv_fds(control, LARGEST_ORDER, _STREAMS)
        if not text:
            break
        order: dict[str, Any] = json.loads(text)
        if "words" in order:
            pid = os.fork()
            if not pid:
                control.close()
                measured = _measured() if order["is_measured"] else None
                _run(order["words"], descriptors, order.get("environment"), measured)
            for each in descriptors:
                os.close(each)
            alive.add(pid)
            answer = pid
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(order["end_of"], 0)[1])
            alive.remove(order["end_of"])
        control.send(json.dumps(answer).encode())
    for pid in alive:
        os.kill(pid, signal.SIGKILL)


def _run(
    words: list[str],
    streams: list[int],
    environment: dict[str, str] | None,
    measured: coverage.Coverage | None,
) -> NoReturn:
    """Be ``numalet`` with these words from here on; ``streams`` are the last ones of the three."""
    status: object = 3
    try:
        for number, each in zip(range(_STREAMS - len(streams), _STREAMS), streams, strict=True):
            os.dup2(each, number)
            os.close(each)
        if environment is not None:
            os.environ.clear()
            os.environ.update(environment)
            # As at the start of a new interpreter.
            faults.install_from(environment)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        # The stream that was there knows of the former file whether it can be rewound.
        sys.stderr = os.fdopen(2, "w", buffering=1)
        sys.argv = ["numalet", *words]
        main()
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        sys.stderr.flush()
        if measured is not None:
            measured.stop()
            measured.save()
        os._exit(status if isinstance(status, int) else 3)


def _measured() -> coverage.Coverage | None:
    """What notes the lines that this copy runs, where those of all processes are noted."""
    if coverage.Coverage.current() is None:
        return None
    return coverage.process_startup(force=True)


def be(control: socket.socket, prepare: Callable[[], None] = import_all) -> None:
    """Import everything, and serve whoever has the other end of this socket."""
    prepare()
    # What is here now stays; no copy is to look through it for garbage.
    gc.collect()
    gc.freeze()
    serve(control)


if __name__ == "__main__":
    be(socket.socket(fileno=int(sys.argv[1])))
