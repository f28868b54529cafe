"""Sentences about the agent's API, and about reaching it."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "api/socket": "the API can not be served on this socket: {problem}",
    "client/no-agent": (
        "no agent answers at {path} ({problem}); start one with 'numalet agent', or name the socket"
        " of another with --socket or its folder with --root"
    ),
    "client/not-allowed": (
        "the agent's socket {path} is not yours to open ({problem}): an agent serves only its own"
        " user and root"
    ),
    "client/no-object": "an object is expected here, a Pod or a list of Pods",
    "client/timeout": "the agent at {path} did not answer in time",
    "client/broken-off": (
        "the agent at {path} broke off before its answer was complete ({problem}); if it was"
        " stopped, ask again when it runs"
    ),
}
