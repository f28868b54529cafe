"""Where people are sent for what an agent beside a kubelet can not know of a pod."""

from __future__ import annotations

from numalet.wording import observation


def test_a_pod_of_a_known_name_is_described_by_the_cluster() -> None:
    metadata = {"name": "web", "namespace": "shop", "uid": "u-1"}
    *_, last = observation.unknown_parts(metadata)
    assert last.strip() == "kubectl -n shop describe pod web"


def test_a_pod_known_by_its_uid_alone_is_searched_for_in_all_namespaces() -> None:
    metadata = {"name": "u-1", "namespace": "default", "uid": "u-1"}
    *_, last = observation.unknown_parts(metadata)
    assert last.strip().startswith("kubectl get pods -A ")
    assert last.endswith("| grep u-1")
