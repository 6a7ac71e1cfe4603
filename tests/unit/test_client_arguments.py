"""What a program gives to a call is taken as it is meant, or refused: never left out."""

import pytest

from qsync.client.rows import changes_of, encode_row
from qsync.errors import WrongTuple


@pytest.mark.parametrize(
    "changes",
    [
        {"balance": 5},
        ("=", "owner", "bob"),
        ["=owner"],
        [("=", "balance", 5), "owner"],
        [{"balance": 5}],
        "",
        b"=a",
        None,
        7,
        [7],
        [()],
        [("=",)],
    ],
)
def test_what_is_no_list_of_changes_is_refused(changes: object) -> None:
    """An update without a change succeeds, so a change that was dropped would look done."""
    with pytest.raises(WrongTuple, match="update operation"):
        changes_of(changes)  # type: ignore[arg-type]  # the mistake


def test_changes_may_come_in_any_list() -> None:
    wanted: list[object] = [["+", "balance", 1], ["#", 3, 1]]
    assert changes_of([("+", "balance", 1), ["#", 3, 1]]) == wanted
    assert changes_of(tuple(wanted)) == wanted  # type: ignore[arg-type]  # lists, all of them
    assert changes_of([]) == []


@pytest.mark.parametrize("row", [{"id": 1}, {1: "ann"}, {1, 2}, frozenset([1]), "ab", b"ab", 1])
def test_what_has_no_order_of_fields_is_no_tuple(row: object) -> None:
    """Of a map only the names of its fields would be stored."""
    with pytest.raises(WrongTuple, match="list of fields"):
        encode_row(row)  # type: ignore[arg-type]  # the mistake


def test_a_tuple_may_come_as_any_sequence() -> None:
    assert encode_row((1, "a")) == encode_row([1, "a"]) == encode_row({1: 1, "a": 2}.keys())  # type: ignore[arg-type]
