"""Which devices a selector certainly leaves out; whatever is not understood accepts all."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.model.device_claims import AttributeValue, SliceDevice
from numalet.insight.lint import device_selectors

GPU = SliceDevice(
    name="gpu0",
    driver="gpu.example.com",
    attributes={
        "gpu.example.com/model": frozenset({AttributeValue("string", "a")}),
        "gpu.example.com/index": frozenset({AttributeValue("int", 1)}),
        "gpu.example.com/ready": frozenset({AttributeValue("bool", True)}),
        "gpu.example.com/firmware": frozenset({AttributeValue("version", "1.2.3")}),
        "gpu.example.com/roots": frozenset(
            {AttributeValue("string", "x"), AttributeValue("string", "y")}
        ),
    },
)
OF_GPU = 'device.attributes["gpu.example.com"]'


@pytest.mark.parametrize(
    ("expression", "accepted"),
    [
        ('device.driver == "gpu.example.com"', True),
        ("device.driver == 'gpu.example.com'", True),
        ('"gpu.example.com" == device.driver', True),
        ('device.driver == "other"', False),
        (f'{OF_GPU}.model == "a"', True),
        (f'{OF_GPU}.model == "b"', False),
        (f"{OF_GPU}.index == 1", True),
        (f"{OF_GPU}.index == -1", False),
        (f"{OF_GPU}.ready == true", True),
        (f"{OF_GPU}.ready == false", False),
        (f'{OF_GPU}.absent == "a"', False),
        (f'device.driver == "gpu.example.com" && {OF_GPU}.model == "b"', False),
        (f'(device.driver == "gpu.example.com") && (({OF_GPU}.model == "b"))', False),
        # What is not understood may accept the device.
        (f'{OF_GPU}.model == "b" || {OF_GPU}.index == 1', True),
        (f'({OF_GPU}.model == "b" || {OF_GPU}.index == 1) && true', True),
        (f'!({OF_GPU}.model == "a")', True),
        (f'{OF_GPU}.model != "a"', True),
        (f'{OF_GPU}.model == "b" ? true : false', True),
        (f'{OF_GPU}.roots == "x"', True),
        (f'{OF_GPU}.roots == "z"', True),
        (f'{OF_GPU}.firmware == "9"', True),
        (f"{OF_GPU}.index == 1.5", True),
        ('["a", "&& device.driver == \'x\'"].size() == 2', True),
        ('device.driver == "a\\"" ', True),
        ("", True),
        ("(", True),
        ("((a)", True),
        (f'(({OF_GPU}.model == "b")', True),
        (")) && ((", True),
        ('"', True),
    ],
)
def test_what_is_certain_is_said(expression: str, accepted: bool) -> None:
    assert device_selectors.accepts(expression, GPU) is accepted


def test_a_part_in_quotes_joins_nothing() -> None:
    expression = "device.driver == \"a && device.driver == 'b'\""
    assert [term.value.value for term in device_selectors.terms(expression)] == [
        "a && device.driver == 'b'"
    ]


@pytest.mark.parametrize("expression", ["(" * 5_000 + ")" * 5_000, "(" * 200_000, "a&&" * 3_000])
def test_hostile_expressions_are_over_soon(expression: str) -> None:
    before = time.process_time()
    assert device_selectors.accepts(expression, GPU)
    assert time.process_time() - before < 5


@given(st.text(alphabet="()'\"\\&|? =device.driver", max_size=60))
def test_no_expression_breaks_it(expression: str) -> None:
    assert device_selectors.accepts(expression, GPU) in (True, False)
