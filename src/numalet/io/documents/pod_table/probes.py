"""Probes and hooks of containers, and what they do."""

from __future__ import annotations

from typing import Final

from numalet.io.documents.pod_table.kinds import (
    INT32,
    INT_OR_TEXT,
    LONG,
    PORT,
    TEXT,
    TEXTS,
    ListOf,
    Whole,
    needed,
    object_type,
    one_of,
    since,
)

EXEC_ACTION: Final = object_type(
    "ExecAction",
    command=TEXTS,
)

HTTP_HEADER: Final = object_type(
    "HTTPHeader",
    name=needed(TEXT),
    value=needed(TEXT),
)

HTTP_GET_ACTION: Final = object_type(
    "HTTPGetAction",
    host=TEXT,
    httpHeaders=ListOf(HTTP_HEADER),
    path=TEXT,
    port=needed(INT_OR_TEXT),
    protocol=since("1.37", TEXT),
    scheme=one_of("HTTP", "HTTPS"),
)

SLEEP_ACTION: Final = object_type(
    "SleepAction",
    seconds=needed(LONG),
)

TCP_SOCKET_ACTION: Final = object_type(
    "TCPSocketAction",
    host=TEXT,
    port=needed(INT_OR_TEXT),
)

GRPC_ACTION: Final = object_type(
    "GRPCAction",
    mode=since("1.37", TEXT),
    port=needed(PORT),
    service=TEXT,
)

LIFECYCLE_HANDLER: Final = object_type(
    "LifecycleHandler",
    exec=EXEC_ACTION,
    httpGet=HTTP_GET_ACTION,
    sleep=SLEEP_ACTION,
    tcpSocket=TCP_SOCKET_ACTION,
)

LIFECYCLE: Final = object_type(
    "Lifecycle",
    postStart=LIFECYCLE_HANDLER,
    preStop=LIFECYCLE_HANDLER,
    stopSignal=since("1.33", TEXT),
)

PROBE: Final = object_type(
    "Probe",
    exec=EXEC_ACTION,
    failureThreshold=Whole(0, INT32[1]),
    grpc=GRPC_ACTION,
    httpGet=HTTP_GET_ACTION,
    initialDelaySeconds=Whole(0, INT32[1]),
    periodSeconds=Whole(0, INT32[1]),
    successThreshold=Whole(0, INT32[1]),
    tcpSocket=TCP_SOCKET_ACTION,
    terminationGracePeriodSeconds=LONG,
    timeoutSeconds=Whole(0, INT32[1]),
)
