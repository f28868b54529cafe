"""A process that has the whole program imported and forks a copy of itself for each agent.

A copy costs some milliseconds where a new interpreter costs more than half a second, and what it
runs is the same: the command line of ``numalet``, word by word. It is started as a program with the
number of a socket, over which ``agent_processes.Forks`` asks it for copies and for their ends.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from typing import Any, Final, NoReturn

import numalet.cli.main
from numalet.__main__ import main

LARGEST_ORDER: Final = 1 << 16
_USED: Final = (
    *(
        "numalet.cli.main",
        "numalet.agent.keeper.main",
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
        text, descriptors, _, _ = socket.recv_fds(control, LARGEST_ORDER, 1)
        if not text:
            break
        order: dict[str, Any] = json.loads(text)
        if "words" in order:
            (errors,) = descriptors
            pid = os.fork()
            if not pid:
                control.close()
                _run(order["words"], errors)
            os.close(errors)
            alive.add(pid)
            answer = pid
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(order["end_of"], 0)[1])
            alive.remove(order["end_of"])
        control.send(json.dumps(answer).encode())
    for pid in alive:
        os.kill(pid, signal.SIGKILL)


def _run(words: list[str], errors: int) -> NoReturn:
    """Be ``numalet`` with these words from here on."""
    status: object = 3
    try:
        os.dup2(errors, 2)
        os.close(errors)
        # The stream that was there knows of the former file whether it can be rewound.
        sys.stderr = os.fdopen(2, "w", buffering=1)
        sys.argv = ["numalet", *words]
        main()
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 3)


if __name__ == "__main__":
    import_all()
    # What is here now stays; no copy is to look through it for garbage.
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
