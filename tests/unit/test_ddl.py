"""Schema changes: what they make, what they refuse, how they travel through the log."""

import pytest

from election.messages import Index
from qsync.data import keys, schema
from qsync.data.keys import FieldType
from qsync.data.state import DataState
from qsync.errors import (
    DuplicateKey,
    NoSuchIndex,
    NoSuchSpace,
    QsyncError,
    SpaceExists,
    WrongOperation,
    WrongSchema,
    WrongTuple,
)
from tests.unit.book import Book, pack, rows


@pytest.fixture
def book() -> Book:
    book = Book()
    book.space()
    return book


def fill(book: Book, count: int = 5) -> None:
    for number in range(1, count + 1):
        book.write([1, "t", pack(number, f"tag{number % 3}", -number)])


def both(book: Book) -> tuple[DataState, DataState]:
    """The leader, and a follower that has only the log."""
    return book.state, book.follower()


def test_a_space_has_what_it_was_made_with(book: Book) -> None:
    for state in both(book):
        space = state.spaces()["t"]
        assert space.id == 512
        assert not space.is_sync
        assert space.describe() == {
            "id": 512,
            "name": "t",
            "is_sync": False,
            "system": False,
            "format": [
                {"name": "id", "type": "unsigned"},
                {"name": "tag", "type": "string", "is_nullable": True},
                {"name": "n", "type": "integer", "is_nullable": True},
            ],
            "indexes": [
                {
                    "id": 0,
                    "name": "primary",
                    "unique": True,
                    "parts": [{"field": 0, "type": "unsigned"}],
                }
            ],
        }


def test_system_spaces_are_there_from_the_start() -> None:
    names = {"_schema", "_space", "_index", "_cluster", "_sequence", "_session", "_voting"}
    assert names <= set(Book().state.spaces())


@pytest.mark.parametrize("space", schema.SYSTEM, ids=lambda one: one.name)
def test_no_row_of_a_system_space_is_written_by_hand(
    book: Book, space: schema.SpaceDefinition
) -> None:
    """Who may write everywhere could otherwise spoil what new spaces are numbered by."""
    before = book.all(space.name)
    row = pack("max_id", "nothing")
    for op in ([1, space.name, row], [2, space.id, row], [6, space.name], [5, space.id, 0, ["a"]]):
        with pytest.raises(WrongSchema, match="operations of its own"):
            book.write(op)
    assert book.all(space.name) == before
    book.write([10, "another", None])


def test_definitions_are_rows_of_system_spaces(book: Book) -> None:
    ((id_, _, name, _, _, flags, format_),) = book.all("_space")
    assert (id_, name, flags) == (512, "t", {})
    assert format_[0] == {"name": "id", "type": "unsigned"}  # type: ignore[index]  # a list
    assert [row[:3] for row in book.all("_index")] == [[512, 0, "primary"]]
    assert rows([book.state.get("_space", "name", ["t"]) or b""])[0][0] == 512


@pytest.mark.parametrize(
    "fields",
    [
        [["id", "unsigned"], ["tag", "string", True]],
        [["id", "unsigned"], ["tag", "string", {"is_nullable": True}]],
        [["id", "unsigned"], ["tag", {"type": "string", "is_nullable": True}]],
        [{"name": "id", "type": "unsigned"}, {"name": "tag", "type": "str", "is_nullable": True}],
        [["id", "uint"], ["tag", "string?"]],
        [{1: "id", 2: "unsigned"}, {1: "tag", 2: "string", "is_nullable": True}],
        [["id", "unsigned"], {1: "tag", "type": "string", "is_nullable": True}],
    ],
)
def test_a_format_may_be_written_in_several_ways(fields: list[object]) -> None:
    book = Book()
    book.write([10, "s", {"format": fields}])
    made = book.state.spaces()["s"].fields
    assert [(f.name, f.type, f.nullable) for f in made] == [
        ("id", FieldType.UNSIGNED, False),
        ("tag", FieldType.STRING, True),
    ]


@pytest.mark.parametrize(
    "parts",
    [
        [[2, "string"], [1, "unsigned"]],
        [["tag", "string"], ["id", "unsigned"]],
        [["tag"], ["id"]],
        ["tag", "id"],
        [2, "string", 1, "unsigned"],
        [{"field": 2, "type": "string"}, {"field": "id"}],
        [[2, "string", {"is_nullable": True}], [1, {"type": "unsigned"}]],
        [{1: "tag", 2: "string", "is_nullable": True}, {1: 1, "type": "unsigned"}],
    ],
)
def test_parts_may_be_written_in_several_ways(book: Book, parts: list[object]) -> None:
    book.write([13, "t", "by", {"parts": parts, "type": "TREE"}])
    made = book.state.spaces()["t"].index("by").parts
    assert [(part.field, part.type) for part in made] == [
        (1, FieldType.STRING),
        (0, FieldType.UNSIGNED),
    ]
    assert made[0].nullable


def test_the_first_index_is_the_primary_one_on_the_first_field(book: Book) -> None:
    book.write([10, "s", {"format": [["name", "string"]]}])
    with pytest.raises(NoSuchIndex):
        book.write([1, "s", pack("x")])
    book.write([13, "s", "pk", {}], [1, "s", pack("x")])
    book.write([10, "free", {}], [13, "free", "pk", None], [1, "free", pack(1, "anything")])
    assert book.all("free") == [[1, "anything"]]


@pytest.mark.parametrize(
    ("op", "error"),
    [
        ([10, "t", {}], SpaceExists),
        ([10, "", {}], WrongSchema),
        ([10, 7, {}], WrongSchema),
        ([10, "x" * 300, {}], WrongSchema),
        ([10, "s", {"id": 512}], SpaceExists),
        ([10, "s", {"id": 5}], WrongSchema),
        ([10, "s", {"id": "5"}], WrongSchema),
        ([10, "s", {"sync": True}], WrongSchema),
        ([10, "s", {"is_local": True}], WrongSchema),
        ([10, "s", {"engine": "vinyl"}], WrongSchema),
        ([10, "s", {"is_sync": 1}], WrongSchema),
        ([13, "t", "by", {"type": "hash"}], WrongSchema),
        ([10, "s", {"format": "id"}], WrongSchema),
        ([10, "s", {"format": [f"f{n}" for n in range(10_001)]}], WrongSchema),
        ([10, "s", {"primary": [[1, "unsigned"]] * 256}], WrongSchema),
        ([11, "x" * 1_000_000, {}], NoSuchSpace),
        ([10, "s", {"format": [["id", "nothing"]]}], WrongSchema),
        ([10, "s", {"format": [["id", "any"], ["id", "any"]]}], WrongSchema),
        ([10, "s", {"format": [7]}], WrongSchema),
        ([10, "s", {"format": [{"name": "id", "nullable": True}]}], WrongSchema),
        ([10, "s", {"format": [["id", "string", {"collation": "unicode"}]]}], WrongSchema),
        ([10, "s", {"format": [{"name": "id", "is_nullable": "no"}]}], WrongSchema),
        ([10, "s", []], None),
        ([10, "s", "options"], WrongSchema),
        ([11, "nobody", {}], NoSuchSpace),
        ([11, "_space", {}], WrongSchema),
        ([11, "t", {"name": "_space"}], SpaceExists),
        ([11, "t", {"format": [["id", "string"]]}], WrongSchema),
        ([12, "_cluster"], WrongSchema),
        ([12, "nobody"], NoSuchSpace),
        ([13, "t", "primary", {}], SpaceExists),
        ([13, "t", "by", {"parts": []}], WrongSchema),
        ([13, "t", "by", {"parts": [["nobody", "string"]]}], WrongSchema),
        ([13, "t", "by", {"parts": [[0, "string"]]}], WrongSchema),
        ([13, "t", "by", {"parts": [["id", "string"]]}], WrongSchema),
        ([13, "t", "by", {"parts": [[9, "map"]]}], WrongSchema),
        ([13, "t", "by", {"parts": [[[], "map", 3, 4]]}], WrongSchema),
        ([13, "t", "by", {"parts": [{"field": "tag", "sort_order": "desc"}]}], WrongSchema),
        ([13, "t", "by", {"parts": [["tag", {"collation": "unicode_ci"}]]}], WrongSchema),
        ([13, "t", "by", {"parts": [{1: "tag", 2: "string", 3: "x"}]}], WrongSchema),
        ([13, "t", "by", {"parts": [{"field": "tag", "is_nullable": "no"}]}], WrongSchema),
        ([13, "t", "by", {"type": "rtree"}], WrongSchema),
        ([13, "t", "by", {"unique": "yes"}], WrongSchema),
        ([14, "t", "nobody"], NoSuchIndex),
        ([15, "nobody"], NoSuchSpace),
        ([16, "s", {"step": 0}], WrongSchema),
        ([16, "s", {"start": 5, "max": 4}], WrongSchema),
        ([16, "s", {"start": "5"}], WrongSchema),
    ],
)
def test_schema_changes_that_make_no_sense_are_refused(
    book: Book, op: list[object], error: type[QsyncError] | None
) -> None:
    before = book.state.digests()
    if error is None:
        book.write(op)
        return
    with pytest.raises(error):
        book.write(op)
    assert book.state.digests() == before


@pytest.mark.parametrize("field", [0, -1, "nobody"])
def test_a_field_that_is_not_there_is_refused_with_how_fields_are_named(
    book: Book, field: object
) -> None:
    with pytest.raises(WrongSchema, match=r"no field .*: fields are numbered from 1, or named"):
        book.write([13, "t", "by", {"parts": [[field, "string"]]}])


def test_if_not_exists_makes_it_idempotent(book: Book) -> None:
    assert book.write([10, "t", {"if_not_exists": True}]) == [None]
    assert book.write([13, "t", "primary", {"if_not_exists": True}]) == [None]
    for _ in range(2):
        book.write([16, "s", {"if_not_exists": True}])


def test_a_primary_index_is_unique_and_without_nil(book: Book) -> None:
    book.write([10, "s", {"format": [["a", "string?"]]}])
    for options in ({}, {"unique": False, "parts": [[2, "string"]]}):
        with pytest.raises(WrongSchema, match="primary"):
            book.write([13, "s", "pk", options])


def test_an_index_is_built_from_what_is_there(book: Book) -> None:
    fill(book)
    book.fold(book.last - 2)
    book.write([13, "t", "tag", {"parts": ["tag"], "unique": False}])
    expected = [[3, "tag0", -3], [1, "tag1", -1], [4, "tag1", -4], [2, "tag2", -2], [5, "tag2", -5]]
    for state in both(book):
        assert rows(state.select("t", "tag", "all")) == expected
    book.write([5, "t", 0, [1]], [3, "t", 0, [2], [["=", 2, "tag0"]]])
    book.fold()
    again = DataState(book.store, folded=book.store.folded)
    for state in (*both(book), again):
        assert rows(state.select("t", "tag", "all")) == [
            [2, "tag0", -2],
            [3, "tag0", -3],
            [4, "tag1", -4],
            [5, "tag2", -5],
        ]


def test_an_index_that_does_not_fit_what_is_there_is_refused(book: Book) -> None:
    fill(book)
    book.write([1, "t", pack(9)])
    with pytest.raises(DuplicateKey):
        book.write([13, "t", "tag", {"parts": ["tag"]}])
    with pytest.raises(WrongTuple):
        book.write([13, "t", "n", {"parts": [{"field": "n", "is_nullable": False}]}])
    book.write([13, "t", "n", {"parts": ["n"]}])


def test_a_dropped_index_leaves_nothing_behind(book: Book) -> None:
    fill(book)
    book.write([13, "t", "tag", {"parts": ["tag"], "unique": False}])
    with pytest.raises(WrongSchema, match="primary"):
        book.write([14, "t", "primary"])
    book.write([14, "t", "tag"])
    with pytest.raises(NoSuchIndex):
        book.state.select("t", "tag", "all")
    assert len(book.all()) == 5
    book.fold()
    assert not list(book.store.scan(keys.prefix(512, 1), keys.prefix(513, 0)))
    book.write([14, "t", "primary"], [13, "t", "other", {"parts": ["id"]}])
    assert book.all() == []


def test_a_dropped_space_takes_its_rows_and_a_new_one_starts_empty(book: Book) -> None:
    fill(book)
    book.write([13, "t", "tag", {"parts": ["tag"], "unique": False}], [6, "t"])
    fill(book)
    book.fold()
    book.write([12, "t"])
    for state in both(book):
        with pytest.raises(NoSuchSpace):
            state.get("t", 0, [1])
    book.space()
    assert book.state.spaces()["t"].id == 513
    assert book.all() == []
    book.fold()
    assert not list(book.store.scan(*keys.space_range(512)))
    assert book.all("_truncate") == []


def test_a_space_may_be_made_filled_and_dropped_in_one_transaction(book: Book) -> None:
    create: list[object] = [10, "s", {"primary": [[1, "unsigned"]]}]
    book.write(
        create,
        [1, "s", pack(1)],
        [13, "s", "by", {"parts": [[2, "string", {"is_nullable": True}]]}],
        [12, "s"],
    )
    book.write(create, [1, "s", pack(1)], [1, "t", pack(1)], [12, "t"])
    for state in both(book):
        assert "t" not in state.spaces()
        assert state.select("s", 0, "all") == [pack(1)]
    assert book.state.digests() == book.follower().digests()


def test_alter_renames_and_changes_what_is_allowed(book: Book) -> None:
    fill(book)
    book.write([11, "t", {"name": "u", "is_sync": True}])
    for state in both(book):
        space = state.spaces()["u"]
        assert (space.id, space.is_sync) == (512, True)
        assert "t" not in state.spaces()
        assert state.count("u") == 5
    assert book.state.get("_space", "name", ["t"]) is None
    book.write([11, "u", {"format": [["id", "integer"], ["tag", "any?"]]}])
    book.write([1, "u", pack(77, [1, 2])])
    with pytest.raises(WrongSchema, match="does not fit"):
        book.write([11, "u", {"format": [["id", "integer"], ["tag", "string"]]}])


def test_a_schema_change_is_pending_until_it_is_seen(book: Book) -> None:
    book.pend([10, "later", {"primary": [[1, "unsigned"]]}])
    book.pend([1, "later", pack(1)])
    assert "later" not in book.state.spaces()
    with pytest.raises(NoSuchSpace):
        book.state.get("later", 0, [1])
    book.state.see(Index(book.last - 1))
    assert book.state.get("later", 0, [1]) is None
    book.state.see(book.last)
    assert book.state.get("later", 0, [1]) == pack(1)


def test_a_rolled_back_schema_change_frees_its_names_and_ids(book: Book) -> None:
    book.pend([10, "gone", {"primary": [[1, "unsigned"]]}])
    book.pend([1, "gone", pack(1)])
    book.state.roll_back(Index(book.last - 1), book.last)
    book.state.see(book.last)
    book.space("kept")
    assert book.state.spaces()["kept"].id == 513
    assert book.all("kept") == []
    assert "gone" not in book.state.spaces()


def test_a_cut_schema_change_is_forgotten(book: Book) -> None:
    kept = book.last
    book.pend([12, "t"])
    book.pend([10, "gone", {}])
    book.state.cut(kept)
    assert "t" in book.state.spaces()
    del book.log[kept:]
    book.space("gone")
    assert book.state.spaces()["gone"].id == 513


def test_an_id_may_be_asked_for_and_the_next_ones_are_above(book: Book) -> None:
    book.space("s", id=700)
    book.space("u")
    assert [book.state.spaces()[name].id for name in ("s", "u")] == [700, 701]
    book.space("v", id=600)
    assert book.state.spaces()["v"].id == 600


def test_names_that_are_nearly_right_get_a_hint(book: Book) -> None:
    book.space("accounts")
    with pytest.raises(NoSuchSpace) as caught:
        book.state.get("acounts", 0, [1])
    assert "accounts" in caught.value.hint
    with pytest.raises(NoSuchIndex) as missing:
        book.state.get("t", "primry", [1])
    assert "primary" in missing.value.hint


def test_a_sequence_counts(book: Book) -> None:
    book.write([16, "s", {"start": 5, "step": 2}])
    values = [row[0][1] for row in (rows([book.write([15, "s"])[0] or b""]) for _ in range(3))]
    assert values == [5, 7, 9]
    assert rows(book.follower().select("_sequence_data")) == [[1, 9]]
    book.write([16, "other", {}])
    assert rows([book.write([15, "other"])[0] or b""]) == [[2, 1]]


def test_a_sequence_ends_or_begins_again(book: Book) -> None:
    book.write([16, "short", {"max": 2}], [15, "short"], [15, "short"])
    with pytest.raises(WrongOperation, match="used up"):
        book.write([15, "short"])
    results = book.write([16, "down", {"step": -1, "min": -2, "cycle": True}], *[[15, "down"]] * 3)
    values = [row[1] for row in rows([each for each in results[1:] if each is not None])]
    assert values == [-1, -2, -1]
