"""Which engine judges, by size, memory, what is installed and what is named; and what is said."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from admin.checker import engine
from admin.checker.engine import (
    MEMORY_OF_ROW,
    SPARK_FROM_ROWS,
    CheckEngine,
    EngineLimits,
    choose_engine,
    lacking,
    rows_in,
)
from admin.checker.memory import memory_available
from admin.checker.spark import java
from admin.checker.spark.failures import NoSpark
from admin.checker.spark.place import SparkUrl
from admin.evidence.bundle import write
from admin.evidence.manifest import Manifest
from cli.check_engines import EngineOptions
from cli.main import run

ROOMY = SPARK_FROM_ROWS * MEMORY_OF_ROW * 10
LACKS = "pyspark is not installed"


def limits(
    *, memory: int | None = ROOMY, named: str = "", lacks: Callable[[], str] = lambda: ""
) -> EngineLimits:
    return EngineLimits(memory=memory, named=named, lacks=lacks)


def never() -> str:
    raise AssertionError("whether Spark is there costs a moment, and nothing depends on it")


def test_what_is_asked_for_is_taken_whatever_the_size() -> None:
    for asked in (CheckEngine.QUICK, CheckEngine.SPARK):
        for rows in (0, 10 * SPARK_FROM_ROWS):
            choice = choose_engine(asked, rows, limits(memory=0, lacks=never))
            assert (choice.engine, choice.reason) == (asked, f"as --engine {asked} says")


def test_below_the_threshold_it_is_this_process_and_from_there_on_spark() -> None:
    below = choose_engine(CheckEngine.AUTO, SPARK_FROM_ROWS - 1, limits(lacks=never))
    assert below.sentence == (
        f"judged in this process: about {SPARK_FROM_ROWS - 1:,} rows; "
        f"Spark is quicker from {SPARK_FROM_ROWS:,} on"
    )
    above = choose_engine(CheckEngine.AUTO, SPARK_FROM_ROWS, limits())
    assert above.engine is CheckEngine.SPARK
    assert above.sentence.startswith(f"judged on Spark: about {SPARK_FROM_ROWS:,} rows; ")


def test_what_does_not_fit_into_memory_is_judged_on_spark_though_it_is_small() -> None:
    choice = choose_engine(CheckEngine.AUTO, 1000, limits(memory=1000 * MEMORY_OF_ROW - 1))
    assert choice.engine is CheckEngine.SPARK
    assert "too many for" in choice.reason
    fits = choose_engine(CheckEngine.AUTO, 1000, limits(memory=1000 * MEMORY_OF_ROW))
    assert fits.engine is CheckEngine.QUICK
    assert choose_engine(CheckEngine.AUTO, 1000, limits(memory=None)).engine is CheckEngine.QUICK


def test_without_spark_this_process_judges_as_long_as_its_memory_allows() -> None:
    rows = 2 * SPARK_FROM_ROWS
    here = choose_engine(CheckEngine.AUTO, rows, limits(lacks=lambda: LACKS))
    assert here.engine is CheckEngine.QUICK
    assert here.reason.endswith(f"but {LACKS}")
    small = limits(memory=rows * MEMORY_OF_ROW - 1, lacks=lambda: LACKS)
    with pytest.raises(NoSpark, match=LACKS) as refused:
        choose_engine(CheckEngine.AUTO, rows, small)
    assert "pip install 'qsync-cluster[spark]'" in refused.value.hint
    assert "--engine quick" in refused.value.hint


def test_whoever_names_a_spark_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    named = [
        EngineLimits.of_this_machine(url=url, settings=settings).named
        for url, settings in ((None, False), ("local[2]", False), (None, True), ("yarn", True))
    ]
    assert named == ["", "--master", "--conf", "--master"]
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "4711")
    submitted = EngineLimits.of_this_machine()
    assert submitted.named == "spark-submit"
    choice = choose_engine(CheckEngine.AUTO, 0, submitted)
    assert (choice.engine, choice.reason) == (CheckEngine.SPARK, "spark-submit is given")


def test_only_a_choice_by_size_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a submitted program says on stderr comes on stdout, before the document of `--json`."""
    asked = EngineOptions("auto", None, None, {})
    bundle = write(tmp_path / "small", Manifest(run_id="a", source="test"), {"wal": rows(3)})
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    assert asked.choose([bundle.path]).engine is CheckEngine.QUICK
    assert capsys.readouterr().err.startswith("judged in this process: ")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "4711")
    assert asked.choose([bundle.path]).engine is CheckEngine.SPARK
    assert capsys.readouterr() == ("", "")


def test_what_spark_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> Path:
        raise java.NoJava("no Java 17 or 21 was found")

    here = SparkUrl.of("local[2]")
    monkeypatch.setattr(engine, "home", nothing)
    monkeypatch.setattr(engine, "find_spec", lambda _: object())
    assert lacking(here) == "no Java 17 or 21 was found"
    assert lacking(SparkUrl.of("sc://far")) == "", "the server has the Java"
    monkeypatch.setattr(engine, "find_spec", lambda name: None if name == "pandas" else object())
    assert lacking(here) == "pandas is not installed"


def test_rows_are_those_that_a_manifest_counts_else_by_the_bytes(tmp_path: Path) -> None:
    counted = write(tmp_path / "counted", Manifest(run_id="a", source="test"), {"wal": rows(30)})
    assert rows_in([counted.path]) == 30
    Manifest(run_id="a", source="test").save(counted.path)
    assert 10 < rows_in([counted.path]) < 90
    history = tmp_path / "history.edn"
    history.write_bytes(b" " * 12_000)
    assert rows_in([history, tmp_path / "nothing"]) == 100


def rows(count: int) -> list[dict[str, object]]:
    return [
        {"node": 1, "generation": 1, "index": n, "term": 1, "kind": "TXN"}
        | {"origin": 1, "lsn": n, "flags": 0, "crc": n}
        for n in range(1, count + 1)
    ]


def test_memory_is_what_the_machine_and_the_container_leave(tmp_path: Path) -> None:
    assert memory_available(tmp_path) is None
    meminfo, group = tmp_path / "proc/meminfo", tmp_path / "sys/fs/cgroup"
    meminfo.parent.mkdir()
    group.mkdir(parents=True)
    meminfo.write_text("MemTotal: 9 kB\nMemAvailable:       8000 kB\n")
    assert memory_available(tmp_path) == 8000 << 10
    (group / "memory.current").write_text("5000000\n")
    (group / "memory.stat").write_text("anon 1\ninactive_file 1000000\n")
    (group / "memory.max").write_text("max\n")
    assert memory_available(tmp_path) == 8000 << 10
    (group / "memory.max").write_text("6000000\n")
    assert memory_available(tmp_path) == 2_000_000


def test_the_choice_is_said_in_a_line_in_the_document_and_on_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    bundle = write(tmp_path / "run", Manifest(run_id="a", source="test"), {"wal": rows(30)}).path
    page = tmp_path / "page.html"
    run(["check", str(bundle), "--json", "--html", str(page)])
    said = capsys.readouterr()
    reason = "about 30 rows; Spark is quicker from 1,000,000 on"
    assert said.err.splitlines()[0] == f"judged in this process: {reason}"
    told = json.loads(said.out)
    assert (told["engine"], told["engine_reason"]) == ("quick", reason)
    assert reason in page.read_text()


def test_the_threshold_may_be_another_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setattr(engine, "lacking", lambda _: LACKS)
    bundle = write(tmp_path / "run", Manifest(run_id="a", source="test"), {"wal": rows(30)}).path
    run(["check", str(bundle), "--spark-from", "30"])
    assert f"Spark is quicker from 30 on, but {LACKS}" in capsys.readouterr().err
    monkeypatch.setattr(engine, "memory_available", lambda: 30 * MEMORY_OF_ROW - 1)
    assert run(["check", str(bundle), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "NO_SPARK"
