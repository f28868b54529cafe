"""The message modules of the gRPC interfaces are what the compiler makes of the .proto files."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from architecture import tree

PROTOS = sorted((tree.SOURCE / "io" / "rpc").glob("*.proto"))


def test_there_are_some() -> None:
    assert PROTOS


@pytest.mark.parametrize("proto", PROTOS, ids=lambda path: path.stem)
def test_the_module_is_current(proto: Path, tmp_path: Path) -> None:
    written = tmp_path / "set"
    command = [
        *(sys.executable, "-m", "grpc_tools.protoc", f"-I{tree.SOURCE.parent}"),
        *(f"--descriptor_set_out={written}", str(proto)),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (current,) = FileDescriptorSet.FromString(written.read_bytes()).file
    # The set names each field for JSON; what a module carries leaves that to be worked out.
    for message in current.message_type:
        _without_json_names(message)
    made = importlib.import_module(f"numalet.io.rpc.{proto.stem}_pb2")
    assert type(current).FromString(made.DESCRIPTOR.serialized_pb) == current, "run 'make protos'"


def _without_json_names(message: object) -> None:
    for field in message.field:  # type: ignore[attr-defined]
        field.ClearField("json_name")
    for nested in message.nested_type:  # type: ignore[attr-defined]
        _without_json_names(nested)
