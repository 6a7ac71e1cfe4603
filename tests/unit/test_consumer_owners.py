"""A consumer of the log belongs to who registered it: others keep their hands off."""

import itertools
from collections.abc import Sequence
from typing import Final

import cbor2
import pytest

from qsync import features
from qsync.consumer import (
    CONSUMERS_MAX,
    CONSUMERS_PER_USER_MAX,
    Consumer,
    ConsumerKind,
    consumer_of,
)
from qsync.data import consumers, schema
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.errors import AccessDenied, Compacted, Overloaded, QsyncError, TooLarge, WrongOperation
from qsync.rights import LOCAL_ADMIN
from tests.unit.book import Book

REGISTER, ADVANCE, LET_GO, DROP = (
    Op.REGISTER_CONSUMER,
    Op.ADVANCE_CONSUMER,
    Op.LET_GO_CONSUMER,
    Op.DROP_CONSUMER,
)
ENABLED: Final = features.text_of({features.USERS, features.CONSUMER_OWNERS})
HELD: Final = {
    "ann": ["read"],
    "bob": ["read"],
    "warden": ["member"],
    "chief": ["read", "member"],
    "plain": [],
    "all": ["super"],
}
"""What each user has everywhere, beside what everybody has."""


def user_of(name: str) -> list[object]:
    return [Op.CREATE_USER, name, None]


def users_book(*, owners: bool = True) -> Book:
    """`old` was registered when nobody could own it, `of ann` by her."""
    book = Book()
    book.write([Op.ENABLE_USERS, bytes(32)], user_of("root"))
    book.write(register("old"))
    if owners:
        book.write([Op.CHANGE_SETTINGS, {features.SETTING: ENABLED}])
    for name, held in HELD.items():
        grants = [[Op.GRANT, name, held, "universe", ""]] if held else []
        book.write(user_of(name), *grants)
    ask(book, "ann", register("of ann"))
    return book


def register(name: str, at: int | None = None) -> list[object]:
    return [REGISTER, name, "subscriber", at, "on host 7"]


def operation(op: Op, name: str) -> list[object]:
    rest: dict[Op, list[object]] = {REGISTER: ["archive", None, ""], ADVANCE: [2]}
    return [op, name, *rest.get(op, [])]


def ask(book: Book, user: str | None, *ops: list[object]) -> Sequence[object]:
    """What is done is visible at once."""
    done = book.append(Request(ops=ops, user=user))
    book.state.see(book.last)
    return [None if each is None else cbor2.loads(each) for each in done.results]


def refusal(book: Book, user: str | None, *ops: list[object]) -> QsyncError | None:
    """Why it is refused; nothing is written."""
    try:
        book.state.execute(Request(ops=ops, user=user))
    except QsyncError as error:
        return error
    return None


def stored(book: Book) -> dict[str, Consumer]:
    rows = book.state.select(schema.GC_CONSUMERS)
    return {each.name: each for each in consumers.consumers_of(rows)}


def owner(book: Book, name: str) -> str:
    return stored(book)[name].owner


def test_it_belongs_to_who_registered_it_whatever_becomes_of_it() -> None:
    book = users_book()
    assert stored(book)["of ann"] == Consumer(
        *("of ann", ConsumerKind.SUBSCRIBER, stored(book)["of ann"].index),
        about="on host 7",
        owner="ann",
    )
    last = int(book.last)
    assert ask(book, "ann", [ADVANCE, "of ann", last]) == [
        ["of ann", "subscriber", last, "on host 7", False, "ann"]
    ]
    ask(book, None, [LET_GO, "of ann"])
    assert owner(book, "of ann") == "ann", "the leader let it go, and it is hers"
    ask(book, "chief", register("of ann", 3))
    assert owner(book, "of ann") == "ann", "registered again in her place"
    ask(book, LOCAL_ADMIN, register("of the machine"))
    assert owner(book, "of the machine") == LOCAL_ADMIN


MAY: Final = {
    ("of ann", REGISTER): {"ann", "chief", "all"},
    ("of ann", ADVANCE): {"ann", "chief", "all"},
    ("of ann", LET_GO): {"ann", "warden", "chief", "all"},
    ("of ann", DROP): {"ann", "warden", "chief", "all"},
    ("old", REGISTER): {"ann", "bob", "chief", "all"},
    ("old", ADVANCE): {"ann", "bob", "chief", "all"},
    ("old", LET_GO): {"warden", "chief", "all"},
    ("old", DROP): {"warden", "chief", "all"},
    ("missing", REGISTER): {"ann", "bob", "chief", "all"},
    ("missing", ADVANCE): {"ann", "bob", "chief", "all"},
    ("missing", LET_GO): {"warden", "chief", "all"},
    ("missing", DROP): {"ann", "bob", "warden", "chief", "all"},
}
"""Who may do what with the consumer of ann, one of nobody, and one that is not there."""


def test_who_may_do_what_with_whose_consumer_is_as_written_here() -> None:
    book = users_book()
    wrong = []
    for (name, op), user in itertools.product(MAY, HELD):
        error = refusal(book, user, operation(op, name))
        if isinstance(error, AccessDenied) is (user in MAY[name, op]):
            wrong.append((name, op.name, user, error))
        assert error is None or isinstance(error, AccessDenied | Compacted), error
    assert wrong == []


def test_where_owners_are_not_enabled_rows_and_rights_are_those_of_former_releases() -> None:
    """An older release may still be a member, or lead."""
    book = users_book(owners=False)
    assert len(stored(book)["of ann"].row()) == 5
    assert owner(book, "of ann") == ""
    for op, user in itertools.product((REGISTER, ADVANCE, LET_GO, DROP), HELD):
        error = refusal(book, user, operation(op, "of ann"))
        assert isinstance(error, AccessDenied) is (user not in MAY["old", op]), (op, user)


def test_where_there_are_no_users_nobody_owns_anything() -> None:
    book = Book()
    for user in ("", LOCAL_ADMIN, None):
        (row,) = ask(book, user, register(f"by {user}"))
        assert isinstance(row, list)
        assert len(row) == 5
    assert ask(book, "", [DROP, "by admin"])[0] is not None


def test_a_row_of_a_former_release_has_no_owner_and_is_written_as_it_was() -> None:
    row = ["s", "archive", 3, "", False]
    assert consumer_of(row).row() == row
    assert consumer_of(row).owner == ""
    assert consumer_of([*row, None]).row() == row
    assert consumer_of([*row, "ann"]).row() == [*row, "ann"]
    assert consumer_of([*row, "ann", "later"]).owner == "ann"


def test_the_refusal_names_the_consumer_its_owner_and_the_right() -> None:
    error = refusal(users_book(), "bob", [ADVANCE, "of ann", 2])
    assert isinstance(error, AccessDenied)
    assert error.message == (
        "consumer \"of ann\" belongs to user 'ann', and user 'bob' lacks the right member on the "
        "universe"
    )
    assert "its owner" in error.hint
    assert error.details == {
        "user": "bob",
        "privilege": "member",
        "space": None,
        "consumer": "of ann",
        "owner": "ann",
    }
    plain = refusal(users_book(), "plain", [ADVANCE, "of ann", 2])
    assert isinstance(plain, AccessDenied)
    assert "owner" not in plain.details, "who could not even move his own is told that"
    assert plain.details["privilege"] == "read"


@pytest.mark.parametrize("name", ["", 7, None, b"of ann", "x" * 201, ["of ann"], {"a": 1}])
def test_what_is_no_name_is_refused_as_such(name: object) -> None:
    for op in (REGISTER, ADVANCE, DROP):
        error = refusal(users_book(), "bob", [op, name, *operation(op, "")[2:]])
        assert error is not None
        assert not isinstance(error, AccessDenied | Compacted)


def test_a_transaction_is_judged_by_the_rows_before_it_and_as_a_whole() -> None:
    book = users_book()
    for ops in (
        [register("new"), [ADVANCE, "of ann", 2]],
        [[DROP, "new"], register("of ann", 1)],
        [[ADVANCE, "old", 1], [DROP, "of ann"], register("of ann")],
    ):
        error = refusal(book, "bob", *ops)
        assert isinstance(error, AccessDenied), ops
    ask(book, "ann", [DROP, "of ann"], register("of ann", 2))
    assert owner(book, "of ann") == "ann"
    ask(book, "chief", [DROP, "of ann"], register("of ann", 2))
    assert owner(book, "of ann") == "chief", "dropped and registered anew, by who may drop it"
    assert isinstance(refusal(book, "ann", [ADVANCE, "of ann", 3]), AccessDenied)


def test_nobody_keeps_a_node_busy_with_one_transaction_of_changes_of_consumers() -> None:
    book, most = users_book(), CONSUMERS_MAX
    for user in ("ann", "bob", "plain", "all"):
        error = refusal(book, user, *[[ADVANCE, "of ann", 2]] * (most + 1))
        assert isinstance(error, TooLarge), "before a row is looked at"
        assert error.details["limit"] == "CONSUMERS_MAX"
    assert refusal(book, "ann", *[[ADVANCE, "of ann", 2]] * most) is None


def test_what_belonged_to_a_user_who_is_dropped_is_the_administrators() -> None:
    book = users_book()
    ask(book, "bob", register("of bob"))
    before = stored(book)["of ann"]
    ask(book, "all", [Op.DROP_USER, "ann", None], user_of("ann"), grant_of("ann"))
    after = stored(book)["of ann"]
    assert (after.owner, after.index, after.let_go) == (LOCAL_ADMIN, before.index, False)
    assert owner(book, "of bob") == "bob"
    for user in ("ann", "bob"):
        for op in (REGISTER, ADVANCE, LET_GO, DROP):
            error = refusal(book, user, operation(op, "of ann"))
            assert isinstance(error, AccessDenied), "the new ann is another one"
            assert error.details["owner"] == LOCAL_ADMIN
    assert refusal(book, "warden", [DROP, "of ann"]) is None
    assert refusal(book, LOCAL_ADMIN, [ADVANCE, "of ann", int(book.last)]) is None


def grant_of(name: str) -> list[object]:
    return [Op.GRANT, name, "read", "universe", ""]


def test_dropping_a_user_who_has_none_touches_no_consumer() -> None:
    book = users_book()
    done = book.append(Request(ops=[[Op.DROP_USER, "bob", None]], user="all"))
    assert [key for key, _ in done.writes if key[0] == schema.GC_CONSUMERS] == []
    assert isinstance(refusal(book, "all", [Op.DROP_USER, "nobody", None]), WrongOperation)


def test_a_right_counts_when_it_is_confirmed_and_its_loss_at_once() -> None:
    book = users_book()
    book.pend([Op.GRANT, "bob", "member", "universe", ""])
    assert isinstance(refusal(book, "bob", [ADVANCE, "of ann", 2]), AccessDenied)
    book.state.see(book.last)
    assert refusal(book, "bob", [ADVANCE, "of ann", 2]) is None
    book.pend([Op.REVOKE, "bob", "member", "universe", ""])
    assert isinstance(refusal(book, "bob", [ADVANCE, "of ann", 2]), AccessDenied)
    book.pend([Op.REVOKE, "ann", "read", "universe", ""])
    assert isinstance(refusal(book, "ann", [ADVANCE, "of ann", 2]), AccessDenied)


def test_what_is_not_confirmed_yet_belongs_to_who_registers_it() -> None:
    """Whether the refusal of another rests on it is seen by what readers see."""
    book = users_book()
    book.append(Request(ops=[register("new")], user="ann"))
    assert isinstance(refusal(book, "bob", [ADVANCE, "new", 2]), AccessDenied)
    assert refusal(book, "ann", [ADVANCE, "new", 2]) is None
    with pytest.raises(Compacted):
        book.state.execute(Request(ops=[[ADVANCE, "new", 2]], user="bob"), visible=True)


def test_members_belong_to_nobody_and_readers_leave_them_alone() -> None:
    book = users_book()
    ask(book, None, [Op.MOVE_REPLICA, "uuid", 2])
    assert owner(book, "uuid") == ""
    assert isinstance(refusal(book, "bob", [DROP, "uuid"]), AccessDenied)
    assert isinstance(refusal(book, "bob", [LET_GO, "uuid"]), AccessDenied)
    assert isinstance(refusal(book, "chief", [ADVANCE, "uuid", 2]), WrongOperation)


def test_one_user_leaves_room_for_the_consumers_of_others() -> None:
    book = users_book()
    some = [register(f"of bob {number}") for number in range(CONSUMERS_PER_USER_MAX)]
    ask(book, "bob", *some[1:], some[1])
    assert refusal(book, "bob", some[0]) is None
    error = refusal(book, "bob", some[0], register("one more"))
    assert isinstance(error, Overloaded)
    assert error.details == {"limit": "CONSUMERS_PER_USER_MAX", "most": CONSUMERS_PER_USER_MAX}
    ask(book, "bob", some[0], some[7], [ADVANCE, "of bob 7", 2])
    for user, found in ("bob", Overloaded), ("ann", None), (LOCAL_ADMIN, None), (None, None):
        error = refusal(book, user, register("one more"))
        assert error is None if found is None else isinstance(error, found), user
    ask(book, "bob", [DROP, "of bob 7"])
    assert refusal(book, "bob", register("one more")) is None
    assert isinstance(refusal(book, "ann", *some[:2]), AccessDenied), "another's needs a right"
