"""`qsync check`: what it prints, and which exit code a script gets."""

import errno
import io
import json
import os
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from admin.checker.elle import IsolationLevel
from admin.checker.engine import CheckEngine
from admin.checker.kinds import ObjectKind
from admin.checker.quick import TITLES, CheckedInvariant
from admin.checker.readers import HistoryFormat
from admin.checker.report.violations import SCHEMA
from admin.checker.rules.catalogue import RULES
from admin.checker.spark.progress import SparkStage
from admin.checker.verdict import conclude
from admin.workload.history import History, OutcomeType, save
from cli import check_engines
from cli.commands import check as command
from cli.main import run
from cli.render.check import table
from cli.render.waiting import describe

WITH_THE_EXTRA = ("admin.checker.spark.", "admin.checker.report.violations")
GOOD = (
    "{:process 0 :type :invoke :f :write :value 1}\n{:process 0 :type :ok :f :write :value 1}\n"
    "{:process 0 :type :invoke :f :read :value nil}\n{:process 0 :type :ok :f :read :value 1}\n"
)
BAD = GOOD.replace(":ok :f :read :value 1", ":ok :f :read :value 2")


def file(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_a_report_for_which_there_is_no_room_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judgement on the screen is whole, and only the file is missing."""
    full = tmp_path / "full.html"
    full.symlink_to("/dev/full")
    assert run(["check", "--quick", file(tmp_path, "a", GOOD), "--html", str(full)]) == 1
    said = capsys.readouterr()
    assert f"NO_FILE: {full}: No space left on device" in said.err
    assert "pass" in said.out


def test_a_history_that_holds_exits_with_nought(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "--quick", file(tmp_path, "a", GOOD), "--json"]) == 0
    found = document(capsys)
    assert found["schema"] == "qsync/check/1"
    assert (found["verdict"], found["engine"]) == ("pass", "quick")
    invariants = found["invariants"]
    assert isinstance(invariants, list)
    assert {"id", "title", "status", "facts", "violations", "seconds"} <= set(invariants[0])
    assert (invariants[0]["id"], invariants[0]["facts"]) == ("linearizable", 2)


def test_a_history_that_does_not_hold_exits_with_six_and_shows_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = file(tmp_path, "a", GOOD), file(tmp_path, "b", BAD)
    assert run(["check", "--quick", good, bad]) == 6
    text = capsys.readouterr().out
    assert f"{good}: pass" in text
    assert f"{bad}: fail" in text
    assert "read 2   <- no order explains this" in text
    assert run(["check", "--quick", good, bad, "--json"]) == 6
    found = document(capsys)
    assert found["verdict"] == "fail"
    files = found["files"]
    assert isinstance(files, list)
    (example,) = files[1]["invariants"][0]["examples"]
    assert [(each["f"], each["value"]) for each in example["operations"]] == [("read", 2)]


def test_what_was_not_decided_is_no_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "--quick", file(tmp_path, "a", "[]"), "--json"]) == 6
    assert document(capsys)["verdict"] == "unknown"
    cas = GOOD.replace(":write :value 1", ":cas :value [nil 1]")
    assert run(["check", "--quick", file(tmp_path, "b", cas), "--steps", "1", "--json"]) == 6
    assert document(capsys)["verdict"] == "unknown"
    assert run(["check", "--quick", file(tmp_path, "b", cas)]) == 0


def test_what_is_no_history_is_an_error_of_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = file(tmp_path, "a", "hello")
    for args in ([], ["--quick"], ["--quick", odd], ["--quick", str(tmp_path / "missing")], [odd]):
        assert run(["check", *args]) == 2, args
    assert "this is not a history" in capsys.readouterr().err
    listed = file(tmp_path, "labels.csv", "file,format,label\n")
    assert run(["check", "--quick", odd, "--labels", listed]) == 2
    for name, value in (("--level", "serializable"), ("--steps", "3"), ("--model", "kv")):
        assert run(["check", "--quick", "--labels", listed, name, value]) == 2, name
        assert f"not with {name}" in capsys.readouterr().err


def test_a_folder_of_evidence_is_checked_by_its_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = History()
    history.invoke(0, "write", key="k", value=1)
    history.complete(0, OutcomeType.OK)
    history.invoke(0, "read", key="k")
    history.complete(0, OutcomeType.OK, value=1)
    save(history.lines, tmp_path / "history.jsonl")
    assert run(["check", "--quick", str(tmp_path)]) == 0
    assert "(history, register, 2 operations" in capsys.readouterr().out


def test_a_list_of_labels_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file(tmp_path, "a", GOOD)
    file(tmp_path, "b", BAD)
    rows = ["file,format,label,source", "a,EDN,linearizable,us", "b,EDN,linearizable,us"]
    listed = file(tmp_path, "labels.csv", "\n".join(rows) + "\n")
    assert run(["check", "--quick", "--labels", listed, "--json"]) == 6
    found = document(capsys)
    assert (found["files"], found["agree"]) == (2, 1)
    disagree = found["disagree"]
    assert isinstance(disagree, list)
    assert disagree[0]["file"].endswith("b")
    assert (disagree[0]["label"], disagree[0]["found"]) == ("linearizable", "fail")
    listed = file(tmp_path, "labels.csv", "\n".join([*rows[:2], "b,EDN,not-linearizable,us"]))
    assert run(["check", "--quick", "--labels", listed, "--json"]) == 0
    assert document(capsys)["disagree"] == []
    empty = file(tmp_path, "empty.csv", rows[0] + "\n")
    assert run(["check", "--quick", "--labels", empty]) == 6


def test_a_weaker_promise_may_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = (
        "{:type :invoke :process 1 :f :txn :value [[:append :x 1]]}"
        "{:type :ok :process 1 :f :txn :value [[:append :x 1]]}"
        "{:type :invoke :process 2 :f :txn :value [[:r :x nil]]}"
        "{:type :ok :process 2 :f :txn :value [[:r :x nil]]}"
    )
    path = file(tmp_path, "a", late)
    assert run(["check", "--quick", path]) == 6
    assert "T2 -rw-> T1 -realtime-> T2" in capsys.readouterr().out
    assert run(["check", "--quick", path, "--level", "serializable"]) == 0


def test_a_format_and_a_model_may_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, "a", GOOD)
    assert run(["check", "--quick", path, "--format", "jepsen-edn", "--model", "register"]) == 0
    assert run(["check", "--quick", path, "--format", "history"]) == 2
    assert "is no history line" in capsys.readouterr().err


def test_the_choices_of_the_command_are_all_that_there_are() -> None:
    options = {each.name: each.type for each in command.check.params}
    for name, wanted in (
        ("engine", CheckEngine),
        ("format_", HistoryFormat),
        ("model", ObjectKind),
        ("level", IsolationLevel),
    ):
        assert list(getattr(options[name], "choices", ())) == [each.value for each in wanted]
    assert all(level.value in TITLES for level in IsolationLevel)


def test_the_help_fits_a_screen_and_breaks_no_choice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["check", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    words = {word.strip(",") for line in lines for word in line.split()}
    assert {
        each.value for kind in (HistoryFormat, ObjectKind, IsolationLevel) for each in kind
    } <= words


def test_what_is_nothing_to_check_is_said_with_what_would_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "all" / "one" / "wal").mkdir(parents=True)
    (tmp_path / "all" / "one" / "manifest.json").write_text("{}")
    (tmp_path / "node").mkdir()
    (tmp_path / "node" / "identity.json").write_text("{}")
    file(tmp_path, "history.edn", GOOD)
    bundle = "a folder with a manifest.json"
    for source, *wanted in (
        ("nothing", "there is no file or folder nothing", bundle, "`qsync dump"),
        ("empty", "it is empty", bundle),
        (".", "neither manifest.json nor history.jsonl", bundle),
        ("all", "a folder with bundles in it", "name them: all/one"),
        ("all/one/wal", "a part of a bundle", "name the folder all/one"),
        ("all/one/manifest.json", "a part of a bundle", "name the folder all/one"),
        ("node", "the directory of a node", "`qsync dump node --out DIR`"),
        ("127.0.0.1:3301", "no file or folder", "`qsync dump 127.0.0.1:3301 --out DIR`"),
    ):
        for quick in ([], ["--quick"]):
            assert run(["check", source, *quick, "--json"]) == 2, source
            said = capsys.readouterr()
            assert all(each in said.err for each in wanted), said.err
            assert json.loads(said.out)["code"] == "NO_EVIDENCE"
    for args in (["--engine", "spark"], ["--master", "local"]):
        assert run(["check", "history.edn", *args]) == 2
        told = capsys.readouterr().err
        assert "history.edn is a history" in told
        assert "leave --engine and --master out" in told
    assert run(["check", "history.edn"]) == 0
    assert "judged in this process: histories alone" in capsys.readouterr().err


def test_all_that_is_named_is_looked_for_before_anything_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[Path] = []
    monkeypatch.setattr(check_engines, "_judge", lambda source, *_: judged.append(source))
    good = file(tmp_path, "a", GOOD)
    assert run(["check", "--quick", good, str(tmp_path / "nothing")]) == 2
    assert "there is no file or folder" in capsys.readouterr().err
    assert judged == []


def test_a_history_that_is_no_text_is_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_bytes(b"[{:f \xff}]")
    assert run(["check", "--quick", str(tmp_path / "a")]) == 2
    assert "is no text: byte 5 is not UTF-8" in capsys.readouterr().err


def test_a_report_and_the_violations_are_left_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html, folder = tmp_path / "out" / "report.html", tmp_path / "violations"
    bad = file(tmp_path, "b", BAD)
    for _ in range(2):  # what is there from a former check is replaced
        args = ["--html", str(html), "--violations", str(folder)]
        assert run(["check", "--quick", bad, *args]) == 6
    said = capsys.readouterr()
    assert said.out.endswith("1 of 1 invariants does not hold: linearizable.\n")
    assert f"report: {html}" in said.err
    assert "no order explains this" in html.read_text()
    (row,) = pq.read_table(folder).to_pylist()
    assert (row["invariant"], row["count"], row["run_id"]) == ("linearizable", 1, "b")
    (witness,) = row["witness"]
    assert json.loads(witness["row"])["value"] == 2


def test_everything_may_be_left_in_one_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    bad = file(tmp_path, "b", BAD)
    assert run(["check", "--quick", bad, "--out", str(out), "--json"]) == 6
    assert json.loads((out / "report.json").read_text()) == document(capsys)
    assert "no order explains this" in (out / "report.html").read_text()
    assert pq.read_table(out / "violations").num_rows == 1


def test_what_cannot_be_written_is_said_before_anything_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, odd = file(tmp_path, "a", GOOD), file(tmp_path, "file", "")
    for option, name in (("--html", "x/y.html"), ("--violations", "x"), ("--out", "x/y")):
        assert run(["check", "--quick", good, option, f"{odd}/{name}"]) == 2
        said = capsys.readouterr()
        assert f"cannot be written: {odd} is a file" in said.err
        assert not said.out


def test_the_verdict_is_told_even_if_the_report_cannot_be_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: object, **_named: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    good, html = file(tmp_path, "a", GOOD), str(tmp_path / "report.html")
    monkeypatch.setattr(Path, "write_text", full)
    assert run(["check", "--quick", good, "--html", html]) == 1
    said = capsys.readouterr()
    assert f"{good}: pass" in said.out
    told = "No space left on device (free some space, or name another place)"
    assert said.err == f"qsync: NO_FILE: {html}: {told}\n"


def test_no_violation_is_an_empty_table(tmp_path: Path) -> None:
    good, folder = file(tmp_path, "a", GOOD), tmp_path / "violations"
    assert run(["check", "--quick", good, "--violations", str(folder)]) == 0
    found = pq.read_table(folder)
    assert (found.num_rows, found.column_names) == (0, SCHEMA.names)


def test_what_is_for_spark_does_not_go_with_quick(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = file(tmp_path, "a", GOOD)
    for args in (["--master", "local"], ["--conf", "spark.ui.enabled=true"]):
        assert run(["check", "--quick", good, *args]) == 2
    assert "which --engine quick does without" in capsys.readouterr().err
    assert run(["check", "--quick", "--engine", "spark", good]) == 2
    assert "goes without --engine spark" in capsys.readouterr().err


def test_without_the_extra_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyspark", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in [each for each in sys.modules if each.startswith(WITH_THE_EXTRA)]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "manifest.json").write_text("{}")
    assert run(["check", "--engine", "spark", str(tmp_path)]) == 2
    assert "pip install 'qsync-cluster[spark]'" in capsys.readouterr().err
    good = file(tmp_path, "a", GOOD)
    assert run(["check", "--quick", good, "--violations", str(tmp_path / "v")]) == 2
    assert "pip install 'qsync-cluster[spark]'" in capsys.readouterr().err


def test_what_is_missing_of_ourselves_is_no_matter_of_installing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "admin.checker.spark.reports", None)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(ModuleNotFoundError, match=r"admin\.checker\.spark\.reports"):
        run(["check", "--engine", "spark", str(tmp_path)])


def test_a_narrow_screen_has_a_narrow_table() -> None:
    says = "the indexes of a log have no gaps"
    names = ("log-dense", max((each.id for each in RULES), key=len))
    checked = [
        CheckedInvariant(verdict=conclude(name, facts=1234, violations=[]), seconds=0.5, says=says)
        for name in names
    ]
    for width, facts in ((34, "1,2"), (40, "1,234"), (60, "1,234    0.500"), (120, "0.500")):
        screen = Console(width=width, record=True, file=io.StringIO())
        screen.print(table(checked, width=width, plain=False))
        first, second = screen.export_text().splitlines()[3:5]
        assert first.split()[:2] == ["ok", "log-dense"]
        assert second.split()[0] == "ok", "the verdict goes last"
        assert facts in first
        assert (says in first) is (width == 120)


def test_progress_is_told_in_words() -> None:
    assert describe(SparkStage("judging", 12, 40)) == "judging: 12 of 40 tasks"
    assert describe(SparkStage("starting Spark")) == "starting Spark ..."
