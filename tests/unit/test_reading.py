"""Reads through any index, in both directions, against a sorted list."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.messages import Index
from qsync.data import schema
from qsync.data.keys import prefix
from qsync.data.overlay import Row
from qsync.data.reading import SLICE_BYTES, Query, Scan
from qsync.errors import Conflict, WrongKey, WrongTuple
from tests.unit.book import Book, pack, rows

ITERATORS = ("eq", "req", "gt", "ge", "lt", "le", "all")
TUPLES = st.dictionaries(
    st.tuples(st.integers(0, 3), st.text("ab\0", max_size=2)),
    st.tuples(st.none() | st.integers(-2, 2), st.integers(0, 3)),
    max_size=12,
)


def wide_book(held: dict[tuple[int, str], tuple[int | None, int]]) -> Book:
    """A space with a primary index of two parts and a secondary one with nils."""
    book = Book()
    format_ = [["a", "unsigned"], ["b", "string"], ["c", "integer?"], ["d", "unsigned"]]
    book.write(
        [10, "w", {"format": format_, "primary": ["a", "b"]}],
        [13, "w", "second", {"parts": ["c", "d"], "unique": False}],
    )
    for n, ((a, b), (c, d)) in enumerate(held.items()):
        book.write([2, "w", pack(a, b, c, d)])
        if n % 3 == 0:
            book.fold(book.last - n % 2)
    return book


def naive(
    held: dict[tuple[int, str], tuple[int | None, int]],
    index: int,
    iterator: str,
    key: list[object],
) -> list[list[object]]:
    """Sort everything, then filter by comparing as many parts as the key has."""

    def parts(row: Sequence[object]) -> list[tuple[bool, object]]:
        order = (0, 1) if index == 0 else (2, 3)
        return [(row[at] is not None, row[at] or (0 if at != 1 else "")) for at in order]

    wanted = [
        (part is not None, part or (0 if index or at == 0 else "")) for at, part in enumerate(key)
    ]
    all_: list[list[object]] = [[a, b, c, d] for (a, b), (c, d) in held.items()]
    all_.sort(key=lambda row: (parts(row), row[0], row[1]))
    if iterator in {"req", "lt", "le"}:
        all_.reverse()

    def fits(row: Sequence[object]) -> bool:
        mine = parts(row)[: len(wanted)]
        match iterator:
            case "eq" | "req":
                return mine == wanted
            case "gt":
                return mine > wanted or not wanted
            case "ge":
                return mine >= wanted
            case "lt":
                return mine < wanted or not wanted
            case "le":
                return mine <= wanted
            case _:
                return True

    return [row for row in all_ if fits(row)]


@given(TUPLES, st.data())
def test_select_and_count_equal_a_sorted_list(
    held: dict[tuple[int, str], tuple[int | None, int]], data: st.DataObject
) -> None:
    book = wide_book(held)
    for _ in range(8):
        iterator = data.draw(st.sampled_from(ITERATORS))
        index = data.draw(st.sampled_from([0, 1]))
        first = st.integers(0, 3) if index == 0 else st.none() | st.integers(-2, 2)
        second = st.text("ab\0", max_size=2) if index == 0 else st.integers(0, 3)
        whole = list(data.draw(st.tuples(first, second)))
        key = whole[: data.draw(st.integers(0, 2))]
        expected = naive(held, index, iterator, key)
        assert rows(book.state.select("w", index, iterator, key)) == expected
        assert book.state.count("w", index, iterator, key) == len(expected)
        limit, offset = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
        page = book.state.select("w", index, iterator, key, limit=limit, offset=offset)
        assert rows(page) == expected[offset : offset + limit]


@given(TUPLES, st.sampled_from(ITERATORS), st.sampled_from([0, 1]), st.integers(1, 4))
def test_pages_that_follow_each_other_are_the_whole(
    held: dict[tuple[int, str], tuple[int | None, int]], iterator: str, index: int, size: int
) -> None:
    state = wide_book(held).state
    key = [1] if iterator != "all" else []
    whole = state.select("w", index, iterator, key)
    found: list[bytes] = []
    while page := state.select(
        "w", index, iterator, key, limit=size, after=found[-1] if found else None
    ):
        found += page
    assert found == whole


@given(
    TUPLES, st.sampled_from(ITERATORS), st.sampled_from([0, 1]), st.integers(1, 4), st.booleans()
)
def test_slices_show_one_index_though_writes_and_folds_go_on(
    held: dict[tuple[int, str], tuple[int | None, int]],
    iterator: str,
    index: int,
    size: int,
    keeps: bool,
) -> None:
    book = wide_book(held)
    state, at = book.state, book.last
    query = Query("w", index, iterator, [1] if iterator != "all" else [], offset=1)
    whole = state.select("w", index, iterator, query.key, offset=1)
    scan = state.scan(query, keeps=keeps)
    state.pins.pin(at)
    number = 0
    while not scan.read(size):
        number += 1
        book.write([2, "w", pack(number % 4, "a" * (number % 3), number % 3, number)])
        book.write([5, "w", 0, [(number + 1) % 4, "b"]])
        assert book.fold() <= at
    assert scan.total == len(whole)
    assert scan.rows == (whole if keeps else [])
    state.pins.unpin(at)
    assert book.fold() == book.last
    assert state.rewinds == 0


class CountingReader:
    """Counts the rows that are taken from it."""

    def __init__(self, rows_: int, size: int) -> None:
        self.taken = 0
        self._rows = [(b"%08d" % n, bytes(size)) for n in range(rows_)]

    def get(self, key: bytes) -> bytes | None:
        """Not asked for."""
        raise AssertionError(key)

    def scan(self, lo: bytes, hi: bytes, *, reverse: bool = False) -> Iterator[Row]:
        """The rows from `lo` on."""
        assert hi
        assert not reverse
        for key, value in self._rows:
            if key >= lo[len(prefix(schema.SPACE, 0)) :]:
                self.taken += 1
                yield prefix(schema.SPACE, 0) + key, value


@pytest.mark.parametrize(("size", "most"), [(0, 10), (SLICE_BYTES // 3, 3)])
def test_a_slice_looks_at_no_more_rows_or_bytes_than_it_may(size: int, most: int) -> None:
    reader = CountingReader(25, size)
    scan = Scan(reader, Book().state.schemas.shown, Query("_space", None, "all"), keeps=True)
    slices = 1
    while not scan.read(10):
        assert reader.taken <= slices * most
        slices += 1
    assert scan.total == reader.taken == 25
    assert slices >= 25 / most


def test_what_was_taken_back_makes_a_scan_void(book: Book) -> None:
    state, at = book.state, book.last
    scan = state.scan(Query("w", 0, "all"), keeps=True)
    assert not scan.read(1)
    book.pend([2, "w", pack(9, "x", 9, 9)])
    state.cut(at)
    assert state.rewinds == 0  # nobody could read it
    state.cut(Index(at - 1))
    assert state.rewinds == 1


@given(TUPLES)
def test_get_finds_each_tuple_and_nothing_else(
    held: dict[tuple[int, str], tuple[int | None, int]],
) -> None:
    state = wide_book(held).state
    for a in range(4):
        for b in ("", "a", "\0", "zz"):
            expected = [[a, b, *held[a, b]]] if (a, b) in held else []
            row = state.get("w", 0, [a, b])
            assert rows([row] if row else []) == expected


@pytest.fixture
def book() -> Book:
    return wide_book({(n, "x"): (n, n) for n in range(4)})


def test_iterators_are_known_in_any_case(book: Book) -> None:
    assert book.state.select("w", None, "LE", [1]) == book.state.select("w", None, "le", [1])


def test_reads_that_make_no_sense_are_refused(book: Book) -> None:
    state = book.state
    with pytest.raises(WrongKey, match="iterator"):
        state.select("w", None, "near", [1])
    with pytest.raises(WrongKey, match="iterator"):
        state.select("w", None, 7, [1])
    with pytest.raises(WrongKey, match="iterator"):
        state.select("w", None, ["eq"], [1])
    with pytest.raises(WrongKey):
        state.select("w", None, "eq", 1)
    with pytest.raises(WrongKey):
        state.select("w", None, "eq", ["x"])
    with pytest.raises(WrongKey):
        state.select("w", None, "eq", [1, "x", 2])
    with pytest.raises(WrongKey):
        state.select("w", None, "all", limit=-1)
    with pytest.raises(WrongKey, match="not unique"):
        state.get("w", "second", [1, 1])
    with pytest.raises(WrongTuple):
        state.select("w", None, "all", after=pack("no", "tuple"))


def test_a_limit_may_be_more_than_there_ever_can_be(book: Book) -> None:
    everything = book.state.select("w", None, "all")
    assert everything
    for most in (2**63 - 1, 2**63, 2**64 - 1):
        assert book.state.select("w", None, "all", limit=most) == everything
        assert book.state.select("w", None, "all", limit=most, offset=most) == []
        assert book.state.select("w", None, "all", offset=most) == []


def test_pending_tuples_are_not_readable(book: Book) -> None:
    book.pend([2, "w", pack(9, "x", 9, 9)])
    book.pend([5, "w", 0, [0, "x"]])
    assert book.state.get("w", 0, [9, "x"]) is None
    assert book.state.count("w") == 4
    assert book.state.count("w", "second") == 4
    assert book.state.count("w", head=True) == 4
    assert book.state.get("w", 0, [9, "x"], head=True) == pack(9, "x", 9, 9)
    assert book.state.get("w", 0, [0, "x"], head=True) is None


def test_a_pinned_index_can_be_read_while_the_world_goes_on(book: Book) -> None:
    at = book.last
    before = book.all("w", "second")
    book.state.pins.pin(at)
    for number in range(4):
        book.write([3, "w", 0, [number, "x"], [["=", "c", -number]]])
    assert book.fold() == at
    assert rows(book.state.select("w", "second", "all", at=at)) == before
    book.state.pins.unpin(at)
    assert book.fold() == book.last
    with pytest.raises(Conflict):
        book.state.select("w", "second", "all", at=at)


def digest_of(book: Book, space: str) -> str:
    """Of one space, however few rows are looked at in one go."""
    whole = book.state.digest_scan(space)
    assert whole.read()
    for rows_max in (1, 2, 3):
        sliced = book.state.digest_scan(space)
        while not sliced.read(rows_max):
            pass
        assert sliced.found == whole.found
    return whole.found[space]


def test_digests_tell_spaces_apart(book: Book) -> None:
    first = digest_of(book, "w")
    book.write([2, "w", pack(9, "x", 9, 9)])
    assert digest_of(book, "w") != first
    book.write([5, "w", 0, [9, "x"]])
    assert digest_of(book, "w") == first
    assert "_session" not in book.state.digests()
    assert book.state.digests()["w"] == first
