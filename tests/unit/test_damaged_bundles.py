"""A bundle with damage is refused with the place, whatever the damage; it is never judged."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from admin.checker.bundles import check_bundle
from admin.checker.verdict import Result
from admin.evidence.bundle import Bundle, write
from admin.evidence.collect import Dump
from admin.evidence.manifest import Manifest, NoEvidence
from admin.evidence.tables import Row
from admin.evidence.witnesses import LogChunk
from admin.evidence.writing import EvidenceWriter, PartFormat
from cli.main import run
from tests.unit.pretender import entries
from tests.unit.test_evidence import Scripted


def dumped(folder: Path, kept: PartFormat = PartFormat.JSONL) -> Path:
    """The log of a node, in parts of ten entries."""
    Dump(folder, part_entries=10, writer=EvidenceWriter(kept)).collect(
        [Scripted(entries(25), confirmed=25)], source="nodes"
    )
    return folder


def unsealed(bundle: Path) -> Path:
    """Without checksums, as others may write it: damage is met where it is read."""
    path = bundle / "manifest.json"
    content = json.loads(path.read_text())
    del content["checksums"]
    path.write_text(json.dumps(content))
    return bundle


def part(bundle: Path, number: int = 1) -> Path:
    return Bundle.open(bundle).parts("wal")[number].path


def members(bundle: Path, **changed: object) -> None:
    path = bundle / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


def line(path: Path, text: str) -> None:
    """The fifth line becomes another one."""
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:4], text, *lines[5:]]))


def column(path: Path, name: str, last: list[int | None]) -> None:
    """The last rows of a file of Parquet have these values."""
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the [spark] extra")
    import pyarrow as pa  # noqa: PLC0415 - the same

    table = pq.read_table(path)
    values = [*table[name].to_pylist()[: -len(last)], *last]
    at = table.column_names.index(name)
    pq.write_table(table.set_column(at, name, pa.array(values, pa.int64())), path)


def cell(path: Path, **changed: object) -> None:
    line(path, json.dumps(json.loads(path.read_text().splitlines()[4]) | changed) + "\n")


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda at: part(at).unlink(), r"lacks the entries 11 to 20 .*`qsync dump` into this folder"),
    (lambda at: part(at, 2).unlink(), "lacks the entries 21 to 25"),
    (lambda at: shutil.rmtree(at / "wal"), "lacks the entries 1 to 25"),
    (lambda at: members(at, rows={}), "its dump was interrupted"),
    (lambda at: members(at, format=2), "format 2, known is 1 .a newer qsync wrote it"),
    (lambda at: members(at, quorum="two"), "quorum is int and not 'two'"),
    (lambda at: members(at, nodes=[{"name": "n1"}]), "required member node is missing"),
    (lambda at: (at / "manifest.json").write_text("[]"), "holds no JSON object"),
    (lambda at: (at / "manifest.json").write_text('{"format"'), r"manifest\.json cannot be read"),
    (lambda at: line(part(at), "{bad\n"), r"11-000000000020\.jsonl:5 is no row"),
    (lambda at: line(part(at), "17\n"), r"jsonl:5 is no row"),
    (lambda at: part(at).write_text(part(at).read_text()[:-9]), r"jsonl:10 is no row"),
    (lambda at: part(at).write_bytes(b"\xff" * 9), r"20\.jsonl is no text"),
    (lambda at: cell(part(at), index="x"), "jsonl:5 is no row: index is int and not 'x'"),
    (lambda at: cell(part(at), kind=7), "kind is text and not 7"),
    (lambda at: cell(part(at), term=None), "term is int and not None"),
    (lambda at: cell(part(at), node=3), r"20\.jsonl holds node 3, which is not what its name"),
    (lambda at: cell(part(at), generation=2), r"20\.jsonl holds generation 2, which"),
    (lambda at: cell(part(at), index=7), r"20\.jsonl holds entries 7\.\.7, which is not"),
    (lambda at: members(at, rows={"wal": 25, "ops": 9}), "says 9 rows of ops, and there are 0"),
    (lambda at: line(part(at), '{"node": 1, "index": 15}\n'), "jsonl:5 lacks crc, flags"),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGES)
def test_damage_ends_with_two_and_is_told_with_its_place(
    damage: Callable[[Path], object],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bundle = unsealed(dumped(tmp_path))
    assert check_bundle(bundle).result is Result.PASS
    damage(bundle)
    with pytest.raises(NoEvidence, match=said):
        check_bundle(bundle)
    assert run(["check", "--quick", str(bundle), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "NO_EVIDENCE"


def test_damaged_parquet_is_named_by_all_who_read_it(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the [spark] extra")
    import pyarrow as pa  # noqa: PLC0415 - the same

    from admin.checker.report.scan import scan  # noqa: PLC0415 - the same
    from admin.evidence.arrow import check_files  # noqa: PLC0415 - the same

    def emptied(path: Path) -> None:
        path.write_bytes(b"")

    def cut(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:-20])

    def rotten(path: Path) -> None:
        """A few bytes in the middle, which would read as other numbers."""
        content = bytearray(path.read_bytes())
        pages = pq.read_metadata(path).row_group(0)
        names = [pages.column(at).path_in_schema for at in range(pages.num_columns)]
        crc = pages.column(names.index("crc"))
        at = (crc.dictionary_page_offset or crc.data_page_offset) + crc.total_compressed_size - 3
        content[at] ^= 1
        path.write_bytes(bytes(content))

    def narrow(path: Path) -> None:
        pq.write_table(pq.read_table(path).drop_columns(["term"]), path)

    def text(path: Path) -> None:
        table = pq.read_table(path)
        at = table.column_names.index("index")
        pq.write_table(table.set_column(at, "index", table["index"].cast(pa.string())), path)

    bundle = unsealed(dumped(tmp_path, PartFormat.PARQUET))
    assert check_bundle(bundle).result is Result.PASS
    whole = part(bundle).read_bytes()
    readers: list[Callable[[Path], object]] = [
        check_bundle,
        lambda at: list(scan(Bundle.open(at), "wal")),
        lambda at: check_files(Bundle.open(at)),
    ]
    for damage, said in (
        (emptied, "cannot be read"),
        (cut, "cannot be read"),
        (rotten, "cannot be read"),
        (narrow, "lacks term"),
        (text, "index is int and not string"),
        (lambda path: column(path, "term", [None]), "has rows without term"),
    ):
        part(bundle).write_bytes(whole)
        damage(part(bundle))
        # Rot is in the middle, where the end of a file tells nothing.
        for read in readers[: 2 if damage is rotten else 3]:
            with pytest.raises(NoEvidence, match=rf"11-000000000020\.parquet.* {said}"):
                read(bundle)


def test_an_interrupted_dump_is_not_judged_until_it_was_gone_on_with(tmp_path: Path) -> None:
    class Unplugged(Scripted):
        def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
            for each in super().stretches(first, last, opening):
                if each.first > 10:
                    raise OSError("unplugged")
                yield each

    with pytest.raises(OSError, match="unplugged"):
        Dump(tmp_path, part_entries=10).collect(
            [Unplugged(entries(25), confirmed=25)], source="nodes"
        )
    with pytest.raises(NoEvidence, match="its dump was interrupted"):
        check_bundle(tmp_path)
    assert check_bundle(dumped(tmp_path)).result is Result.PASS


def test_a_log_that_begins_late_lacks_nothing_before_its_beginning(tmp_path: Path) -> None:
    bundle = unsealed(dumped(tmp_path))
    part(bundle, 0).unlink()
    (node,) = json.loads((bundle / "manifest.json").read_text())["nodes"]
    members(bundle, nodes=[node | {"first": 11}])
    Bundle.open(bundle).check_whole()
    members(bundle, nodes=[node | {"first": 10}])
    with pytest.raises(NoEvidence, match="lacks the entries 10 to 10"):
        Bundle.open(bundle).check_whole()


def test_a_copy_among_the_parts_of_a_log_is_refused_by_name_and_not_judged(tmp_path: Path) -> None:
    bundle = dumped(tmp_path)
    known = part(bundle, 0)
    stray = bundle / "wal" / f"copy{known.suffix}"
    for copy, said in ((stray, "is no part of"), (known.with_stem(f"{5:012d}-{6:012d}"), "twice")):
        copy.write_bytes(known.read_bytes())
        with pytest.raises(NoEvidence) as refused:
            check_bundle(bundle)
        assert copy.name in str(refused.value)
        assert said in f"{refused.value} {refused.value.hint}"
        copy.unlink()
    assert check_bundle(bundle).result is Result.PASS


def test_rows_of_another_node_are_refused_by_all_who_read_them(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the [spark] extra")
    from admin.checker.report.scan import scan  # noqa: PLC0415 - the same
    from admin.checker.spark.units import plan, tables  # noqa: PLC0415 - the same

    bundle = unsealed(dumped(tmp_path, PartFormat.PARQUET))
    column(part(bundle), "node", [3] * 10)
    readers: list[Callable[[Path], object]] = [
        check_bundle,
        lambda at: list(scan(Bundle.open(at), "wal")),
        lambda at: [tables(unit) for unit in plan([at])],
    ]
    for reader in readers:
        with pytest.raises(NoEvidence, match="holds node 3, which is not what its name says"):
            reader(bundle)


def test_a_history_survives_being_written_as_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the [spark] extra")
    from admin.checker.parquet import to_parquet  # noqa: PLC0415 - needs the extra

    line = {"time": 0, "process": 1, "f": "write", "key": "x", "value": 1}
    rows: list[Row] = [{"index": n, "type": type_, **line} for n, type_ in enumerate(ENDS)]
    found = write(tmp_path / "lines", Manifest(run_id="r", source="demo"), {"ops": rows})
    (found.path / "ops.jsonl").rename(found.path / "history.jsonl")
    kept = to_parquet(found.seal(), tmp_path / "parquet")
    assert [each.path.name for each in kept.parts("ops")] == ["ops.parquet"]
    assert check_bundle(kept.path).operations == check_bundle(found.path).operations != []


ENDS = ("invoke", "ok")
