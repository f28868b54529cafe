"""The kubelet's gRPC interfaces as this project speaks them.

The ``.proto`` files are written from the field numbers and types of the published interfaces, so
that what goes over the wire is the same; the modules ``*_pb2`` are made from them by
``make protos`` and not touched by hand. Services are bound by name in ``methods``.
"""
