"""Sentences about the agent's API, and about reaching it."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "protobuf/unreadable": (
        "this is no Kubernetes object in protocol buffers that can be read: {problem}"
    ),
    "api/socket": "the API can not be served on this socket: {problem}",
    "kube-api/address": (
        "[HOST:]PORT is expected, with an IP address as the host, such as 6443 or 127.0.0.1:6443,"
        " not {value}"
    ),
    "kube-api/not-loopback": (
        "{host} can be reached from outside this machine; name a certificate of yours with"
        " --kube-api-cert and --kube-api-key, or listen on 127.0.0.1"
    ),
    "kube-api/half-a-certificate": (
        "--kube-api-cert and --kube-api-key go together, and with --kube-api"
    ),
    "kube-api/certificate": "the certificate or its key can not be used: {problem}",
    "kube-api/folder": "the folder of the API's certificate can not be used: {problem}",
    "kube-api/listen": "port {port} of {host} can not be listened on: {problem}",
    "client/no-agent": (
        "no agent answers at {path} ({problem}); start one with 'numalet agent', or name the socket"
        " of another with --socket or its folder with --root"
    ),
    "client/not-allowed": (
        "the agent's socket {path} is not yours to open ({problem}): an agent serves only its own"
        " user and root"
    ),
    "client/no-pods": "no pods in {path}",
    "client/no-object": "an object is expected here, a Pod or a list of Pods",
    "client/timeout": "the agent at {path} did not answer in time",
    "client/broken-off": (
        "the agent at {path} broke off before its answer was complete ({problem}); if it was"
        " stopped, ask again when it runs"
    ),
}
