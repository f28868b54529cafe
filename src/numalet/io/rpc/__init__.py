"""The kubelet's gRPC interfaces.

The ``.proto`` files have the field numbers and types of the published interfaces, so the wire
format is the same. ``make protos`` generates the modules ``*_pb2``. ``methods`` binds the services.
"""
