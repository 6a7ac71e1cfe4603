"""The audit trail: what is written, where it goes on, and how each kind of tampering shows."""

import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from cli.main import run
from election.messages import Index
from qsync import audit
from qsync.audit import AuditHead
from qsync.config.sections import AuditFailure, AuditSection
from qsync.data import grants
from qsync.data.operation_kinds import Op
from qsync.errors import AccessDenied, StoreError
from qsync.happenings import HAPPENINGS
from qsync.node import guard
from qsync.node.auditing import AUDITED, NOTED_MAX, OTHERS, USERS_A_LINE, AuditTrail
from qsync.node.connection import Connection
from qsync.rights import Need, Privilege
from qsync.wire.verbs import LogRequest, WriteRequest

SMALL = AuditSection(bytes_max=2000, files_max=2)


def opened(
    directory: Path, section: AuditSection | None = None, alarms: list[str] | None = None
) -> AuditTrail:
    told = [] if alarms is None else alarms
    return AuditTrail(
        directory, section or AuditSection(), now=lambda: 0.0, wall=lambda: 0.0, alarm=told.append
    )


def written(directory: Path, count: int = 5, section: AuditSection | None = None) -> AuditTrail:
    trail = opened(directory, section)
    for number in range(count):
        trail.note_login(f"user{number}", "10.0.0.1")
    return trail


def judged(directory: Path, *kept: AuditHead) -> list[str]:
    verdict = audit.verify(audit.lines_of(audit.files_of(directory)), kept=kept)
    return [f"{each.place}: {each.text}" for each in verdict.faults]


def edit(directory: Path, change: Callable[[list[str]], list[str]]) -> None:
    path = directory / audit.FILE
    path.write_text("".join(change(path.read_text().splitlines(keepends=True))))


def test_a_trail_is_whole_over_lives_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    first = written(tmp_path, 3)
    second = written(tmp_path, 2)
    assert judged(tmp_path, first.head, second.head) == []
    assert second.head.number == 5


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda s: [*s[:2], s[2].replace("user2", "user9"), *s[3:]], "audit.jsonl:3: was changed"),
        (lambda s: [*s[:2], *s[3:]], "audit.jsonl:3: line 4 comes behind line 2"),
        (lambda s: [*s[:2], s[1], *s[2:]], "audit.jsonl:3: line 2 comes behind line 2"),
        (lambda s: [s[0], s[2], s[1], *s[3:]], "audit.jsonl:2: line 3 comes behind line 1"),
        (lambda s: [s[0].replace("{", '{"user": "me", ', 1), *s[1:]], "audit.jsonl:1: is no JSON"),
        (lambda s: [*s[:4], s[4][:30]], "audit.jsonl:5: is no JSON"),
        (lambda s: [*s, "[" * 100_000 + "\n"], "audit.jsonl:6: is no JSON"),
        (lambda s: [*s, "{}\n"], "audit.jsonl:6: is no line of an audit trail"),
    ],
    ids=["changed", "taken out", "twice", "moved", "a name twice", "torn", "deep", "foreign"],
)
def test_what_is_done_to_a_trail_is_named_with_its_place(
    change: Callable[[list[str]], list[str]], told: str, tmp_path: Path
) -> None:
    written(tmp_path)
    edit(tmp_path, change)
    assert judged(tmp_path)[0].startswith(told)


def test_a_line_with_a_hash_of_its_own_does_not_follow(tmp_path: Path) -> None:
    """Whoever knows how lines are made still has to make all that come after."""
    written(tmp_path)

    def forge(lines: list[str]) -> list[str]:
        before = audit.head_of(lines[1])
        forged, _ = audit.line(before, "login", "now", {"user": "nobody", "address": ""})
        return [*lines[:2], forged + "\n", *lines[3:]]

    edit(tmp_path, forge)
    assert judged(tmp_path) == ["audit.jsonl:4: line 4 does not follow the line before it"]


def test_an_end_that_was_cut_or_made_anew_is_found_by_a_head_that_was_kept(tmp_path: Path) -> None:
    head = written(tmp_path).head
    edit(tmp_path, lambda lines: lines[:3])
    assert judged(tmp_path) == []
    assert judged(tmp_path, head) == [
        "end: line 5, whose hash was kept, is not there: the trail was cut"
    ]
    written(tmp_path, 2)
    assert judged(tmp_path, head) == ["audit.jsonl:5: line 5 is another than was kept"]
    (tmp_path / audit.FILE).unlink()
    assert judged(tmp_path, head)


def test_behind_a_torn_line_the_next_one_is_whole(tmp_path: Path) -> None:
    written(tmp_path)
    edit(tmp_path, lambda lines: [*lines[:4], lines[4][:30]])
    assert written(tmp_path, 2).head.number == 6
    told = judged(tmp_path)
    assert len(told) == 1
    assert told[0].startswith("audit.jsonl:5: is no JSON: it is torn")


def test_a_trail_goes_on_in_the_next_file_and_keeps_so_many(tmp_path: Path) -> None:
    head = written(tmp_path, 60, SMALL).head
    files = audit.files_of(tmp_path)
    assert [each.name for each in files] == ["audit.2.jsonl", "audit.1.jsonl", "audit.jsonl"]
    assert judged(tmp_path, head) == []
    verdict = audit.verify(audit.lines_of(files))
    assert 1 < verdict.first < 60
    assert judged(tmp_path, AuditHead(1, "0" * 64)) == []  # it was rotated away
    files[1].unlink()
    assert "comes behind line" in judged(tmp_path)[0]


@pytest.mark.parametrize("last", [None, "", '{"n": 1'], ids=["none", "empty", "torn"])
def test_a_crash_after_the_change_of_files_does_not_begin_again(
    last: str | None, tmp_path: Path
) -> None:
    head = written(tmp_path, 3).head
    (tmp_path / audit.FILE).rename(tmp_path / "audit.1.jsonl")
    if last is not None:
        (tmp_path / audit.FILE).write_text(last)
    assert written(tmp_path, 1).head.number == head.number + 1


def test_refuse_refuses_what_cannot_be_written_and_alarm_counts_it(tmp_path: Path) -> None:
    (tmp_path / audit.FILE).mkdir()
    alarms: list[str] = []
    alarm = opened(tmp_path, alarms=alarms)
    for _ in range(2):
        alarm.note_login("ann", "10.0.0.1")
    assert alarm.unwritten == 2
    assert len(alarms) == 1
    assert "Is a directory" in alarms[0]
    refuse = opened(tmp_path, replace(AuditSection(), on_failure=AuditFailure.REFUSE))
    with pytest.raises(StoreError, match="cannot be written down") as told:
        refuse.note_login("ann", "10.0.0.1")
    assert "audit.on_failure" in str(told.value.hint)
    (tmp_path / audit.FILE).rmdir()
    refuse.note_login("ann", "10.0.0.1")
    assert refuse.unwritten == 1
    assert judged(tmp_path, refuse.head) == []


def test_what_has_happened_is_not_refused_and_only_some_of_it_is_a_line(tmp_path: Path) -> None:
    refuse = opened(tmp_path, replace(AuditSection(), on_failure=AuditFailure.REFUSE))
    for name in ("elected", "votes", "snapshot", "stepped_down"):
        refuse.note_happening(name, {"term": 7, "time": "of the event", "why": "x"})
    found = [audit.fields_of(text) for _, text in audit.lines_of(audit.files_of(tmp_path))]
    assert [(each["event"], each["term"]) for each in found] == [
        ("elected", 7),
        ("stepped_down", 7),
    ]
    assert HAPPENINGS.keys() >= AUDITED
    (tmp_path / audit.FILE).unlink()
    (tmp_path / audit.FILE).mkdir()
    refuse.note_happening("elected", {"term": 8})
    assert refuse.unwritten == 1


def test_a_new_trail_says_once_who_there_is(tmp_path: Path) -> None:
    for _ in range(2):
        trail = opened(tmp_path)
        trail.note_login("root", "10.0.0.1")
        for _ in range(3):
            trail.note_users(["root", "ann"])
    found = [audit.fields_of(text) for _, text in audit.lines_of(audit.files_of(tmp_path))]
    assert [each["event"] for each in found] == ["login", "users", "login"]
    assert found[1]["users"] == ["ann", "root"]
    assert found[1]["count"] == 2


def test_a_trail_that_a_restore_began_says_who_came_along(tmp_path: Path) -> None:
    opened(tmp_path).write_line("restored", {"from": "backups/shop"})
    trail = opened(tmp_path)
    trail.note_happening("elected", {"term": 7})
    trail.note_users(["root", "ann"])
    found = [audit.fields_of(text) for _, text in audit.lines_of(audit.files_of(tmp_path))]
    assert [each["event"] for each in found] == ["restored", "elected", "users"]
    assert found[2]["users"] == ["ann", "root"]


def test_a_new_trail_leaves_out_none_of_many_users(tmp_path: Path) -> None:
    names = [f"user{number:04}" for number in range(2 * USERS_A_LINE + 1)]
    opened(tmp_path).note_users(names)
    found = [audit.fields_of(text) for _, text in audit.lines_of(audit.files_of(tmp_path))]
    assert [each["count"] for each in found] == [len(names)] * 3
    told = [each["users"] for each in found]
    assert told == [names[at : at + USERS_A_LINE] for at in (0, USERS_A_LINE, 2 * USERS_A_LINE)]
    assert audit.verify(audit.lines_of(audit.files_of(tmp_path))).faults == ()


def test_a_line_about_a_node_that_does_not_run_goes_on_with_its_trail(tmp_path: Path) -> None:
    head = written(tmp_path, 2).head
    audit.note_offline(tmp_path, "restored", "now", {"index": 7})
    *_, (_, text) = audit.lines_of(audit.files_of(tmp_path))
    said = audit.fields_of(text)
    assert (said["n"], said["before"], said["index"]) == (3, head.hash, 7)
    assert said["user"]
    assert written(tmp_path, 1).head.number == 4
    assert judged(tmp_path) == []


def asked(trail: AuditTrail, *ops: list[object]) -> None:
    here, there = socket.socketpair()
    with here, there:
        connection = Connection(here, frame_bytes_max=100, opened_at=0.0)
        connection.turn.user = connection.turn.login = "ann"
        trail.note_request(connection, WriteRequest(1, b"", 0, 0, 0, [*ops]))


@pytest.mark.parametrize(
    "options",
    [
        {1: "a", "1": "b"},
        {10: 1, 9: 2},
        {"a": 1, 2: 3},
        {b"k": 1},
        {None: 1, True: 2},
        {(1, 2): {3: 4}},
        {"deep": [{5: {"password": "secret", b"": [1]}}]},
        {"not": float("nan"), "all": float("inf"), "large": 1 << 1000},
        {"text": "\u2028\x85\r\n\x1b[2J"},
        {"other": Fraction(1, 3)},
    ],
)
def test_whatever_a_client_asks_for_the_trail_stays_whole_and_goes_on(
    options: dict[object, object], tmp_path: Path
) -> None:
    """JSON has only text as keys; a line is judged by what its reader finds in it."""
    trail = opened(tmp_path)
    asked(trail, [Op.CREATE_SPACE, "own", options])
    assert (trail.unwritten, trail.head.number) == (0, 1)
    assert judged(tmp_path, trail.head) == []
    assert "secret" not in (tmp_path / audit.FILE).read_text()
    assert written(tmp_path, 1).head.number == 2
    assert judged(tmp_path) == []


def test_a_long_operation_hides_no_other_one(tmp_path: Path) -> None:
    trail = opened(tmp_path)
    long: list[object] = [Op.CREATE_SPACE, "own", {"format": ["f" * 200] * 100}]
    grant: list[object] = [Op.GRANT, "mallory", "super", "universe", ""]
    asked(trail, long, *([grant] * 255))
    found = [audit.fields_of(text) for _, text in audit.lines_of(audit.files_of(tmp_path))]
    named = [each for line in found for each in of_line(line)]
    assert len(named) == 256
    assert str(named[0]).startswith("['create_space', 'own'")
    assert named[1:] == [["grant", "mallory", "super", "universe", ""]] * 255
    lines = (tmp_path / audit.FILE).read_bytes().splitlines()
    assert 2 * max(map(len, lines)) < audit.TAIL_BYTES
    assert judged(tmp_path, trail.head) == []


@dataclass
class Noting:
    audit: AuditTrail


@pytest.mark.parametrize(
    ("details", "why"),
    [
        ({"privilege": "write", "space": "s"}, "write on space 's'"),
        ({}, "user 'ann' lacks a right"),
        (
            {"privilege": "member", "space": None, "consumer": "mailer", "owner": "bob"},
            "member on the universe for consumer 'mailer' of 'bob'",
        ),
    ],
    ids=["known", "left out of the record", "of another's consumer"],
)
def test_a_denied_write_is_noted_whatever_is_kept_of_its_refusal(
    details: dict[str, object], why: str, tmp_path: Path
) -> None:
    """Details of a recorded refusal are left out where they are long."""
    trail, error = opened(tmp_path), AccessDenied("user 'ann' lacks a right", details=details)
    here, there = socket.socketpair()
    with here, there:
        connection = Connection(here, frame_bytes_max=100, opened_at=0.0)
        assert guard.noted(error, connection, Noting(trail)) is error
    (line,) = [audit.fields_of(text) for _, text in audit.lines_of(audit.files_of(tmp_path))]
    assert (line["event"], line["why"]) == ("denied", why)


def test_a_denial_of_a_space_with_a_huge_name_is_a_line_like_others(tmp_path: Path) -> None:
    """Else one request pushes all lines out, and the next life does not find where it goes on."""
    trail = written(tmp_path, 3)
    here, there = socket.socketpair()
    with here, there:
        connection = Connection(here, frame_bytes_max=100, opened_at=0.0)
        error = grants.denied("mallory", Need(Privilege.WRITE, "\U0001f600" * 1_000_000))
        assert guard.noted(error, connection, Noting(trail)) is error
        assert sum(map(len, connection.turn.noted)) < audit.TAIL_BYTES
    lines = (tmp_path / audit.FILE).read_bytes().splitlines()
    assert 2 * max(map(len, lines)) < audit.TAIL_BYTES
    assert written(tmp_path, 1).head.number == 5
    assert judged(tmp_path) == []


def test_many_denials_hide_neither_that_data_was_taken_nor_that_there_were_more(
    tmp_path: Path,
) -> None:
    trail = opened(tmp_path)
    here, there = socket.socketpair()
    with here, there:
        connection = Connection(here, frame_bytes_max=100, opened_at=0.0)
        for number in range(2 * NOTED_MAX):
            trail.note_denied(connection, f"read on space 's{number}'")
        for _ in range(2):
            trail.note_request(connection, LogRequest(1, Index(1), 1, 100))
    lines = [audit.fields_of(text) for _, text in audit.lines_of(audit.files_of(tmp_path))]
    denied = [line["why"] for line in lines if line["event"] == "denied"]
    assert len(denied) == NOTED_MAX + 1
    assert denied[-1] == OTHERS
    assert [line["event"] for line in lines[len(denied) :]] == ["log"]


def of_line(line: dict[str, object]) -> list[object]:
    """The operations of a line about a write."""
    told = line["asked"]
    assert isinstance(told, dict)
    found = told["operations"]
    assert isinstance(found, list)
    return found


def test_the_command_says_what_is_there_and_prints_a_head_that_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = written(tmp_path).head
    assert run(["audit", "verify", str(tmp_path)]) == 0
    found = capsys.readouterr()
    assert found.out == f"head {head}\n"
    assert found.err == "5 lines, 1 to 5\n"
    assert run(["audit", "verify", str(tmp_path / audit.FILE), "--head", str(head), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["whole"], told["lines"], told["head"]) == (True, 5, str(head))


def test_the_command_ends_with_6_where_the_trail_is_not_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = written(tmp_path).head
    edit(tmp_path, lambda lines: [*lines[:2], *lines[3:4]])
    assert run(["audit", "verify", str(tmp_path), "--head", str(head), "--json"]) == 6
    told = json.loads(capsys.readouterr().out)
    assert told["whole"] is False
    assert [each["place"] for each in told["faults"]] == ["audit.jsonl:3", "end"]
    assert run(["audit", "verify", str(tmp_path)]) == 6
    assert "audit.jsonl:3: line 4 comes behind line 2" in capsys.readouterr().out


def test_an_empty_trail_is_no_whole_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node writes the first line with the file."""
    written(tmp_path)
    edit(tmp_path, lambda _: [])
    assert run(["audit", "verify", str(tmp_path)]) == 6
    assert "end: there is no line" in capsys.readouterr().out


def test_lines_that_were_cut_off_at_the_beginning_show_while_no_file_was_rotated_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path)
    edit(tmp_path, lambda lines: lines[2:])
    assert run(["audit", "verify", str(tmp_path)]) == 6
    found = capsys.readouterr()
    assert "audit.jsonl:1: the lines before line 3 are not there" in found.out
    assert "3 lines, 3 to 5; older ones are not there" in found.err
    assert run(["audit", "verify", str(tmp_path / audit.FILE)]) == 0, "one file of several"
    capsys.readouterr()
    written(tmp_path, 60, SMALL)
    assert run(["audit", "verify", str(tmp_path)]) == 0, "full files go away"


def test_show_prints_what_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trail = written(tmp_path)
    trail.note_failure("user1", "10.0.0.2", "wrong")
    assert run(["audit", "show", str(tmp_path), "--user", "user1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [each.split()[2:] for each in lines] == [
        ["login", "user1@10.0.0.1"],
        ["login_failed", "user1@10.0.0.2", "why=wrong"],
    ]
    assert run(["audit", "show", str(tmp_path), "--event", "login", "-n", "2", "--json"]) == 0
    shown = [json.loads(each)["n"] for each in capsys.readouterr().out.splitlines()]
    assert shown == [4, 5]
    edit(tmp_path, lambda lines: [lines[0].replace("user0", "user9"), *lines[1:]])
    assert run(["audit", "show", str(tmp_path)]) == 6
    found = capsys.readouterr()
    assert len(found.out.splitlines()) == 5
    assert "audit.jsonl:1 was changed" in found.err


@pytest.mark.parametrize(
    ("args", "code"),
    [(["verify", "."], 1), (["show", "nothing.jsonl"], 1), (["verify", ".", "--head", "7"], 2)],
)
def test_what_is_not_there_or_no_head_is_refused(
    args: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["audit", *args]) == code


def test_show_finds_what_a_user_did_as_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trail = opened(tmp_path)
    trail.note_login("root", "10.0.0.1")
    trail.note_login("ann", "10.0.0.1", by="root")
    here, there = socket.socketpair()
    with here, there:
        connection = Connection(here, frame_bytes_max=100, opened_at=0.0)
        connection.turn.user, connection.turn.login = "ann", "root"
        trail.note_denied(connection, "read on space 'pay'")
    for user, count in (("root", 3), ("ann", 2), ("bob", 0)):
        assert run(["audit", "show", str(tmp_path), "--user", user]) == 0
        assert len(capsys.readouterr().out.splitlines()) == count


@pytest.mark.parametrize(
    "change",
    [{"event": None}, {"time": 7}, {"event": ["login"]}, {"user": ["ann"]}, {"of": [None, 1]}],
    ids=str,
)
@pytest.mark.parametrize("command", [["show"], ["show", "--user", "ann"], ["verify"]], ids=str)
def test_a_line_that_no_node_wrote_ends_no_command_though_its_hash_is_right(
    change: dict[str, object], command: list[str], tmp_path: Path
) -> None:
    said: dict[str, object] = {"n": 1, "time": "", "event": "login", "before": audit.BEGIN} | change
    digest = sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    (tmp_path / audit.FILE).write_text(json.dumps(said | {"hash": digest}) + "\n")
    (tmp_path / "audit.\u00b2.jsonl").write_text("")
    name, *options = command
    is_whole = change.keys() <= {"user", "of"}
    assert run(["audit", name, str(tmp_path), *options]) == (0 if is_whole else 6)


def test_files_that_are_renamed_while_a_trail_is_read_are_no_cut(tmp_path: Path) -> None:
    """A node goes on in the next file while somebody verifies; the oldest file goes away."""
    section = AuditSection(bytes_max=2000, files_max=3)
    trail = written(tmp_path, 20, section)
    texts = audit.lines_of(audit.files_of(tmp_path))
    read = [next(texts)]
    files = len(audit.files_of(tmp_path))
    assert files == section.files_max
    before = trail.head
    written(tmp_path, 10, section)
    read += texts
    verdict = audit.verify(read, kept=[before])
    assert verdict.faults == ()
    assert verdict.head.number >= before.number
    texts = audit.lines_of(audit.files_of(tmp_path))
    next(texts)
    written(tmp_path, 60, section)
    with pytest.raises(FileNotFoundError, match="the node removed it before it was read"):
        list(texts)
    assert judged(tmp_path) == []


def test_a_trail_can_come_through_a_pipe(tmp_path: Path) -> None:
    """`qsync audit verify <(zcat ...)`: it is read once, and not from anywhere."""
    trail = written(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(pipe, os.O_WRONLY)
    os.write(writing, (tmp_path / audit.FILE).read_bytes())
    texts = audit.lines_of([Path(f"/dev/fd/{reading}")])
    read = [next(texts)]
    os.close(writing)
    read += texts
    os.close(reading)
    assert audit.verify(read, kept=[trail.head]).faults == ()
