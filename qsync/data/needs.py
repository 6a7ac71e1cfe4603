"""The rights that each operation of a transaction needs, and whether the user has them.

The rule: no effect in the log without a right that was confirmed before it. So the asker must have
every right as of what is confirmed, and still have it behind all that is pending: a grant counts
once it is confirmed, and taking it back counts from its place in the log on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from qsync.data import consumer_rights
from qsync.data.consumer_rights import is_of_owner
from qsync.data.draft import Readable
from qsync.data.grants import SECRET_SPACES, KnownOperation
from qsync.data.operation_kinds import Op, ReadKind
from qsync.data.request import Request
from qsync.data.schema import USER_SPACE_MIN, Schema
from qsync.errors import NoSuchIndex, NoSuchSpace, ProtocolError
from qsync.rights import Need, Privilege

Operation = Sequence[object]
KNOWN_MAX: Final = 256
"""Kinds of operations on spaces that are remembered of one user; others are looked up each time."""
_BY_SPACE: Final = frozenset(
    {int(each) for each in (Op.INSERT, Op.REPLACE, Op.UPDATE, Op.UPSERT, Op.DELETE, Op.NEXT_VALUE)}
)


def check(request: Request, *shapes: Schema, view: Readable) -> None:
    """Raises AccessDenied, naming the right, unless the asker has all of them by each schema.

    `view`: the rows before the transaction, for whom a consumer of the log belongs to.
    """
    user = request.user
    if user is None:
        return
    former = None
    for shape in shapes:
        rights = shape.rights
        if rights is None or shape is former:
            continue
        former = shape
        if not request.reads and rights.knows(user, request.ops):
            continue
        others = [op for op in request.ops if not is_of_owner(op)]
        wanted = [*of_operations(user, others), *_of_reads(request.reads)]
        wanted += _of_primaries(others, shape)
        rights.check(user, wanted, shape.name_of)
        consumer_rights.check(user, request.ops, shape, view)
        _remember(rights.known_of(user), request)


def may_see(user: str | None, spaces: Iterable[int], shape: Schema) -> bool:
    """Return whether the user may be shown what a transaction wrote to these spaces.

    Who may write there may, as its author could. Rows of the system tell what only the author's
    operations can have been for, so but for those that are secret they are shown.
    """
    rights = shape.rights
    if user is None or rights is None:
        return True
    return all(
        any(
            rights.missing(user, [Need(each, space)], shape.name_of) is None
            for each in (Privilege.READ, Privilege.WRITE)
        )
        for space in set(spaces)
        if space >= USER_SPACE_MIN or shape.name_of(space) in SECRET_SPACES
    )


def _remember(known: set[KnownOperation], request: Request) -> None:
    """Remember that it was allowed."""
    for op in request.ops:
        found = _known_as(op)
        if found is not None and len(known) < KNOWN_MAX:
            known.add(found)


def _known_as(op: Operation) -> KnownOperation | None:
    """Code and space, of operations that take what they take by these two alone."""
    if len(op) < 2:
        return None
    code, space = op[0], op[1]
    if not isinstance(code, int) or code not in _BY_SPACE or not isinstance(space, str | int):
        return None
    return code, space


def of_operations(user: str, ops: Sequence[Operation]) -> Iterator[Need]:
    """Return what these operations need. Invalid ones need everything; they are refused later."""
    for op in ops:
        found = OP_NEEDS.get(op[0]) if op and isinstance(op[0], int) else None
        if found is None:
            yield Need(Privilege.SUPER)
        else:
            yield from found(user, op)


def _of_primaries(ops: Sequence[Operation], shape: Schema) -> Iterator[Need]:
    """A primary index takes all tuples along when it is dropped, which is a write, as to truncate.

    By the schema before the transaction: under a new name it took the right to write already.
    """
    for op in ops:
        if len(op) == 3 and op[0] == Op.DROP_INDEX and _is_primary(shape, op[1], op[2]):
            yield _on(op, Privilege.WRITE)


def _is_primary(shape: Schema, space: object, index: object) -> bool:
    try:
        return shape.space(space).index(index).id == 0
    except (NoSuchIndex, NoSuchSpace, ProtocolError):
        return False


def _of_reads(reads: Sequence[Operation]) -> Iterator[Need]:
    """A condition on what was read tells of it."""
    for read in reads:
        if len(read) > 1 and read[0] != ReadKind.LOG_POSITION:
            yield _on(read, Privilege.READ)


def _on(op: Operation, privilege: Privilege) -> Need:
    """On the space that stands second. What names no space takes the right everywhere."""
    space = op[1] if len(op) > 1 else None
    return Need(privilege, space if isinstance(space, str | int) else None)


_Of = Callable[[str, Operation], Sequence[Need]]


def _space(*privileges: Privilege) -> _Of:
    return lambda _, op: [_on(op, each) for each in privileges]


def _universe(privilege: Privilege) -> _Of:
    return lambda _, __: [Need(privilege)]


def _create(_: str, op: Operation) -> Sequence[Need]:
    """A number may be that of a space that was dropped, whose rows the log still tells of."""
    found = [_on(op, Privilege.CREATE)]
    options = op[2] if len(op) > 2 else None
    if isinstance(options, Mapping) and "id" in options:
        found.append(Need(Privilege.CREATE))
    return found


def _alter(_: str, op: Operation) -> Sequence[Need]:
    """Under another name the rights on that name hold: all rights on the present one are needed.

    Otherwise who may alter a space, and read what is called otherwise, could read its rows.
    """
    found = [_on(op, Privilege.ALTER)]
    options = op[2] if len(op) > 2 else None
    if isinstance(options, Mapping) and "name" in options:
        found += (_on(op, each) for each in (Privilege.READ, Privilege.WRITE, Privilege.DROP))
        found.append(_on([0, options["name"]], Privilege.CREATE))
    return found


def _alter_user(user: str, op: Operation) -> Sequence[Need]:
    """Return what a change of a user needs: nothing for one's own password."""
    match op:
        case [_, str(name), dict(options)] if name == user and set(options) <= {"password"}:
            return [Need(Privilege.SESSION)]
        case _:
            return [Need(Privilege.SUPER)]


_WRITE = _space(Privilege.WRITE)
_WRITE_AND_READ = _space(Privilege.WRITE, Privilege.READ)
"""Their results show what was there."""
_READ = _space(Privilege.READ)
_LOG_IN = _universe(Privilege.SESSION)
_ALL = _universe(Privilege.SUPER)

OP_NEEDS: Final[Mapping[int, _Of]] = {
    Op.INSERT: _WRITE,
    Op.REPLACE: _WRITE,
    Op.UPDATE: _WRITE_AND_READ,
    Op.UPSERT: _WRITE,
    Op.DELETE: _WRITE_AND_READ,
    Op.TRUNCATE: _WRITE,
    Op.CREATE_SPACE: _create,
    Op.ALTER_SPACE: _alter,
    Op.DROP_SPACE: _space(Privilege.DROP),
    Op.CREATE_INDEX: _space(Privilege.ALTER),
    Op.DROP_INDEX: _space(Privilege.ALTER),
    Op.NEXT_VALUE: _WRITE,
    Op.CREATE_SEQUENCE: _space(Privilege.CREATE),
    Op.CHANGE_SETTINGS: _universe(Privilege.SETTINGS),
    Op.REQUIRE_EQUAL: _READ,
    Op.REQUIRE_EXISTENCE: _READ,
    Op.OPEN_SESSION: _LOG_IN,
    Op.EXPIRE_SESSION: _LOG_IN,
    Op.GIVE_UP: _LOG_IN,
    Op.REGISTER_CONSUMER: _universe(Privilege.READ),
    Op.ADVANCE_CONSUMER: _universe(Privilege.READ),
    Op.MOVE_REPLICA: _universe(Privilege.MEMBER),
    Op.LET_GO_CONSUMER: _universe(Privilege.MEMBER),
    Op.DROP_CONSUMER: _universe(Privilege.MEMBER),
    Op.ENABLE_USERS: _ALL,
    Op.CREATE_USER: _ALL,
    Op.ALTER_USER: _alter_user,
    Op.DROP_USER: _ALL,
    Op.CREATE_ROLE: _ALL,
    Op.DROP_ROLE: _ALL,
    Op.GRANT: _ALL,
    Op.REVOKE: _ALL,
}
"""One row for each operation. What stands here is what a table of the documentation shows."""
