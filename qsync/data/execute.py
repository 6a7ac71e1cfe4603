"""Operations of a request against the head state: what they return, and their effects."""

from collections.abc import Callable, Sequence

from election.messages import Position
from qsync.data import body, consumers, ddl, keys, operators, schema, sessions, settings, tuples
from qsync.data.draft import EffectDraft, Readable, TransactionOrigin
from qsync.data.indexes import Index
from qsync.data.keys import Misfit
from qsync.data.operation_kinds import Op
from qsync.data.request import ExecutedTransaction, Limits, Request, too_large
from qsync.data.schema import Schema, SpaceDefinition
from qsync.data.users import OPERATIONS as USER_OPERATIONS
from qsync.error_details import OUTCOMES_MAX, RETRY_AFTER
from qsync.errors import (
    AccessDenied,
    Compacted,
    ConfigError,
    Conflict,
    DuplicateKey,
    GivenUp,
    NoSuchIndex,
    NoSuchSpace,
    Overloaded,
    ProtocolError,
    QsyncError,
    SessionExpired,
    SpaceExists,
    TooLarge,
    WrongKey,
    WrongOperation,
    WrongSchema,
    WrongTuple,
)

SESSION_BYTES_MAX = 64
FULL_SESSION_PAUSE_S = 0.01
"""A client whose session is full asks again after it: older answers are on their way to it."""
_INSERT, _REPLACE = int(Op.INSERT), int(Op.REPLACE)

LASTING = (
    AccessDenied,
    Compacted,
    ConfigError,
    Conflict,
    DuplicateKey,
    GivenUp,
    NoSuchIndex,
    NoSuchSpace,
    ProtocolError,
    SpaceExists,
    TooLarge,
    WrongKey,
    WrongOperation,
    WrongSchema,
    WrongTuple,
)
"""Refusals for what the request asks, or for what is in the spaces. The others say "not now"."""


def execute(
    request: Request,
    view: Readable,
    shape: Schema,
    known: sessions.Table,
    limits: Limits,
    *,
    at: Position | None = None,
) -> ExecutedTransaction:
    """Turn a request into effects at a place of the log. Raises, and then nothing has happened."""
    session, seq, low = request.session, request.seq, request.low
    if session and seq:
        _check_session(request, known, limits)
    else:
        session, seq, low = b"", 0, 0
    ops = request.ops
    if len(ops) == 1:
        done = _one_put(ops[0], view, shape, limits)
        if done is not None:
            space, key, row = done
            text = body.encode_one((session, seq, low), space.id_text, key[5:], row)
            sync = space.sync or request.sync is True
            return ExecutedTransaction(
                text,
                sync=sync,
                results=[row],
                writes=[(key, row)],
                session=session,
                seq=seq,
                low=low,
            )
    draft = EffectDraft(view, shape, origin=TransactionOrigin(request.user, at))
    results = run(draft, ops, limits)
    opened = {change.session for change in draft.changes if change.opened}
    if opened and len(known.keys() | opened) > max(limits.sessions_max, len(known)):
        raise Overloaded(f"there are {len(known)} sessions already, the limit")
    text = body.encode((session, seq, low), draft.effects, results)
    if len(text) > limits.txn_bytes_max:
        most = limits.txn_bytes_max
        raise too_large("a transaction", "limits.txn_bytes_max", most, len(text))
    return ExecutedTransaction(
        text,
        sync=draft.sync or request.sync is True,
        results=results,
        writes=draft.writes,
        session=session,
        seq=seq,
        low=low,
        changes=tuple(draft.changes),
        schema=draft.schema if draft.schema_changed else None,
    )


def refuse(
    request: Request, error: QsyncError, known: sessions.Table, limits: Limits
) -> ExecutedTransaction:
    """The entry that takes the number of a request for its refusal (protocol.md section 5).

    Synchronous whatever the request is: only what is on a quorum keeps another attempt from taking
    effect. Raises the refusal itself if it is not recorded: the request is not in doubt, or it is
    about this moment or this node. Raises what says that the number cannot be taken.
    """
    session, seq, low = request.session, request.seq, request.low
    if not (request.doubted and session and seq and isinstance(error, LASTING)):
        if isinstance(error, GivenUp):
            raise ProtocolError("only a numbered write in doubt can be given up")
        raise error
    _check_session(request, known, limits)
    text = body.encode_refusal((session, seq, low), error)
    return ExecutedTransaction(
        text, sync=True, results=[], writes=[], session=session, seq=seq, low=low
    )


def run(draft: EffectDraft, ops: Sequence[Sequence[object]], limits: Limits) -> list[bytes | None]:
    """Run the operations in order; return the result of each."""
    if len(ops) > limits.ops_max:
        raise too_large("a transaction", "OPS_MAX", limits.ops_max, len(ops), "operations")
    results, size = [], 0
    for op in ops:
        if not isinstance(op, list | tuple) or not op:
            raise ProtocolError(f"{op!r} is not an operation")
        count, act = _OPS.get(op[0], (-1, None)) if isinstance(op[0], int) else (-1, None)
        if act is None:
            raise ProtocolError(f"there is no operation {op[0]!r}")
        if len(op) - 1 != count:
            raise ProtocolError(f"operation {op[0]} takes {count} arguments, not {len(op) - 1}")
        result = act(draft, *op[1:])
        if result is not None and len(result) > limits.tuple_bytes_max:
            raise _too_large(result, limits)
        results.append(result)
        size += 0 if result is None else len(result)
        if max(size, draft.put_bytes) > limits.txn_bytes_max:
            what, limit = "what a transaction puts or returns", "limits.txn_bytes_max"
            raise too_large(what, limit, limits.txn_bytes_max)
    return results


def _check_session(request: Request, known: sessions.Table, limits: Limits) -> None:
    session = known.get(request.session)
    if session is None:
        raise SessionExpired("the session is not known here; it may have expired")
    most = limits.outcomes_max
    if len(session.outcomes) >= most and not session.forgets_below(request.low):
        raise Overloaded(
            f"the session has {len(session.outcomes)} unforgotten requests, the limit",
            details={OUTCOMES_MAX: most, RETRY_AFTER: FULL_SESSION_PAUSE_S},
        )
    assert request.seq not in session.outcomes
    if not 0 <= request.low <= request.seq <= keys.INTEGER_MAX:
        raise ProtocolError(f"request {request.seq} of a session cannot have low {request.low}")


def _one_put(
    op: Sequence[object], view: Readable, shape: Schema, limits: Limits
) -> tuple[SpaceDefinition, bytes, bytes] | None:
    """The hot path: one insert or replace into a space that has only a primary index."""
    if not isinstance(op, list) or len(op) != 3 or (op[0] != _REPLACE and op[0] != _INSERT):
        return None
    space = shape.space(op[1])
    prefix = shape.plain.get(space.id)
    if prefix is None:
        return None
    row = op[2]
    fields = tuples.decode(row)
    assert isinstance(row, bytes)
    if len(row) > limits.tuple_bytes_max:
        raise _too_large(row, limits)
    space.check(fields)
    key = _primary_key(space, fields)
    if len(key) > keys.KEY_BYTES_MAX:
        raise too_large(f'space "{space.name}": a key', "KEY_BYTES_MAX", keys.KEY_BYTES_MAX)
    if op[0] == _INSERT and view.get(key) is not None:
        raise _primary(space).taken(space.name, fields)
    return space, key, row


def _primary_key(space: SpaceDefinition, fields: Sequence[object]) -> bytes:
    primary = _primary(space)
    try:
        return primary.prefix + primary.extract(fields)
    except Misfit as error:
        raise primary.misfit(space.name, error) from error


def _primary(space: SpaceDefinition) -> Index:
    return space.indexes[0] if space.indexes else space.primary


def _too_large(row: bytes, limits: Limits) -> TooLarge:
    return too_large("a tuple", "limits.tuple_bytes_max", limits.tuple_bytes_max, len(row))


def _writable(draft: EffectDraft, ref: object) -> SpaceDefinition:
    space = draft.schema.space(ref)
    if space.id in schema.OWN_VERBS:
        raise WrongSchema(
            f'"{space.name}" is changed by operations of its own',
            hint="spaces, indexes and sequences by the schema's, members by `qsync member`",
        )
    return _touched(draft, space)


def _touched(draft: EffectDraft, space: SpaceDefinition) -> SpaceDefinition:
    """An answer about a synchronous space needs a quorum, be it only that nothing was there."""
    draft.sync = draft.sync or space.sync
    return space


def _take(space: SpaceDefinition, row: object) -> tuple[list[object], bytes, bytes]:
    """A tuple from outside: fields, bytes and physical key."""
    fields = tuples.decode(row)
    assert isinstance(row, bytes)
    space.check(fields)
    return fields, row, _primary_key(space, fields)


def find(
    reader: Readable, space: SpaceDefinition, index: Index, values: object
) -> tuple[bytes, bytes] | None:
    """Physical primary key and tuple that a whole key of a unique index leads to."""
    key = index.key(values, whole=True)
    if index.id != 0:
        if not index.unique:
            raise WrongKey(f'index "{index.name}" is not unique: it cannot name one tuple')
        assert isinstance(values, list | tuple)
        if not index.exact(values):
            raise WrongKey(f'index "{index.name}": a key with nil may name many tuples')
        held = reader.get(key)
        if held is None:
            return None
        key = space.primary.prefix + held
    row = reader.get(key)
    return None if row is None else (key, row)


def _insert(draft: EffectDraft, ref: object, row: object) -> bytes:
    space = _writable(draft, ref)
    _, data, key = _take(space, row)
    if draft.get(key) is not None:
        raise _primary(space).taken(space.name, tuples.stored(data))
    draft.put(space, key, None, data)
    return data


def _replace(draft: EffectDraft, ref: object, row: object) -> bytes:
    space = _writable(draft, ref)
    _, data, key = _take(space, row)
    draft.put(space, key, draft.get(key) if space.secondary else None, data)
    return data


def _update(
    draft: EffectDraft, ref: object, index: object, key: object, ops: object
) -> bytes | None:
    space = _writable(draft, ref)
    found = find(draft, space, space.index(index), key)
    return None if found is None else _change(draft, space, *found, ops)


def _change(
    draft: EffectDraft, space: SpaceDefinition, key: bytes, old: bytes, ops: object
) -> bytes:
    fields = operators.update(space, tuples.stored(old), ops)
    space.check(fields)
    if _primary_key(space, fields) != key:
        raise WrongOperation(f'space "{space.name}": an update cannot change the primary key')
    new = tuples.encode(fields)
    draft.put(space, key, old, new)
    return new


def _upsert(draft: EffectDraft, ref: object, row: object, ops: object) -> None:
    space = _writable(draft, ref)
    _, data, key = _take(space, row)
    old = draft.get(key)
    if old is None:
        draft.put(space, key, None, data)
        return
    _change(draft, space, key, old, ops)


def _delete(draft: EffectDraft, ref: object, index: object, key: object) -> bytes | None:
    space = _writable(draft, ref)
    found = find(draft, space, space.index(index), key)
    if found is None:
        return None
    draft.put(space, found[0], found[1], None)
    return found[1]


def _truncate(draft: EffectDraft, ref: object) -> None:
    space = _writable(draft, ref)
    ddl.truncate(draft, space)


def _require_equal(
    draft: EffectDraft, ref: object, index: object, key: object, expected: object
) -> None:
    space = _touched(draft, draft.schema.space(ref))
    found = find(draft, space, space.index(index), key)
    held = None if found is None else found[1]
    if held == expected:
        return
    if held is not None and expected is not None and tuples.alike(held, expected):
        return
    raise Conflict(
        f'space "{space.name}": the tuple is not the expected one', details={"space": space.name}
    )


def _require_existence(
    draft: EffectDraft, ref: object, index: object, key: object, exists: object
) -> None:
    space = _touched(draft, draft.schema.space(ref))
    found = find(draft, space, space.index(index), key)
    if (found is not None) is not bool(exists):
        what = "is no tuple" if exists else "is a tuple"
        raise Conflict(
            f'space "{space.name}": there {what} with this key', details={"space": space.name}
        )


def _open_session(draft: EffectDraft, seed: object) -> bytes:
    at = draft.origin.at
    if at is None:
        raise ProtocolError("a session is opened by a transaction only")
    if not isinstance(seed, bytes) or not 0 < len(seed) <= sessions.SEED_BYTES_MAX:
        most = sessions.SEED_BYTES_MAX
        raise ProtocolError(f"the id of a session begins with 1 to {most} bytes of the client")
    name = sessions.born(seed, at)
    row = tuples.encode([name])
    draft.change_session(name, sessions.key_of(name), row)
    return row


def _expire_session(draft: EffectDraft, session: object) -> None:
    name = _session_name(session)
    draft.change_session(name, sessions.key_of(name), None)


def _give_up(_draft: EffectDraft) -> None:
    """Refuse the request of that number for good; the client has only the number."""
    raise GivenUp("it was not done, and its number is taken: no attempt can do it any more")


def _session_name(session: object) -> bytes:
    if isinstance(session, bytes) and 0 < len(session) <= SESSION_BYTES_MAX:
        return session
    raise ProtocolError(f"a session is named by 1 to {SESSION_BYTES_MAX} bytes")


_Act = Callable[..., bytes | None]
_OPS: dict[int, tuple[int, _Act]] = {
    Op.INSERT: (2, _insert),
    Op.REPLACE: (2, _replace),
    Op.UPDATE: (4, _update),
    Op.UPSERT: (3, _upsert),
    Op.DELETE: (3, _delete),
    Op.TRUNCATE: (1, _truncate),
    Op.CREATE_SPACE: (2, ddl.create_space),
    Op.ALTER_SPACE: (2, ddl.alter_space),
    Op.DROP_SPACE: (1, ddl.drop_space),
    Op.CREATE_INDEX: (3, ddl.create_index),
    Op.DROP_INDEX: (2, ddl.drop_index),
    Op.NEXT_VALUE: (1, ddl.next_value),
    Op.CREATE_SEQUENCE: (2, ddl.create_sequence),
    Op.CHANGE_SETTINGS: (1, settings.change),
    Op.REQUIRE_EQUAL: (4, _require_equal),
    Op.REQUIRE_EXISTENCE: (4, _require_existence),
    Op.OPEN_SESSION: (1, _open_session),
    Op.EXPIRE_SESSION: (1, _expire_session),
    Op.GIVE_UP: (0, _give_up),
    Op.REGISTER_CONSUMER: (4, consumers.register),
    Op.ADVANCE_CONSUMER: (2, consumers.advance),
    Op.MOVE_REPLICA: (2, consumers.move_replica),
    Op.LET_GO_CONSUMER: (1, consumers.let_go),
    Op.DROP_CONSUMER: (1, consumers.drop),
    **USER_OPERATIONS,
}
