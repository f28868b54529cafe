"""Kubeconfigs of every kind, good and bad, and the surroundings of a pod."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from numalet.core.model.findings import BadInput, Finding
from numalet.io.kube_api import access

PEM = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def document(**parts: Any) -> dict[str, Any]:
    cluster = {"server": "https://one.example:6443", **parts.pop("cluster", {})}
    user = parts.pop("user", {"token": "secret"})
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "team"}}
        ],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        **parts,
    }


def written(folder: Path, value: object, name: str = "config") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return path


def findings(path: Path | None, context: str | None = None, **given: Any) -> list[Finding]:
    with pytest.raises(BadInput) as bad:
        access.of(path, context, **given)
    return list(bad.value.findings)


def codes(path: Path | None, context: str | None = None, **given: Any) -> list[str]:
    return [each.code for each in findings(path, context, **given)]


def test_the_current_context(tmp_path: Path) -> None:
    read = access.of(written(tmp_path, document()))
    assert (read.server, read.token, read.namespace) == (
        "https://one.example:6443", "secret", "team",
    )  # fmt: skip
    assert read.origin.text == f"{tmp_path}/config:4: $.clusters[0].cluster"


def test_secrets_are_in_no_representation(tmp_path: Path) -> None:
    user = {"token": "secret-token", "username": "me", "password": "secret-word"}
    read = access.of(written(tmp_path, document(user=user)))
    assert "secret" not in repr(read)


def test_another_context_by_its_name(tmp_path: Path) -> None:
    value = document()
    value["contexts"].append({"name": "two", "context": {"cluster": "c2"}})
    value["clusters"].append({"name": "c2", "cluster": {"server": "http://two.example/prefix/"}})
    read = access.of(written(tmp_path, value), "two")
    assert read.cluster == "c2"
    assert (read.server, read.token, read.namespace) == (
        "http://two.example/prefix", "", "default",
    )  # fmt: skip


def test_files_are_from_the_folder_of_the_kubeconfig_and_data_wins(tmp_path: Path) -> None:
    folder = tmp_path / "of" / "mine"
    value = document(
        cluster={"certificate-authority": "pki/ca.crt"},
        user={
            "client-certificate": "pki/me.crt",
            "client-certificate-data": base64.b64encode(PEM).decode(),
            "client-key": str(tmp_path / "me.key"),
            "tokenFile": "token",
        },
    )
    for name in ("pki/ca.crt", "token"):
        written(folder, "x", name)
    written(tmp_path, "x", "me.key")
    read = access.of(written(folder, value))
    assert read.authority == folder / "pki/ca.crt"
    assert read.certificate == PEM
    assert read.key == tmp_path / "me.key"
    assert read.token_file == folder / "token"


def test_several_files_are_merged_and_the_first_one_wins(tmp_path: Path) -> None:
    first = written(tmp_path / "a", {"users": [{"name": "u", "user": {"token": "first"}}]})
    second = written(tmp_path / "b", document(user={"token": "second"}))
    missing = tmp_path / "missing"
    read = access.of(environment={"KUBECONFIG": f"{missing}:{first}:{second}"})
    assert read.token == "first"
    assert read.server == "https://one.example:6443"


def test_the_file_of_the_user_is_the_usual_one(tmp_path: Path) -> None:
    written(tmp_path / ".kube", document())
    assert access.of(environment={"HOME": str(tmp_path)}).token == "secret"


def test_null_is_as_good_as_nothing(tmp_path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": None,
        "env": None, "provideClusterInfo": False, "interactiveMode": "IfAvailable",
    }  # fmt: skip
    value = document(user={"exec": plugin, "token": None, "client-key-data": ""}, preferences=None)
    read = access.of(written(tmp_path, value))
    assert read.plugin is not None
    assert (read.plugin.command, read.plugin.arguments) == ("aws", ())


def test_a_plugin_with_a_path_is_from_the_folder_of_the_kubeconfig(tmp_path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "./bin/login",
        "args": ["--cluster", "c"], "env": [{"name": "PROFILE", "value": "p"}],
        "installHint": "ask Ann", "provideClusterInfo": True,
    }  # fmt: skip
    value = document(user={"exec": plugin}, cluster={"certificate-authority": "ca.crt"})
    written(tmp_path, "authority", "ca.crt")
    read = access.of(written(tmp_path, value)).plugin
    assert read is not None
    assert read.command == f"{tmp_path}/bin/login"
    assert read.environment == (("PROFILE", "p"),)
    assert read.cluster is not None
    assert base64.b64encode(b"authority").decode() in read.cluster


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"current-context": ""}, ["input/required"]),
        ({"current-context": "other"}, ["input/not-found"]),
        ({"clusters": []}, ["input/not-found"]),
        ({"users": None}, ["input/not-found"]),
        ({"clusters": None, "users": None}, ["input/not-found", "input/not-found"]),
        ({"cluster": {"server": "one.example:6443"}}, ["input/invalid"]),
        ({"cluster": {"server": ""}}, ["input/invalid"]),
        ({"cluster": {"server": "https://one.example:66443"}}, ["input/invalid"]),
        ({"cluster": {"server": "https://[::1"}}, ["input/invalid"]),
        ({"cluster": {"server": "https:///path"}}, ["input/invalid"]),
        ({"cluster": {"proxy-url": "socks4://one:1"}}, ["input/invalid"]),
        ({"cluster": {"certificate-authority": "missing"}}, ["input/unreadable"]),
        ({"cluster": {"certificate-authority-data": "&&&"}}, ["input/invalid"]),
        (
            {
                "cluster": {
                    "certificate-authority-data": base64.b64encode(PEM).decode(),
                    "insecure-skip-tls-verify": True,
                }
            },
            ["input/conflict"],
        ),
        (
            {"user": {"client-key-data": base64.b64encode(PEM).decode()}},
            ["input/required"],
        ),
        ({"user": {"client-certificate": "config"}}, ["input/required"]),
        ({"user": {"tokenFile": "missing"}}, ["input/unreadable"]),
        ({"user": {"auth-provider": {"name": "gcp"}}}, ["input/not-supported"]),
        (
            {"user": {"exec": {"apiVersion": "v9", "command": "x"}}},
            ["input/not-supported"],
        ),
        ({"user": {"exec": {"args": ["x"]}}}, ["document/field-missing"]),
        ({"user": {"token": ["a", "list"]}}, ["document/type"]),
        ({"clusters": {"a": "mapping"}}, ["document/type"]),
        ({"contexts": [{"name": "one", "context": {"cluster": 5}}]}, ["document/type"]),
        (
            {"cluster": {"server": "x"}, "user": {"tokenFile": "missing"}},
            ["input/unreadable", "input/invalid"],
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, parts: dict[str, Any], expected: list[str]
) -> None:
    path = written(tmp_path, document(**parts))
    bad = findings(path)
    assert [each.code for each in bad] == expected
    assert all(each.where.document == str(path) for each in bad)
    assert all(each.where.line for each in bad)
    assert all(str(each) for each in bad)


def test_a_context_of_the_command_line_that_is_not_there(tmp_path: Path) -> None:
    (bad,) = findings(written(tmp_path, document()), "prod")
    assert str(bad) == "unknown context 'prod'; expected one of: one"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: [", "document/syntax"),
        ("just a text", "document/type"),
        ("", "input/required"),
    ],
)
def test_a_file_that_is_no_kubeconfig(tmp_path: Path, text: str, code: str) -> None:
    assert codes(written(tmp_path, text)) == [code]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert codes(tmp_path / "missing") == ["document/unreadable"]
    environment = {"KUBECONFIG": str(tmp_path / "missing")}
    assert codes(None, environment=environment) == ["document/unreadable"]


def test_a_broken_file_beside_others_is_said(tmp_path: Path) -> None:
    environment = {
        "KUBECONFIG": f"{written(tmp_path, document())}:{written(tmp_path, 'a: [', 'bad')}"
    }
    assert codes(None, environment=environment) == ["document/syntax"]


def test_a_broken_entry_beside_the_used_ones_stops_nothing(tmp_path: Path) -> None:
    value = document()
    value["users"].append({"name": "other", "user": {"token": 5, "tokenFile": "missing"}})
    value["clusters"].append({"name": "other", "cluster": None})
    assert access.of(written(tmp_path, value)).token == "secret"


def test_a_pod_asks_by_its_service_account(tmp_path: Path) -> None:
    for name in ("token", "ca.crt"):
        written(tmp_path, "x", name)
    written(tmp_path, "team\n", "namespace")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    read = access.of(environment=environment, service_account=tmp_path)
    assert read.server == "https://[fd00::1]:443"
    assert read.token_file == tmp_path / "token"
    assert read.authority == tmp_path / "ca.crt"
    assert read.namespace == "team"


def test_nothing_says_where_the_cluster_is(tmp_path: Path) -> None:
    assert codes(None, environment={"HOME": str(tmp_path)}, service_account=tmp_path) == [
        "input/required"
    ]
