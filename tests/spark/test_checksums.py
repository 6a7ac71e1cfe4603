"""On Spark damage to a bundle is refused as it is in one process, before it is judged."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from admin.checker.bundles import check_bundle
from admin.checker.parquet import to_parquet
from admin.checker.spark import file_checksums
from admin.checker.spark.reports import check_bundles
from admin.checker.spark.source import QsyncSource
from admin.evidence.bundle import Bundle
from admin.evidence.manifest import NoEvidence
from admin.evidence.tables import TABLES
from cli.main import run
from tests.unit.test_checksums import flip_a_bit, flip_a_digit, recorded
from tests.unit.test_damaged_bundles import unsealed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return recorded(tmp_path_factory.mktemp("clean"))


@pytest.fixture
def bundle(clean: Bundle, tmp_path: Path) -> Bundle:
    return Bundle.open(shutil.copytree(clean.path, tmp_path / "bundle"))


def flip_in_a_page(path: Path, column: str) -> None:
    """The end of the data of a column, which would read as other numbers."""
    pages = pq.read_metadata(path).row_group(0)
    names = [pages.column(at).path_in_schema for at in range(pages.num_columns)]
    found = pages.column(names.index(column))
    begin = found.dictionary_page_offset or found.data_page_offset
    flip_a_bit(path, 8 * (begin + found.total_compressed_size - 3))


@pytest.mark.parametrize("table", TABLES)
def test_a_flipped_digit_is_refused_on_spark_as_in_one_process(
    table: str, bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    (part,) = bundle.parts(table)
    flip_a_digit(part.path)
    told = []
    for words in (["--engine", "spark"], ["--quick"]):
        assert run(["check", str(bundle.path), "--json", *words]) == 2
        told.append(json.loads(capsys.readouterr().out))
    assert told[0] == told[1]
    assert f"{part.path} is damaged: its checksum is" in told[0]["message"]


def test_large_bundles_are_looked_at_in_tasks_with_the_same_words(
    session: "SparkSession", bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_checksums, "LARGE_BYTES", 0)
    assert session.range(3).count() == 3
    file_checksums.check(session, [bundle])
    for name in ("status.jsonl", "feeds.jsonl"):
        flip_a_digit(bundle.path / name)
    (bundle.path / "digests.jsonl").unlink()
    with pytest.raises(NoEvidence, match=r"digests\.jsonl is missing") as found:
        check_bundles([bundle.path])
    assert "remove its entry from `checksums`" in found.value.hint
    shutil.copyfile(bundle.path / "status.jsonl", bundle.path / "digests.jsonl")
    with pytest.raises(NoEvidence, match=r"digests\.jsonl is damaged: it has"):
        check_bundles([bundle.path])
    bundle.seal()
    flip_a_digit(bundle.path / "status.jsonl")
    with pytest.raises(NoEvidence) as here:
        check_bundle(bundle.path)
    with pytest.raises(NoEvidence) as there:
        check_bundles([bundle.path])
    assert str(there.value) == str(here.value)


def test_a_table_that_a_task_reads_is_refused_for_a_flip_in_a_page(
    session: "SparkSession", bundle: Bundle, tmp_path: Path
) -> None:
    """Even if the manifest says nothing of the file."""
    assert session.range(3).count() == 3
    path = unsealed(to_parquet(bundle, tmp_path / "parquet").path)
    flip_in_a_page(path / "status.parquet", "time_mono")
    with pytest.raises(NoEvidence, match=rf"{path}/status\.parquet cannot be read: .* CRC") as told:
        check_bundles([path])
    assert "run `qsync dump` into this folder again" in told.value.hint


def test_the_data_source_reads_nothing_that_is_damaged(
    session: "SparkSession", bundle: Bundle
) -> None:
    session.dataSource.register(QsyncSource)
    source = session.read.format("qsync").option("path", str(bundle.path))
    assert source.option("table", "feeds").load().count() == bundle.manifest.rows["feeds"]
    flip_a_digit(bundle.path / "feeds.jsonl")
    with pytest.raises(Exception, match=r"feeds\.jsonl is damaged: its checksum is"):
        source.option("table", "feeds").load().count()
    assert source.option("table", "status").load().count() == bundle.manifest.rows["status"]
