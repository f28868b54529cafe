"""Several files change together: killed or failing anywhere, they are of one moment."""

from __future__ import annotations

import errno
import json
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from harness.bad_inputs import refused_with
from numalet.core.model.findings import BadInput
from numalet.io.files import atomic, intent, state_directory, temporary
from running import faults
from running.faults import Moment

CPU, MEMORY, DEVICES = "cpu_manager_state", "memory_manager_state", "device-plugins/checkpoint"
OLD = {CPU: "old cpu", MEMORY: "old memory"}
ALL_OLD = OLD | {DEVICES: "old devices"}
NEW = {CPU: "new cpu", MEMORY: "new memory", DEVICES: "new devices"}
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
NOBODY = 65534


@pytest.fixture(autouse=True)
def _no_hook_stays() -> Iterator[None]:
    before = faults.install(None)
    yield
    faults.install(before)


def make(folder: Path, texts: dict[str, str]) -> Path:
    (folder / "device-plugins").mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def replace(folder: Path, texts: dict[str, str] = NEW) -> None:
    atomic.write_texts({folder / name: text for name, text in texts.items()})


def refusal(folder: Path) -> str:
    """The code of what is wrong with replacing the files; nothing if they were replaced."""
    try:
        replace(folder)
    except BadInput as bad:
        return bad.findings[0].code
    return ""


def content(folder: Path) -> dict[str, str]:
    """Every file below the folder, whatever its name."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def started(work: Callable[[], None], user: int = 0) -> int:
    """The process id of a copy of this process that does this."""
    pid = os.fork()
    if pid == 0:
        try:
            if user:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return pid


def ended(pid: int) -> int:
    """Its exit status."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_a_child(work: Callable[[], None], user: int = 0) -> int:
    """The exit status of a copy of this process that did this."""
    return ended(started(work, user))


def passages(work: Callable[[], None]) -> int:
    """How often the work passes a fault point."""
    seen: list[str] = []
    faults.install(lambda name, _: seen.append(name))
    work()
    faults.install(None)
    return len(seen)


def killed_at(passage: int, work: Callable[[], None]) -> None:
    def doomed() -> None:
        faults.install(faults.planned(f"*:*:{passage}"))
        work()

    assert in_a_child(doomed) == -signal.SIGKILL


def unfinished(path: Path, before: dict[str, str], passages_left: int) -> Path:
    """A folder in which replacing the files was killed so many passages before the end."""
    folder = make(path / "state", before)
    count = passages(lambda: replace(make(path / "whole", before)))
    killed_at(count - passages_left, partial(replace, folder))
    return folder


def state(folder: Path) -> dict[str, str]:
    """What the files say when the folder is opened next; nothing else may be left in it."""
    for each in (folder, folder / "device-plugins"):
        atomic.sweep(each, (Path(name).name for name in NEW))
    return content(folder)


@pytest.mark.slow
@pytest.mark.parametrize("before", [OLD, ALL_OLD])
def test_killed_anywhere_the_files_are_of_one_moment_when_the_folder_is_opened_next(
    quick_path: Path, before: dict[str, str]
) -> None:
    count = passages(lambda: replace(make(quick_path / "whole", before)))
    assert content(quick_path / "whole") == NEW
    found = []
    for passage in range(1, count + 1):
        folder = make(quick_path / str(passage), before)
        killed_at(passage, partial(replace, folder))
        found.append(state(folder))
    # Before the intent is written nothing counts; from then on everything does.
    begun = found.index(NEW)
    assert 0 < begun < count
    assert [before] * begun + [NEW] * (count - begun) == found


def test_whoever_finishes_may_be_killed_too(quick_path: Path) -> None:
    def begun(name: str) -> Path:
        folder = make(quick_path / name, OLD)
        killed_at(passage, partial(replace, folder))
        return folder

    whole = make(quick_path / "whole", OLD)
    seen: list[str] = []
    faults.install(lambda name, moment: seen.append(f"{name} {moment.value}"))
    replace(whole)
    faults.install(None)
    passage = seen.index("file.replace after") + 1
    count = passages(partial(intent.settle, begun("counted")))
    for second in range(1, count + 1):
        folder = begun(str(second))
        killed_at(second, partial(intent.settle, folder))
        assert state(folder) == NEW


@pytest.mark.parametrize("before", [OLD, ALL_OLD])
def test_failing_anywhere_nothing_is_changed_and_nothing_left(
    quick_path: Path, before: dict[str, str]
) -> None:
    count = passages(lambda: replace(make(quick_path / "whole", before)))
    failed = 0
    for passage in range(1, count + 1):
        folder = make(quick_path / str(passage), before)
        faults.install(faults.planned(f"*:*:{passage}:EIO"))
        refused = refusal(folder)
        faults.install(None)
        if refused:
            failed += 1
            assert (refused, content(folder)) == ("input/unwritable", before), passage
        assert (before if refused else NEW) == state(folder), passage
    # All of them but the last, which removes the intent of what is done. If there was a last file,
    # it is not kept, and an error that comes when it has been replaced comes too late.
    assert count - (3 if DEVICES in before else 2) == failed


def test_what_can_neither_be_done_nor_undone_is_finished_at_the_next_start(
    quick_path: Path,
) -> None:
    folder = make(quick_path / "state", OLD)
    begun: list[str] = []

    def fail(name: str, moment: Moment) -> None:
        begun.extend([name] * (name == "file.replace" and moment is Moment.AFTER))
        if begun:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    faults.install(fail)
    with pytest.raises(intent.Unfinished) as failed:
        replace(folder)
    faults.install(None)
    assert failed.value.findings[0].code == "input/unwritable"
    assert state(folder) == NEW


def test_the_next_write_finishes_the_one_before(quick_path: Path) -> None:
    folder = unfinished(quick_path, OLD, 3)
    assert (folder / intent.NAME).exists()
    atomic.write_text(folder / CPU, "newest cpu")
    assert not (folder / intent.NAME).exists()
    assert state(folder) == NEW | {CPU: "newest cpu"}


@pytest.mark.parametrize("name", [CPU, MEMORY])
def test_what_another_program_wrote_since_stays(quick_path: Path, name: str) -> None:
    """A kubelet knows nothing of an intent, and may start before it is finished."""
    folder = unfinished(quick_path, OLD, 3)
    before = {each: (folder / each).read_text() for each in OLD}
    (folder / "theirs").write_text("of a kubelet")
    (folder / "theirs").rename(folder / name)
    assert before | {name: "of a kubelet"} == {
        each: text for each, text in state(folder).items() if each in OLD
    }


def test_a_kubelet_that_clears_its_folder_of_plugins_leaves_a_write_that_is_undone(
    quick_path: Path,
) -> None:
    folder = make(quick_path / "state", OLD)
    seen: list[str] = []
    faults.install(lambda name, moment: seen.append(f"{name} {moment.value}"))
    replace(make(quick_path / "whole", OLD))
    faults.install(None)
    killed_at(seen.index("file.replace after") + 1, partial(replace, folder))
    for each in (folder / "device-plugins").iterdir():
        each.unlink()
    assert state(folder) == OLD


def test_state_files_are_read_as_if_there_were_no_intent(quick_path: Path) -> None:
    folder = unfinished(quick_path, OLD, 3)
    before = content(folder)
    assert OLD.keys() == state_directory.read(folder).files.keys()
    assert before == content(folder)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[1]",
        '[{"name":"../x","new":".x.aaaaaaaa","after":[1,2,3]}]',
        '[{"name":"/etc/passwd","new":".passwd.aaaaaaaa","after":[1,2,3]}]',
        '[{"name":"cpu_manager_state","new":"../../x","after":[1,2,3]}]',
    ],
)
def test_an_intent_that_is_not_ours_is_refused(quick_path: Path, text: str) -> None:
    folder = make(quick_path / "state", OLD)
    (folder / intent.NAME).write_text(text)
    (folder / intent.NAME).chmod(0o600)
    with pytest.raises(BadInput) as refused:
        replace(folder)
    assert [each.code for each in refused.value.findings] == ["input/forbidden"]
    assert OLD | {intent.NAME: text} == content(folder)


@pytest.mark.parametrize("text", ["", "\0\0\0", "[", '[{"name":"cpu_manager_state","new":".cpu'])
def test_an_intent_that_was_not_written_to_its_end_means_nothing(
    quick_path: Path, text: str
) -> None:
    for work in (intent.settle, replace):
        folder = make(quick_path / work.__name__, OLD)
        (folder / intent.NAME).write_text(text)
        (folder / intent.NAME).chmod(0o600)
        work(folder)
        assert content(folder) == (NEW if work is replace else OLD)


def test_several_processes_write_one_after_the_other(quick_path: Path) -> None:
    folder = make(quick_path / "state", OLD)

    def write_often(number: int) -> None:
        for time in range(50):
            replace(folder, dict.fromkeys(NEW, f"{number} {time}"))

    children = [started(partial(write_often, number)) for number in range(4)]
    assert [ended(pid) for pid in children] == [0] * 4
    assert content(folder).keys() == NEW.keys()
    assert len(set(content(folder).values())) == 1


def test_an_intent_that_another_process_takes_for_left_behind_is_made_again(
    quick_path: Path,
) -> None:
    folder = make(quick_path / "state", OLD)
    taken: list[bool] = []

    def settle_once(name: str, moment: Moment) -> None:
        if name == "file.intend" and moment is Moment.BEFORE and not taken:
            taken.append((folder / intent.NAME).exists())
            intent.settle(folder)

    faults.install(settle_once)
    replace(folder)
    faults.install(None)
    assert taken == [True]
    assert content(folder) == NEW


def test_where_an_intent_can_not_be_removed_nothing_new_is_begun(quick_path: Path) -> None:
    folder = unfinished(quick_path, OLD, 1)
    faults.install(faults.planned("file.forget:before:1+:EIO"))
    assert refusal(folder) == "input/unwritable"
    faults.install(None)
    assert state(folder) == NEW


def test_a_last_file_that_came_before_a_lost_one_is_not_taken_away(quick_path: Path) -> None:
    """A disk that loses its power may keep a later rename and lose an earlier one."""
    folder = unfinished(quick_path, ALL_OLD, 1)
    first, *_, last = json.loads((folder / intent.NAME).read_text())
    assert first["kept"]
    assert "kept" not in last or not last["kept"]
    (folder / first["kept"]).replace(folder / first["name"])
    before = content(folder)
    with refused_with("input/unwritable"):
        intent.settle(folder)
    assert content(folder) == before


def test_a_link_in_the_place_of_an_intent_is_not_followed(quick_path: Path) -> None:
    folder = make(quick_path / "state", OLD)
    (folder / intent.NAME).symlink_to(quick_path / "elsewhere")
    with refused_with("input/unwritable"):
        replace(folder)


@AS_ROOT
def test_files_that_others_own_are_kept_as_copies(reachable: Path) -> None:
    """A user can not give a further name to a file of root, but can replace it in a folder."""
    folder = make(reachable / "state", OLD)
    for each in (folder, folder / "device-plugins"):
        os.chown(each, NOBODY, NOBODY)
    for name in OLD:
        (folder / name).chmod(0o644)

    def failing() -> None:
        faults.install(faults.planned("file.replace:before:2:EIO"))
        with refused_with("input/unwritable"):
            replace(folder)
        faults.install(None)
        assert content(folder) == OLD
        replace(folder)

    assert in_a_child(failing, NOBODY) == 0
    assert content(folder) == NEW


@AS_ROOT
def test_a_second_rename_that_the_kernel_refuses_undoes_the_first(reachable: Path) -> None:
    """In a folder like /tmp one may make files, but not replace those of others."""
    folder = make(reachable / "state", OLD)
    folder.chmod(0o1777)
    os.chown(folder / CPU, NOBODY, NOBODY)
    (folder / MEMORY).chmod(0o644)

    def refused() -> None:
        with pytest.raises(BadInput) as bad:
            replace(folder, {CPU: "new cpu", MEMORY: "new memory"})
        assert ": Operation not permitted; nothing was changed" in str(bad.value)

    assert in_a_child(refused, NOBODY) == 0
    assert content(folder) == OLD


@pytest.mark.parametrize(
    ("names", "above"), [("b/x b/c/x", "b"), ("b/x b-c/x", "."), ("b/c/x b/x b-c/x", ".")]
)
def test_the_intent_is_in_the_folder_above_all(quick_path: Path, names: str, above: str) -> None:
    """Also where no file is in it, or where another folder's name begins like it."""
    for name in ("b", "b/c", "b-c"):
        (quick_path / name).mkdir()
    there = quick_path / above / intent.NAME
    seen: list[bool] = []
    faults.install(lambda name, _: seen.append(name == "file.replace" and there.exists()))
    replace(quick_path, dict.fromkeys(names.split(), "new"))
    faults.install(None)
    assert any(seen)
    assert not there.exists()


def test_two_links_to_one_file_are_both_written(quick_path: Path) -> None:
    (quick_path / "file").write_text("old")
    for name in ("one", "two"):
        (quick_path / name).symlink_to("file")
    replace(quick_path, {"one": "1", "two": "2"})
    assert (quick_path / "file").read_text() == "2"
    assert sorted(each.name for each in quick_path.iterdir()) == ["file", "one", "two"]


def test_files_of_others_at_the_temporary_names_stay_as_they_are(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(quick_path / "state", OLD)
    ends = iter(["00000000", "00000001", "00000002", "00000003"])
    for kind in ("likely_end", "random_end"):
        monkeypatch.setattr(temporary, kind, lambda: next(ends))
    others = {f".{CPU}.00000000": "theirs", f".{CPU}.k0000000": "theirs too"}
    for name, text in others.items():
        (folder / name).write_text(text)
    replace(folder, {CPU: "new cpu", MEMORY: "new memory"})
    assert content(folder) == others | {CPU: "new cpu", MEMORY: "new memory"}


def test_a_file_that_fails_to_close_keeps_no_other_open(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(quick_path / "state", OLD)
    before = len(list(Path("/proc/self/fd").iterdir()))
    close, failed = os.close, [False]

    def fail_once(descriptor: int) -> None:
        close(descriptor)
        if not failed[0]:
            failed[0] = True
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as failing:
        failing.setattr("os.close", fail_once)
        replace(folder)
    assert failed == [True]
    assert content(folder) == NEW
    assert len(list(Path("/proc/self/fd").iterdir())) == before
