"""The file of records: what a commit said is read back whole, or nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.agent.controller import store_files
from numalet.agent.controller.store_files import RecordFile, RecordTexts
from running import faults

UIDS = st.sampled_from(["a", "b", "ü\n", "../c", ""])
TEXTS = st.binary(max_size=30).map(lambda value: b'{"x":"%s"}' % value.hex().encode())
COMMITS = st.lists(st.tuples(st.dictionaries(UIDS, TEXTS), st.sets(UIDS)), max_size=12)
PAST_BYTES = 200


def commit(file: RecordFile, changed: Mapping[str, bytes], gone: set[str]) -> None:
    whole = file.whole(changed, gone)
    if whole is None:
        with file.appended(changed, gone):
            pass
    else:
        file.path.write_bytes(whole)
    file.keep(changed, gone, whole)


@given(commits=COMMITS)
def test_what_was_committed_is_read(
    commits: list[tuple[dict[str, bytes], set[str]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("records")
    file, wanted, kept = RecordFile(folder, PAST_BYTES), dict[str, bytes](), 0
    for changed, wished in commits:
        gone = wished & wanted.keys() - changed.keys()
        commit(file, changed, gone)
        wanted = {uid: each for uid, each in wanted.items() if uid not in gone} | changed
        assert wanted == store_files.read_records(folder).by_uid
        # What is kept is looked at before a line is added; the kept lines count twice.
        kept, before = sum(map(len, wanted.values())), kept
        lines = 120 * (len(wanted) + len(changed) + len(gone) + 1)
        most = PAST_BYTES + 2 * max(kept, before) + sum(map(len, changed.values())) + lines
        assert file.path.stat().st_size <= most


@given(data=st.data())
def test_a_last_line_that_was_cut_counts_for_nothing(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("records")
    first, second = (store_files.commit_line({uid: b'{"x":1}'}, ()) for uid in "ab")
    # A file system may also have made room for what it did not write.
    kept = data.draw(st.integers(0, len(second) - 2))
    cut = second[:kept] + bytes(data.draw(st.sampled_from([0, len(second) - kept])))
    (folder / store_files.RECORD_FILE).write_bytes(first + cut)
    assert store_files.read_records(folder) == RecordTexts({"a": b'{"x":1}'}, {})


@given(data=st.data())
def test_a_line_that_was_changed_is_given_apart(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("records")
    first, second = (bytearray(store_files.commit_line({uid: b'{"x":1}'}, ())) for uid in "ab")
    at = data.draw(st.integers(0, len(first) - 2))
    first[at] ^= 1 << data.draw(st.integers(0, 7))
    (folder / store_files.RECORD_FILE).write_bytes(first + second)
    read = store_files.read_records(folder)
    assert read == RecordTexts({"b": b'{"x":1}'}, {1: bytes(first).rstrip(b"\n")})


def test_a_line_that_finds_no_room_does_not_ask_for_more(tmp_path: Path) -> None:
    """Only what may not be on the disk although it was written makes the whole file anew."""
    file = RecordFile(tmp_path)
    commit(file, {"a": b"{}"}, set())
    before = file.path.read_bytes()
    faults.install(faults.planned("records.append:after:1:ENOSPC"))
    try:
        with pytest.raises(OSError, match="No space left"), file.appended({"b": b"{}"}, set()):
            raise AssertionError
    finally:
        faults.install(None)
    assert before == file.path.read_bytes()
    assert file.whole({"b": b"{}"}, set()) is None
    with pytest.raises(OSError, match="disk"), file.appended({"b": b"{}"}, set()):
        raise OSError("the disk lost it")
    assert before == file.path.read_bytes()
    assert b"".join(store_files.commit_line({uid: b"{}"}, ()) for uid in "ab") == file.whole(
        {"b": b"{}"}, set()
    )


def test_nothing_of_a_record_that_went_stays_in_the_file(tmp_path: Path) -> None:
    file = RecordFile(tmp_path)
    commit(file, {"a": b'{"x":"first"}', "b": b'{"x":"second"}'}, set())
    commit(file, {"a": b'{"x":"again"}'}, set())
    commit(file, {}, {"a"})
    assert store_files.commit_line({"b": b'{"x":"second"}'}, ()) == file.path.read_bytes()
    commit(file, {}, {"never there"})
    assert store_files.read_records(tmp_path).by_uid == {"b": b'{"x":"second"}'}


def test_nothing_is_read_where_nothing_was_written(tmp_path: Path) -> None:
    assert store_files.read_records(tmp_path) == RecordTexts({}, {})
