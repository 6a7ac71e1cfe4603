"""Nodes keep the heads of each other's audit trails: no echo without end, and a cut one shows."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.main import run
from election.messages import Replica
from qsync import audit
from qsync.audit import AuditHead
from qsync.config.sections import AuditSection
from qsync.directory_files import IDENTITY
from qsync.errors import ProtocolError
from qsync.node.audit_heads import INSTANCES_MAX, AuditHeads, HeadNews
from qsync.node.auditing import AuditTrail
from qsync.store.identity import FORMAT, identity_text
from qsync.wire import peer_audit, peer_messages
from qsync.wire.frames import SealedFrames
from qsync.wire.peer_audit import PeerAudit
from tests.unit.logs import ME

INTERVAL = 60.0


class Member:
    """A node that writes a trail; the others hear of it at once."""

    def __init__(self, number: int, directory: Path, others: "list[Member]") -> None:
        self.number, self.directory, self.others = number, directory, others
        self.alarms: list[tuple[str, Mapping[str, object]]] = []
        self.tells = True
        directory.mkdir(exist_ok=True)
        identity = replace(ME, instance=f"i{number}", replica=Replica(number))
        (directory / IDENTITY).write_text(identity_text(identity, FORMAT))
        self.live()

    def live(self) -> None:
        """A life begins."""
        self.trail = AuditTrail(
            self.directory, AuditSection(), now=lambda: 0.0, wall=lambda: 0.0, alarm=lambda _: None
        )
        self.heads = AuditHeads(
            self.trail,
            interval=INTERVAL,
            send=self._send,
            alarm=lambda name, fields: self.alarms.append((name, fields)),
        )

    def _send(self, data: bytes) -> None:
        (payload,) = SealedFrames().feed(data)
        assert peer_audit.is_head(payload)
        name, instance = f"n{self.number}", f"i{self.number}"
        for each in self.others:
            if each is not self and each.tells:
                told = peer_audit.decode(payload)
                each.heads.heard(HeadNews(Replica(self.number), name, instance, told))

    def lines(self) -> int:
        return sum(1 for _ in audit.lines_of(audit.files_of(self.directory)))


@pytest.fixture
def members(tmp_path: Path) -> list[Member]:
    found: list[Member] = []
    found += [Member(number, tmp_path / f"n{number}", found) for number in (1, 2, 3)]
    return found


def pass_time(members: list[Member], intervals: int = 1, after: int = 0) -> None:
    for number in range(after, after + intervals):
        for each in members:
            each.heads.tick(number * INTERVAL)


def test_a_head_is_one_line_at_every_other_node_and_no_echo_follows(
    members: list[Member],
) -> None:
    members[0].trail.note_login("ann", "10.0.0.1")
    pass_time(members, 20)
    assert [each.lines() for each in members] == [1, 1, 1]
    members[1].trail.note_login("ann", "10.0.0.1")
    pass_time(members, 20, after=20)
    assert [each.lines() for each in members] == [2, 2, 2]
    for each in members:
        verdict = audit.verify(audit.lines_of(audit.files_of(each.directory)))
        assert verdict.faults == ()
        assert each.alarms == []


def test_it_is_told_once_an_interval_and_never_at_zero(tmp_path: Path) -> None:
    sent: list[bytes] = []
    trail = AuditTrail(
        tmp_path, AuditSection(), now=lambda: 0.0, wall=lambda: 0.0, alarm=lambda _: None
    )
    trail.note_login("ann", "10.0.0.1")
    for interval, wanted in ((INTERVAL, 2), (0.0, 0)):
        sent.clear()
        heads = AuditHeads(trail, interval=interval, send=sent.append, alarm=lambda *_: None)
        for now in (0.0, 1.0, INTERVAL - 1, INTERVAL, INTERVAL + 1):
            heads.tick(now)
        assert len(sent) == wanted
        trail.note_login("ann", "10.0.0.1")


def cut(member: Member, lines: int) -> None:
    path = member.directory / audit.FILE
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))


def remake(member: Member, lines: int) -> None:
    """All of it again, with right hashes, as whoever has the account of the node can."""
    path, head, text = member.directory / audit.FILE, AuditHead(), ""
    for number in range(lines):
        made, head = audit.line(head, "login", "then", {"user": f"other{number}"})
        text += made + "\n"
    path.write_text(text)


@pytest.mark.parametrize(
    ("change", "told"),
    [(lambda m: cut(m, 2), "the trail was cut"), (lambda m: remake(m, 5), "another than was kept")],
    ids=["cut", "made anew"],
)
def test_a_trail_that_lost_lines_is_found_by_those_of_the_others(
    change: Callable[[Member], None],
    told: str,
    members: list[Member],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the command, and by the others as soon as the node tells of its trail again."""
    first, second, third = members
    for _ in range(5):
        first.trail.note_login("ann", "10.0.0.1")
    pass_time(members)
    witnesses = ["--witness", str(second.directory), "--witness", str(third.directory)]
    command = ["audit", "verify", str(first.directory)]
    assert run([*command, *witnesses]) == 0
    assert "other nodes keep 2 heads of it" in capsys.readouterr().err
    change(first)
    assert run(command) == 0  # whole in itself
    assert run([*command, *witnesses, "--json"]) == 6
    found = capsys.readouterr()
    assert told in found.out
    first.live()
    first.heads.tick(0.0)
    for each in (second, third):
        assert [(name, fields["node"]) for name, fields in each.alarms] == [("audit_cut", "n1")]


def test_what_was_noted_in_a_former_life_still_counts(members: list[Member]) -> None:
    first, second, _ = members
    for _ in range(5):
        first.trail.note_login("ann", "10.0.0.1")
    pass_time(members)
    second.live()
    cut(first, 2)
    first.live()
    pass_time([first], 1, after=1)
    assert [name for name, _ in second.alarms] == ["audit_cut"]
    assert second.alarms[0][1] == {"node": "n1", "had": 5, "has": 2}


def test_only_so_many_directories_are_remembered(members: list[Member]) -> None:
    heads = members[0].heads
    told = PeerAudit(head=AuditHead(1, "ab" * 32), begun=AuditHead())
    for number in range(INSTANCES_MAX + 5):
        heads.heard(HeadNews(Replica(2), "n2", f"i{number}", told))
    known = [each["instance"] for each in heads.describe()]
    assert len(known) == INSTANCES_MAX
    assert known[-1] == f"i{INSTANCES_MAX + 4}"


def test_a_line_that_was_changed_is_no_witness(members: list[Member]) -> None:
    first, second, _ = members
    first.trail.note_login("ann", "10.0.0.1")
    pass_time(members)
    path = second.directory / audit.FILE
    lines = list(audit.lines_of([path]))
    assert list(audit.heads_told(lines, "i1")) == [first.trail.head]
    assert list(audit.heads_told(lines, "i9")) == []
    path.write_text(path.read_text().replace('"head": "1:', '"head": "9:'))
    assert list(audit.heads_told(audit.lines_of([path]), "i1")) == []


def test_a_cut_trail_that_has_grown_again_shows_by_how_its_life_began(
    members: list[Member],
) -> None:
    """It has more lines by now than were known of it, so its length tells nothing."""
    first, second, _ = members
    for _ in range(5):
        first.trail.note_login("ann", "10.0.0.1")
    pass_time(members)
    cut(first, 2)
    first.live()
    for _ in range(9):
        first.trail.note_login("ann", "10.0.0.1")
    pass_time([first], 1, after=1)
    assert second.alarms == [("audit_cut", {"node": "n1", "had": 5, "has": 2})]
    pass_time([first], 5, after=2)
    assert len(second.alarms) == 1


def test_lives_that_go_on_where_the_trail_ended_alarm_nobody(members: list[Member]) -> None:
    for life in range(6):
        for each in members:
            each.trail.note_login("ann", "10.0.0.1")
        pass_time(members, 3, after=10 * life)
        members[life % 3].live()
        pass_time(members, 1, after=10 * life + 5)
    assert [each.alarms for each in members] == [[], [], []]


HEADS = st.builds(
    AuditHead, st.integers(0, 1 << 62), st.binary(min_size=32, max_size=32).map(bytes.hex)
)


@given(HEADS, HEADS)
def test_what_is_said_is_heard(one: AuditHead, other: AuditHead) -> None:
    begun, head = sorted((one, other), key=lambda each: each.number)
    said = PeerAudit(head=AuditHead(head.number + 1, head.hash), begun=begun)
    (payload,) = SealedFrames().feed(peer_audit.encode(said))
    assert peer_audit.is_head(payload)
    assert peer_audit.decode(payload) == said
    with pytest.raises(ProtocolError):
        peer_messages.decode(payload)


@pytest.mark.parametrize(
    "rest",
    [
        [0, bytes(32), 0, bytes(32)],
        [1, bytes(31), 0, bytes(32)],
        [1, bytes(32), 0, bytes(33)],
        [1, bytes(32), 2, bytes(32)],
        [-1, bytes(32), 0, bytes(32)],
        [1, "a" * 32, 0, bytes(32)],
        [1, bytes(32)],
    ],
)
def test_what_is_no_head_is_refused(rest: list[object]) -> None:
    with pytest.raises(ProtocolError):
        peer_audit.decode(cbor2.dumps([peer_audit.AUDIT_HEAD, *rest]))
