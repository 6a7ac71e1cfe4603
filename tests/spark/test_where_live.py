"""`qsync check` as users run it: on a terminal, on clusters, behind Connect, by spark-submit."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import pyarrow.parquet as pq
import pyte
import pytest

from admin.checker.report.violations import FILE
from admin.checker.spark.progress import SparkStage
from admin.checker.spark.reports import check_bundles
from admin.checker.verdict import Result
from admin.evidence.bundle import Bundle, write
from admin.evidence.manifest import Manifest, NodeFacts, NoEvidence
from admin.evidence.tables import Row
from tests.spark.running import (
    ELSEWHERE,
    QSYNC,
    SITE,
    bare_executors,
    connect_server,
    environment,
    standalone,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_SAYS = re.compile(r"WARN|INFO|ERROR|log4j|Exception|Picked up|incubator|Setting default")
ROOT = Path(__file__).parents[2]
LINES, COLUMNS = 200, 130
JOB = "from qsync.__main__ import main\n\nmain()\n"

NOTEBOOK = """
from pathlib import Path
from pyspark.sql import SparkSession
from admin.checker.spark.reports import check_bundles
spark = SparkSession.builder.remote({url!r}).getOrCreate()
(report,) = check_bundles([Path({bundle!r})])
print(report.result.value, spark.range(3).count())
"""


def entry(node: int, index: int) -> Row:
    known: Row = {"node": node, "generation": 1, "index": index, "term": 1, "kind": "TXN"}
    known |= {"origin": 1, "lsn": index, "flags": 0, "crc": index}
    promote: Row = {"kind": "PROMOTE", "flags": 1, "ref_owner": 0, "ref_lsn": 0}
    return known | (promote if index == 1 else {})


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """Two logs that differ at 7; everything else that can be judged of them holds."""
    logs = [entry(node, index) for node in (1, 2) for index in range(1, 21)]
    logs[6]["crc"] = 4711
    nodes = tuple(NodeFacts(node=node, name=f"n{node}", last=20) for node in (1, 2))
    manifest = Manifest(run_id="differs", source="directories", quorum=2, voters=2, nodes=nodes)
    return write(tmp_path / "differs", manifest, {"wal": logs})


def in_words(screen: str, *, columns: int) -> str:
    """What a terminal shows in the end."""
    terminal = pyte.Screen(columns, LINES)
    pyte.Stream(terminal).feed(screen)
    return "\n".join(line.rstrip() for line in terminal.display).strip()


def verdict_of(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 6, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    assert found["engine"] == "spark"
    broken = [each["id"] for each in found["invariants"] if each["status"] == "fail"]
    assert broken == ["log-matching"]
    return found


def run(
    *command: "str | Path", folder: Path, java_hidden: bool = False, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environment(folder, java_hidden=java_hidden) | more,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def test_the_other_interpreter_does_not_have_our_packages(tmp_path: Path) -> None:
    """What is shown below by executors that run on it."""
    done = run(ELSEWHERE, "-c", "import pyarrow, admin", folder=tmp_path, PYTHONPATH=str(SITE))
    assert "No module named 'admin'" in done.stderr


def test_a_terminal_shows_progress_and_the_verdict_and_nothing_of_spark(
    bundle: Bundle, tmp_path: Path
) -> None:
    """Without a system Java, with an executor in a process of its own to which we are shipped."""
    page, violations = tmp_path / "report.html", tmp_path / "violations"
    child = pexpect.spawn(
        str(QSYNC),
        [
            *("check", str(bundle.path), "--html", str(page), "--violations", str(violations)),
            *("--master", "local-cluster[1,1,1024]", *bare_executors()),
        ],
        env=environment(tmp_path, java_hidden=True),
        cwd=str(tmp_path),
        encoding="utf-8",
        timeout=900,
        dimensions=(LINES, COLUMNS),
    )
    with child:
        screen = child.read()
    assert child.exitstatus == 6, screen
    assert "starting Spark" in screen
    assert re.search(r"judging: \d+ of \d+ tasks", screen)
    shown = in_words(screen, columns=COLUMNS)
    assert SPARK_SAYS.search(shown) is None, shown
    assert shown.endswith("invariants does not hold: log-matching.")
    assert re.search(r"FAIL +log-matching +40 ", shown)
    assert "judging" not in shown, "the line of progress is gone in the end"
    assert "log-matching" in page.read_text()
    (row,) = pq.read_table(violations / FILE).to_pylist()
    assert (row["invariant"], row["index"], row["run_id"]) == ("log-matching", 7, "differs")
    assert {json.loads(each["row"])["crc"] for each in row["witness"]} >= {7, 4711}


def test_a_program_is_judged_in_the_session_that_it_has(
    session: "SparkSession", bundle: Bundle
) -> None:
    moments: list[SparkStage] = []
    (report,) = check_bundles([bundle.path], tell=moments.append)
    assert report.result is Result.FAIL
    assert session.range(3).count() == 3, "it is not stopped"
    assert moments[0].phase == "starting Spark"
    judging = [each for each in moments if each.phase == "judging"]
    assert max(each.tasks for each in judging) > 0
    done = [each.done for each in judging]
    assert done == sorted(done)


@pytest.mark.usefixtures("session")
def test_bundles_of_one_name_are_judged_each_by_itself(bundle: Bundle, tmp_path: Path) -> None:
    logs = [entry(node, index) for node in (1, 2) for index in range(1, 21)]
    again = write(tmp_path / "again", bundle.manifest, {"wal": logs})
    paths = [bundle.path, again.path, bundle.path]
    reports = check_bundles(paths)
    assert [each.file for each in reports] == [str(each) for each in paths]
    assert [each.result for each in reports] == [Result.FAIL, Result.PASS, Result.FAIL]


def test_what_ends_a_job_is_told_in_a_line(session: "SparkSession", bundle: Bundle) -> None:
    with (bundle.path / "wal.jsonl").open("a") as file:
        file.write("no row\n")
    # As if it had been written so: only tasks meet it.
    bundle.seal()
    with pytest.raises(NoEvidence, match=r"^NO_EVIDENCE: [^ ]*wal\.jsonl.* is no row"):
        check_bundles([bundle.path])
    assert session.range(3).count() == 3


@pytest.mark.soak
def test_an_interrupt_ends_it_without_a_trace(bundle: Bundle, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    child = pexpect.spawn(
        str(QSYNC),
        ["check", str(bundle.path), "--engine", "spark"],
        env=environment(tmp_path) | {"TMPDIR": str(temporary)},
        cwd=str(tmp_path),
        encoding="utf-8",
        timeout=550,
        dimensions=(LINES, COLUMNS),
    )
    with child:
        child.expect("judging: ")
        child.sendintr()
        screen = child.read()
    assert child.exitstatus == 130, screen
    assert in_words(screen, columns=COLUMNS).splitlines()[-1] == "interrupted"
    assert "Traceback" not in screen
    assert list(temporary.glob("qsync-spark-*")) == []


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_standalone_cluster_judges_by_url_and_by_submission(
    bundle: Bundle, tmp_path: Path
) -> None:
    """One coordinator, two workers, each with an executor that does not have our packages."""
    job = tmp_path / "check.py"
    job.write_text(JOB)
    with standalone(tmp_path) as (url, _):
        # Seen from here: executors have working directories of their own.
        command = ("check", bundle.path.name, "--json")
        done = run(QSYNC, *command, "--master", url, *bare_executors(), folder=tmp_path)
        verdict_of(done)
        assert SPARK_SAYS.search(done.stderr) is None, done.stderr
        submit = SITE / "pyspark" / "bin" / "spark-submit"
        options = ("--master", url, *bare_executors())
        submitted = run(submit, *options, job, *command, folder=tmp_path, PYTHONSAFEPATH="1")
        verdict_of(submitted)
    executors = list(tmp_path.glob("w?/app-*/*/stderr"))
    assert len(executors) == 4, "two for each of the two applications"


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_connect_server_judges_without_java_on_this_side(bundle: Bundle, tmp_path: Path) -> None:
    with connect_server(tmp_path) as url:
        command = ("check", bundle.path.name, "--json", "--master", url)
        done = run(QSYNC, *command, folder=tmp_path, JAVA_HOME=str(tmp_path / "nowhere"))
        verdict_of(done)
        assert SPARK_SAYS.search(done.stderr) is None, done.stderr
        # What a program of one's own has connected to is used, and sent what it lacks.
        program = NOTEBOOK.format(url=url, bundle=str(bundle.path))
        said = run(sys.executable, "-c", program, folder=tmp_path, PYTHONPATH=str(ROOT))
        assert said.stdout.split() == ["fail", "3"], said.stderr


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_the_extra_alone_is_enough(bundle: Bundle, tmp_path: Path) -> None:
    """A fresh environment, no system Java: nothing but what the package brings."""
    python = tmp_path / "fresh" / "bin" / "python"
    wanted = f"{ROOT}[spark]"
    uv = shutil.which("uv", path=f"{QSYNC.parent}{os.pathsep}{os.environ['PATH']}")
    if uv is not None:
        made = run(uv, "venv", "--python", sys.executable, tmp_path / "fresh", folder=tmp_path)
        assert made.returncode == 0, made.stderr
        done = run(uv, "pip", "install", "--python", python, wanted, folder=tmp_path)
    else:
        made = run(sys.executable, "-m", "venv", tmp_path / "fresh", folder=tmp_path)
        assert made.returncode == 0, made.stderr
        done = run(python, "-m", "pip", "install", wanted, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    command = (python.with_name("qsync"), "check", bundle.path, "--engine", "spark", "--json")
    done = run(*command, folder=tmp_path, java_hidden=True)
    verdict_of(done)
    assert done.stderr == ""
