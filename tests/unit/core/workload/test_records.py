"""Records by uid, and by name."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from numalet.core.model.pod import Pod
from numalet.core.workload.records import PodRecord, Records
from numalet.core.workload.run import Deletion, PodRun
from numalet.core.workload.spec import Workload

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def record(uid: str, name: str, namespace: str = "default", *, leaves: bool = False) -> PodRecord:
    run = PodRun(accepted_at=NOW, deletion=Deletion(NOW, 0.0) if leaves else None)
    pod = Pod(uid=uid, name=name, namespace=namespace)
    return PodRecord(Workload(pod=pod, containers=()), run)


@given(st.lists(st.tuples(st.sampled_from("uvwx"), st.booleans())))
def test_changes_are_those_of_a_dictionary(changes: list[tuple[str, bool]]) -> None:
    made, plain = Records(), dict[str, PodRecord]()
    for version, (uid, comes) in enumerate(changes):
        if comes:
            # Two pods of each name.
            each = replace(record(uid, "ab"["uvwx".index(uid) % 2]), resource_version=version)
            made, plain[uid] = made.with_record(each), each
        elif uid in plain:
            made = made.without(uid)
            del plain[uid]
        assert plain == made
        assert list(plain) == list(made)
        assert [*plain.values()] == [*made.values()]
        assert (len(plain), uid in plain) == (len(made), uid in made)
        for name in "abc":
            named = [each for each in plain.values() if each.workload.pod.name == name]
            assert (named[0] if named else None) == made.named("default", name)
        assert made.keys() == Records(plain).keys()
        assert made.named("default", "a") == Records(plain).named("default", "a")


def test_new_and_replaced_records_have_changed() -> None:
    before = Records({uid: record(uid, uid) for uid in "uvw"})
    replaced = replace(record("v", "v"), resource_version=1)
    after = before.without("u").with_record(replaced).with_record(record("x", "x"))
    assert after.changed_since(before) == ["v", "x"]
    assert after.changed_since(after) == []


def test_a_pod_that_stays_comes_before_one_that_goes() -> None:
    leaving, staying = record("u", "a", leaves=True), record("v", "a")
    records = Records({"u": leaving, "v": staying})
    assert staying is records.named("default", "a")
    assert leaving is records.without("v").named("default", "a")
    assert records.named("other", "a") is None
