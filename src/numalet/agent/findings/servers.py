"""Findings about sockets and addresses of servers."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class ApiSocket(Finding):
    code = "api/socket"
    sentence = "the API can not be served on this socket: {problem}"
    problem: str


class KubeApiAddress(Finding):
    code = "kube-api/address"
    sentence = (
        "[HOST:]PORT is expected, with an IP address as the host, such as 6443 or 127.0.0.1:6443, "
        "not {value}"
    )
    value: str


class KubeApiNotLoopback(Finding):
    code = "kube-api/not-loopback"
    sentence = (
        "{host} can be reached from outside this machine; name a certificate of yours with "
        "--kube-api-cert and --kube-api-key, or listen on 127.0.0.1"
    )
    host: str


class KubeApiHalfACertificate(Finding):
    code = "kube-api/half-a-certificate"
    sentence = "--kube-api-cert and --kube-api-key go together, and with --kube-api"


class KubeApiCertificate(Finding):
    code = "kube-api/certificate"
    sentence = "the certificate or its key can not be used: {problem}"
    problem: str


class KubeApiFolder(Finding):
    code = "kube-api/folder"
    sentence = "the folder of the API's certificate can not be used: {problem}"
    problem: str


class KubeApiListen(Finding):
    code = "kube-api/listen"
    sentence = "port {port} of {host} can not be listened on: {problem}"
    host: str
    port: int
    problem: str | None


class RpcSocketNameTooLong(Finding):
    code = "rpc/socket-name-too-long"
    sentence = (
        "{path!r} is too long for the name of a socket; the folder may have {longest} bytes, so "
        "choose a root with a shorter path"
    )
    path: str
    longest: int


class RpcCanNotListen(Finding):
    code = "rpc/can-not-listen"
    sentence = "can not listen at {path!r}: {error}"
    path: str
    error: str
