"""``numalet check`` with claims, classes and slices beside pods, or in files of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from cli.commands import Runner, process
from cli.operating import KUBELET, SHAPE, blocks, make_ready

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  resourceClaims: [{name: cpus, resourceClaimName: ten}]
  containers:
  - name: c
    image: none
    resources:
      requests: {cpu: "10", memory: 1Gi}
      limits: {cpu: "10", memory: 1Gi}
      claims: [{name: cpus}]
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: ten}
spec:
  devices:
    requests:
    - name: r
      exactly: {deviceClassName: dra.cpu, capacity: {requests: {dra.cpu/cpu: "10"}}}
"""


@pytest.fixture(autouse=True)
def ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    make_ready(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write("kubelet.yaml", KUBELET)


def write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_a_wrong_claim_is_unusable_input_with_its_line(numalet: Runner) -> None:
    write("pod.yaml", POD)
    write("claim.yaml", CLAIM.replace('"10"', "ten"))
    ended = numalet("check", "-c", "kubelet.yaml", *SHAPE, "pod.yaml", "claim.yaml")
    assert (ended.status, ended.out) == (2, "")
    assert "claim.yaml:8: $.spec.devices.requests[0].exactly.capacity.requests" in " ".join(
        ended.err.split()
    )


def test_what_is_wrong_in_pods_and_in_claims_is_said_at_once(numalet: Runner) -> None:
    text = "---\n".join((POD.replace("image: none", "imag: none"), CLAIM.replace("v1\n", "v9\n")))
    write("all.yaml", text)
    arguments = ("check", "-c", "kubelet.yaml", *SHAPE, "all.yaml", "-o", "json")
    ended = numalet(*arguments)
    codes = [each["code"] for each in json.loads(ended.out)["findings"]]
    assert (ended.status, codes) == (2, ["document/unknown-field", "input/not-supported"])


PAGE = "claims.md"
SMALL = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
GRACE = ("-c", "small.yaml", "-m", "profile:gh200-12n", "--release", "1.36")


def test_the_page_shows_what_is_printed(numalet: Runner) -> None:
    write("small.yaml", SMALL)
    (devices,) = blocks(PAGE, "yaml")
    write("devices.yaml", devices)
    ended = numalet("check", *GRACE, "devices.yaml")
    assert ended.status == 1
    shown = blocks(PAGE, "")
    assert len(shown) == 2
    assert [text for text in shown if text not in ended.out] == []
    assert ended.out.endswith("; 0 pods and 3 objects about claims given\n")


@pytest.mark.parametrize("form", ["json", "sarif", "github", "junit"])
def test_findings_come_in_every_form_with_their_lines(numalet: Runner, form: str) -> None:
    write("small.yaml", SMALL)
    write("devices.yaml", blocks(PAGE, "yaml")[0])
    ended = numalet("check", *GRACE, "-o", form, "devices.yaml")
    assert ended.status == 1
    assert "lint/claim-never-aligned" in ended.out
    assert "39" in ended.out


def test_a_list_of_kubectl_is_read_from_the_standard_input() -> None:
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [yaml.safe_load(text) for text in (POD.replace('"10"', '"4"'), CLAIM)],
    }
    ended = process("check", "-c", "kubelet.yaml", *SHAPE, "-", stdin=json.dumps(listed))
    assert "lint/claim-differs-from-requests\n         at -:1: pod default/web" in ended.out
    assert ended.status == 1


def test_several_files_are_one_cluster(numalet: Runner) -> None:
    write("small.yaml", SMALL)
    files = [write("claim.yaml", CLAIM), write("pod.yaml", POD)]
    arguments = ("check", "-c", "small.yaml", *SHAPE, "--release", "1.36")
    assert numalet(*arguments, *files).status == 0
    alone = numalet(*arguments, "pod.yaml")
    assert (alone.status, "lint/claims-not-checked" in alone.out) == (0, True)


def test_several_releases_of_one_claim_differ_in_what_they_lack(numalet: Runner) -> None:
    write("small.yaml", SMALL)
    write("claim.yaml", CLAIM)
    codes = {}
    for release in ("1.32", "1.34", "1.36"):
        arguments = ("-c", "small.yaml", *SHAPE, "--release", release, "-o", "json")
        ended = numalet("check", *arguments, "claim.yaml")
        found = [each["code"] for each in json.loads(ended.out)["findings"]]
        codes[release] = [each for each in found if "claim" in each]
    assert codes == {
        "1.32": ["lint/claim-version-not-served"],
        "1.34": ["lint/claim-field-without-gate"],
        "1.36": [],
    }


def test_a_finding_is_excused_where_it_stands(numalet: Runner) -> None:
    write("small.yaml", SMALL)
    devices = blocks(PAGE, "yaml")[0].replace(
        "      - matchAttribute: resource.kubernetes.io/numaNode",
        "      # numalet: ignore[lint/claim-never-aligned]\n"
        "      - matchAttribute: resource.kubernetes.io/numaNode",
    )
    write("devices.yaml", devices)
    assert numalet("check", *GRACE, "devices.yaml").status == 0


@pytest.mark.parametrize("command", ["simulate", "explain", "what-if"])
def test_what_decides_on_pods_says_that_it_passes_claims_over(
    numalet: Runner, command: str
) -> None:
    write("all.yaml", "---\n".join((CLAIM, POD)))
    arguments = ("-c", "kubelet.yaml", *SHAPE)
    ended = numalet(command, *arguments, "all.yaml")
    said = " ".join((ended.out + ended.err).split())
    assert "pods with device claims: 1, such as default/web" in said
    assert ended.status == 0
    write(
        "all.yaml",
        POD.replace("resourceClaims", "volumes")
        .replace("[{name: cpus, resourceClaimName: ten}]", "[]")
        .replace("claims: [{name: cpus}]", ""),
    )
    without = numalet(command, *arguments, "all.yaml")
    assert (without.status, "claims of devices" in without.out + without.err) == (0, False)


def test_an_upgrade_that_turns_claims_on_says_so(numalet: Runner) -> None:
    write("small.yaml", SMALL)
    beta = CLAIM.replace("k8s.io/v1", "k8s.io/v1alpha3").replace(
        'exactly: {deviceClassName: dra.cpu, capacity: {requests: {dra.cpu/cpu: "10"}}}',
        "deviceClassName: dra.cpu",
    )
    write("all.yaml", "---\n".join((beta, POD)))
    arguments = ("-c", "small.yaml", *SHAPE, "--release", "1.33", "--and", "1.34")
    ended = numalet("check", *arguments, "all.yaml")
    said = " ".join(ended.out.split())
    assert "DynamicResourceAllocation, which is not set, is beta, off in v1.33 and GA, on" in said
    assert "does not have resource.k8s.io/v1alpha3" in said
    without = numalet("check", *arguments)
    assert "DynamicResourceAllocation" not in without.out
