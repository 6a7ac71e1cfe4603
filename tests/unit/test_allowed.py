"""What was found right once is not looked up again, and never outlives the rights that gave it."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from qsync import audit
from qsync.config.sections import AuditSection
from qsync.data.operation_kinds import Op
from qsync.errors import AccessDenied, Rebuilding
from qsync.node import guard
from qsync.node.allowed import SPACES_MAX, AllowedQuestions
from qsync.node.auditing import AuditTrail
from qsync.node.connection import Connection
from qsync.rights import LOCAL_ADMIN
from qsync.wire.verbs import CountRequest, GetRequest, Request, SelectRequest, WriteRequest
from tests.node.lone import Lone, row

OPS = [[Op.INSERT, "mine", row(1)]]


class Asker:
    """A connection of ann to a replica alone; what she asks is judged, and no more."""

    def __init__(self, path: Path, sock: socket.socket) -> None:
        self.lone = Lone()
        self.audit = AuditTrail(
            path, AuditSection(), now=lambda: 0.0, wall=lambda: 0.0, alarm=print
        )
        self.connection = Connection(sock, frame_bytes_max=1, opened_at=0.0)
        self.connection.turn.user = "ann"
        made: list[list[object]] = [[Op.CREATE_SPACE, name, None] for name in ("mine", "other")]
        made += [[Op.ENABLE_USERS, bytes(32)], [Op.CREATE_USER, "root", None]]
        for op in made:
            self.lone.write(op)
        self.lone.write([Op.CREATE_USER, "ann", None], [Op.GRANT, "ann", "read", "space", "mine"])

    def refused(self, request: Request) -> bool:
        """Is it?"""
        rights = guard.rights_of(self.lone.replica)
        assert rights is not None
        why = guard.refusal(self.lone.replica, rights, self.connection, request, self)
        assert why is None or isinstance(why, AccessDenied)
        return why is not None

    @property
    def known(self) -> AllowedQuestions:
        """What is remembered of the connection."""
        return self.connection.turn.allowed

    def covers(self, request: Request) -> bool:
        """Need it not be looked up?"""
        rights = guard.rights_of(self.lone.replica)
        assert rights is not None
        return self.known.covers(rights, self.connection.turn.user, request)


@pytest.fixture
def ann(tmp_path: Path) -> Iterator[Asker]:
    near, far = socket.socketpair()
    with near, far:
        yield Asker(tmp_path, near)


def get(space: str | int) -> GetRequest:
    return GetRequest(1, space, 0, [1])


def test_while_rows_are_made_anew_nobody_lacks_a_right_and_the_owner_has_all(ann: Asker) -> None:
    """What a right is judged by is not known then; what was found before counts for nothing."""
    assert not ann.refused(get("mine"))
    ann.lone.replica.lose("a row is not as it was stored")
    rights = guard.rights_of(ann.lone.replica)
    assert rights is not None
    asked = (ann.lone.replica, rights, ann.connection, get("mine"), ann)
    assert isinstance(guard.refusal(*asked), Rebuilding)
    ann.connection.turn.user = LOCAL_ADMIN
    assert guard.refusal(*asked) is None


def test_a_read_is_looked_up_once_for_each_space(ann: Asker) -> None:
    assert not ann.covers(get("mine"))
    assert not ann.refused(get("mine"))
    assert ann.covers(get("mine"))
    assert ann.covers(SelectRequest(1, "mine", 0, "all", [], 9))
    assert ann.covers(CountRequest(1, "mine", 0, "all", []))
    assert not ann.covers(get("other"))
    assert ann.refused(get("other"))
    assert not ann.covers(get("other")), "a refusal is not kept"
    assert ann.refused(get("other"))


def test_what_a_transaction_would_write_is_looked_up_each_time(ann: Asker) -> None:
    assert not ann.refused(get("mine"))
    for ahead in (
        SelectRequest(1, "mine", 0, "all", [], 9, ops=OPS),
        CountRequest(1, "mine", 0, "all", [], ops=OPS),
    ):
        assert not ann.covers(ahead)
        assert ann.refused(ahead)


def test_a_right_that_is_taken_back_is_gone_with_the_next_question(ann: Asker) -> None:
    assert not ann.refused(get("mine"))
    assert not ann.refused(WriteRequest(1, b"", 0, 0, 0, OPS))
    ann.lone.write([Op.REVOKE, "ann", "read", "space", "mine"])
    assert ann.refused(get("mine"))
    ann.lone.write([Op.GRANT, "ann", "read", "space", "mine"])
    assert not ann.refused(get("mine"))
    ann.lone.write([Op.REVOKE, "ann", "session", "universe", ""])
    assert ann.refused(get("mine"))
    assert ann.refused(WriteRequest(1, b"", 0, 0, 0, OPS))


def test_a_number_that_comes_to_name_another_space_is_looked_up_anew(ann: Asker) -> None:
    number = ann.lone.replica.raw.schemas.shown.space("mine").id
    assert not ann.refused(get(number))
    ann.lone.write([Op.ALTER_SPACE, "mine", {"name": "moved"}])
    assert ann.lone.replica.raw.schemas.shown.name_of(number) == "moved"
    assert ann.refused(get(number))


def test_another_user_of_the_connection_begins_anew(ann: Asker) -> None:
    assert not ann.refused(get("mine"))
    ann.lone.write([Op.CREATE_USER, "bob", None])
    assert not ann.refused(get("mine"))
    ann.connection.turn.user = "bob"
    assert ann.refused(get("mine"))


def test_only_so_many_spaces_are_remembered(ann: Asker) -> None:
    ann.lone.write([Op.GRANT, "ann", "read", "universe", ""])
    for number in range(SPACES_MAX + 1):
        assert not ann.refused(get(f"s{number}"))
    assert ann.covers(get("s0"))
    assert not ann.covers(get(f"s{SPACES_MAX}"))


def test_what_is_a_line_of_the_trail_is_one_each_time(ann: Asker, tmp_path: Path) -> None:
    ann.connection.turn.user = "root"
    change = WriteRequest(1, b"", 0, 0, 0, [[Op.DROP_SPACE, "other"]])
    assert not ann.refused(WriteRequest(1, b"", 0, 0, 0, OPS))
    for _ in range(3):
        assert not ann.refused(change)
    lines = list(audit.lines_of(audit.files_of(tmp_path)))
    assert len(lines) == 3
