"""Texts that hold a kubelet's command line, recognised by what they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from numalet.core.model.findings import BadInput
from numalet.io.documents.kubelet import command_text

ROW = (
    "root      4711  0.9  0.3 1899 10344 ?  Ssl  Mar03  9:12 "
    "/opt/bin/kubelet --cpu-manager-policy=static --max-pods 9"
)
FLAGS = ("--cpu-manager-policy=static", "--max-pods", "9")
LOG = """\
Mar 03 10:00:01 node-a kubelet[77]: I0303 10:00:01.2 77 flags.go:64] FLAG: --max-pods="50"
Mar 03 10:00:01 node-a kubelet[77]: E0303 10:00:01.3 77 run.go:74] "command failed"
I0303 11:00:01.219013      78 flags.go:64] FLAG: --feature-gates=""
I0303 11:00:01.219013      78 flags.go:64] FLAG: --max-pods="9"
I0303 11:00:01.219020      78 server.go:1] "Kubelet version" kubeletVersion="v1.34.1"
I0303 11:00:01.219023      78 flags.go:64] FLAG: --node-labels="a=\\"b\\",c=d"
I0303 11:00:01.219023      78 flags.go:64] FLAG: --odd="\\x1b"
"""


def words(text: str) -> tuple[str, ...]:
    found = command_text.read(text, "given")
    assert found is not None
    return found.words


@pytest.mark.parametrize(
    "text",
    [
        "kubelet --cpu-manager-policy=static --max-pods 9",
        "/usr/bin/kubelet\0--cpu-manager-policy=static\0--max-pods\x009\0",
        "/usr/bin/kubelet \\\n  --cpu-manager-policy=static \\\n  --max-pods 9\n",
        "/usr/bin/kubelet --cpu-manager-policy=static\n  --max-pods 9\n",
        "sudo /usr/bin/kubelet --cpu-manager-policy=static --max-pods 9",
        "GOMAXPROCS=4 kubelet '--cpu-manager-policy=static' --max-pods \"9\"",
        "hyperkube kubelet --cpu-manager-policy=static --max-pods 9",
        ROW,
        f"USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n{ROW}\n",
        "root 9 1 0 ? 00:00:12 kube-apiserver --kubelet-timeout=9s --x=/var/lib/kubelet\n"
        f"me 99 0.0 pts/0 S+ 10:00 0:00 grep --color=auto kubelet --max-pods\n{ROW}\n",
        "root 4711 /opt/bin/kubelet --cpu-manager-policy=static\n  --max-pods 9\nroot 1 init\n",
        "● kubelet.service - kubelet: The Kubernetes Node Agent\n   Main PID: 4711 (kubelet)\n"
        "     CGroup: /system.slice/kubelet.service\n"
        "             └─4711 /usr/bin/kubelet --cpu-manager-policy=static --max-pods 9\n",
        "# one flag a line\n--cpu-manager-policy=static\n--max-pods 9\n",
        "KUBELET_EXTRA_ARGS=--cpu-manager-policy=static --max-pods 9\n",
    ],
)
def test_a_command_line_has_its_words(text: str) -> None:
    expected = FLAGS[:1] if text.startswith("KUBELET") else FLAGS

    assert expected == words(text)


UNIT = """\
# /lib/systemd/system/kubelet.service
[Unit]
Description=kubelet
[Service]
Environment="POLICY=static" 'MORE=--max-pods 9'
ExecStartPre=/bin/mkdir -p /etc/kubernetes/manifests
ExecStart=/usr/local/bin/wrapper \\
    # a comment, which systemd passes over
    /usr/bin/kubelet \\
    --cpu-manager-policy=${POLICY} \\
    $MORE $NONE ${NONE}
Restart=always
[Install]
Environment=POLICY=none
ExecStart=/usr/bin/kubelet --max-pods=1
"""


def test_a_unit_has_the_words_of_its_command() -> None:
    assert words(UNIT) == FLAGS


@pytest.mark.parametrize(
    ("dropin", "expected"),
    [
        ("ExecStart=\nExecStart=-/usr/bin/kubelet --v=2 $MORE", ("--v=2", "--max-pods", "9")),
        ("Environment=\nExecStart=\nExecStart=/usr/bin/kubelet $MORE --v=2", ("--v=2",)),
        ('ExecStart=\nExecStart=/bin/sh -c "exec /usr/bin/kubelet --v=2"', ("--v=2",)),
        ("ExecStart=\nExecStart=/usr/bin/kubelet-wrapper --v=2", ("--v=2",)),
    ],
)
def test_a_drop_in_after_its_unit_takes_back_and_adds(
    dropin: str, expected: tuple[str, ...]
) -> None:
    assert expected == words(f"{UNIT}# a.conf\n[Service]\n{dropin}\n")


def test_a_drop_in_alone_has_the_flags_of_its_variables() -> None:
    text = (
        "[Service]\nEnvironment='KUBELET_EXTRA_ARGS=--max-pods=9 --reserved-memory 0:memory=1Gi'\n"
        'Environment="HTTPS_PROXY=http://proxy:3128" DOCKER_OPTS=--iptables=false\n'
    )

    found = command_text.read(text, "given")
    assert found is not None
    assert found.words == ("--max-pods=9", "--reserved-memory", "0:memory=1Gi")
    assert found.program == ""


def test_what_systemctl_shows_is_a_unit() -> None:
    text = (
        "Type=notify\nEnvironmentFiles=/none/of/these (ignore_errors=yes)\n"
        "ExecStart={ path=/usr/bin/kubelet ; argv[]=/usr/bin/kubelet --max-pods=9 ; "
        "ignore_errors=no ; start_time=[n/a] }\n"
    )

    found = command_text.read(text, "given")
    assert found is not None
    assert (found.words, found.missing) == (("--max-pods=9",), ("/none/of/these",))


def test_environment_files_of_a_unit_are_read_and_win(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.env"
    file.write_text("# of the node\nPOLICY=\"static\"\nMORE='--max-pods 9'\n")
    broken = tmp_path / "broken"
    broken.write_text("MORE='--max-pods 9\n")
    text = (
        f"[Service]\nEnvironment=POLICY=none\nEnvironmentFile=/x\nEnvironmentFile=\n"
        f"EnvironmentFile=-{file}\nEnvironmentFile={broken}\nEnvironmentFile=-/none/here\n"
        "ExecStart=/usr/bin/kubelet --cpu-manager-policy=${POLICY} $MORE --v=${LEVEL}\n"
    )

    found = command_text.read(text, "given")
    assert found is not None
    assert found.words == (*FLAGS, "--v=${LEVEL}")
    assert found.missing == (str(broken), "/none/here")


def test_an_environment_file_has_several_lines_quotes_and_continuations() -> None:
    text = (
        'KUBE_LOG_LEVEL="--v=2"\nexport KUBELET_ADDRESS=--node-ip=10.0.0.1\nKUBELET_NONE=""\n'
        '; a comment\nKUBELET_ARGS="--max-pods=9 \\\n  --eviction-hard=\\"\\" \\\n'
        "--kube-reserved cpu=1\\\n\"\nKUBE_PROXY_ARGS='--proxy-mode=ipvs'\n"
        'KUBELET_PROXY_ARGS="--register-node"\nHOME=/root\n'
    )

    assert words(text) == (
        "--v=2",
        "--node-ip=10.0.0.1",
        "--max-pods=9",
        "--eviction-hard=",
        "--kube-reserved",
        "cpu=1",
        "--register-node",
    )


def test_the_flag_lines_of_a_log_are_those_of_the_last_start() -> None:
    found = command_text.read(LOG, "given")

    assert found is not None
    assert found.words == (
        "--feature-gates=",
        "--max-pods=9",
        '--node-labels=a="b",c=d',
        "--odd=\\x1b",
    )
    assert found.are_all_flags


@pytest.mark.parametrize(
    "text",
    [
        "",
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
        "- command: /usr/bin/kubelet --max-pods=9\n",
        '{"kubeletconfig": {}}',
        "[settings.kubernetes]\nmax-pods = 9\n",
        "settings = 5\n",
        "kubelet\n",
        "total 4\ndrwxr-xr-x 2 root root 4096 Mar  3 10:00 /var/lib/kubelet\n",
        "a" * 300_000,
        "kubelet --max-pods=9 " * 20_000,
        "a\0b\0",
    ],
)
def test_other_texts_are_not_command_lines(text: str) -> None:
    found = command_text.read(text, "given")

    assert found is None or found.words == ()


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("kubelet --max-pods='9\n", "input/invalid", "No closing quotation"),
        ('KUBELET_ARGS="--v=2\n', "input/invalid", "No closing quotation"),
        ("HTTP_PROXY=http://x\n", "input/invalid", "an environment file"),
        (
            "[Service]\nExecStart=/usr/bin/containerd --log-level=info\n",
            "input/invalid",
            "that starts /usr/bin/containerd",
        ),
        ("[Unit]\nAfter=network.target\n", "input/invalid", "that starts nothing"),
    ],
)
def test_a_text_of_something_else_is_named(text: str, code: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        command_text.read(text, "given")

    (finding,) = caught.value.findings
    assert (finding.code, finding.where.document) == (code, "given")
    assert words in str(finding)
