"""Consumers of the log: rows of `_gc_consumers`, changed by operations of their own."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from election.messages import Index
from qsync import features
from qsync.consumer import (
    ABOUT_CHARACTERS_MAX,
    CONSUMERS_MAX,
    CONSUMERS_PER_USER_MAX,
    NAME_CHARACTERS_MAX,
    Consumer,
    ConsumerKind,
    consumer_of,
)
from qsync.data import keys, schema, tuples
from qsync.data.draft import EffectDraft, Readable
from qsync.data.schema import SpaceDefinition
from qsync.errors import Compacted, Overloaded, WrongOperation
from qsync.rights import LOCAL_ADMIN


def register(
    draft: EffectDraft, name: object, kind: object, index: object, about: object
) -> bytes | None:
    """Keep the log behind `index` for `name`, or from here on if that is nil. The row.

    A new consumer belongs to the user who asks. A registered one keeps its position and its owner.
    One that was let go must name its position, having taken a snapshot: raises Compacted if it does
    not. Raises WrongOperation for a member's name.
    """
    space, key = _place(draft, name)
    there, wanted = _not_member(_found(draft, key)), _kind(kind)
    if there is not None and not there.let_go:
        draft.sync = True
        return tuples.encode(there.row())
    if there is not None and index is None:
        raise _no_claim(there.name, there)
    if there is None:
        _check_free(draft, str(name))
        _check_room(draft, space)
    here = _here(draft)
    new = Consumer(
        name=_text(name, "the name of a consumer", NAME_CHARACTERS_MAX),
        kind=wanted,
        index=here if index is None else _index(index, here),
        about=_text(about, "what is said about a consumer", ABOUT_CHARACTERS_MAX),
        owner=_asker(draft) if there is None else there.owner,
    )
    return _put(draft, space, key, there, new)


def advance(draft: EffectDraft, name: object, index: object) -> bytes | None:
    """`name` has the log up to `index` now; never back. The row. Raises Compacted, see `register`.

    In the transaction that does something with the changes it makes that happen exactly once.
    Raises WrongOperation for a member's name.
    """
    space, key = _place(draft, name)
    there = _not_member(_found(draft, key))
    if there is None or there.let_go:
        raise _no_claim(str(name), there)
    moved = max(there.index, _index(index, _here(draft)))
    return _put(draft, space, key, there, replace(there, index=moved))


def move_replica(draft: EffectDraft, name: object, index: object) -> bytes | None:
    """The member whose directory is `name` has the log up to `index`; it holds it again if not."""
    space, key = _place(draft, name)
    there = _found(draft, key)
    text = _text(name, "the uuid of a directory", NAME_CHARACTERS_MAX)
    new = Consumer(text, ConsumerKind.REPLICA, _index(index, _here(draft)))
    return _put(draft, space, key, there, new)


def let_go(draft: EffectDraft, name: object) -> bytes | None:
    """The log is not kept for `name` any more; it needs a snapshot. The row.

    A name that is not there is taken for a member's that has no row yet.
    """
    space, key = _place(draft, name)
    there = _found(draft, key)
    text = _text(name, "the name of a consumer", NAME_CHARACTERS_MAX)
    known = there or Consumer(text, ConsumerKind.REPLICA, Index(0))
    return _put(draft, space, key, there, replace(known, let_go=True))


def drop(draft: EffectDraft, name: object) -> bytes | None:
    """Forget `name`. The row that it had, or None."""
    space, key = _place(draft, name)
    old = draft.get(key)
    draft.sync = True
    if old is not None:
        draft.put(space, key, old, None)
    return old


def check_share(view: Readable, user: str, new: int) -> None:
    """Raises Overloaded if the user would have too many with so many new ones.

    Once for a transaction, by the rows before it: to count them for each would take long.
    """
    if user == LOCAL_ADMIN:
        return
    count = new + sum(each.owner == user for each in _all(view))
    if count > CONSUMERS_PER_USER_MAX:
        raise Overloaded(
            f"user {user!r} would have {count} consumers of the log, and one user has at most "
            f"{CONSUMERS_PER_USER_MAX}",
            hint="drop those that are not needed (`db.consumers.drop`)",
            details={"limit": "CONSUMERS_PER_USER_MAX", "most": CONSUMERS_PER_USER_MAX},
        )


def hand_over(draft: EffectDraft, user: str) -> None:
    """What belonged to a user who goes is the administrator's: the log is kept on for it.

    So a user who gets the same name later does not find it his own.
    """
    space = draft.space(schema.GC_CONSUMERS)
    for one in _all(draft):
        if one.owner == user:
            key = space.primary.key([one.name], whole=True)
            _put(draft, space, key, one, replace(one, owner=LOCAL_ADMIN))


def consumers_of(rows: Iterable[bytes]) -> list[Consumer]:
    """Stored rows, as they are selected."""
    return [consumer_of(tuples.stored(row)) for row in rows]


def find(view: Readable, name: object) -> Consumer | None:
    """The consumer of that name, if there is one and it is a name."""
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARACTERS_MAX:
        return None
    return _found(view, _SPACE.primary.key([name], whole=True))


_SPACE: Final = next(each for each in schema.SYSTEM if each.id == schema.GC_CONSUMERS)


def _asker(draft: EffectDraft) -> str:
    """The owner of what is made now: nobody while older releases may read the row."""
    if features.CONSUMER_OWNERS not in features.enabled(draft.schema.settings):
        return ""
    return draft.origin.user or ""


def _place(draft: EffectDraft, name: object) -> tuple[SpaceDefinition, bytes]:
    text = _text(name, "the name of a consumer", NAME_CHARACTERS_MAX)
    if not text:
        raise WrongOperation("a consumer of the log has a name, not an empty text")
    space = draft.schema.space(schema.GC_CONSUMERS)
    return space, space.primary.key([text], whole=True)


def _found(view: Readable, key: bytes) -> Consumer | None:
    row = view.get(key)
    return None if row is None else consumer_of(tuples.stored(row))


def _not_member(there: Consumer | None) -> Consumer | None:
    """A member's place follows from the log that it has: nobody else says where it is."""
    if there is not None and there.kind is ConsumerKind.REPLICA:
        raise _is_member(there.name)
    return there


def _check_free(draft: EffectDraft, name: str) -> None:
    """Raises WrongOperation for the name of a member, which may have no row yet."""
    cluster = draft.space(schema.CLUSTER).primary
    for _, row in draft.scan(cluster.prefix, cluster.end):
        if tuples.stored(row)[1] == name:
            raise _is_member(name)


def _is_member(name: str) -> WrongOperation:
    return WrongOperation(f'"{name}" is the directory of a member: the leader moves it')


def _put(
    draft: EffectDraft, space: SpaceDefinition, key: bytes, old: Consumer | None, new: Consumer
) -> bytes:
    row = tuples.encode(new.row())
    draft.sync = True
    if old != new:
        draft.put(space, key, None if old is None else tuples.encode(old.row()), row)
    return row


def _all(view: Readable) -> list[Consumer]:
    primary = _SPACE.primary
    return consumers_of([row for _, row in view.scan(primary.prefix, primary.end)])


def _check_room(draft: EffectDraft, space: SpaceDefinition) -> None:
    there: Iterator[object] = draft.scan(space.primary.prefix, space.primary.end)
    count = sum(1 for _ in there)
    if count >= CONSUMERS_MAX:
        raise Overloaded(f"the log is kept for {count} consumers already, the limit")


def _here(draft: EffectDraft) -> Index:
    """The last place that a consumer can have: the one before this transaction, once it has one."""
    at = draft.origin.at
    return Index(keys.INTEGER_MAX if at is None else at.index - 1)


def _index(value: object, here: Index) -> Index:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise WrongOperation(f"{value!r} is no index of the log")
    if value > here:
        raise WrongOperation(f"index {value} is ahead of the log, which ends at {here}")
    return Index(value)


def _kind(value: object) -> ConsumerKind:
    try:
        kind = ConsumerKind(str(value))
    except ValueError:
        kind = ConsumerKind.REPLICA
    if kind is ConsumerKind.REPLICA:
        raise WrongOperation(
            f"a consumer of the log is a subscriber, a backup or an archive, not {value!r}"
        )
    return kind


def _text(value: object, what: str, most: int) -> str:
    if isinstance(value, str) and len(value) <= most:
        return value
    raise WrongOperation(f"{what} is a text of at most {most} characters")


def _no_claim(name: str, there: Consumer | None) -> Compacted:
    """The entries that a consumer asks for may be trimmed."""
    if there is None:
        return Compacted(
            f'the log is not kept for "{name}": no consumer is registered by that name',
            hint="register it (`db.consumers.register`), then read the spaces as they are",
        )
    return Compacted(
        f'the log is not kept for "{name}" any more: it was let go at index {there.index}',
        hint="note `db.status()['confirmed']`, then read the spaces as they are, and register it "
        "again at that index",
        details={"after": int(there.index)},
    )
