"""Every error ends a command with the code that the table promises."""

import errno
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from admin.cluster import moment
from admin.cluster.moment import Moment, MomentWriter
from cli import explanations
from cli import main as command
from cli.exits import CheckFailed, Exit, NotHealed, StoppedByGuard, exit_of
from cli.output import Style, complain
from qsync import errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.DuplicateKey("x"), 1),
        (errors.WrongTuple("x"), 1),
        (errors.RolledBack("x"), 1),
        (errors.QuorumTimeout("x"), 1),
        (errors.StoreError("x"), 1),
        (errors.ConfigError("x"), 2),
        (errors.Unavailable("x"), 3),
        (errors.Unanswered("x"), 7),
        (errors.NotLeader("x"), 4),
        (errors.ReadOnly("x"), 4),
        (errors.AccessDenied("x"), 4),
        (errors.Conflict("x"), 4),
        (errors.SyncQueueFull("x"), 4),
        (errors.SplitBrain("x"), 4),
        (errors.OutcomeUnknown("x"), 5),
        (errors.SessionExpired("x"), 5),
        (CheckFailed("x"), 6),
        (StoppedByGuard("x"), 7),
        (NotHealed("x"), 8),
    ],
)
def test_errors_have_their_exit_codes(error: errors.QsyncError, code: int) -> None:
    assert exit_of(error) == code


def test_an_unknown_outcome_is_never_called_a_failure() -> None:
    error = errors.Unavailable("the connection was lost after sending")
    error.outcome = errors.Outcome.UNKNOWN
    assert exit_of(error) is Exit.UNKNOWN


def test_an_unknown_write_is_told_with_the_command_that_resolves_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = errors.OutcomeUnknown("no answer", details={"token": "ab:7"})
    args = ["update", "t", "--token", "cd:1", "--", "-1", '[["+", 2, 1]]']
    complain(error, Style(as_json=True), args)
    said = capsys.readouterr()
    command = "qsync update --token ab:7 t -- -1 '[[\"+\", 2, 1]]'"
    assert f"its outcome: {command}" in said.err
    assert "ab:7" in said.err.splitlines()[0]
    assert json.loads(said.out)["resolve"] == command
    assert "the same without doing it: qsync resolve ab:7\n" in said.err
    assert json.loads(said.out)["give_up"] == "qsync resolve ab:7"


def test_the_command_without_the_operation_asks_the_same_cluster(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = errors.OutcomeUnknown("no answer", details={"token": "ab:7"})
    for args in (["insert", "t", "[1]", "-t", "lab"], ["insert", "--target=lab", "t", "[1]"]):
        complain(error, Style(as_json=True), args)
        told = json.loads(capsys.readouterr().out)["give_up"].replace("--target=", "-t ")
        assert told == "qsync resolve ab:7 -t lab"


def test_every_error_of_the_tree_has_a_code() -> None:
    for kind in errors.all_errors():
        assert exit_of(kind("x")) in set(Exit)


def test_error_codes_and_numbers_are_unique() -> None:
    kinds = errors.all_errors()
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert len({kind.number for kind in kinds}) == len(kinds)


def test_every_exit_code_says_what_it_means() -> None:
    assert [int(code) for code in Exit] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 130]
    assert all(code.about for code in Exit)


def test_wrong_usage_is_2_and_names_the_nearest_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.run(["statsu"]) == 2
    assert "Did you mean 'status'?" in capsys.readouterr().err
    assert command.run(["lab", "up", "--nodes", "99"]) == 2


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["statsu", "--json"], "no command 'statsu'"),
        (["status", "--json", "--wacth", "2s"], "--wacth"),
        (["status", "--timeout", "soon", "--json"], "'soon'"),
        (["get", "--json", "accounts"], "KEY"),
        (["lab", "upp", "--json"], "upp"),
    ],
)
def test_wrong_usage_is_a_document_where_json_was_asked_for(
    args: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run(args) == 2
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert (answer["schema"], answer["code"], answer["exit"]) == ("qsync/error/1", "USAGE", 2)
    assert words in answer["message"]
    assert answer["hint"].endswith("--help")
    assert words in said.err


def test_a_benchmark_of_no_time_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["bench", "--seconds", "0", "-t", "127.0.0.1:1"]) == 2
    assert "'0' is below 100ms" in capsys.readouterr().err


def test_usage_is_no_document_where_json_is_an_operand(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["get", "accounts", "1", "--nothing", "--", "--json"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("args", "member"),
    [
        (["sim", "--mutant", "list"], "names"),
        (["sim", "--without", "list"], "names"),
        (["sim", "--explore", "list"], "names"),
        (["drill", "hooks"], "names"),
        (["drill", "hooks", "systemd"], "text"),
        (["drill", "show", "leader-kill"], "text"),
        (["drill", "lint", "--schema"], "json_schema"),
        (["config", "schema"], "json_schema"),
        (["config", "init"], "text"),
        (["campaign", "--without", "list"], "faults"),
    ],
)
def test_names_files_and_schemas_are_documents_with_json(
    args: list[str], member: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run(args) == 0
    plain = capsys.readouterr().out
    assert command.run([*args, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"].startswith("qsync/")
    found = answer[member]
    if member == "text":
        assert found == plain
    elif member == "json_schema":
        assert found == json.loads(plain)
    else:
        named = [each if isinstance(each, str) else each["name"] for each in found]
        assert named == [line.split()[0] for line in plain.splitlines()]


def test_a_watch_goes_on_where_no_node_answers() -> None:
    watch = ["status", "127.0.0.1:1", "--watch", "10ms", "--json"]
    program = [sys.executable, "-m", "qsync", *watch]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as watching:
        assert watching.stdout is not None
        seen = [json.loads(watching.stdout.readline())["code"] for _ in range(3)]
        watching.kill()
    assert seen == ["UNAVAILABLE"] * 3


def test_a_watch_ends_where_the_state_is_one_to_fail_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.run(["status", "127.0.0.1:1", "--watch", "10ms", "--fail-on", "down"]) == 3
    assert "no node answers" in capsys.readouterr().err


def test_nobody_there_is_3_and_json_says_so_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    # Port 1 is never listened on by anything that answers us.
    assert command.run(["status", "127.0.0.1:1", "--json"]) == 3
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert (answer["schema"], answer["code"], answer["exit"]) == ("qsync/error/1", "UNAVAILABLE", 3)
    assert "no node answers" in said.err
    assert answer["hint"] in " ".join(said.err.split()), "programs get the hint of the text"
    assert answer["hint"].startswith("do the nodes run")


@pytest.mark.pure
def test_a_failed_check_prints_its_own_document_and_no_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["sim", "--mutant", "quorum_minus_one", "--seeds", "0-0", "--jobs", "1", "--json"]
    assert command.run(arguments) == 6
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["schema"] != "qsync/error/1"


def test_help_lists_every_command_without_loading_any(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.run(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in command.COMMANDS)


@pytest.mark.parametrize("name", list(command.COMMANDS))
def test_every_command_has_help_with_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    _, told, several = shown.partition("\n  Examples:\n")
    if told:  # each on a line of its own, to be copied
        assert any(line.strip().startswith(f"qsync {name}") for line in several.splitlines())
        assert all(line.startswith("    ") for line in several.partition("\n\n")[0].splitlines())
    else:
        assert f"\n  Example: qsync {name}" in shown


def test_explain_knows_errors_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(["explain", "outcome-unknown"]) == 0
    said = capsys.readouterr().out
    assert "never say it failed" in said
    assert said.splitlines() == list(explanations.explain("OUTCOME_UNKNOWN").lines())
    assert command.run(["explain", "4", "--json"]) == 0
    assert "READONLY" in json.loads(capsys.readouterr().out)["codes"]
    assert command.run(["explain", "NO_SUCH"]) == 2


def test_what_is_not_supported_is_explained_for_all_that_is_refused_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nobody is sent to stop the cluster for a backup: `qsync backup` needs no stop."""
    assert command.run(["explain", "NOT_SUPPORTED"]) == 0
    said = capsys.readouterr().out
    assert "this part of Tarantool" in said
    assert "qsync help come-from-tarantool" in said
    assert "stop the members" not in said


def test_without_a_leader_nobody_is_told_to_send_it_to_the_leader() -> None:
    assert "send it to the leader" in str(errors.NotLeader("x", leader="127.0.0.1:3301"))
    nobody = str(errors.NotLeader("x"))
    assert "send it to the leader" not in nobody
    assert "`qsync status` shows who leads" in nobody


@pytest.mark.parametrize("args", [["drill", "show", "chaos"], ["--help"], ["explain", "--nothing"]])
@pytest.mark.parametrize("together", [False, True])
def test_a_reader_who_has_enough_is_no_failure(args: list[str], *, together: bool) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    errors_too = writing if together else subprocess.PIPE
    program = [sys.executable, "-m", "qsync", *args]
    try:
        done = subprocess.run(program, stdout=writing, stderr=errors_too, check=False)
    finally:
        os.close(writing)
    if args[0] == "explain":
        assert done.returncode == 2, "what was wrong stays wrong, also where nobody reads it"
    else:
        assert done.returncode == 0
    assert together or bool(done.stderr) == (args[0] == "explain")


@pytest.mark.parametrize("args", [["get", "s", "1", "-t", "127.0.0.1:1"], ["explain", "nothing"]])
def test_a_full_disk_leaves_the_exit_code_and_the_document(args: list[str]) -> None:
    code = command.run(args)
    assert code > 1
    program = [sys.executable, "-m", "qsync", *args, "--json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(program, stdout=subprocess.PIPE, stderr=full, check=False)
        assert done.returncode == code
        assert json.loads(done.stdout)["exit"] == code
        done = subprocess.run(program, stdout=full, stderr=full, check=False)
        assert done.returncode == code


@pytest.mark.parametrize("args", [["help", "run-nodes"], ["drill", "list"], ["explain", "nothing"]])
def test_a_stream_that_the_caller_closed_is_no_mistake_of_ours(args: list[str]) -> None:
    program = shlex.join([sys.executable, "-m", "qsync", *args])
    for closed in ("<&- >&-", "<&- 2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(["sh", "-c", f"{program} {closed}"], capture_output=True, check=False)
        assert done.returncode == (2 if args[0] == "explain" else 0)
        assert b"Traceback" not in done.stderr


def test_a_record_for_which_there_is_no_room_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tape = tmp_path / "tape"
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(moment, "_open", lambda *_: full)
        writer = MomentWriter(tape)
        writer.write(Moment(time=1.0))
        with pytest.raises(OSError, match="No space") as caught:
            writer.close()
    assert caught.value.filename == str(tape)


@pytest.mark.parametrize(
    ("failed", "hint"),
    [
        (errno.ENOSPC, "free some space, or name another place"),
        (errno.EIO, "check the disk, or name another place"),
    ],
)
def test_a_dashboard_on_a_disk_that_fails_says_what_to_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failed: int,
    hint: str,
) -> None:
    why = os.strerror(failed)

    def fail(line: str) -> None:
        raise OSError(failed, why)

    tape = tmp_path / "tape"
    writer = MomentWriter(tape)
    writer.write(Moment(time=1.0))
    writer.close()
    monkeypatch.setattr("cli.top.run.text", fail)
    assert command.run(["top", "--replay", str(tape)]) == 1
    assert f"NO_FILE: the output: {why} ({hint})" in capsys.readouterr().err
