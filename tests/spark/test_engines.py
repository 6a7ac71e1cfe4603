"""Whichever engine `auto` takes, the document says the same of every run, rule by rule."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.main import run
from tests.spark.planted import FAULTS, clean_run, planted, save

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOME = FAULTS[3::15]


def document(
    capsys: pytest.CaptureFixture[str], *arguments: "str | Path"
) -> tuple[dict[str, Any], str]:
    assert run(["check", *map(str, arguments), "--json"]) == 6
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert isinstance(found, dict)
    return found, said.err


def verdicts(found: dict[str, Any]) -> list[object]:
    """Of each file; how many facts and which rows there are other tests compare."""
    return [
        (
            *(each[name] for name in ("file", "verdict", "operations")),
            sorted(each["models"]),
            sorted((e["id"], e["title"], e["status"], e["violations"]) for e in each["invariants"]),
        )
        for each in found["files"]
    ]


def test_both_engines_that_auto_may_take_give_one_document(
    session: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundles = [save(each, tmp_path).path for each in (clean_run(0), *map(planted, SOME))]
    history = tmp_path / "history.jsonl"
    line = '{"index": %d, "time": 0, "process": 1, "type": "%s", "f": "write", "value": 1}\n'
    history.write_text(line % (0, "invoke") + line % (1, "ok"))
    sources = [*bundles[:1], history, *bundles[1:]]
    here, said = document(capsys, *sources)
    assert here["engine"] == "quick"
    assert said.startswith("judged in this process: about ")
    there, said = document(capsys, *sources, "--spark-from", "1")
    assert there["engine"] == "spark"
    assert "judged on Spark: about " in said
    assert there["verdict"] == here["verdict"] == "fail"
    assert [each["file"] for each in there["files"]] == [str(each) for each in sources]
    assert verdicts(there) == verdicts(here)
    assert session.range(1).count() == 1, "the session that was there is used, and left"
