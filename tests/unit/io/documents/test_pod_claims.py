"""Claims of dynamic resource allocation that pods name, beside the objects that they mean."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from numalet.core.model.pod import ContainerClaim, PodClaim
from numalet.io.documents.pods import pod_claims, pod_manifest
from numalet.io.documents.pods.pod_manifest import Ignored

LISTED = """\
apiVersion: v1
kind: List
items:
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: cpus}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: slice}
- apiVersion: v1
  kind: Pod
  metadata: {name: web}
  spec:
    resourceClaims:
    - {name: cpus, resourceClaimName: cpus}
    - {name: gpu, resourceClaimTemplateName: one-gpu}
    containers:
    - name: c
      image: none
      resources:
        claims: [{name: cpus}, {name: gpu, request: large}]
  status:
    resourceClaimStatuses: [{name: gpu, resourceClaimName: web-gpu-x7k2p}]
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {name: dra.cpu}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaimTemplate
  metadata: {name: one-gpu}
"""


def test_pods_are_read_out_of_a_list_with_claims_and_slices() -> None:
    loaded = pod_manifest.read_pods(LISTED, "all.yaml")
    (pod,) = loaded.pods
    assert loaded.ignored == {Ignored.WITHOUT_PODS: 4}
    assert pod.claims == (
        PodClaim("cpus", "cpus"),
        PodClaim("gpu", "web-gpu-x7k2p", "one-gpu"),
    )
    assert pod.app_containers[0].claims == (ContainerClaim("cpus"), ContainerClaim("gpu", "large"))


def test_a_pod_without_claims_has_none() -> None:
    text = "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: none}]}"
    (pod,) = pod_manifest.read_pods(text, "pod.yaml").pods
    assert (pod.claims, pod.app_containers[0].claims) == ((), ())


def _any_json() -> st.SearchStrategy[object]:
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ("name", "claims", "request", "resourceClaims", "resourceClaimName")
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=10,
    )


@given(spec=_any_json(), status=_any_json())
def test_whatever_a_manifest_holds_names_are_texts(spec: object, status: object) -> None:
    def texts() -> Iterator[object]:
        for claim in pod_claims.of_pod(spec, status):
            yield from claim
        for used in pod_claims.of_container(spec if isinstance(spec, dict) else None):
            yield from used

    assert all(isinstance(each, str) for each in texts())
