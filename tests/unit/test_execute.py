"""Operations against the head state: results, effects, refusals; nothing happens when one fails."""

from collections.abc import Sequence

import cbor2
import pytest

from election.messages import Index, Position, Term
from qsync.data import body
from qsync.data.operation_kinds import Op
from qsync.data.operators import OPERATORS_MAX
from qsync.data.request import Limits, Request
from qsync.data.state import DataState
from qsync.errors import (
    Conflict,
    DuplicateKey,
    NoSuchIndex,
    NoSuchSpace,
    ProtocolError,
    QsyncError,
    TooLarge,
    WrongKey,
    WrongOperation,
    WrongSchema,
    WrongTuple,
)
from tests.unit.book import OPEN, Book, pack


@pytest.fixture
def book() -> Book:
    book = Book()
    book.space()
    book.write([13, "t", "tag", {"parts": [["tag", "string"]], "unique": True}])
    book.write([1, "t", pack(1, "a", 10)])
    return book


def effects(book: Book) -> Sequence[tuple[int, bytes, bytes | None]]:
    """Of the last entry."""
    found: Sequence[tuple[int, bytes, bytes | None]] = body.decode_all([book.log[-1].body])[0][3]
    return found


def test_insert_returns_the_tuple_and_refuses_a_second_one(book: Book) -> None:
    assert book.write([1, "t", pack(2, "b", 0)]) == [pack(2, "b", 0)]
    with pytest.raises(
        DuplicateKey, match=r'"t", index "primary": another tuple has the key \[2\]'
    ):
        book.write([1, "t", pack(2, "c", 0)])


def test_replace_takes_the_place_of_a_tuple(book: Book) -> None:
    assert book.write([2, "t", pack(1, "z", 1)]) == [pack(1, "z", 1)]
    assert book.all() == [[1, "z", 1]]
    assert book.all("t", "tag") == [[1, "z", 1]]


def test_the_bytes_of_a_tuple_are_kept_as_they_came(book: Book) -> None:
    odd = b"\x9f\x18\x02\x61\x62\x19\x00\x05\xff"  # [2, "b", 5], written clumsily
    book.write([1, "t", odd])
    assert book.state.get("t", 0, [2]) == odd


def test_update_returns_the_new_tuple_or_nothing(book: Book) -> None:
    assert book.write([3, "t", 0, [1], [["+", "n", 5]]]) == [pack(1, "a", 15)]
    assert book.write([3, "t", "tag", ["a"], [["-", 3, 1]]]) == [pack(1, "a", 14)]
    assert book.write([3, "t", 0, [7], [["+", "n", 5]]]) == [None]
    assert effects(book) == []


def test_an_update_has_so_many_operations_and_no_more(book: Book) -> None:
    add = ["+", "n", 1]
    (row,) = book.write([3, "t", 0, [1], [add] * OPERATORS_MAX])
    assert row == pack(1, "a", 10 + OPERATORS_MAX)
    with pytest.raises(WrongOperation, match="at most 4000 operations, not 4001"):
        book.write([3, "t", 0, [1], [add] * (OPERATORS_MAX + 1)])


def test_update_cannot_change_the_primary_key_or_break_the_format(book: Book) -> None:
    with pytest.raises(WrongOperation, match="primary key"):
        book.write([3, "t", 0, [1], [["=", "id", 2]]])
    with pytest.raises(WrongTuple):
        book.write([3, "t", 0, [1], [["=", "n", "text"]]])


def test_upsert_inserts_or_updates_and_returns_nothing(book: Book) -> None:
    for expected in ([5, "u", 1], [5, "u", 2]):
        assert book.write([4, "t", pack(5, "u", 1), [["+", 3, 1]]]) == [None]
        assert book.state.get("t", 0, [5]) == pack(*expected)


def test_delete_returns_what_was_there(book: Book) -> None:
    assert book.write([5, "t", "tag", ["a"]]) == [pack(1, "a", 10)]
    assert book.write([5, "t", 0, [1]]) == [None]
    assert book.all() == []
    assert book.all("t", "tag") == []


def test_truncate_is_one_effect_and_what_follows_stays(book: Book) -> None:
    book.write([1, "t", pack(2, "b")], [6, "t"], [1, "t", pack(3, "a")])
    assert [space for space, _, _ in effects(book)] == [512, 330, 512]
    assert book.all() == [[3, "a"]]
    assert book.all("t", "tag") == [[3, "a"]]


def test_truncate_of_an_asynchronous_space_is_asynchronous(book: Book) -> None:
    assert not book.append(Request(ops=[[6, "t"]])).sync
    book.space("s", is_sync=True)
    assert book.append(Request(ops=[[6, "s"]])).sync


def test_effects_on_one_key_are_one(book: Book) -> None:
    book.write([2, "t", pack(4, "d")], [3, "t", 0, [4], [["=", 3, 9]]], [1, "t", pack(6, "f")])
    assert [row for _, _, row in effects(book)] == [pack(4, "d", 9), pack(6, "f")]
    book.write([1, "t", pack(7, "g")], [5, "t", 0, [7]])
    assert [row for _, _, row in effects(book)] == [None]


def test_operations_see_those_before_them(book: Book) -> None:
    book.write([1, "t", pack(2, "b", 1)], [3, "t", "tag", ["b"], [["=", "tag", "c"]]])
    with pytest.raises(DuplicateKey):
        book.write([1, "t", pack(3, "x")], [1, "t", pack(4, "x")])


def test_a_unique_index_refuses_a_second_key_but_takes_many_nils(book: Book) -> None:
    with pytest.raises(DuplicateKey, match=r'index "tag": another tuple has the key \[\'a\'\]'):
        book.write([1, "t", pack(2, "a")])
    book.space("loose")
    book.write(
        [13, "loose", "by", {"parts": [{"field": 2, "type": "string", "is_nullable": True}]}],
        [1, "loose", pack(1)],
        [1, "loose", pack(2, None)],
        [1, "loose", pack(3, "c")],
    )
    assert book.all("loose", "by") == [[1], [2, None], [3, "c"]]
    with pytest.raises(WrongKey, match="nil"):
        book.state.get("loose", "by", [None])


def test_unique_keys_may_change_hands_within_a_transaction(book: Book) -> None:
    """The log has one effect a tuple, so a follower sees other steps than the leader did."""
    book.write([1, "t", pack(2, "b")])
    swap: list[list[object]] = [
        [3, "t", 0, [1], [["=", 2, "spare"]]],
        [3, "t", 0, [2], [["=", 2, "a"]]],
        [3, "t", 0, [1], [["=", 2, "b"]]],
    ]
    book.write(*swap)
    for state in (book.state, book.follower()):
        assert state.get("t", "tag", ["a"]) == pack(2, "a")
        assert state.get("t", "tag", ["b"]) == pack(1, "b", 10)
        assert state.count("t", "tag") == 2
        assert state.get("t", "tag", ["spare"]) is None


def test_a_transaction_that_fails_leaves_nothing(book: Book) -> None:
    before = book.state.digests(), book.state.overlay_rows
    with pytest.raises(DuplicateKey):
        book.write([1, "t", pack(8, "h")], [1, "t", pack(1, "x")])
    assert (book.state.digests(), book.state.overlay_rows) == before


def test_conditions_hold_or_the_transaction_conflicts(book: Book) -> None:
    put = [2, "t", pack(1, "a", 11)]
    book.pend([20, "t", 0, [1], pack(1, "a", 10)], put)
    with pytest.raises(Conflict):
        book.pend([20, "t", 0, [1], pack(1, "a", 10)], put)
    book.pend([20, "t", 0, [9], None])
    book.pend([21, "t", 0, [1], True], [21, "t", 0, [9], False])
    for op in ([21, "t", 0, [9], True], [21, "t", 0, [1], False], [20, "t", 0, [9], pack(9)]):
        with pytest.raises(Conflict):
            book.pend(op)


def test_an_expected_tuple_may_be_written_in_another_way(book: Book) -> None:
    book.write([20, "t", 0, [1], b"\x9f\x18\x01\x61\x61\x0a\xff"])


def test_it_executes_against_what_is_pending(book: Book) -> None:
    book.pend([3, "t", 0, [1], [["+", 3, 1]]])
    book.pend([3, "t", 0, [1], [["+", 3, 1]]])
    assert book.state.get("t", 0, [1]) == pack(1, "a", 10)
    assert book.state.get("t", 0, [1], head=True) == pack(1, "a", 12)


def test_what_makes_a_transaction_synchronous(book: Book) -> None:
    def sync(*ops: list[object], sync: bool | None = None) -> bool:
        return book.state.execute(Request(ops=ops, sync=sync), at=Position(Term(1), Index(9))).sync

    book.space("s", is_sync=True)
    assert not sync([2, "t", pack(1, "a")])
    assert not sync([2, "t", pack(1, "a")], sync=False)
    assert sync([2, "t", pack(1, "a")], sync=True)
    assert sync([2, "s", pack(1)], sync=False)
    assert sync([2, "t", pack(1, "a")], [2, "s", pack(1)])
    assert sync([10, "new", {}])
    assert not sync([30, b"other"]), "a session is behind nothing that its requests are not"
    assert sync([5, "s", 0, [1]]), "that nothing was there is a claim that needs a quorum"
    assert sync([21, "s", 0, [1], False], [2, "t", pack(1, "a")]), "so is a condition"
    assert not sync([5, "t", 0, [1]])


@pytest.mark.parametrize(
    ("op", "error"),
    [
        ([1, "nowhere", pack(1)], NoSuchSpace),
        ([1, 9999, pack(1)], NoSuchSpace),
        ([1, [], pack(1)], ProtocolError),
        ([3, "t", "nowhere", [1], []], NoSuchIndex),
        ([1, "t", [1]], WrongTuple),
        ([1, "t", pack(-1)], WrongTuple),
        ([1, "t", pack("x", "y")], WrongTuple),
        ([5, "t", 0, ["x"]], WrongKey),
        ([5, "t", 0, []], WrongKey),
        ([5, "t", 0, 1], WrongKey),
        ([5, "t", 0, [1, 2]], WrongKey),
        ([3, "t", 0, [1], 7], WrongOperation),
        ([1, "_space", pack(1)], WrongSchema),
        ([5, "_session", 0, [b""]], WrongSchema),
        ([6, "_cluster"], WrongSchema),
        ([30, "text"], ProtocolError),
        ([30, b""], ProtocolError),
        ([30, b"s" * 49], ProtocolError),
        ([99], ProtocolError),
        (["insert", "t", pack(1)], ProtocolError),
        ([1, "t"], ProtocolError),
        ([], ProtocolError),
        (7, ProtocolError),
        ([True, "t", pack(1, "a")], QsyncError),
        ([[], 1], ProtocolError),
    ],
)
def test_what_a_client_gets_wrong_is_refused(book: Book, op: list[object], error: type) -> None:
    with pytest.raises(error):
        book.write(op)
    with pytest.raises(error):
        book.write([2, "t", pack(50, "fine")], op)


def test_a_key_with_too_many_parts_is_told_how_many_the_index_has(book: Book) -> None:
    with pytest.raises(WrongKey) as refused:
        book.write([5, "t", 0, [1, 2]])
    assert refused.value.message == 'index "primary" has 1 part, the key has 2'


def limited(**limits: int) -> DataState:
    book = Book()
    book.space()
    state = book.follower()
    state.limits = Limits(**limits)
    return state


def test_limits_are_named_and_reached() -> None:
    big, small = pack(1, "x" * 100), pack(1, "x")
    with pytest.raises(TooLarge, match="at most 50") as caught:
        limited(tuple_bytes_max=50).execute(Request(ops=[[2, "t", big]]))
    assert caught.value.details == {"limit": "limits.tuple_bytes_max", "most": 50}
    with pytest.raises(TooLarge, match="at most 50"):
        limited(tuple_bytes_max=50).execute(Request(ops=[[2, "t", small], [2, "t", big]]))
    with pytest.raises(TooLarge, match=r"at most 150.*`limits\.txn_bytes_max`"):
        limited(txn_bytes_max=150).execute(
            Request(ops=[[2, "t", pack(n, "x" * 60)] for n in (1, 2)])
        )
    with pytest.raises(TooLarge, match=r"at most 2 operations, not 3.*`OPS_MAX`"):
        limited(ops_max=2).execute(Request(ops=[[2, "t", small]] * 3))


@pytest.mark.parametrize(
    "op", [[3, "t", 0, [1], [["=", 2, "y"]]], [4, "t", pack(1, "x"), [["=", 2, "y"]]]]
)
def test_what_a_transaction_replaces_itself_counts_as_well(book: Book, op: list[object]) -> None:
    """Else a small request makes a large tuple anew thousands of times, and keeps each."""
    book.write([2, "t", pack(1, "x", 1, "x" * 90)])
    book.state.limits = Limits(txn_bytes_max=300)
    book.state.execute(Request(ops=[op] * 3))
    with pytest.raises(TooLarge, match=r"puts or returns.*`limits\.txn_bytes_max`"):
        book.state.execute(Request(ops=[op] * 4))


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("index", [0, 1])
def test_nobody_keeps_a_node_busy_with_what_a_transaction_says_that_it_read(
    book: Book, index: int, folded: bool
) -> None:
    """Each range is looked through again, for a user who may read no more than one space."""
    book.write([10, "read", {"format": [["id", "unsigned"]], "primary": [[1]]}])
    book.write([13, "read", "second", {"parts": [[1]], "unique": False}])
    book.write(*([1, "read", pack(n)] for n in range(10)))
    if folded:
        book.fold()
    everything = ["r", "read", index, "all", []]
    book.state.limits = Limits(validated_max=50)
    book.state.execute(Request(reads=[everything] * 2, snapshot=int(book.last)))
    with pytest.raises(TooLarge, match="at most 50 rows and changes to look at") as caught:
        book.state.execute(Request(reads=[everything] * 51, snapshot=int(book.last)))
    assert caught.value.details == {"limit": "VALIDATED_MAX", "most": 50}


def test_a_key_has_a_limit(book: Book) -> None:
    book.write([10, "long", {"format": [["k", "string"]], "primary": [[1, "string"]]}])
    with pytest.raises(TooLarge, match=r"4096.*`KEY_BYTES_MAX`"):
        book.write([1, "long", pack("x" * 5000)])
    with pytest.raises(TooLarge, match="4096"):
        book.write([1, "t", pack(9, "x" * 5000)])


def test_the_body_written_by_hand_is_what_cbor_would_write(book: Book) -> None:
    book.space("plain")
    book.write(OPEN)
    for seq, length in enumerate((0, 1, 20, 23, 24, 200, 255, 256, 1100, 70_000), 1000):
        row = pack(length, "x" * length, 2**40)
        book.write([2, "plain", row], seq=seq, low=seq - 10)
        key = b"\x05" + length.to_bytes(8, "big")
        expected = cbor2.dumps([book.session, seq, seq - 10, [[513, key, row]]])
        assert book.log[-1].body == expected
        book.write([2, "plain", row], [5, "plain", 0, [length]])
        assert book.log[-1].body == cbor2.dumps([b"", 0, 0, [[513, key, None]]])


def test_a_retry_gets_the_results_of_the_first_attempt(book: Book) -> None:
    book.write(OPEN)
    ops: list[list[object]] = [
        [2, "t", pack(2, "b")],
        [3, "t", 0, [2], [["=", 3, 1]]],
        [5, "t", 0, [1]],
        [4, "t", pack(3, "c"), []],
        [5, "t", 0, [77]],
        [1, "t", pack(4, "d")],
    ]
    results = book.write(*ops, seq=1, low=1)
    assert results == [pack(2, "b"), pack(2, "b", 1), pack(1, "a", 10), None, None, pack(4, "d")]
    assert book.state.read_results(book.log[-1].body) == results
    results = book.write([2, "t", pack(4, "e")], seq=2, low=1)
    assert book.state.read_results(book.log[-1].body) == results


def test_a_preview_shows_a_transaction_its_own_writes(book: Book) -> None:
    ops: list[list[object]] = [[1, "t", pack(2, "b")], [5, "t", 0, [1]]]
    assert book.state.preview(ops, "t", "tag", ["b"]) == pack(2, "b")
    assert book.state.preview(ops, "t", 0, [1]) is None
    assert book.state.select("t", 0, "all", ops=ops) == [pack(2, "b")]
    assert book.state.count("t", ops=ops) == 1
    assert book.all() == [[1, "a", 10]]


class TestOptimisticReads:
    """A transaction is refused when something of what it read has changed since its snapshot."""

    KEY = ("k", "t", 0, [1])
    GAP = ("k", "t", 0, [3])
    RANGE = ("r", "t", 0, "ge", [2])
    TAGS: tuple[object, ...] = ("r", "t", "tag", "all", [])

    def request(self, snapshot: int, *reads: Sequence[object]) -> Request:
        put = [2, "t", pack(100, "mine")]
        return Request(ops=[put], snapshot=snapshot, reads=[list(read) for read in reads])

    def fails(self, book: Book, snapshot: int, read: Sequence[object]) -> bool:
        try:
            book.state.execute(self.request(snapshot, read))
        except Conflict:
            return True
        return False

    @pytest.mark.parametrize("folded", [False, True])
    def test_what_changed_decides(self, book: Book, folded: bool) -> None:
        book.write([1, "t", pack(2, "b", 0)])
        before = book.last
        if folded:
            book.fold(before)
        reads = (self.KEY, self.GAP, self.RANGE, self.TAGS)
        assert [self.fails(book, before, read) for read in reads] == [False] * 4
        changes: list[tuple[list[object], list[bool]]] = [
            ([3, "t", 0, [1], [["+", 3, 1]]], [True, False, False, True]),
            ([1, "t", pack(3, "c")], [False, True, True, True]),
            ([5, "t", 0, [2]], [False, False, True, True]),
        ]
        for op, expected in changes:
            now = book.last
            book.write(op)
            assert [self.fails(book, now, read) for read in reads] == expected
            if folded:
                book.fold()
                assert [self.fails(book, now, read) for read in reads] == expected
            assert [self.fails(book, book.last, read) for read in reads] == [False] * 4

    def test_pending_changes_count(self, book: Book) -> None:
        snapshot = book.last
        book.pend([3, "t", 0, [1], [["+", 3, 1]]])
        assert self.fails(book, snapshot, self.KEY)

    def test_changes_that_were_rolled_back_do_not_count(self, book: Book) -> None:
        snapshot = book.last
        book.pend([3, "t", 0, [1], [["+", 3, 1]]])
        book.state.roll_back(book.last, book.last)
        assert not self.fails(book, snapshot, self.KEY)

    def test_a_snapshot_too_old_to_tell_conflicts(self, book: Book) -> None:
        book.fold()
        state = DataState(book.store, folded=book.store.folded)
        request = self.request(book.store.folded - 1, self.KEY)
        with pytest.raises(Conflict, match="remembered"):
            state.execute(request)
        state.execute(self.request(book.store.folded, self.KEY))

    def test_only_so_many_folded_keys_are_remembered(self, book: Book) -> None:
        book.state.footprints._keys_max = 10
        snapshot = book.last
        for number in range(20, 40):
            book.write([1, "t", pack(number, str(number))])
            book.fold()
        assert self.fails(book, snapshot, self.KEY)
        assert not self.fails(book, book.last - 2, self.KEY)
        assert self.fails(book, book.last - 2, self.RANGE)

    def test_a_read_set_that_makes_no_sense_is_refused(self, book: Book) -> None:
        with pytest.raises(WrongKey):
            book.state.execute(self.request(book.last, ("x", "t")))


def test_every_operation_has_a_number_of_its_own() -> None:
    assert len(set(Op)) == len(Op.__members__)
