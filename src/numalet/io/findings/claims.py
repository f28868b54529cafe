"""What is wrong with a document of dynamic resource allocation."""

from __future__ import annotations

from numalet.core.model.findings import Finding, WarningFinding


class ClaimsApiVersion(Finding):
    sentence = "a {kind} has the apiVersion {value}; known: {known}"
    kind: str
    value: str
    known: str


class ClaimsDuplicateName(WarningFinding):
    sentence = "there are two of {object}; the first one counts: is one of them there by mistake?"
    object: str


class ClaimsFormOfOtherVersion(Finding):
    sentence = (
        "{field} stands here in {others}; in resource.k8s.io/{version} its place is in {place}"
    )
    field: str
    version: str
    others: str
    place: str


class ClaimsAttributeType(Finding):
    sentence = "an attribute has exactly one of {types}; this one has {given}"
    types: str
    given: str


class ClaimsNothingAsked(Finding):
    sentence = "the request names no device class; {needed} is needed"
    needed: str
