"""Running nodes as tables and streams: what is read, from where, and after what went wrong."""

import time
from collections.abc import Iterator

import pytest

pytest.importorskip("pyspark", reason="needs the [spark] extra")

from pyspark.sql.datasource import EqualTo, GreaterThan

from admin.checker.spark import stream
from admin.checker.spark.source_live import CUTS_MAX, LiveReader, Pieces
from admin.checker.spark.stream import Offset, StatusStream, WalStream
from admin.evidence import live
from admin.evidence.live import LivePoll, LiveRange
from admin.evidence.manifest import NoEvidence
from admin.evidence.witnesses import LogWasCut
from tests.unit.pretender import Pretender, entries, pretending


@pytest.fixture
def nodes() -> Iterator[list[Pretender]]:
    with pretending(3) as found:
        yield found


@pytest.fixture
def wal(nodes: list[Pretender]) -> Iterator[WalStream]:
    found = WalStream([nodes[0].address], run_id="r", begin=0)
    yield found
    found.stop()


def rows(reader: WalStream | LiveReader, *partitions: object) -> list[tuple[object, ...]]:
    """Node, generation, index and term of every row."""
    found = []
    for each in partitions:
        assert isinstance(each, Pieces)
        for batch in reader.read(each):
            assert set(batch.column("run_id").to_pylist()) == {"r"}
            columns = (batch.column(name).to_pylist() for name in NAMES)
            found += list(zip(*columns, strict=True))
    return found


NAMES = ("node", "generation", "index", "term")


def advance(wal: WalStream, start: Offset) -> tuple[Offset, list[tuple[object, ...]]]:
    """One micro-batch."""
    end = wal.latestOffset(start, None)
    return end, rows(wal, *wal.partitions(start, end))


def settle(wal: WalStream) -> Offset:
    """Read what there is; the first look meets the other members."""
    offset, _ = advance(wal, wal.initialOffset())
    offset, _ = advance(wal, offset)
    return offset


def test_a_stream_has_what_every_member_confirms_once(
    wal: WalStream, nodes: list[Pretender]
) -> None:
    log = entries(5)
    for each in nodes:
        each.log = log
    nodes[2].confirmed = 3
    offset, first = advance(wal, wal.initialOffset())
    offset, second = advance(wal, offset)
    upto = {1: 5, 2: 5, 3: 3}
    assert sorted(first + second) == [
        (node, 1, index, 1) for node, last in upto.items() for index in range(1, last + 1)
    ]
    nodes[2].confirmed = None
    nodes[0].log = entries(2, after=log)
    offset, third = advance(wal, offset)
    assert sorted(third) == [(1, 1, 6, 1), (1, 1, 7, 1), (3, 1, 4, 1), (3, 1, 5, 1)]
    still, fourth = advance(wal, offset)
    assert fourth == []
    assert wal.latestOffset(still, None) == still, "without news there is no micro-batch"


def test_a_silent_node_is_read_on_from_where_it_was(wal: WalStream, nodes: list[Pretender]) -> None:
    for each in nodes:
        each.log = entries(5)
    offset = settle(wal)
    gone = nodes[1]
    gone.close()
    for each in (nodes[0], nodes[2]):
        each.log = entries(3, after=each.log)
    offset, found = advance(wal, offset)
    assert {row[0] for row in found} == {1, 3}
    place = offset["2"]
    assert isinstance(place, dict)
    assert (place["after"], place["index"]) == (5, 5)


def test_a_node_that_falls_silent_while_it_is_read_is_not_waited_for(
    wal: WalStream, nodes: list[Pretender], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "FETCH_S_MAX", 0.2)
    for each in nodes:
        each.log = entries(5)
    offset = settle(wal)
    for each in nodes:
        each.log = entries(3, after=each.log)
    end = wal.latestOffset(offset, None)
    with nodes[1].paused():
        begun = time.monotonic()
        found = rows(wal, *wal.partitions(offset, end))
        waited = time.monotonic() - begun
    assert {row[0] for row in found} == {1, 3}
    assert waited < live.FETCH_S_MAX / 2


def test_a_new_directory_is_read_as_the_next_generation(
    wal: WalStream, nodes: list[Pretender]
) -> None:
    for each in nodes:
        each.log = entries(5)
    offset = settle(wal)
    nodes[1].uuid = "fresh"
    nodes[1].hang_up()
    offset, lost = advance(wal, offset)
    offset, found = advance(wal, offset)
    assert [row[:3] for row in lost + found] == [(2, 2, index) for index in range(1, 6)]


def test_a_log_that_is_not_the_one_that_was_read_is_read_again(
    wal: WalStream, nodes: list[Pretender]
) -> None:
    for each in nodes:
        each.log = entries(5)
    offset = settle(wal)
    nodes[2].log = entries(4, after=entries(3), salt="other")
    offset, found = advance(wal, offset)
    assert [row[:3] for row in found] == [(3, 1, index) for index in range(1, 8)]
    nodes[2].log = nodes[2].log[:2]
    offset, found = advance(wal, offset)
    assert [row[:3] for row in found] == [(3, 1, 1), (3, 1, 2)]


def test_a_micro_batch_is_limited_and_the_next_one_goes_on(
    wal: WalStream, nodes: list[Pretender], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "TRIGGER_ENTRIES_MAX", 4)
    nodes[0].members = []
    nodes[0].log = entries(10)
    offset = wal.initialOffset()
    sizes = []
    for _ in range(4):
        offset, found = advance(wal, offset)
        sizes.append(len(found))
    assert sizes == [4, 4, 2, 0]


def test_a_stream_may_begin_late(nodes: list[Pretender]) -> None:
    for each in nodes:
        each.log = entries(9)
    wal = WalStream([each.address for each in nodes], run_id="r", begin=7)
    _, found = advance(wal, wal.initialOffset())
    assert sorted(int(str(row[2])) for row in found) == [8, 8, 8, 9, 9, 9]
    wal.stop()


def test_what_a_node_says_comes_with_its_generation_and_a_number(
    nodes: list[Pretender],
) -> None:
    status = StatusStream([nodes[0].address], run_id="r")
    _, offset = status.read(status.initialOffset())
    found, offset = status.read(offset)
    assert len(list(found)) == 3
    nodes[0].uuid = "fresh"
    nodes[0].hang_up()
    status.read(offset)
    found, offset = status.read(offset)
    columns = [dict(zip(_columns(), row, strict=True)) for row in found]
    assert {row["node"]: row["generation"] for row in columns} == {1: 2, 2: 1, 3: 1}
    for each in nodes:
        each.close()
    found, after = status.read(offset)
    assert list(found) == []
    assert after != offset, "that nobody answers is news"


def _columns() -> list[str]:
    from admin.evidence.tables import TABLES  # noqa: PLC0415 - only here

    return list(TABLES["status"].columns)


def test_a_table_of_nodes_is_parted_by_node_and_range_or_by_range_of_all(
    nodes: list[Pretender],
) -> None:
    for each in nodes:
        each.log = entries(10)
    addresses = [each.address for each in nodes]
    apart = LiveReader("wal", addresses, run_id="r", aligned=False, span=4)
    assert len(apart.partitions()) == 9
    together = LiveReader("wal", addresses, run_id="r", aligned=True, span=4)
    ranges = together.partitions()
    assert [
        {(piece.first, piece.last) for piece in each.pieces}
        for each in ranges
        if isinstance(each, Pieces)
    ] == [{(1, 4)}, {(5, 8)}, {(9, 10)}]
    whole = rows(together, *ranges)
    assert sorted(whole) == sorted(rows(apart, *apart.partitions()))
    assert len(whole) == 30


def test_filters_leave_out_nodes_and_entries(nodes: list[Pretender]) -> None:
    for each in nodes:
        each.log = entries(10)
    reader = LiveReader("wal", [each.address for each in nodes], run_id="r", aligned=False, span=4)
    filters = [EqualTo(("node",), 2), GreaterThan(("index",), 6)]
    assert list(reader.pushFilters(list(filters))) == filters
    found = reader.partitions()
    pieces = [piece for each in found if isinstance(each, Pieces) for piece in each.pieces]
    assert [(piece.node, piece.first, piece.last) for piece in pieces] == [(2, 6, 8), (2, 9, 10)]


def test_nodes_that_do_not_answer_and_tables_they_do_not_have_are_refused(
    nodes: list[Pretender],
) -> None:
    with pytest.raises(NoEvidence, match="nodes tell of wal, status, digests, not of ops"):
        LiveReader("ops", [nodes[0].address], run_id="r", aligned=False)
    nodes[1].close()
    reader = LiveReader("wal", [nodes[1].address], run_id="r", aligned=False)
    with pytest.raises(NoEvidence, match="not all nodes answer"):
        reader.partitions()


def test_a_log_that_is_always_being_cut_is_given_up(
    nodes: list[Pretender], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(_piece: LiveRange, _run_id: str, *, timeout: float) -> Iterator[object]:
        assert timeout > 0
        tries.append(1)
        yield from ()
        raise LogWasCut

    tries: list[int] = []
    monkeypatch.setattr("admin.evidence.live.batches", cut)
    nodes[0].log = entries(3)
    nodes[0].members = []
    reader = LiveReader("wal", [nodes[0].address], run_id="r", aligned=False)
    with pytest.raises(NoEvidence, match="cut again and again"):
        rows(reader, *reader.partitions())
    assert len(tries) == CUTS_MAX


def test_status_and_digests_are_read_from_all_members(nodes: list[Pretender]) -> None:
    addresses = [each.address for each in nodes]
    for table, count in (("status", 3), ("digests", 3)):
        reader = LiveReader(table, addresses, run_id="r", aligned=False)
        (partition,) = reader.partitions()
        (batch,) = reader.read(partition)
        assert batch.num_rows == count


def test_who_hung_up_is_asked_again_on_a_new_connection(nodes: list[Pretender]) -> None:
    poll = LivePoll([nodes[0].address], timeout=20)
    assert len(poll.statuses()) == 1
    assert len(poll.statuses()) == 3, "members are met"
    nodes[2].hang_up()
    first, second = len(poll.statuses()), len(poll.statuses())
    assert first in {2, 3}
    assert second == 3
    poll.close()
