"""Valid resource names for plugins: names of extended resources.

Kubelet: ``v1helper.IsExtendedResourceName``, v1.32.
"""

from __future__ import annotations

import re

_QUOTA_PREFIX = "requests."
_LONGEST_DOMAIN = 253
_LONGEST_NAME = 63
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)


def is_extended_resource(name: str) -> bool:
    """Return whether the name is ``domain/name`` outside Kubernetes' own domain.

    The kubelet checks the domain with the quota prefix, which shortens the allowed length.
    """
    if "kubernetes.io/" in name or name.startswith(_QUOTA_PREFIX):
        return False
    domain, slash, own = (_QUOTA_PREFIX + name).partition("/")
    return (
        bool(slash)
        and len(domain) <= _LONGEST_DOMAIN
        and _DOMAIN.fullmatch(domain) is not None
        and len(own) <= _LONGEST_NAME
        and _NAME.fullmatch(own) is not None
    )
