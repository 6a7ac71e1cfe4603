"""Users, roles and grants in the log, and the refusal of operations without a right."""

from collections.abc import Sequence

import pytest

from qsync import features, rights
from qsync.data import grants, needs, schema, tuples
from qsync.data.draft import SCHEMA_CHANGES_MAX
from qsync.data.fold import Fold
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.data.state import DataState
from qsync.errors import (
    AccessDenied,
    DuplicateKey,
    Overloaded,
    ProtocolError,
    QsyncError,
    TooLarge,
    WrongOperation,
    WrongSchema,
    WrongTuple,
)
from qsync.node import feed
from qsync.rights import LOCAL_ADMIN, Need, Privilege
from qsync.wire import verb_rights, verbs
from qsync.wire.verbs import Verb
from tests.unit.book import Book

KEY = bytes(32)
PASSWORD: dict[str, object] = {
    "salt": b"salt",
    "iterations": 4096,
    "stored": bytes(32),
    "server": bytes(32),
}


def users_book() -> Book:
    """Users are enabled; `root` was the first one, `ann` has nothing yet."""
    book = Book()
    book.space("mine", is_sync=True)
    book.space("other")
    book.write(
        [Op.ENABLE_USERS, KEY], [Op.CREATE_USER, "root", {"password": PASSWORD}], create("ann")
    )
    return book


def create(name: str) -> list[object]:
    return [Op.CREATE_USER, name, None]


def grant(who: str, what: str, on: str = "space", name: str = "mine") -> list[object]:
    return [Op.GRANT, who, what, on, name]


def revoke(who: str, what: str, on: str = "space", name: str = "mine") -> list[object]:
    return [Op.REVOKE, who, what, on, name]


def ask(
    book: Book,
    user: str | None,
    *ops: list[object],
    reads: Sequence[Sequence[object]] = (),
    snapshot: int = 0,
) -> QsyncError | None:
    """Why it is refused; nothing is written."""
    try:
        asked = Request(ops=ops, user=user, reads=reads, snapshot=snapshot)
        book.state.execute(asked)
    except QsyncError as error:
        return error
    return None


def put(space: object = "mine", id_: int = 1) -> list[object]:
    return [Op.REPLACE, space, tuples.encode([id_, "a", 1])]


def denied(error: QsyncError | None) -> Need:
    """What was missing."""
    assert isinstance(error, AccessDenied), error
    space = error.details["space"]
    assert space is None or isinstance(space, str | int)
    return Need(Privilege(str(error.details["privilege"])), space)


def test_without_users_nobody_is_asked_who_he_is() -> None:
    book = Book()
    book.space("mine")
    assert book.state.schemas.shown.rights is None
    assert ask(book, "", put()) is None
    assert ask(book, "stranger", put()) is None


def test_enabling_is_a_feature_of_the_log_and_is_done_once() -> None:
    book = users_book()
    assert features.enabled(book.state.schemas.shown.settings) == {features.USERS}
    book.write([Op.ENABLE_USERS, bytes(range(32))])
    rights = book.state.schemas.shown.rights
    assert rights is not None
    assert rights.key == KEY


def test_users_cannot_be_made_where_they_are_not_enabled() -> None:
    assert isinstance(ask(Book(), None, create("ann")), WrongOperation)


def test_the_first_user_may_do_everything_and_the_next_one_nothing() -> None:
    book = users_book()
    assert ask(book, "root", put(), create("bob"), grant("ann", "super", "universe", "")) is None
    assert denied(ask(book, "ann", put())) == Need(Privilege.WRITE, "mine")
    assert denied(ask(book, "ann", create("bob"))) == Need(Privilege.SUPER)
    assert denied(ask(book, "", put())) == Need(Privilege.SESSION)
    assert denied(ask(book, "gone", put())) == Need(Privilege.SESSION)


def test_the_node_itself_and_its_owner_need_no_grant() -> None:
    book = users_book()
    assert ask(book, None, put()) is None
    assert ask(book, LOCAL_ADMIN, put(), create("bob")) is None


def test_a_grant_is_on_one_space_by_name_or_number() -> None:
    book = users_book()
    book.write(grant("ann", "write"))
    assert ask(book, "ann", put("mine")) is None
    assert ask(book, "ann", put(book.state.schemas.shown.space("mine").id)) is None
    assert denied(ask(book, "ann", put("other"))) == Need(Privilege.WRITE, "other")


@pytest.mark.parametrize("name", ["_user", "_priv", "_session"])
def test_who_reads_everything_does_not_read_who_is_there_or_what_they_asked(name: str) -> None:
    book = users_book()
    book.write(grant("ann", "read", "universe", ""))
    found, name_of = book.state.schemas.shown.rights, book.state.schemas.shown.name_of
    assert found is not None
    need = Need(Privilege.READ, name)
    assert found.missing("ann", [need], name_of) == need
    assert found.missing("ann", [Need(Privilege.READ, "_space")], name_of) is None
    assert found.missing("root", [need], name_of) is None


def test_a_feed_of_everything_leaves_out_who_is_there_and_what_they_may() -> None:
    told = {schema.USER, schema.PRIV, schema.SESSION, schema.SPACE}
    everything = feed.filter_of(users_book().state.schemas.shown, None, ())
    assert {each for each in told if everything.wants((each, b"", b""))} == {schema.SPACE}


def test_what_is_refused_is_told_alike_whether_it_exists() -> None:
    book = users_book()
    book.write(grant("ann", "write"))
    foreign, missing = ask(book, "ann", put("other")), ask(book, "ann", put("absent"))
    assert str(foreign).replace("other", "absent") == str(missing)
    number = book.state.schemas.shown.space("other").id
    foreign, missing = ask(book, "ann", put(number)), ask(book, "ann", put(99_999))
    assert str(foreign).replace(str(number), "99999") == str(missing)


def test_nobody_is_told_of_names_that_are_like_the_one_he_gave() -> None:
    book = users_book()
    book.write(grant("ann", "write", name="oth*"))
    error = ask(book, "ann", put("othe"))
    assert error is not None
    assert "other" not in str(error)


def test_a_transaction_is_judged_as_a_whole() -> None:
    book = users_book()
    book.write(grant("ann", "write"))
    before = book.all("mine")
    assert denied(ask(book, "ann", put("mine"), put("other"))) == Need(Privilege.WRITE, "other")
    assert book.all("mine") == before


def test_a_prefix_covers_what_begins_so_and_what_will() -> None:
    book = users_book()
    book.write(grant("ann", "create,write,drop", name="orders.*"))
    made: list[object] = [Op.CREATE_SPACE, "orders.new", None]
    assert ask(book, "ann", made) is None
    assert denied(ask(book, "ann", [Op.CREATE_SPACE, "orders", None])).space == "orders"


def test_a_number_for_a_new_space_takes_the_right_to_create_any() -> None:
    """The log still tells of the rows of dropped spaces, and a feed goes by the number."""
    book = users_book()
    book.write(grant("ann", "create,read", name="orders.*"))
    number = book.state.schemas.shown.space("other").id
    book.write([Op.REPLACE, "other", tuples.encode([1, "secret", 1])])
    book.write([Op.DROP_SPACE, "other"])
    again: list[object] = [Op.CREATE_SPACE, "orders.x", {"id": number}]
    assert denied(ask(book, "ann", again)) == Need(Privilege.CREATE)
    book.write(grant("ann", "create", "universe", ""))
    assert ask(book, "ann", again) is None


def test_a_space_is_renamed_only_to_where_one_may_create() -> None:
    book = users_book()
    book.write(grant("ann", "alter,read,write,drop"))
    there: list[object] = [Op.ALTER_SPACE, "mine", {"name": "other2"}]
    assert denied(ask(book, "ann", there)) == Need(Privilege.CREATE, "other2")
    book.write(grant("ann", "create", name="other*"))
    assert ask(book, "ann", there) is None


@pytest.mark.parametrize("named", ["primary", 0, None, 0.0])
def test_who_may_alter_a_space_but_not_write_to_it_removes_no_rows(named: object) -> None:
    """With the primary index all rows go, as when it is truncated."""
    book = users_book()
    space = book.state.schemas.head.space("mine")
    book.write(put(), [Op.CREATE_INDEX, "mine", "second", {"parts": [[3]], "unique": False}])
    book.write(grant("ann", "alter"))
    for ref in ("mine", space.id):
        assert denied(ask(book, "ann", [Op.DROP_INDEX, ref, named])) == Need(Privilege.WRITE, ref)
    both: list[list[object]] = [[Op.DROP_INDEX, "mine", each] for each in ("second", named)]
    assert denied(ask(book, "ann", *both)) == Need(Privilege.WRITE, "mine")
    assert ask(book, "ann", both[0]) is None
    book.write(grant("ann", "write"))
    assert ask(book, "ann", *both) is None


@pytest.mark.parametrize("lacking", ["read", "write", "drop"])
def test_nobody_gets_more_rights_on_a_space_by_renaming_it(lacking: str) -> None:
    """Who has all rights on the new name would have them on the rows from then on."""
    book = users_book()
    held = {"alter", "read", "write", "drop"} - {lacking}
    book.write(grant("ann", ",".join(held)))
    book.write(grant("ann", "create,alter,read,write,drop", name="ann.*"))
    there: list[object] = [Op.ALTER_SPACE, "mine", {"name": "ann.mine"}]
    assert denied(ask(book, "ann", there)) == Need(Privilege(lacking), "mine")


def test_results_that_show_a_tuple_take_the_right_to_read_it() -> None:
    book = users_book()
    book.write(grant("ann", "write"))
    delete: list[object] = [Op.DELETE, "mine", 0, [1]]
    assert denied(ask(book, "ann", delete)) == Need(Privilege.READ, "mine")
    book.write(grant("ann", "read"))
    assert ask(book, "ann", delete) is None


@pytest.mark.parametrize("change", [["-", 2, 1 << 40], ["!", 2, "a"], ["#", 2, 1]])
def test_an_upsert_that_is_refused_does_not_show_what_is_stored(change: list[object]) -> None:
    """It takes no right to read, and its result shows nothing either."""
    book = users_book()
    fields = [["id", "unsigned"], ["secret", "unsigned"], ["tag", "string"]]
    book.write([Op.CREATE_SPACE, "kept", {"format": fields, "primary": [[1]]}])
    book.write([Op.INSERT, "kept", tuples.encode([1, 4711, "hidden"])])
    book.write(grant("ann", "write", name="kept"))
    error = ask(book, "ann", [Op.UPSERT, "kept", tuples.encode([1, 1, "a"]), [change]])
    assert isinstance(error, WrongTuple)
    told = f"{error.message} {error.hint} {error.details}"
    for each in ("4711", str(4711 - (1 << 40)), "hidden"):
        assert each not in told
    assert error.details["space"] == "kept"


_KEPT = [["id", "unsigned"], ["secret", "unsigned"], ["tag", "string"]]
_OVER_ROWS: dict[str, list[object]] = {
    "a unique index": [Op.CREATE_INDEX, "kept", "by_tag", {"parts": [[3, "string"]]}],
    "an index of a field that does not fit": [
        *(Op.CREATE_INDEX, "kept", "by_secret", {"parts": [[4, "string"]], "unique": False})
    ],
    "another format": [Op.ALTER_SPACE, "kept", {"format": [*_KEPT, ["rest", "string"]]}],
    "an upsert": [Op.UPSERT, "kept", tuples.encode([2, 1, "b", 1]), [["=", 2, 1]]],
}


@pytest.mark.parametrize("case", sorted(_OVER_ROWS))
def test_who_may_not_read_a_space_is_not_shown_the_rows_that_refuse_a_change(case: str) -> None:
    """Who may, is: it is by these values that the row is found."""
    book = users_book()
    book.write([Op.CREATE_SPACE, "kept", {"format": _KEPT, "primary": [[1]]}])
    parts = {"parts": [[3, "string"], [2, "unsigned"]]}
    book.write(*([Op.INSERT, "kept", tuples.encode([n, n, "hidden", 4711])] for n in (1, 2)))
    book.write([Op.CREATE_INDEX, "kept", "both", parts])
    book.write(create("bob"), grant("ann", "alter,write", name="kept"))
    book.write(grant("bob", "alter,write,read", name="kept"))
    secrets = ("4711", "hidden", "number 1")
    told = {}
    for who in ("ann", "bob"):
        error = ask(book, who, _OVER_ROWS[case])
        assert isinstance(error, DuplicateKey | WrongTuple | WrongSchema)
        assert error.details["space"] == "kept"
        text = f"{error.message} {error.hint} {error.details}"
        told[who] = [each for each in secrets if each in text]
    assert told["ann"] == []
    assert told["bob"] != []


def test_a_condition_on_what_was_read_takes_the_right_to_read() -> None:
    book = users_book()
    book.write(grant("ann", "write"))
    error = ask(book, "ann", put(), reads=[["k", "other", 0, [1]]], snapshot=int(book.last))
    assert denied(error) == Need(Privilege.READ, "other")


def test_roles_are_unfolded_and_taken_back() -> None:
    book = users_book()
    book.write([Op.CREATE_ROLE, "clerk", None], [Op.CREATE_ROLE, "staff", None])
    book.write(grant("clerk", "write"), grant("staff", "usage", "role", "clerk"))
    book.write(grant("ann", "usage", "role", "staff"))
    assert ask(book, "ann", put()) is None
    book.write(revoke("staff", "usage", "role", "clerk"))
    assert denied(ask(book, "ann", put())) == Need(Privilege.WRITE, "mine")


def test_a_role_cannot_have_itself() -> None:
    book = users_book()
    book.write([Op.CREATE_ROLE, "a", None], [Op.CREATE_ROLE, "b", None])
    book.write(grant("a", "usage", "role", "b"))
    for wrong in (grant("b", "usage", "role", "a"), grant("a", "usage", "role", "a")):
        assert isinstance(ask(book, "root", wrong), WrongOperation)


@pytest.mark.parametrize("name", rights.ROLES)
def test_ready_made_roles_give_what_they_say(name: str) -> None:
    book = users_book()
    book.write(grant("ann", "usage", "role", name))
    found = book.state.schemas.shown.rights
    assert found is not None
    assert found.held("ann").everywhere == rights.ROLES[name] | rights.NEWCOMER


@pytest.mark.parametrize("privilege", sorted(rights.NEWCOMER))
def test_without_session_or_usage_nothing_else_counts(privilege: Privilege) -> None:
    book = users_book()
    book.write(grant("ann", "write"))
    book.write(revoke("ann", privilege, "universe", ""))
    assert denied(ask(book, "ann", put())) == Need(privilege)


def test_rows_of_users_are_read_by_nobody_but_super() -> None:
    book = users_book()
    book.write(grant("ann", "usage", "role", "reader"))
    found = book.state.schemas.shown
    assert found.rights is not None
    wanted = [Need(Privilege.READ, "_user")]
    assert found.rights.missing("ann", wanted, found.name_of) == wanted[0]
    assert found.rights.missing("ann", [Need(Privilege.READ, schema.USER)], found.name_of)
    assert found.rights.missing("root", wanted, found.name_of) is None
    assert found.rights.missing("ann", [Need(Privilege.READ, "_space")], found.name_of) is None


def test_everybody_changes_his_own_password_and_no_more() -> None:
    book = users_book()
    own: list[object] = [Op.ALTER_USER, "ann", {"password": PASSWORD}]
    assert ask(book, "ann", own) is None
    assert denied(ask(book, "ann", [Op.ALTER_USER, "root", {"password": PASSWORD}]))
    assert denied(ask(book, "ann", [Op.ALTER_USER, "ann", {"certificate": True}]))


def test_who_is_dropped_loses_everything_also_for_a_namesake() -> None:
    book = users_book()
    book.write(grant("ann", "write"))
    book.write([Op.DROP_USER, "ann", None])
    assert denied(ask(book, "ann", put())) == Need(Privilege.SESSION)
    book.write(create("ann"))
    assert denied(ask(book, "ann", put())) == Need(Privilege.WRITE, "mine")


def test_a_dropped_role_is_taken_from_all_who_have_it() -> None:
    book = users_book()
    book.write([Op.CREATE_ROLE, "clerk", None], grant("clerk", "write"))
    book.write(grant("ann", "usage", "role", "clerk"))
    book.write([Op.DROP_ROLE, "clerk", None])
    assert denied(ask(book, "ann", put()))
    assert all("clerk" not in row for row in book.all("_priv"))


# -- a right counts once it is confirmed, and its loss from its place in the log on


def test_a_grant_that_is_pending_gives_nothing() -> None:
    book = users_book()
    book.pend(grant("ann", "write"))
    assert denied(ask(book, "ann", put())) == Need(Privilege.WRITE, "mine")
    book.state.see(book.last)
    assert ask(book, "ann", put()) is None


def test_a_revocation_that_is_pending_takes_already() -> None:
    book = users_book()
    book.write(grant("ann", "write"))
    book.pend(revoke("ann", "write"))
    assert denied(ask(book, "ann", put())) == Need(Privilege.WRITE, "mine")


def test_a_revocation_that_is_rolled_back_took_nothing() -> None:
    book = users_book()
    book.write(grant("ann", "write"))
    book.pend(revoke("ann", "write"))
    book.state.roll_back(book.last, book.last)
    assert ask(book, "ann", put()) is None


def test_followers_and_who_opens_again_judge_alike() -> None:
    book = users_book()
    book.write(grant("ann", "write", name="mi*"))
    follower = book.follower()
    assert follower.schemas.shown.rights is not None
    assert follower.schemas.shown.rights.held("ann").begins == {"mi": {Privilege.WRITE}}
    book.fold()
    again = book.follower(book.store)
    assert again.schemas.shown.rights is not None
    assert again.schemas.shown.rights.held("ann").begins == {"mi": {Privilege.WRITE}}


# -- what is refused as nonsense


@pytest.mark.parametrize(
    "op",
    [
        [Op.DROP_ROLE, "reader", None],
        [Op.DROP_USER, LOCAL_ADMIN, {"if_exists": True}],
        grant("reader", "write"),
        revoke("reader", "read"),
        [Op.CREATE_ROLE, "reader", {"if_not_exists": True}],
    ],
    ids=["drop", "drop the owner", "grant", "revoke", "create"],
)
def test_a_role_of_every_cluster_is_not_said_to_be_missing(op: list[object]) -> None:
    error = ask(users_book(), "root", op)
    assert isinstance(error, WrongOperation)
    assert "has a meaning of its own and cannot be made or changed" in error.message


WRONG: dict[str, tuple[list[object], type[QsyncError]]] = {
    "a reserved name": ([Op.CREATE_USER, "super", None], WrongOperation),
    "the name that stands for all": ([Op.CREATE_USER, "*", None], WrongOperation),
    "the owner of the directory": ([Op.CREATE_USER, LOCAL_ADMIN, None], WrongOperation),
    "no name": ([Op.CREATE_USER, "", None], WrongOperation),
    "a line in a name": ([Op.CREATE_USER, "a\nb", None], WrongOperation),
    "a long name": ([Op.CREATE_USER, "a" * 65, None], WrongOperation),
    "a name that is there": (create("ann"), WrongOperation),
    "a role of a user's name": ([Op.CREATE_ROLE, "ann", None], WrongOperation),
    "an option that there is not": ([Op.CREATE_USER, "bob", {"colour": 1}], WrongOperation),
    "options that are no map": ([Op.CREATE_USER, "bob", 7], ProtocolError),
    "few iterations": (
        [Op.CREATE_USER, "bob", {"password": PASSWORD | {"iterations": 4095}}],
        ProtocolError,
    ),
    "too many iterations": (
        [Op.CREATE_USER, "bob", {"password": PASSWORD | {"iterations": 1_000_001}}],
        ProtocolError,
    ),
    "a short key": (
        [Op.CREATE_USER, "bob", {"password": PASSWORD | {"stored": b"1"}}],
        ProtocolError,
    ),
    "a user that there is not": ([Op.DROP_USER, "bob", None], WrongOperation),
    "a role that there is not": ([Op.DROP_ROLE, "ann", None], WrongOperation),
    "a password of nobody": ([Op.ALTER_USER, "bob", {"password": PASSWORD}], WrongOperation),
    "a grant to nobody": (grant("bob", "read"), WrongOperation),
    "an unknown privilege": (grant("ann", "fly"), WrongOperation),
    "no privilege": ([Op.GRANT, "ann", [], "universe", ""], WrongOperation),
    "an unknown kind": (grant("ann", "read", "planet", "x"), WrongOperation),
    "promote on a space": (grant("ann", "promote"), WrongOperation),
    "a star alone": (grant("ann", "read", name="*"), WrongOperation),
    "a star inside": (grant("ann", "read", name="a*b"), WrongOperation),
    "a role of nobody": (grant("ann", "usage", "role", "clerk"), WrongOperation),
    "what was not granted": (revoke("ann", "read"), WrongOperation),
    "a row by hand": ([Op.INSERT, "_priv", tuples.encode(["a", "b", "c", []])], QsyncError),
}


@pytest.mark.parametrize("case", WRONG)
def test_nonsense_is_refused(case: str) -> None:
    op, error = WRONG[case]
    assert isinstance(ask(users_book(), "root", op), error)


_LONG: dict[str, list[object]] = {
    "the own password, which takes no right": [Op.ALTER_USER, "ann", {"password": PASSWORD}],
    "a space": [Op.ALTER_SPACE, "mine", {"is_sync": True}],
    "all rows": [Op.TRUNCATE, "mine"],
}


@pytest.mark.parametrize("changed", sorted(_LONG))
def test_nobody_keeps_a_node_busy_with_one_transaction_of_changes(changed: str) -> None:
    """Each has all users and spaces, or all rows of a space, looked at again."""
    book = users_book()
    if "right" not in changed:
        book.write(grant("ann", "alter,write"))
    change, user = _LONG[changed], "ann"
    assert ask(book, user, *[change] * SCHEMA_CHANGES_MAX) is None
    error = ask(book, user, *[change] * (SCHEMA_CHANGES_MAX + 1))
    assert isinstance(error, TooLarge)
    assert error.details["limit"] == "SCHEMA_CHANGES_MAX"


def test_one_transaction_makes_so_many_sequences() -> None:
    """The last number in use is looked for each time, among all that the transaction writes."""
    book = users_book()
    book.write(grant("ann", "create", name="s*"))
    made: list[list[object]] = [
        [Op.CREATE_SEQUENCE, f"s{number}", None] for number in range(SCHEMA_CHANGES_MAX + 1)
    ]
    assert ask(book, "ann", *made[1:]) is None
    assert isinstance(ask(book, "ann", *made), TooLarge)


def test_who_has_many_grants_is_dropped_in_one_look_at_all_others() -> None:
    book = users_book()
    book.write([Op.CREATE_ROLE, "clerk", None], grant("ann", "usage", "role", "clerk"))
    for number in range(SCHEMA_CHANGES_MAX):
        book.write(grant("clerk", "read", "space", f"space{number}"))
    book.write([Op.DROP_ROLE, "clerk", None])
    for state in (book.state, book.follower()):
        rights = state.schemas.head.rights
        assert rights is not None
        assert rights.grants_of("clerk") == ()
        assert rights.held("ann").roles == set()


def test_an_unknown_privilege_is_answered_with_those_there_are() -> None:
    refused = ask(users_book(), "root", grant("ann", "fly"))
    assert "there is no privilege 'fly'; there are read, write" in str(refused)


def filled(space_id: int, rows: list[list[object]]) -> Book:
    """With these rows in the store, as if they had been folded."""
    book = users_book()
    book.fold()
    space = book.state.schemas.shown.space(space_id)
    puts = [(space.primary.prefix + space.primary.extract(row), tuples.encode(row)) for row in rows]
    last = book.last
    book.store.fold(Fold(folded=last, puts=puts, deletes=[], txns=0, rows=0, keys=[], sessions={}))
    book.state = DataState(book.store, folded=last)
    return book


def test_there_are_so_many_users_and_no_more() -> None:
    """Two are there already: the first one, and `ann`."""
    rows: list[list[object]] = [[f"r{n}", "role", {}] for n in range(rights.USERS_MAX - 3)]
    book = filled(schema.USER, rows)
    assert ask(book, "root", create("last")) is None
    book.write(create("last"))
    assert isinstance(ask(book, "root", create("one more")), Overloaded)


def test_there_are_so_many_grants_and_no_more() -> None:
    there = len(users_book().all("_priv"))
    rows: list[list[object]] = [
        ["ann", "space", f"s{n}", ["read"]] for n in range(rights.GRANTS_MAX - there - 1)
    ]
    book = filled(schema.PRIV, rows)
    book.write(grant("ann", "read", name="last"))
    assert isinstance(ask(book, "root", grant("ann", "read", name="one more")), Overloaded)


# -- tables without holes


def test_operations_that_were_found_right_are_remembered_up_to_a_limit() -> None:
    state = users_book().state
    shape, view = state.schemas.shown, state.view(None)
    assert shape.rights is not None
    for number in range(needs.KNOWN_MAX + 1):
        asked = Request(ops=[[Op.INSERT, f"s{number}", b""]], user="root")
        needs.check(asked, shape, view=view)
    known = shape.rights.known_of("root")
    assert len(known) == needs.KNOWN_MAX
    assert (int(Op.INSERT), "s0") in known
    again = [Request(ops=[[Op.INSERT, name, b""]], user="ann") for name in ("s0", "mine")]
    for request in again:
        with pytest.raises(AccessDenied):
            needs.check(request, shape, view=view)
    assert not shape.rights.known_of("ann"), "what another one may, and refusals, are not"


def test_what_is_remembered_of_an_operation_covers_no_other_one() -> None:
    book = users_book()
    book.write(grant("ann", "write"))
    number = book.state.schemas.shown.space("mine").id
    for _ in range(2):
        assert ask(book, "ann", put()) is ask(book, "ann", put(number)) is None
    delete: list[object] = [Op.DELETE, "mine", 0, [1]]
    for other in (delete, put("other"), [Op.TRUNCATE, "other"]):
        assert isinstance(ask(book, "ann", other), AccessDenied)
        assert isinstance(ask(book, "ann", put(), other), AccessDenied)
    reads = [["k", "other", 0, [1]]]
    error = ask(book, "ann", put(), reads=reads, snapshot=int(book.last))
    assert isinstance(error, AccessDenied)


def test_every_operation_has_its_row() -> None:
    assert set(needs.OP_NEEDS) == set(Op)


def test_every_verb_has_its_row() -> None:
    verb_rights.check_whole()
    assert set(verb_rights.VERB_RIGHTS) == set(Verb)


@pytest.mark.parametrize(
    ("user", "name", "wanted"),
    [
        ("ann", None, Privilege.SESSION),
        ("ann", "ann", Privilege.SESSION),
        ("ann", "bob", Privilege.AUDIT),
        ("ann", verbs.EVERYBODY, Privilege.AUDIT),
        (verbs.EVERYBODY, None, Privilege.SESSION),
        (verbs.EVERYBODY, verbs.EVERYBODY, Privilege.AUDIT),
    ],
)
def test_everybody_sees_his_own_rights_and_an_auditor_those_of_all(
    user: str, name: str | None, wanted: Privilege
) -> None:
    """Nor is a user who is called what stands for all of them told of the others."""
    assert verb_rights.needs_of(user, verbs.RightsRequest(1, name)) == [Need(wanted)]


def test_an_operation_without_a_row_takes_everything() -> None:
    assert list(needs.of_operations("ann", [[999, "mine"]])) == [Need(Privilege.SUPER)]


def test_what_is_granted_reads_back() -> None:
    one = rights.Grant("ann", rights.GrantedOn.SPACE, "a*", frozenset({Privilege.READ}))
    assert grants.grant_of(one.row()) == one
