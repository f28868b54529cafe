"""Sentences about the gRPC interfaces of a node."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "rpc/no-socket": (
        "no server listens at {path!r}: {error}; is the kubelet or the numalet agent running, and"
        " is --socket its PodResources socket?"
    ),
    "rpc/not-a-socket": "{path!r} is no socket; name the PodResources socket of a node",
    "rpc/socket-name-too-long": (
        "{path!r} is too long for the name of a socket; the folder may have {longest} bytes, so"
        " choose a root with a shorter path"
    ),
    "rpc/can-not-listen": "can not listen at {path!r}: {error}",
    "rpc/no-answer": "no answer at {path!r}: {error}",
    "rpc/refused": "the server at {path!r} refused: {code}: {text}",
    "rpc/pod-name-missing": "'podresources get' needs the name of a pod",
    "rpc/pod-name-unasked": (
        "'podresources {question}' takes no name, but {name!r} was given; 'get {name}' asks for"
        " one pod"
    ),
    "rpc/not-in-this-api": "{api} has no {question!r}; it knows 'list' only",
}
