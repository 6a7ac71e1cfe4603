"""The comparison with other systems: what is said on the wire, and how figures become ratios."""

from struct import Struct
from xml.etree import ElementTree as ET

import pytest

from tests.bench.peers import etcd_wire, picture, programs
from tests.bench.peers.comparison import Comparison, Contestant
from tests.bench.peers.etcd_wire import EtcdWire
from tests.bench.peers.tarantool_wire import TarantoolWire
from tests.bench.peers.workloads import WORKLOADS, Measured, Operation, PeerFailed

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
HEAD = Struct(">BHBBI")
KEY = b"k" * 16


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return HEAD.pack(0, len(payload), kind, flags, stream) + payload


def sent(wire: EtcdWire) -> list[tuple[int, int, int, bytes]]:
    """The frames that it wants to send: kind, flags, stream, payload."""
    data = bytes(wire.out)
    wire.out.clear()
    data = data.removeprefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    found = []
    while data:
        high, low, kind, flags, stream = HEAD.unpack_from(data)
        end = HEAD.size + (high << 16 | low)
        found.append((kind, flags, stream, data[HEAD.size : end]))
        data = data[end:]
    return found


def test_a_put_is_headers_and_one_message() -> None:
    wire = EtcdWire()
    sent(wire)
    id = wire.ask(Operation.PUT, [KEY], b"v")
    (kind, flags, stream, _), (data, end, of, message) = sent(wire)
    assert (kind, flags, stream) == (HEADERS, 4, id)
    assert (data, end, of) == (DATA, 1, id)
    assert message[:5] == b"\x00" + (len(message) - 5).to_bytes(4, "big")
    assert etcd_wire.fields(message[5:]) == {1: KEY, 2: b"v"}


def test_a_transaction_of_etcd_holds_every_put() -> None:
    wire = EtcdWire()
    sent(wire)
    wire.ask(Operation.TXN10, [KEY, b"l" * 16], b"v")
    message = sent(wire)[1][3][5:]
    assert message.count(b"k" * 16) == message.count(b"l" * 16) == 1


def test_an_answer_may_come_in_pieces() -> None:
    wire = EtcdWire()
    id = wire.ask(Operation.GET, [KEY], b"")
    answer = (
        frame(HEADERS, 4, id, b"h") + frame(DATA, 0, id, b"d" * 9) + frame(HEADERS, 5, id, b"t")
    )
    found = [done for at in range(len(answer)) for done in wire.feed(answer[at : at + 1])]
    assert found == [(id, True)]


@pytest.mark.parametrize("refusal", [frame(HEADERS, 5, 1, b"h"), frame(RESET, 0, 1, b"\x00" * 4)])
def test_an_answer_without_data_is_an_error(refusal: bytes) -> None:
    wire = EtcdWire()
    wire.ask(Operation.PUT, [KEY], b"v")
    assert wire.feed(refusal) == [(1, False)]


def test_no_more_is_sent_than_the_server_has_room_for() -> None:
    wire = EtcdWire()
    sent(wire)
    ids = [wire.ask(Operation.PUT, [KEY], b"v" * 1000) for _ in range(100)]
    first = sent(wire)
    assert sum(len(payload) for kind, _, _, payload in first if kind == DATA) <= 65_535
    assert len(first) < 2 * len(ids)
    wire.feed(frame(WINDOW, 0, 0, (1 << 20).to_bytes(4, "big")))
    assert len(first) + len(sent(wire)) == 2 * len(ids)


def test_what_the_server_wants_to_know_is_answered() -> None:
    wire = EtcdWire()
    sent(wire)
    wire.feed(frame(SETTINGS, 0, 0) + frame(PING, 0, 0, b"12345678"))
    assert sent(wire) == [(SETTINGS, 1, 0, b""), (PING, 1, 0, b"12345678")]
    wire.feed(frame(SETTINGS, 1, 0) + frame(PING, 1, 0, b"12345678"))
    assert not sent(wire)


def test_a_server_that_hangs_up_says_why() -> None:
    with pytest.raises(PeerFailed, match="too_many_pings"):
        EtcdWire().feed(frame(GOAWAY, 0, 0, bytes(8) + b"too_many_pings"))


def test_numbers_of_protobuf_go_there_and_back() -> None:
    for number in (0, 1, 127, 128, 300, 2**63):
        assert etcd_wire.fields(b"\x08" + etcd_wire.varint(number)) == {1: number}


def test_tarantool_is_asked_after_its_greeting_and_answers_by_id() -> None:
    wire = TarantoolWire()
    ids = [wire.ask(operation, [KEY], b"v" * 100) for operation in Operation]
    assert bytes(wire.out).count(KEY) == len(ids)

    def answer(id: int, code: int) -> bytes:
        head = Struct(">BBBIBBQBBI").pack(0x83, 0, 0xCE, code, 1, 0xCF, id, 5, 0xCE, 1)
        return b"\xce" + (len(head) + 1).to_bytes(4, "big") + head + b"\x80"

    said = b"g" * 128 + answer(ids[1], 0) + answer(ids[0], 0x8000)
    found = [done for at in range(len(said)) for done in wire.feed(said[at : at + 1])]
    assert found == [(ids[1], True), (ids[0], False)]


def run(rate: float, p50: float) -> Measured:
    return Measured(ops_per_second=rate, p50_ms=p50, p99_ms=1, client_us=1, servers_us=1)


def compared() -> Comparison:
    one, many = WORKLOADS[0].name, WORKLOADS[1].name
    ours = Contestant(name="qsync", version="1", durable=True)
    ours.runs = {one: [run(900, 1.0)], many: [run(10, 9), run(30, 9), run(20, 9)]}
    theirs = Contestant(name="etcd", version="<3>", durable=True)
    theirs.runs = {one: [run(500, 2.0)], many: [run(10, 9)]}
    theirs.refused = {"failover": "no leader"}
    return Comparison(
        conditions={}, seconds=1, keys=0, contestants=[ours, theirs], missing={"other": "not here"}
    )


def test_ratios_are_of_medians_and_for_one_client_of_latency() -> None:
    found = compared()
    assert found.ratio(found.contestants[0], "etcd", WORKLOADS[0]) == 2.0
    assert found.ratio(found.contestants[0], "etcd", WORKLOADS[1]) == 2.0
    assert found.ratio(found.contestants[0], "etcd", WORKLOADS[2]) is None
    assert found.ratio(found.contestants[0], "nobody", WORKLOADS[1]) is None
    assert found.as_json()["ratios"] == {
        "qsync": {"etcd": {"put 1x1": 0.5, "put 1x256": 0.5}},
        "etcd": {"qsync": {"put 1x1": 2.0, "put 1x256": 2.0}},
    }


def test_who_is_missing_and_what_was_refused_is_said() -> None:
    lines = list(compared().markdown(to="etcd"))
    assert "* other took no part: not here" in lines
    assert "* etcd, failover: no leader" in lines
    assert "| put 1x256 | 2.00 | 1.00 |" in lines


def test_the_picture_is_well_formed_and_says_the_ratios() -> None:
    drawn = picture.svg(compared(), to="etcd")
    texts = [node.text for node in ET.fromstring(drawn).iter() if node.text]
    assert texts.count("2.00") == 2


def test_without_go_the_client_of_etcd_is_missing_and_its_packages_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PeerFailed, match="apt-get install golang-go golang-etcd-server-dev"):
        programs.etcd_client()
