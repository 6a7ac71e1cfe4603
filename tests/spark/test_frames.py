"""Evidence as DataFrames: tables as documented, rules that find what one process finds, results."""

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="needs the [spark] extra")

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from admin.checker import frames
from admin.checker.bundles import check_bundle
from admin.checker.frames import EvidenceFrames, EvidenceResult
from admin.checker.parquet import to_parquet
from admin.checker.report.violations import SCHEMA, rows_of_report
from admin.checker.rules.catalogue import BY_ID
from admin.checker.spark.clients.keys import Terms
from admin.checker.spark.whole_runs import report_of
from admin.checker.verdict import KEPT_MAX, Result
from admin.evidence.bundle import Bundle, write
from admin.evidence.manifest import Manifest, NodeFacts, NoEvidence
from admin.evidence.tables import TABLES, ColumnType, Row
from qsync.errors import ConfigError
from tests.spark.planted import FAULTS, cases, clean_run, planted, save

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOME = FAULTS[::20]
"""Judged by what stays in the short form of the suite."""
GOOD = (
    "{:process 0 :type :invoke :f :write :value 1}\n{:process 0 :type :ok :f :write :value 1}\n"
    "{:process 0 :type :invoke :f :read :value nil}\n{:process 0 :type :ok :f :read :value 1}\n"
)
BAD = GOOD.replace(":ok :f :read :value 1", ":ok :f :read :value 2")


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return save(clean_run(0), tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def evidence(session: "SparkSession", clean: Bundle) -> EvidenceFrames:
    return frames.read_bundles(clean.path, spark=session)


def raised(result: EvidenceResult) -> set[str]:
    return {row["invariant"] for row in result.verdicts.where("verdict = 'fail'").collect()}


def judged_alike(session: "SparkSession", some: list[tuple[Bundle, frozenset[str]]]) -> None:
    """The rules as functions over DataFrames find what one process finds in the bundles."""
    evidence = frames.read_bundles(*(each.path for each, _ in some), spark=session)
    found = evidence.violations().drop("source", "seconds").collect()
    for bundle, ids in some:
        mine = [row.asDict(recursive=True) for row in found if row["run_id"] == name(bundle)]
        assert {row["invariant"] for row in mine} == ids, name(bundle)
        wanted = [dict(each) for each in rows_of_report(check_bundle(bundle.path))]
        assert sorted(map(compared, mine)) == sorted(map(compared, wanted)), name(bundle)


def compared(row: dict[str, object]) -> str:
    """Which of several cycles is told depends on the process; of logs and nodes all is equal."""
    if row["invariant"] not in BY_ID:
        return json.dumps([row[key] for key in ("run_id", "invariant", "title", "count")])
    return json.dumps({key: row[key] for key in row if key not in {"source", "seconds"}})


def name(bundle: Bundle) -> str:
    return bundle.manifest.run_id


def test_rules_over_dataframes_find_what_one_process_finds(
    session: "SparkSession", tmp_path: Path
) -> None:
    judged_alike(session, [(save(planted(each), tmp_path), each.fails) for each in SOME])


def test_rules_over_dataframes_find_every_planted_fault(
    session: "SparkSession", tmp_path: Path
) -> None:
    """Every second one is Parquet."""
    found = []
    for number, (run, bundle, ids) in enumerate(cases(tmp_path)):
        kept = to_parquet(bundle, tmp_path / f"{run}-parquet") if number % 2 else bundle
        found.append((kept, ids))
    judged_alike(session, found)


def test_tables_have_the_schema_that_is_documented(evidence: EvidenceFrames) -> None:
    for table, frame in evidence.tables.items():
        wanted = frames.table_schema(table)
        assert frame.schema == wanted
        needed = {field.name for field in wanted if not field.nullable}
        assert needed == TABLES[table].needed | {"run_id"}
        assert all(field.metadata["comment"] for field in wanted)
    with pytest.raises(ConfigError, match="there is no table 'logs'"):
        frames.table_schema("logs")


def test_the_tables_are_those_of_the_bundle(evidence: EvidenceFrames, clean: Bundle) -> None:
    for table, frame in evidence.tables.items():
        rows = list(clean.rows(table))
        assert frame.count() == len(rows)
        jsons = [n for n, type_ in TABLES[table].columns.items() if type_ is ColumnType.JSON]
        found = [
            row | {n: None if row[n] is None else json.loads(row[n]) for n in jsons}
            for row in (each.asDict() for each in frame.limit(50).collect())
        ]
        assert all(row in rows for row in found), table


def test_a_clean_run_holds_and_says_so_in_every_form(
    evidence: EvidenceFrames, clean: Bundle, tmp_path: Path
) -> None:
    result = evidence.check()
    assert result.verdict is Result.PASS
    assert result.verdicts.schema == frames.VERDICTS
    assert result.violations.schema == frames.VIOLATIONS
    assert result.violations.count() == 0
    here = {
        each.verdict.invariant: (each.verdict.result.value, each.verdict.facts)
        for each in check_bundle(clean.path).checked
    }
    told = result.verdicts.toArrow().to_pylist()
    assert {row["invariant"]: (row["verdict"], row["facts"]) for row in told} == here
    page = result.save_html(tmp_path / "report.html").read_text()
    assert result.sentence in page
    assert "pass" in result._repr_html_()
    for drawn in (result.timeline(), result.confirmed(name(clean))):
        assert drawn._repr_svg_().startswith('<svg xmlns="http://www.w3.org/2000/svg"')


def test_a_changed_table_is_judged_as_it_is(evidence: EvidenceFrames, clean: Bundle) -> None:
    lost = evidence.with_table("wal", evidence.wal.where("not (node = 2 and index = 9)"))
    result = lost.check()
    assert "log-dense" in raised(result)
    (row,) = result.violations.where("invariant = 'log-dense'").collect()
    assert (row["run_id"], row["node"], row["source"]) == (
        name(clean),
        2,
        f"dataframes:{name(clean)}",
    )
    assert {json.loads(each["row"])["index"] for each in row["witness"]} == {8, 10}
    assert "hit" in result.timeline().svg, "it is drawn where it is"
    (alone,) = frames.RULES["log-dense"](lost).collect()
    assert alone == row
    only = lost.check(only=["one-leader", "linearizable"])
    assert [row["invariant"] for row in only.verdicts.collect()] == ["one-leader", "linearizable"]
    assert evidence.check(only=["log-dense"]).verdict is Result.PASS, "the former one is as it was"


def test_every_rule_is_a_function_and_no_other_name_is_one(evidence: EvidenceFrames) -> None:
    assert BY_ID.keys() < frames.RULES.keys()
    for use in (lambda: evidence.violations("nonsense"), lambda: evidence.check(only=["nonsense"])):
        with pytest.raises(ConfigError, match="there is no rule 'nonsense'"):
            use()


def test_a_rule_of_ones_own_is_judged_beside_the_others(evidence: EvidenceFrames) -> None:
    @frames.rule("no-writes", "nobody writes", needs=["ops"])
    def no_writes(own: EvidenceFrames) -> "DataFrame":
        begun = own.ops.where("type = 'invoke' and f = 'write'")
        proof = frames.witness("ops", "index", "process", "f")
        said = F.lit("a write").alias("message")
        return begun.select("run_id", "key", said, proof.alias("witness"))

    @frames.rule("no-feeds", "feeds are calm", needs=["feeds"])
    def no_feeds(own: EvidenceFrames) -> "DataFrame":
        return own.feeds.where("upto < after").select("run_id", F.lit("back").alias("message"))

    result = evidence.check(no_writes, no_feeds, only=["one-leader"])
    told = {row["invariant"]: row for row in result.verdicts.collect()}
    writes = evidence.ops.where("type = 'invoke' and f = 'write'").count()
    own = told["no-writes"]
    assert (own["verdict"], own["violations"]) == ("fail", writes)
    assert own["facts"] == evidence.ops.count()
    feeds = evidence.feeds.count()
    assert told["no-feeds"]["verdict"] == ("pass" if feeds else "skipped")
    rows = no_writes(evidence).collect()
    assert {row["count"] for row in rows} == {writes}
    kept = result.violations.where("invariant = 'no-writes'").collect()
    assert len(kept) == min(writes, KEPT_MAX)
    assert json.loads(kept[0]["witness"][0]["row"])["f"] == "write"


def test_a_rule_that_gives_something_else_is_told_what_it_should(evidence: EvidenceFrames) -> None:
    @frames.rule("odd", "odd", needs=["ops"])
    def odd(own: EvidenceFrames) -> "DataFrame":
        return own.ops.select("run_id", "process")

    @frames.rule("bare", "bare", needs=["ops"])
    def bare(own: EvidenceFrames) -> "DataFrame":
        return own.ops.select("run_id")

    with pytest.raises(ConfigError, match="has a column process"):
        odd(evidence)
    with pytest.raises(ConfigError, match="lacks message"):
        evidence.check(bare)
    for id_, needs, told in (
        ("log-dense", ["wal"], "there is a built-in rule log-dense"),
        ("mine", ["logs"], "needs a table 'logs'"),
        ("mine", [], "needs no table"),
    ):
        with pytest.raises(ConfigError, match=told):
            frames.rule(id_, "", needs=needs)


def history(*, read: object) -> list[Row]:
    steps = [("invoke", "write", 1), ("ok", "write", 1), ("invoke", "read", None)]
    rows: list[Row] = [
        {"index": n, "time": n, "process": 1, "type": type_, "f": f, "key": "k", "value": value}
        for n, (type_, f, value) in enumerate([*steps, ("ok", "read", read)])
    ]
    return rows


def test_a_history_of_ones_own_is_judged_from_any_dataframe(
    session: "SparkSession", tmp_path: Path
) -> None:
    for run, read in (("good", 1), ("bad", 2)):
        lines = [json.dumps(row | {"run_id": run}) for row in history(read=read)]
        (tmp_path / f"{run}.jsonl").write_text("\n".join(lines))
    ops = session.read.json(str(tmp_path)).withColumn("key", frames.json_text("key"))
    result = frames.from_tables(ops=ops).check()
    told = {(r["run_id"], r["invariant"]): r["verdict"] for r in result.verdicts.collect()}
    assert told["good", "linearizable"] == "pass"
    assert told["bad", "linearizable"] == "fail"
    (row,) = result.violations.where("invariant = 'linearizable'").collect()
    assert (row["run_id"], json.loads(row["key"])) == ("bad", "k")
    with pytest.raises(ConfigError, match="there is no bundle of the run"):
        result.timeline("bad")
    alone = frames.from_tables(ops=ops.where("run_id = 'good'").drop("run_id"))
    assert set(alone.check().reports) == {"history"}


def test_what_is_no_evidence_is_refused_in_words(
    session: "SparkSession", evidence: EvidenceFrames, tmp_path: Path
) -> None:
    ops = session.createDataFrame(pa.Table.from_pylist(history(read=1)))
    with pytest.raises(ConfigError, match="the table ops lacks time, type"):
        frames.from_tables(ops=ops.drop("time", "type"))
    with pytest.raises(ConfigError, match="there is no table 'logs'"):
        frames.from_tables(logs=ops)
    with pytest.raises(ConfigError, match="no table is given"):
        frames.from_tables()
    with pytest.raises(NoEvidence, match=r"key of ops is no JSON: 'k'; frames\.json_text"):
        frames.from_tables(ops=ops).check()
    nobody = ops.withColumn("process", F.lit(None).cast("bigint"))
    with pytest.raises(NoEvidence, match="has rows of ops without process"):
        frames.from_tables(ops=nobody).check()
    with pytest.raises(NoEvidence, match="is not an evidence bundle, and contains none"):
        frames.read_bundles(tmp_path, spark=session)
    for each in ("a", "b"):
        write(tmp_path / each, Manifest(run_id="twin", source="test"), {})
    with pytest.raises(NoEvidence, match="are both named twin"):
        frames.read_bundles(tmp_path, spark=session)
    with pytest.raises(ConfigError, match="there is no bundle"):
        dataclasses.replace(evidence.check(only=["one-leader"]), paths={}).timeline()


def test_a_folder_of_bundles_is_read_and_parted_by_run(
    session: "SparkSession", tmp_path: Path
) -> None:
    for number in (1, 2):
        facts = (NodeFacts(node=number),)
        manifest = Manifest(run_id=f"run-{number}", source="test", nodes=facts)
        write(tmp_path / f"r{number}", manifest, {"ops": history(read=number)})
    both = frames.read_bundles(tmp_path, spark=session)
    assert {row["run_id"] for row in both.ops.select("run_id").collect()} == {"run-1", "run-2"}
    second = both.where("run_id like '%2'")
    assert set(second.manifests) == {"run-2"}
    assert second.ops.count() == 4
    result = second.check(model="register")
    assert (set(result.reports), result.verdict) == ({"run-2"}, Result.FAIL)
    assert both.where("run_id = 'none'").ops.count() == 0


def test_files_of_histories_are_judged_each_by_a_task(
    session: "SparkSession", tmp_path: Path
) -> None:
    places = {"good.edn": GOOD, "bad.edn": BAD}
    for file, text in places.items():
        (tmp_path / file).write_text(text)
    result = frames.check_histories(*(tmp_path / file for file in places), spark=session)
    told = {Path(run).name: report.result for run, report in result.reports.items()}
    assert told == {"good.edn": Result.PASS, "bad.edn": Result.FAIL}
    (row,) = result.violations.where("invariant = 'linearizable'").collect()
    assert row["run_id"].endswith("bad.edn")
    (tmp_path / "odd.edn").write_text("nothing of the kind")
    with pytest.raises(NoEvidence, match=r"odd\.edn: this is not a history"):
        frames.check_histories(*tmp_path.glob("*.edn"), spark=session)
    with pytest.raises(NoEvidence, match="no history is named"):
        frames.check_histories(spark=session)
    for words, why in (
        ({"model": "regster"}, "there is no model 'regster' .there are register, "),
        ({"level": "serialisable"}, "there is no level 'serialisable' .there are "),
        ({"format": "edn"}, "there is no format 'edn' .there are history, "),
    ):
        with pytest.raises(ConfigError, match=why):
            frames.check_histories("register.edn", spark=session, **words)


def test_a_run_that_is_too_large_for_a_task_is_refused() -> None:
    rows = [
        {"run_id": "r", "table": "ops", "row": json.dumps(each | {"key": '"k"'})}
        for each in ({**e, "value": json.dumps(e["value"])} for e in history(read=1))
    ]
    table = pa.Table.from_pylist(rows)
    assert report_of(table, {}, Terms(), None, len(rows)).result is Result.PASS
    with pytest.raises(NoEvidence, match="has 4 rows, and a task judges 3 at most"):
        report_of(table, {}, Terms(), None, len(rows) - 1)


def test_violations_have_one_schema_in_spark_and_parquet() -> None:
    assert frames.VIOLATIONS.names == SCHEMA.names
