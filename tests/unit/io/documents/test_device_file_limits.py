"""A device file with very many errors is not read to its end."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.model import limits
from numalet.core.model.findings import BadInput, Location
from numalet.io.documents.machine import device_file


@pytest.mark.parametrize(
    "value",
    [[[]] * 5_000, [{"resource": "example.com/gpu", "devices": [5] * 5_000}]],
)
def test_reading_stops_after_many_errors(value: Any) -> None:
    with pytest.raises(BadInput) as caught:
        device_file.decode(value, Location("f", "$"))
    assert caught.value.findings[-1].code == "input/too-large"
    assert len(caught.value.findings) <= limits.ERRORS_OF_A_TEXT + 2
