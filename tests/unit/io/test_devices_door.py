"""Devices that the user names, in a file and in flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput
from numalet.io.devices import named_devices
from values.device_bench import GPU, NIC, devices

FILE = """
- resource: example.com/gpu
  devices: [gpu0@0, gpu1@1]
"""


def _file(folder: Path, text: str) -> str:
    path = folder / "devices.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def _codes(path: str | None, *flags: str) -> list[str]:
    with pytest.raises(BadInput) as bad:
        named_devices(path, flags, (0, 1))
    return [finding.code for finding in bad.value.findings]


def test_a_file_and_flags_are_added_up(tmp_path: Path) -> None:
    named = named_devices(_file(tmp_path, FILE), ("example.com/nic=nic0",), (0, 1))
    assert {GPU: devices("gpu0@0 gpu1@1"), NIC: devices("nic0")} == {
        resource: list(found) for resource, found in named.items()
    }


def test_nothing_named_is_nothing() -> None:
    assert named_devices(None, ()) == {}


def test_a_resource_in_both_is_refused(tmp_path: Path) -> None:
    assert _codes(_file(tmp_path, FILE), f"{GPU}=gpu2@0") == ["input/duplicate"]


def test_findings_of_both_are_reported(tmp_path: Path) -> None:
    path = _file(tmp_path, FILE.replace("@1", "@7"))
    assert _codes(path, "gpu") == ["input/not-found", "input/invalid"]


@pytest.mark.parametrize("text", ["", "[]\n---\n[]\n"])
def test_a_file_holds_one_document(tmp_path: Path, text: str) -> None:
    assert _codes(_file(tmp_path, text)) == ["input/invalid"]


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    (code,) = _codes(_file(tmp_path, "devices: []\ndevices: []\n"))
    assert "twice" in code or "duplicate" in code


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert _codes(str(tmp_path / "none")) == ["document/unreadable"]
