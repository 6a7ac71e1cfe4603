"""A node's audit trail: kept where the cluster has users, beside its log, in files of their own.

A line is flushed to the kernel before its request is answered. Where that fails, the policy
decides (`audit.on_failure`): `alarm` goes on, `refuse` refuses whatever would have been written
down. Either way status and metrics count the miss, and the first in a row is an event.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from qsync import audit
from qsync.audit import AuditHead
from qsync.config.sections import AuditFailure, AuditSection
from qsync.data.operation_kinds import Op
from qsync.errors import StoreError
from qsync.line_files import last_lines
from qsync.node.connection import Connection
from qsync.wire import verb_rights, verbs
from qsync.wire.verbs import Verb

_LINE_CHARS_MAX: Final = 4096
"""Of an operation with its arguments; longer ones are cut. Of many in one line about as much."""
_REREAD_BYTES: Final = 1 << 20
"""How much of the ends of the files is read for what was noted in a former life."""
_OWN: Final = frozenset({"n", "time", "event", "before", "hash"})
"""The fields that every line has."""
USERS_A_LINE: Final = 64
"""Existing users that one line of a new trail names."""
NOTED_MAX: Final = 64
"""Lines per connection, about, of missing rights; one more says that there are others."""
OTHERS: Final = "others, of which no more is written for this connection"
"""Why more was denied."""
OPERATIONS: Final = frozenset(
    {
        *(Verb.PROMOTE, Verb.DEMOTE, Verb.CLEAR, Verb.ROLLBACK_QUEUE, Verb.CHANGE_MEMBER),
        *(Verb.OPTIONS, Verb.SNAPSHOT, Verb.FAULT, Verb.RELOAD),
    }
)
"""Each of these is a line."""
TAKING: Final = frozenset({Verb.LOG, Verb.PACKED, Verb.SNAPSHOT_READ})
"""Of these the first one of a connection is."""
DATA_OPS: Final = frozenset(
    {
        *(Op.INSERT, Op.REPLACE, Op.UPDATE, Op.UPSERT, Op.DELETE, Op.NEXT_VALUE),
        *(Op.REQUIRE_EQUAL, Op.REQUIRE_EXISTENCE, Op.OPEN_SESSION, Op.EXPIRE_SESSION, Op.GIVE_UP),
        *(Op.REGISTER_CONSUMER, Op.ADVANCE_CONSUMER, Op.MOVE_REPLICA),
    }
)
"""Operations that the log itself records. Any other operation of a write is a line."""


AUDITED: Final = frozenset(
    {
        *("started", "stopped", "elected", "stepped_down", "fenced", "promote", "split_brain"),
        *("member", "member_changed", "configuration", "superseded", "superseded_by", "old_copy"),
        *("certificate_read", "certificate_refused", "snapshot_installed", "audit_cut"),
    }
)
"""Events of the node that are a line each: leaders, changes of members, restarts."""


class AuditTrail:
    """One per node. `path`: its file, which is begun with the first line."""

    def __init__(
        self,
        directory: Path | None,
        section: AuditSection,
        *,
        wall: Callable[[], float],
        alarm: Callable[[str], None],
    ) -> None:
        self.head = AuditHead()
        self.begun: AuditHead | None = None
        """The head that was found when this life began; None until it is read."""
        self.unwritten = 0
        """Lines that the disk did not take."""
        self._path = None if directory is None else directory / audit.FILE
        self._section = section
        self._wall = wall
        self._alarm = alarm
        """Hears why a line is missing, of the first one in a row: strangers can cause them."""
        self._failing = False
        self._known = False
        self._introduced = False
        self._news = False
        """There are lines since the head was taken last, beside those about other trails."""

    def write_line(self, event: str, fields: Mapping[str, object]) -> None:
        """Write a line. Raises StoreError where it cannot be written and the policy is `refuse`."""
        why = self._write(event, fields)
        if why is not None and self._section.on_failure is AuditFailure.REFUSE:
            raise StoreError(
                f"it cannot be written down who does what: {why}",
                hint="audit.on_failure is refuse; make room, or mend the trail",
            )

    def note_users(self, users: Iterable[str]) -> None:
        """List the existing users, once in a new trail: the first was created without a login.

        So many a line; each line says how many there are in all.
        """
        if self._introduced or self._path is None:
            return
        self._introduced = True
        with suppress(OSError, ValueError):  # then writing the line raises the alarm
            self._recall(self._path)
        if self.begun is None or not self.begun.number:
            names = sorted(users)
            for at in range(0, len(names), USERS_A_LINE):
                some = names[at : at + USERS_A_LINE]
                self._write("users", {"users": some, "count": len(names)})

    def note_happening(self, event: str, fields: Mapping[str, object]) -> None:
        """Write down an event that has already happened and cannot be refused any more."""
        if event in AUDITED:
            self._write(event, {k: _public(each) for k, each in fields.items() if k not in _OWN})

    def note_head(self, fields: Mapping[str, object]) -> None:
        """Write down the head of another node's trail; that line is not reported to others."""
        self._write(audit.HEAD, fields, is_news=False)

    def take_news(self) -> bool:
        """Return whether there are lines since the last call; those in the files count at first."""
        if self._path is None:
            return False
        try:
            self._recall(self._path)
        except (OSError, ValueError):
            return False  # the next line that cannot be written raises the alarm
        news, self._news = self._news, False
        return news

    def latest(self, event: str) -> list[dict[str, object]]:
        """Return lines of that event near the end, oldest first; none if they are unreadable."""
        found: list[dict[str, object]] = []
        if self._path is None:
            return found
        try:
            texts = [
                text
                for path in audit.files_of(self._path.parent)[-2:]
                for text in last_lines(path, bytes_max=_REREAD_BYTES)
            ]
        except OSError:
            return found
        for text in texts:
            try:
                said = audit.fields_of(text)
            except ValueError:
                continue
            if said["event"] == event:
                found.append(said)
        return found

    def _write(
        self, event: str, fields: Mapping[str, object], *, is_news: bool = True
    ) -> str | None:
        """Write a line; return why it could not be written, or None."""
        if self._path is None:
            return None
        try:
            self._recall(self._path)
            time = datetime.fromtimestamp(self._wall(), UTC).isoformat(timespec="milliseconds")
            text, head = audit.line(self.head, event, time, fields)
            self._rotate(self._path)
            audit.append(self._path, text)
        except (OSError, ValueError) as error:
            self.unwritten += 1
            failing, self._failing = self._failing, True
            if not failing:
                self._alarm(str(error))
            self._known = False  # half a line may be there, or all of it
            return str(error)
        self.head, self._failing = head, False
        self._news = self._news or is_news
        return None

    def note_request(self, connection: Connection, request: verbs.Request) -> None:
        """Write down a request that a client may make. Raises StoreError as `write_line` does."""
        verb = verb_rights.verb_of(request)
        what: object
        if verb in OPERATIONS:
            what = _arguments(request)
            if what == {"given": {}}:  # it only asks for the options
                return
        elif verb in TAKING:
            if verb.name in connection.turn.noted:
                return
            connection.turn.noted.add(verb.name)  # whatever was noted before: these are few
            what = _arguments(request)
        elif isinstance(request, verbs.WriteRequest):
            named = [each for each in map(_operation, request.ops) if each is not None]
            if not named:
                return
            for some in _lines_of(named):
                self.write_line("write", _who(connection) | {"asked": {"operations": some}})
            return
        else:
            return
        self.write_line(verb.name.lower(), _who(connection) | {"asked": _cut(_public(what))})

    def note_login(self, user: str, address: str) -> None:
        """Write down a login."""
        self.write_line("login", {"user": user, "address": address})

    def note_failure(self, user: str, address: str, why: str) -> None:
        """Write down a login that failed."""
        self.write_line("login_failed", {"user": user, "address": address, "why": why})

    def note_denied(self, connection: Connection, missing: str) -> None:
        """Write down a denied request: a line a right, or one client could fill the disk.

        Cut, since it names the space as the client did, who may have named what is none.
        """
        noted, missing = connection.turn.noted, str(_cut(missing))
        if missing in noted or len(noted) > NOTED_MAX:
            return
        why = missing if len(noted) < NOTED_MAX else OTHERS
        noted.add(missing)
        self.write_line("denied", _who(connection) | {"why": why})

    def _recall(self, path: Path) -> None:
        """Continue behind the last whole line of a former life."""
        if self._known:
            return
        found = audit.last_head(path.parent)
        if found.number:
            self.head, self._news = found, True
        if self.begun is None:
            self.begun = found
        self._known = True

    def _rotate(self, path: Path) -> None:
        if not path.exists() or path.stat().st_size < self._section.bytes_max:
            return
        for number in range(self._section.files_max - 1, 0, -1):
            older = path.with_suffix(f".{number}.jsonl")
            if older.exists():
                older.replace(path.with_suffix(f".{number + 1}.jsonl"))
        path.replace(path.with_suffix(".1.jsonl"))
        for each in audit.files_of(path.parent)[: -self._section.files_max]:
            each.unlink()


def _who(connection: Connection) -> dict[str, object]:
    turn = connection.turn
    acting = {"login": turn.login} if turn.login != turn.user else {}
    return {"user": turn.user, "address": turn.address, **acting}


def _arguments(request: verbs.Request) -> dict[str, object]:
    fields: dict[str, object] = request._asdict()
    return {key: value for key, value in fields.items() if key not in {"id", "verb"}}


def _operation(op: list[object]) -> list[object] | None:
    """Return an operation as it is written down, without what passwords are checked by."""
    if not op or not isinstance(op[0], int) or op[0] in DATA_OPS:
        return None
    try:
        name = Op(op[0]).name.lower()
    except ValueError:
        return None
    return [name, *(_public(each) for each in op[1:])]


def _public(value: object) -> object:
    """Return what is written of a value: the reader of a line finds the same as its writer had.

    In JSON all keys of a map are text, and no two are the same. Other maps become pairs.
    """
    match value:
        case bytes():
            return "(bytes)"
        case Mapping():
            pairs = [
                (key, "(set)" if key == "password" else _public(one)) for key, one in value.items()
            ]
            if all(isinstance(key, str) for key, _ in pairs):
                return dict(pairs)
            return [[_public(key), one] for key, one in pairs]
        case list() | tuple():
            return [_public(each) for each in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _lines_of(operations: Sequence[object]) -> Iterator[list[object]]:
    """Return the operations line by line, each one cut by itself: a long one hides no other."""
    some: list[object] = []
    chars = 0
    for operation in map(_cut, operations):
        size = len(str(operation))
        if some and chars + size > _LINE_CHARS_MAX:
            yield some
            some, chars = [], 0
        some.append(operation)
        chars += size
    yield some


def _cut(value: object) -> object:
    text = str(value)
    return value if len(text) <= _LINE_CHARS_MAX else text[:_LINE_CHARS_MAX] + "..."
