"""Shares of an audit trail: who floods it pushes nothing out, and what he did is counted."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.main import run
from qsync import audit
from qsync.config.sections import AuditFailure, AuditSection
from qsync.data.draft import SCHEMA_CHANGES_MAX
from qsync.data.operation_kinds import Op
from qsync.errors import AccessDenied, StoreError, TooLarge
from qsync.node import guard
from qsync.node.audit_shares import ADDRESSES_MAX, KINDS_MAX, TEXT_CHARS_MAX, Actor, AuditShares
from qsync.node.auditing import AuditTrail
from qsync.node.connection import Connection
from qsync.node.logins import FAILURES_FREE
from qsync.replica import Replica
from qsync.wire.verbs import WriteRequest
from tests.node.lone import Lone, row

GRANT: list[object] = [Op.GRANT, "mallory", "super", "universe", ""]
OWN: list[object] = [Op.ALTER_USER, "mallory", {"password": {"salt": b"s"}}]
MINUTE, DAY = 60.0, 86_400.0


class Node:
    """The trail of a node that has users, with a clock, and what mallory asks of it."""

    def __init__(self, path: Path, section: AuditSection) -> None:
        self.path, self.now = path, 0.0
        self.lone = Lone()
        for op in ([Op.CREATE_SPACE, "mine", None], [Op.ENABLE_USERS, bytes(32)]):
            self.lone.write(op)
        self.lone.write([Op.CREATE_USER, "root", None])
        self.lone.write([Op.CREATE_USER, "mallory", None])
        self.alarms: list[str] = []
        self.audit = AuditTrail(
            path,
            section,
            now=lambda: self.now,
            wall=lambda: self.now,
            alarm=self.alarms.append,
        )

    def connect(self, user: str = "mallory", address: str = "10.0.0.7") -> Connection:
        """A new connection: what it is denied counts anew."""
        self.near, self.far = socket.socketpair()
        found = Connection(self.near, frame_bytes_max=1, opened_at=0.0)
        found.turn.user = found.turn.login = user
        found.turn.address = address
        self.near.close()
        self.far.close()
        return found

    def ask(self, connection: Connection, *ops: list[object]) -> object:
        """Return why a write is refused on its arrival; None if it goes on."""
        replica: Replica = self.lone.replica
        rights = guard.rights_of(replica)
        assert rights is not None
        request = WriteRequest(1, b"", 0, 0, 0, [*ops])
        return guard.refusal(replica, rights, connection, request, self)

    def pass_time(self, seconds: float) -> None:
        """The node looks once a second; here once, when it is over."""
        self.now += seconds
        self.audit.write_counts()

    def lines(self, event: str = "") -> list[dict[str, object]]:
        """What its files hold, and the chain is whole."""
        texts = list(audit.lines_of(audit.files_of(self.path)))
        assert not audit.verify(texts, kept=[self.audit.head]).faults
        found = [audit.fields_of(text) for _, text in texts]
        return [each for each in found if event in {"", each["event"]}]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path, AuditSection(lines_per_user_max=3, counts_interval=MINUTE))


def floods() -> Iterator[str]:
    """Causes without end."""
    yield from (f"read on space 's{number}'" for number in range(1000))


def test_a_grant_survives_refusals_without_end_that_are_counted(tmp_path: Path) -> None:
    section = AuditSection(bytes_max=16 << 10, files_max=2)
    node = Node(tmp_path, section)
    assert node.ask(node.connect("root"), GRANT) is None
    count = 0
    for _ in range(60):
        for why in floods():
            node.audit.note_denied(node.connect(), why)
            node.audit.note_login("mallory", "10.0.0.7")
            count += 1
        node.pass_time(1.0)
    node.audit.write_counts(at_once=True)
    assert [each["user"] for each in node.lines("write")] == ["root"]
    for event in ("denied", "login"):
        told = node.lines(event)
        assert sum(int(str(each.get("count", 1))) for each in told) == count
        assert len(told) == section.lines_per_user_max / 2 + 1


def test_a_day_of_it_fills_little(tmp_path: Path) -> None:
    """The longest lines that cost no right, as fast as the trail takes them, from one account."""
    node = Node(tmp_path, AuditSection())
    long = [Op.GRANT, *("\x1b" * 4000 for _ in range(3))]
    for _ in range(int(DAY / MINUTE)):
        for number in range(3):
            connection = node.connect()
            node.audit.note_denied(connection, f"{number}" + "\x1b" * 1000)
            node.audit.note_login("mallory", "10.0.0.7")
            assert node.ask(connection, [*long, number]) is None
            assert node.ask(connection, OWN) is None
        node.pass_time(MINUTE)
    size = sum(each.stat().st_size for each in audit.files_of(tmp_path))
    assert size < 12 << 20
    section = AuditSection()
    assert size * 60 < section.bytes_max * (section.files_max + 1)


def test_a_day_of_failures_from_ever_new_addresses_fills_little(tmp_path: Path) -> None:
    """Each has a few attempts before it must wait, and says any name that a greeting holds."""
    node, name, count = Node(tmp_path, AuditSection()), "\x1b" * 4000, 0
    for minute in range(int(DAY / MINUTE / 4)):
        for number in range(ADDRESSES_MAX // 4):
            for _ in range(FAILURES_FREE):
                count += 1
                node.audit.note_failure(f"{count}{name}", f"fd00:{minute:x}:{number:x}::", "wrong")
        node.pass_time(MINUTE)
    size = sum(each.stat().st_size for each in audit.files_of(tmp_path))
    assert 4 * size < 32 << 20


def test_the_line_of_counts_says_what_when_and_how_often(node: Node) -> None:
    for number in range(5 + KINDS_MAX):
        node.audit.note_denied(node.connect(), f"read on space 's{number}'")
        node.audit.note_denied(node.connect(), "write on space 'mine'")
        node.now += 1.0
    node.pass_time(MINUTE)
    *own, counted = node.lines("denied")
    assert [each["why"] for each in own] == [
        "read on space 's0'",
        "write on space 'mine'",
        "read on space 's1'",
    ]
    assert (counted["user"], counted["address"]) == ("mallory", "10.0.0.7")
    assert "why" not in counted
    assert counted["count"] == 2 * (5 + KINDS_MAX) - 3
    assert str(counted["first"]).endswith("00:00:01.000+00:00")
    assert str(counted["last"]).endswith(f"00:00:{4 + KINDS_MAX}.000+00:00")
    found = counted["of"]
    assert isinstance(found, list)
    assert len(found) == KINDS_MAX
    assert found[0] == {"why": "write on space 'mine'", "count": 4 + KINDS_MAX}
    assert counted["others"] == 4


def test_who_is_quiet_has_lines_of_his_own_again(node: Node) -> None:
    for _ in range(10):
        node.audit.note_login("mallory", "10.0.0.7")
    node.pass_time(MINUTE)
    assert [each.get("count") for each in node.lines()] == [None, None, None, 7]
    node.audit.note_login("mallory", "10.0.0.7")
    node.audit.note_login("mallory", "10.0.0.7")
    node.pass_time(10 * MINUTE)
    assert [each.get("count") for each in node.lines()[4:]] == [None, 1]
    for _ in range(3):
        node.audit.note_login("mallory", "10.0.0.7")
    assert [each.get("count") for each in node.lines()[6:]] == [None, None, None]


def test_the_share_of_one_user_is_not_that_of_another(node: Node) -> None:
    for _ in range(10):
        node.audit.note_login("mallory", "10.0.0.7")
        node.audit.note_failure("ann", "10.0.0.7", "wrong")  # anybody can say that he is ann
    node.audit.note_login("ann", "10.0.0.7")
    assert node.lines()[-1]["user"] == "ann"
    assert len(node.lines()) == 3 + 3 + 1


def test_of_more_addresses_than_have_shares_the_others_have_one_together(node: Node) -> None:
    for number in range(ADDRESSES_MAX + 10):
        node.audit.note_failure("ann", f"10.0.{number // 250}.{number % 250}", "wrong")
    assert len(node.lines()) == ADDRESSES_MAX + 3
    node.audit.note_login("ann", "10.0.0.7")  # a user has hers all the same
    assert node.lines()[-1]["event"] == "login"
    node.pass_time(MINUTE)
    assert node.lines()[-1]["count"] == 10 - 3
    shares = AuditShares(AuditSection(), now=lambda: node.now)
    for number in range(2 * ADDRESSES_MAX):
        shares.has_counted(Actor(is_user=False, name=str(number)), "login", {}, "")
        node.now += 1.0
        list(shares.due())
    assert not shares.has_counted(Actor(is_user=False, name="1"), "login", {}, "")


def test_changes_are_lines_always_and_behind_what_their_user_did_before(node: Node) -> None:
    for _ in range(10):
        node.audit.note_login("root", "10.0.0.1")
    for _ in range(10):
        assert node.ask(node.connect("root"), GRANT) is None
    told = [(each["event"], each.get("count")) for each in node.lines()]
    assert told == [("login", None)] * 3 + [("login", 7)] + [("write", None)] * 10


def test_changes_that_take_no_right_or_are_asked_for_without_it_are_of_the_share(
    node: Node,
) -> None:
    for _ in range(10):
        assert node.ask(node.connect(), *([OWN] * 5)) is None
        assert node.ask(node.connect(), GRANT) is None  # denied where it is executed
        assert node.ask(node.connect(), OWN, [Op.OPEN_SESSION, b"s", 1]) is None
        assert node.ask(node.connect(), [Op.INSERT, "mine", row(1)]) is None  # the log tells it
    node.pass_time(MINUTE)
    assert [each.get("count") for each in node.lines()] == [None] * 3 + [27]
    assert node.lines()[-1]["user"] == "mallory"


def test_a_right_to_write_makes_one_s_own_passwords_no_change_that_takes_one(node: Node) -> None:
    node.lone.write([Op.GRANT, "mallory", "write", "space", "mine"])
    for _ in range(10):
        assert node.ask(node.connect(), OWN, [Op.INSERT, "mine", row(1)]) is None
    assert len(node.lines()) == 3
    assert node.ask(node.connect(), [Op.TRUNCATE, "mine"]) is None
    assert node.lines()[-1]["asked"] == {"operations": [["truncate", "mine"]]}


def test_a_transaction_of_too_many_changes_is_one_line_and_refused(node: Node) -> None:
    many = SCHEMA_CHANGES_MAX + 1
    assert node.ask(node.connect("root"), *([GRANT] * (many - 1))) is None
    before = len(node.lines())
    for user, ops in (("root", [GRANT] * 65_000), ("mallory", [OWN] * many)):
        why = node.ask(node.connect(user), *ops)
        assert isinstance(why, TooLarge)
        assert why.details["limit"] == "SCHEMA_CHANGES_MAX"
    one, other = node.lines()[before:]
    assert (one["user"], one["refused"], other["user"]) == ("root", "TOO_LARGE", "mallory")
    asked = one["asked"]
    assert isinstance(asked, dict)
    assert asked["count"] == 65_000
    assert asked["operations"][0] == ["grant", "mallory", "super", "universe", ""]
    assert len(str(one)) < 1000


def test_what_is_counted_is_written_when_the_node_stops(node: Node) -> None:
    for _ in range(10):
        node.audit.note_login("mallory", "10.0.0.7")
    node.audit.write_counts(at_once=True)
    node.audit.write_counts(at_once=True)
    assert [each.get("count") for each in node.lines()] == [None] * 3 + [7]


def test_counts_that_the_disk_does_not_take_are_counted_on(node: Node) -> None:
    for _ in range(10):
        node.audit.note_login("mallory", "10.0.0.7")
    path = node.path / audit.FILE
    path.rename(node.path / "kept")
    path.mkdir()
    node.pass_time(MINUTE)
    assert len(node.alarms) == 1
    path.rmdir()
    (node.path / "kept").rename(path)
    node.audit.note_login("root", "10.0.0.1")
    node.pass_time(0.0)
    assert [each.get("count") for each in node.lines()] == [None] * 4 + [7]


def test_what_cannot_be_written_down_is_refused_whatever_was_counted(tmp_path: Path) -> None:
    node = Node(tmp_path, AuditSection(lines_per_user_max=1, on_failure=AuditFailure.REFUSE))
    for _ in range(2):
        node.audit.note_login("mallory", "10.0.0.7")
    path = tmp_path / audit.FILE
    path.rename(tmp_path / "kept")
    path.mkdir()
    with pytest.raises(StoreError):
        node.audit.note_login("root", "10.0.0.1")
    with pytest.raises(StoreError):
        node.audit.note_login("mallory", "10.0.0.7")


def test_a_line_of_counts_is_no_longer_than_others(node: Node) -> None:
    long = "\x1b" * (2 * TEXT_CHARS_MAX)
    for number in range(3 + 2 * KINDS_MAX):
        node.audit.note_failure(f"{number}{long}", "10.0.0.7", f"{number}{long}")
    node.pass_time(MINUTE)
    counted = node.lines()[-1]
    assert counted["count"] == 2 * KINDS_MAX
    lines = (node.path / audit.FILE).read_bytes().splitlines()
    assert 2 * max(map(len, lines)) < audit.TAIL_BYTES


def test_show_finds_a_user_in_a_line_of_counts(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ann", "bob", "cid", "ann", "bob"):
        node.audit.note_failure(name, "10.0.0.7", "wrong")
    node.pass_time(MINUTE)
    assert run(["audit", "show", str(node.path), "--user", "ann"]) == 0
    one, counted = capsys.readouterr().out.splitlines()
    assert "ann@10.0.0.7 why=wrong" in one
    assert "-@10.0.0.7 why=wrong count=2" in counted
    assert run(["audit", "show", str(node.path), "--user", "dan"]) == 0
    assert capsys.readouterr().out == ""


def test_a_denial_of_a_running_write_is_of_the_share_of_who_logged_in(node: Node) -> None:
    """Whoever he acts as."""
    for number in range(5):
        connection = node.connect(f"user{number}")
        connection.turn.login = "root"
        guard.noted(AccessDenied("no"), connection, node)
    node.pass_time(MINUTE)
    counted = node.lines()[-1]
    assert (counted["login"], counted["count"]) == ("root", 2)
