"""What transcripts call things: operations, entries, tuples; and the spaces that are there."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from election.messages import Index
from qsync.data import body, keys, schema, sessions, tuples
from qsync.data.members import CODEC
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.data.schema import Schema
from qsync.data.state import DataState
from qsync.member import Member
from qsync.record import CONFIG, WAIT_ACK, Entry, EntryKind, read_ref
from qsync.store.memory import MemorySpaces

QUIET = {"elected", "follows", "votes", "campaign", "pre_vote", "stepped_down", "promote", "member"}
"""Notes that every transcript would be full of."""

SYNC, ASYNC = "sync", "async"
"""The two spaces that are there when a transcript begins, and whether they are synchronous."""
FURNISHED = {512: SYNC, 513: ASYNC}

SYSTEM: Mapping[int, str] = {
    schema.SPACE: "space",
    schema.INDEX: "index",
    schema.TRUNCATE: "truncate",
}


class Furnished(MemorySpaces):
    """Spaces on disk that begin with a schema, as of a cluster that was set up long ago."""

    def __init__(self) -> None:
        super().__init__()
        self.furnish()

    def furnish(self) -> None:
        """Put the two spaces there, at index 0."""
        self._rows.update(furniture())

    def wipe(self) -> None:
        """Back to the beginning."""
        super().wipe()
        self.furnish()


@cache
def furniture() -> dict[bytes, bytes]:
    """Rows of the schema that is there when a transcript begins."""
    state = DataState(MemorySpaces(), folded=Index(0))
    ops = [create(name, is_sync=name == SYNC) for name in FURNISHED.values()]
    return {key: row for key, row in state.execute(Request(ops=ops)).writes if row is not None}


def furnished() -> MemorySpaces:
    """The spaces of a node before a transcript begins."""
    return Furnished()


# -------------------------------------------------------------------------------- what is asked


def create(name: str, **options: object) -> list[object]:
    """The operation that makes a space with a text key and any value."""
    value = {"name": "value", "type": "any", "is_nullable": True}
    form = [{"name": "key", "type": "string"}, value]
    return [int(Op.CREATE_SPACE), name, {"format": form, "primary": ["key"], **options}]


SPOKEN = re.compile(
    r"(?P<how>[+!-]?)(?P<key>\w+)(?P<sign>=|==|\+=|\?)?(?P<value>[\w.]*)(?:@(?P<space>\w+))?"
)


def operation(word: str) -> list[object]:
    """What a word of a transcript asks for, in the space `sync` or the one after an `@`.

    `x` and `x=5` put a tuple, `+x=5` inserts it, `-x` deletes it, `x+=5` adds to its value;
    `x==5` and `x?` require that it is so or is there at all, `!x` that it is not there.
    `*@sync` empties a space. `give-up` asks what became of a number, and takes it if it is free.
    """
    if word == "give-up":
        return [int(Op.GIVE_UP)]
    if word.startswith("*@"):
        return [int(Op.TRUNCATE), word[2:]]
    found = SPOKEN.fullmatch(word)
    assert found is not None, f"{word!r} is no operation"
    key, sign, space = found["key"], found["sign"], found["space"] or SYNC
    value = int(found["value"]) if found["value"].isdecimal() else found["value"]
    row = tuples.encode([key, value] if sign in {"=", "=="} else [key])
    match found["how"], sign:
        case "-", _:
            return [int(Op.DELETE), space, 0, [key]]
        case "!", _:
            return [int(Op.REQUIRE_EXISTENCE), space, 0, [key], False]
        case "+", _:
            return [int(Op.INSERT), space, row]
        case _, "?":
            return [int(Op.REQUIRE_EXISTENCE), space, 0, [key], True]
        case _, "==":
            return [int(Op.REQUIRE_EQUAL), space, 0, [key], row]
        case _, "+=":
            return [int(Op.UPDATE), space, 0, [key], [["+", "value", value]]]
        case _:
            return [int(Op.REPLACE), space, row]


# --------------------------------------------------------------------------------- what is there


def is_tuple(key: bytes) -> bool:
    """Is it the place of a tuple of a space that users made?"""
    return key >= keys.prefix(schema.USER_SPACE_MIN, 0) and key[4] == 0


def key_of(encoded: bytes) -> str:
    """The key of a deleted tuple of a space made by `create`."""
    return encoded[1:-1].decode()


def shown(row: bytes) -> str:
    """A tuple as it was put: `x` or `x=5`."""
    key, *value = tuples.stored(row)
    return f"{key}={value[0]}" if value else str(key)


def describe(entry: Entry, known: Schema | None = None) -> str:
    """An entry in short. `known` has the names of spaces that were made meanwhile."""
    kind = EntryKind(entry.kind)
    if entry.flags & CONFIG:
        return f"CONFIG {{{' '.join(map(_member, CODEC.decode(entry.body)))}}}"
    if kind is EntryKind.TXN:
        session, number, _, found, *_ = body.decode(entry.body)
        refusal = body.refusal(entry.body)
        if refusal is not None:
            return f"refusal of {session_name(session)}/{number}: {refusal.code}"
        effects = [_effect(known, *effect) for effect in found if effect[0] != schema.SCHEMA]
        text = effects[0] if len(effects) == 1 else f"({' '.join(effects)})"
        return text if entry.flags & WAIT_ACK else f"{text} async"
    if kind is EntryKind.DEMOTE:
        return "DEMOTE"
    ref = read_ref(entry)
    return f"{kind.name} {ref.owner}/{ref.lsn}"


def _member(member: Member) -> str:
    """`1`, on another directory than its first `1'2`, and a learner in brackets."""
    directory = f"'{member.instance}" if member.instance else ""
    text = f"{member.replica}{directory}"
    return text if member.votes else f"({text})"


def _effect(known: Schema | None, number: int, key: bytes, row: bytes | None) -> str:
    if number == schema.TRUNCATE and row:
        return f"truncate {_named(known, tuples.stored(row)[0])}"
    if number == schema.SESSION:
        return f"{'' if row else 'end of '}session {session_name(sessions.name_of(key))}"
    if number in SYSTEM:
        fields = tuples.stored(row) if row else [key_of(key)]
        name = next(each for each in fields if isinstance(each, str))
        return f"{'' if row else 'end of '}{SYSTEM[number]} {name}"
    where = "" if number in FURNISHED else f"@{_named(known, number)}"
    return (f"delete {key_of(key)}" if row is None else shown(row)) + where


def sessions_opened(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Their ids, in the order of the log."""
    for entry in entries:
        if entry.kind == EntryKind.TXN:
            for number, key, row in body.decode(entry.body)[3]:
                if number == schema.SESSION and row is not None:
                    yield sessions.name_of(key)


def session_name(session: bytes) -> str:
    """What its client calls it."""
    return session[: -sessions.PLACE_BYTES].decode()


def _named(known: Schema | None, number: object) -> str:
    space = known.find(number) if known else None
    return space.name if space else str(number)
