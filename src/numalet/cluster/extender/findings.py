"""What is to be said of an extender: its address, and requests that can not be answered."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class ExtenderAddressUnusable(Finding):
    code = "extender/address-unusable"
    sentence = "nothing can listen at {address!r}: {problem}"
    address: str
    problem: str


class ExtenderBodyUnreadable(Finding):
    code = "extender/body-unreadable"
    sentence = "the request can not be read: {problem}"
    problem: str
