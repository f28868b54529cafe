"""Texts without a configuration are named, with what to give instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput
from numalet.io.documents.kubelet import kubelet_config, kubelet_config_file
from numalet.io.documents.kubelet.kubelet_config import ConfigSources


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('I0303 11:00:01.219013 78 server.go:1] "Kubelet version" v="v1.34.1"\n', "a log"),
        ("Mar 03 10:00:01 a kubelet[7]: E0303 10:00:01.3 7 run.go:74] failed\n", "a log"),
        ("Mar 03 10:00:01 node systemd[1]: Started kubelet.\n", "a journal"),
        ("-- Logs begin at Tue 2026-03-03 --\nMar\n", "a journal"),
        ("Name:               node-a\nRoles:              worker\n", "output of 'kubectl describe"),
        ("NAME     STATUS   ROLES\nnode-a   Ready    worker\n", "a table of kubectl"),
        ("Architecture:  x86_64\nCPU(s): 8\n", "a description of a machine"),
        ("available: 2 nodes (0-1)\nnode 0 cpus: 0 1\n", "a description of a machine"),
        ("#!/usr/bin/env bash\nset -e\n", "a shell script"),
        ("<!DOCTYPE html>\n<html>\n", "a web page"),
        ("-----BEGIN CERTIFICATE-----\nMIIB\n", "a key or certificate"),
        ('version = 2\n\n[plugins."io.containerd.grpc.v1.cri"]\n', "the configuration of a cont"),
        ("[crio.runtime]\n", "the configuration of a container"),
        ("hello\nworld\n", "plain text"),
    ],
)
def test_a_text_without_a_configuration_is_named(tmp_path: Path, text: str, found: str) -> None:
    file = tmp_path / "given"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        kubelet_config.load(ConfigSources(config_file=file))

    (finding,) = caught.value.findings
    assert (finding.code, finding.where.document) == ("input/not-supported", str(file))
    assert str(finding).startswith(f"this is {found}")
    assert "; expected " in str(finding)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# a comment\n",
        "apiVersion: v1\nkind: ConfigMap\n",
        "---\nmaxPods: 9\n",
        "maxPods: 9\n",
        '{"kubeletconfig": {}}',
        "[settings.kubernetes]\nmax-pods = 9\n",
        "settings.kubernetes.max-pods = 9\n",
    ],
)
def test_other_texts_may_be_a_configuration(text: str) -> None:
    assert kubelet_config_file.foreign_problem(text, "given") is None
