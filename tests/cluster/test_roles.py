"""Roles of the manifests: they allow no more than is meant, and doctor asks for the same.

That nothing can be left out of them is shown in ``test_role_programs``.
"""

from __future__ import annotations

from cluster import manifests
from cluster.manifests import Permission
from numalet.cluster.doctor import facts


def test_roles_allow_nothing_that_amounts_to_more() -> None:
    for role in manifests.of_kind("ClusterRole").values():
        for group, resource, verb in manifests.permissions(role):
            assert "*" not in (group, resource, verb)
            assert resource not in ("secrets", "nodes/proxy", "pods/exec", "serviceaccounts/token")
            assert verb not in ("escalate", "bind", "impersonate")


def test_doctor_asks_for_what_accounts_are_allowed() -> None:
    all_roles = manifests.of_kind("ClusterRole")
    allowed: dict[str, set[Permission]] = {}
    for binding in manifests.of_kind("ClusterRoleBinding").values():
        (subject,) = binding["subjects"]
        # Kubernetes' own roles of schedulers are none of ours.
        if (role := all_roles.get(binding["roleRef"]["name"])) is None:
            assert binding["roleRef"]["name"].startswith("system:")
            continue
        # Only agents that write KAI's annotations need it, and doctor cannot know which do.
        if role["metadata"]["name"] == "numalet-annotator":
            continue
        allowed.setdefault(subject["name"], set()).update(manifests.permissions(role))
    asked = {
        name: {(each.group, each.resource, each.verb) for each in needed}
        for name, needed in facts.ACCOUNTS.items()
    }
    assert asked == {name: allowed[name] for name in asked}
