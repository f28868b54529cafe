"""The bytes of an NRI connection."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.io.nri import wire
from numalet.io.nri.wire import Message, Unpacker, WireError

MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from([1, 2]),
        st.integers(1, 1 << 31),
        st.sampled_from([1, 2]),
        st.one_of(st.binary(max_size=50), st.binary(min_size=4000, max_size=9000)),
    ),
    max_size=4,
)


@given(MESSAGES, st.data())
def test_messages_come_back_however_their_bytes_are_cut(
    messages: list[Message], data: st.DataObject
) -> None:
    sent = b"".join(map(wire.packed, messages))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=6)))
    unpacker = Unpacker()
    parts = [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    assert [each for part in parts for each in unpacker.feed(part)] == messages


def test_no_frame_is_larger_than_a_runtime_reads() -> None:
    sent = wire.packed(Message(1, 1, 2, bytes(20_000)))
    sizes: list[int] = []
    while sent:
        _, size = struct.unpack(">II", sent[:8])
        sizes.append(size)
        sent = sent[8 + size :]
    assert max(sizes) == 4096
    assert sum(sizes) == 20_010


def test_a_frame_with_many_messages_yields_each() -> None:
    one = struct.pack(">IIBB", 1, 3, 1, 0) + b"x"
    frame = struct.pack(">II", 1, 2 * len(one)) + one + one
    assert [each.payload for each in Unpacker().feed(frame)] == [b"x", b"x"]


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">II", 1, (4 << 20) + 11),
        struct.pack(">II", 1, 10) + struct.pack(">IIBB", (4 << 20) + 1, 1, 1, 0),
    ],
)
def test_impossible_sizes_end_the_connection(sent: bytes) -> None:
    with pytest.raises(WireError):
        list(Unpacker().feed(sent))


def test_a_message_above_the_limit_is_not_sent() -> None:
    with pytest.raises(WireError):
        wire.packed(Message(1, 1, 2, bytes((4 << 20) + 1)))
