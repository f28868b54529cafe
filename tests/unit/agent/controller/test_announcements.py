"""Node state in use is known to every user of the machine, and the kernel says whose it is."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from numalet.agent.controller import root_claim
from numalet.core.model.findings import BadInput

AS_SOMEBODY = """
import os, sys
from pathlib import Path
from numalet.agent.controller import root_claim
os.setgroups([])
os.setuid(int(sys.argv[2]))
with root_claim.claimed(Path(sys.argv[1])) as findings:
    print([each.code for each in findings], *[each.fields["user"] for each in findings], flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def roots(reachable: Path) -> tuple[Path, Path]:
    """Two root folders that every user can see."""
    made = reachable / "one", reachable / "two folder"
    for each in made:
        each.mkdir()
    return made


def test_node_state_in_use_are_seen_from_other_roots_alone(roots: tuple[Path, Path]) -> None:
    one, two = roots
    assert root_claim.others(one) == ()
    with root_claim.announce(two):
        (found,) = root_claim.others(one)
        assert (str(two), os.geteuid(), os.getpid()) == (found.root, found.user, found.pid)
        assert root_claim.others(two) == ()
        assert [found] == [*root_claim.others(one / "not-there")]
    assert root_claim.others(one) == ()


def test_the_same_folder_under_another_name_is_the_same(roots: tuple[Path, Path]) -> None:
    one, two = roots
    link = two / "link"
    link.symlink_to(one)
    with root_claim.announce(one):
        assert root_claim.others(link) == ()


def test_other_scopes_do_not_meet(
    roots: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with root_claim.announce(roots[0]):
        monkeypatch.setenv(root_claim.SCOPE, "another")
        assert root_claim.others(roots[1]) == ()


def test_of_many_at_once_one_gets_the_machine(roots: tuple[Path, Path]) -> None:
    got: list[bool] = []
    ready, leave = threading.Barrier(8), threading.Barrier(8)

    def claim(root: Path) -> None:
        ready.wait()
        with root_claim.claimed(root) as findings:
            got.append(not findings)
            leave.wait()

    folders = [roots[0].parent / str(number) for number in range(8)]
    for each in folders:
        each.mkdir()
    threads = [threading.Thread(target=claim, args=(each,)) for each in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 7 + [True]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_refused_and_named(roots: tuple[Path, Path]) -> None:
    one, two = roots
    line = [sys.executable, "-c", AS_SOMEBODY]
    pipes = subprocess.PIPE
    with subprocess.Popen([*line, one, "1001"], stdin=pipes, stdout=pipes, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "[]\n"
        second = subprocess.run([*line, two, "1002"], input="", stdout=pipes, text=True, check=True)
        assert second.stdout == "['run/other-node-state'] 1001\n"
        # An agent of root's is not kept from the machine by a user, and is told.
        with root_claim.claimed_by_agent(two) as remarks:
            assert [each.code for each in remarks] == ["agent/other-users-node-state"]
        first.communicate("\n")
    with root_claim.claimed(one) as findings:
        assert findings == ()
        with pytest.raises(BadInput) as bad, root_claim.claimed_by_agent(two):
            pass
        assert [each.code for each in bad.value.findings] == ["agent/other-node-state"]


def test_a_name_that_is_not_answered_counts(
    roots: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root_claim, "_BACKLOG", 0)
    with root_claim.announce(roots[0]):
        # The kernel keeps a place more than it was asked for.
        seen = [root_claim.others(roots[1])[0] for _ in range(8)]
        assert {os.geteuid(), None} == {each.user for each in seen}
        assert {str(roots[0])} == {each.root for each in seen}


def test_words_of_others_are_no_announcement(roots: tuple[Path, Path]) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0numalet/{os.environ[root_claim.SCOPE]}/x/y/z")
        listening.listen()
        assert root_claim.others(roots[0]) == ()


def test_a_long_name_is_cut_off_and_says_so(reachable: Path) -> None:
    long = reachable / ("x" * 100)
    long.mkdir()
    with root_claim.announce(long):
        (found,) = root_claim.others(reachable)
        assert found.root.startswith(str(reachable) + "/xxx")
        assert found.root.endswith("x...")
