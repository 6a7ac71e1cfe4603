"""A node's audit trail: kept where the cluster has users, beside its log, in files of their own.

A line is flushed to the kernel before its request is answered. Where that fails, the policy
decides (`audit.on_failure`): `alarm` goes on, `refuse` refuses whatever would have been written
down. Either way status and metrics count the miss, and the first in a row is an event.

What takes a right is a line, always. Of what takes none each user has a share (`audit_shares`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from qsync import audit
from qsync.audit import AuditHead
from qsync.config.sections import AuditFailure, AuditSection
from qsync.data.draft import SCHEMA_CHANGES_MAX
from qsync.data.operation_kinds import Op
from qsync.data.request import too_large
from qsync.errors import StoreError, TooLarge
from qsync.line_files import last_lines
from qsync.node.audit_shares import Actor, AuditShares
from qsync.node.connection import Connection
from qsync.node.data_operations import is_of_data
from qsync.node.origins import origin_of
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
USER_CHARS_MAX: Final = 128
"""Of the name at a login that failed; more than any user's."""
WHY_CHARS_MAX: Final = 512
"""Of what was denied; more than a right on a space with the longest name takes."""
FIRST_NAMED: Final = 4
"""Operations that the line about a transaction with too many of them names."""
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
        now: Callable[[], float],
        wall: Callable[[], float],
        alarm: Callable[[str], None],
    ) -> None:
        """`now`: seconds of a clock that is never set; `wall`: what lines are dated by."""
        self.head = AuditHead()
        self.begun: AuditHead | None = None
        """The head that was found when this life began; None until it is read."""
        self.unwritten = 0
        """Lines that the disk did not take."""
        self._path = None if directory is None else directory / audit.FILE
        self._section = section
        self._shares = AuditShares(section, now=now)
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

    def write_counts(self, *, of: Actor | None = None, at_once: bool = False) -> None:
        """Write what was counted and is due, all of it `at_once`, or all of one actor.

        Call it now and then. What cannot be written is counted on.
        """
        for share, event, counts in self._shares.due(of=of, at_once=at_once):
            if self._write(event, counts.fields()) is None:
                share.has_written(event)

    def note_users(self, users: Iterable[str]) -> None:
        """List the existing users, once in a new trail: the first was created without a login.

        A trail is new, too, with the line of a restore or of a forced recovery alone: others made
        the users that came along. So many a line; each line says how many there are in all.
        """
        if self._introduced or self._path is None:
            return
        self._introduced = True
        with suppress(OSError, ValueError):  # then writing the line raises the alarm
            self._recall(self._path)
        if self.begun is None or self.begun.number <= 1:
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
            text, head = audit.line(self.head, event, self._time(), fields)
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

    def note_request(
        self, connection: Connection, request: verbs.Request, *, by_right: bool = True
    ) -> None:
        """Write down a request of a client. Raises StoreError as `write_line` does, TooLarge.

        `by_right`: the client has a right that not everybody has, and that the request takes.
        """
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
            self._note_write(connection, request, by_right=by_right)
            return
        else:
            return
        self._note_change(connection, verb.name.lower(), {"asked": _cut(_public(what))})

    def _note_write(
        self, connection: Connection, request: verbs.WriteRequest, *, by_right: bool
    ) -> None:
        """Write down the operations that are no data. Raises TooLarge for too many of them.

        So many do nothing: they would be refused where they are executed, for the same reason.
        """
        named = [each for each in map(_operation, request.ops) if each is not None]
        if not named:
            return
        if len(named) > SCHEMA_CHANGES_MAX:
            some = [_cut(each) for each in named[:FIRST_NAMED]]
            asked = {"operations": some, "count": len(named)}
            fields = _who(connection) | {"asked": asked, "refused": TooLarge.code}
            self._note_shared(_actor(connection), "write", fields)
            what, limit = "a transaction", "SCHEMA_CHANGES_MAX"
            raise too_large(what, limit, SCHEMA_CHANGES_MAX, unit="changes of the schema")
        for some in _lines_of(named):
            if by_right:
                self._note_change(connection, "write", {"asked": {"operations": some}})
            else:
                fields = _who(connection) | {"asked": {"operations": some}}
                self._note_shared(_actor(connection), "write", fields)

    def note_login(self, user: str, address: str, *, by: str = "") -> None:
        """Write down a login; `by`: of another user, who acts as this one."""
        fields = {"user": user, "address": address}
        if by:
            fields |= {"address": f"{address}, by {by}", "login": by}
        self._note_shared(Actor(is_user=True, name=by or user), "login", fields)

    def note_failure(self, user: str, address: str, why: str, *, is_known: bool = False) -> None:
        """Write down a login that failed; `is_known`: it was proved that it is this user.

        Cut, since whoever reaches the port may say any name.
        """
        name = user if is_known else origin_of(address)
        actor = Actor(is_user=is_known, name=name)
        fields = {"user": user[:USER_CHARS_MAX], "address": address, "why": why}
        self._note_shared(actor, "login_failed", fields)

    def note_denied(self, connection: Connection, missing: str) -> None:
        """Write down a denied request: a line a right, or one client could fill the disk.

        Cut, since it names the space as the client did, who may have named what is none.
        """
        noted, missing = connection.turn.noted, missing[:WHY_CHARS_MAX]
        if missing in noted or len(noted) > NOTED_MAX:
            return
        why = missing if len(noted) < NOTED_MAX else OTHERS
        noted.add(missing)
        self._note_shared(_actor(connection), "denied", _who(connection) | {"why": why})

    def _note_change(
        self, connection: Connection, event: str, fields: Mapping[str, object]
    ) -> None:
        """Write a line about what takes a right, behind what was counted of its user before."""
        self.write_counts(of=_actor(connection))
        self.write_line(event, {**_who(connection), **fields})

    def _note_shared(self, actor: Actor, event: str, fields: Mapping[str, object]) -> None:
        """Write a line about what takes no right, or count it. Raises as `write_line` does.

        While lines cannot be written nothing is counted: the policy says what becomes of it.
        """
        is_kept = self._path is not None and not self._failing
        if not is_kept or not self._shares.has_counted(actor, event, fields, self._time()):
            self.write_line(event, fields)

    def _time(self) -> str:
        return datetime.fromtimestamp(self._wall(), UTC).isoformat(timespec="milliseconds")

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


def _actor(connection: Connection) -> Actor:
    """Return who it is that asks, whoever he acts as."""
    turn = connection.turn
    return Actor(is_user=True, name=turn.login or turn.user)


def _arguments(request: verbs.Request) -> dict[str, object]:
    fields: dict[str, object] = request._asdict()
    return {key: value for key, value in fields.items() if key not in {"id", "verb"}}


def _operation(op: list[object]) -> list[object] | None:
    """Return an operation as it is written down, without what passwords are checked by."""
    if not op or not isinstance(op[0], int) or is_of_data(op):
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
