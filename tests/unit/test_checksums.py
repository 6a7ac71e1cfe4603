"""What a disk did to a bundle is damage to it, and never what its nodes are accused of."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from admin.checker.bundles import check_bundle
from admin.checker.verdict import Result
from admin.evidence.bundle import Bundle, write
from admin.evidence.collect import Dump
from admin.evidence.manifest import MANIFEST, Manifest, NoEvidence
from admin.evidence.simulated import record
from admin.evidence.tables import TABLES
from admin.evidence.witnesses import LogChunk
from admin.evidence.writing import EvidenceWriter, PartFormat
from cli.main import run
from qsync.sim.plan import Plan
from tests.unit.pretender import entries
from tests.unit.test_damaged_bundles import unsealed
from tests.unit.test_evidence import Scripted

FLIPS = 60
SEEDS = range(46, 56)


def recorded(folder: Path) -> Bundle:
    """A short run in which nothing is wrong, and which has every table."""
    for seed in SEEDS:
        _, bundle = record(Plan(seed=seed, events=600), folder / str(seed))
        everything = all(bundle.manifest.rows[name] for name in TABLES)
        if everything and check_bundle(bundle.path).result is Result.PASS:
            return bundle
    raise AssertionError(f"none of {SEEDS} has every table")


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return recorded(tmp_path_factory.mktemp("clean"))


@pytest.fixture
def bundle(clean: Bundle, tmp_path: Path) -> Bundle:
    return Bundle.open(shutil.copytree(clean.path, tmp_path / "bundle"))


def flip_a_digit(path: Path) -> None:
    """The last one of a file: still JSON, and of the same length."""
    content = bytearray(path.read_bytes())
    at = max(at for at, byte in enumerate(content) if byte in b"0123456789")
    content[at] ^= 1
    path.write_bytes(content)


def flip_a_bit(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)


def dumped(folder: Path, node: Scripted, kept: PartFormat = PartFormat.JSONL) -> Bundle:
    return Dump(folder, part_entries=10, writer=EvidenceWriter(kept)).collect(
        [node], source="nodes"
    )


@pytest.mark.parametrize("table", TABLES)
def test_a_flipped_digit_in_any_table_is_refused_with_file_and_what_to_do(
    table: str, bundle: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    (part,) = bundle.parts(table)
    flip_a_digit(part.path)
    assert run(["check", "--quick", str(bundle.path), "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told["code"] == "NO_EVIDENCE"
    wanted = bundle.manifest.checksums[f"{table}.jsonl"]["crc"]
    assert f"{part.path} is damaged: its checksum is " in told["message"]
    assert told["message"].endswith(f"and not {wanted}")
    assert "run `qsync dump` into this folder again; if it was changed on purpose" in told["hint"]


def test_a_flip_anywhere_in_a_bundle_is_refused_or_without_effect(bundle: Bundle) -> None:
    dice, seen = Random(0), Counter[str]()
    files = [path for path in bundle.path.rglob("*") if path.is_file()]
    for number in range(FLIPS):
        path = files[number % len(files)]
        whole = path.read_bytes()
        flip_a_bit(path, dice.randrange(8 * len(whole)))
        try:
            found = check_bundle(bundle.path)
        except NoEvidence as error:
            # A flip in what a manifest says of a file speaks of that file.
            named = bundle.path if path.name == MANIFEST else path
            assert str(named) in str(error)  # noqa: PT017 - not every flip is refused
            seen["refused"] += 1
        else:
            assert found.result is Result.PASS, (path, found)
            seen["without effect"] += 1
        path.write_bytes(whole)
    assert seen["refused"] > FLIPS - len(files)


def test_no_flip_in_a_manifest_changes_what_it_says(tmp_path: Path) -> None:
    """But of files: that shows when they are looked at."""
    manifest = Manifest(run_id="r", source="drill", quorum=2, whole=True, settings={"a": 1.5})
    write(tmp_path, manifest, {"nemesis": [{"number": 1, "f": "kill"}]})
    path, known = tmp_path / MANIFEST, Manifest.load(tmp_path)
    whole = path.read_bytes()
    seen = Counter[bool]()
    for place in range(0, 8 * len(whole), 3):
        flip_a_bit(path, place)
        try:
            found = Manifest.load(tmp_path)
        except NoEvidence:
            seen[True] += 1
        else:
            seen[False] += 1
            assert replace(found, checksums=known.checksums) == known, place
        path.write_bytes(whole)
    assert seen[True] > seen[False] > 0


def test_a_history_of_a_bundle_is_refused_also_where_it_is_named_alone(bundle: Bundle) -> None:
    path = bundle.path / "history.jsonl"
    (bundle.path / "ops.jsonl").rename(path)
    bundle.seal()
    assert run(["check", "--quick", str(path)]) == 0
    flip_a_digit(path)
    assert run(["check", "--quick", str(path)]) == 2
    unsealed(bundle.path)
    assert run(["check", "--quick", str(path)]) != 2


def test_a_bundle_without_checksums_is_judged_as_it_is(bundle: Bundle) -> None:
    unsealed(bundle.path)
    (part,) = bundle.parts("status")
    content = part.path.read_text()
    part.path.write_text(content.replace('"confirmed":', '"confirmed":1', 1))
    assert check_bundle(bundle.path).result is Result.FAIL


def test_a_file_whose_entry_was_removed_may_be_changed(bundle: Bundle) -> None:
    (part,) = bundle.parts("nemesis")
    flip_a_digit(part.path)
    with pytest.raises(NoEvidence, match="nemesis"):
        check_bundle(bundle.path)
    path = bundle.path / MANIFEST
    members = json.loads(path.read_text())
    del members["checksums"]["nemesis.jsonl"]
    path.write_text(json.dumps(members))
    assert check_bundle(bundle.path).result is Result.PASS


def test_a_manifest_that_was_changed_is_refused_until_its_entry_is_removed(bundle: Bundle) -> None:
    path = bundle.path / MANIFEST
    members = json.loads(path.read_text()) | {"faults": False}
    path.write_text(json.dumps(members))
    with pytest.raises(NoEvidence, match=r"manifest\.json is damaged: its checksum is \d+ and not"):
        check_bundle(bundle.path)
    del members["checksums"][MANIFEST]
    path.write_text(json.dumps(members))
    assert Manifest.load(bundle.path).faults is False


def test_a_table_that_is_gone_or_shorter_is_refused(bundle: Bundle) -> None:
    (part,) = bundle.parts("status")
    size = part.path.stat().st_size
    rows = part.path.read_text().splitlines(keepends=True)
    part.path.write_text("".join(rows[:-1]))
    with pytest.raises(NoEvidence, match=rf"status\.jsonl is damaged: .* bytes and not {size}"):
        check_bundle(bundle.path)
    part.path.unlink()
    with pytest.raises(NoEvidence, match=r"status\.jsonl is missing: the manifest tells of it"):
        check_bundle(bundle.path)


def test_a_table_that_was_added_later_is_judged_too(bundle: Bundle) -> None:
    """Of it the manifest says nothing."""
    (part,) = bundle.parts("nemesis")
    more = bundle.path / "nemesis" / "more.jsonl"
    more.parent.mkdir()
    more.write_text(part.path.read_text().splitlines(keepends=True)[0])
    assert check_bundle(bundle.path).result is Result.PASS


@pytest.mark.parametrize("kept", PartFormat)
def test_a_later_dump_reads_anew_what_is_damaged_and_what_is_behind_it(
    kept: PartFormat, tmp_path: Path
) -> None:
    if kept is PartFormat.PARQUET:
        pytest.importorskip("pyarrow", reason="needs the [spark] extra")
    log = entries(52)
    dumped(tmp_path, Scripted(log[:40], confirmed=40), kept)
    damaged = Bundle.open(tmp_path).parts("wal")[1].path
    flip_a_bit(damaged, 8 * damaged.stat().st_size // 2)
    with pytest.raises(NoEvidence, match=str(damaged)):
        check_bundle(tmp_path)
    again = Scripted(log, confirmed=52)
    dumped(tmp_path, again, kept)
    assert again.asked == [11]
    assert check_bundle(tmp_path).result is Result.PASS


def test_an_interrupted_dump_remembers_what_the_parts_that_it_keeps_must_be(tmp_path: Path) -> None:
    class Unplugged(Scripted):
        def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
            raise OSError("unplugged")

    log = entries(40)
    dumped(tmp_path, Scripted(log[:30], confirmed=30))
    with pytest.raises(OSError, match="unplugged"):
        dumped(tmp_path, Unplugged(log, confirmed=40))
    flip_a_digit(Bundle.open(tmp_path).parts("wal")[1].path)
    again = Scripted(log, confirmed=40)
    dumped(tmp_path, again)
    assert again.asked == [11]
    assert check_bundle(tmp_path).result is Result.PASS


def test_a_dump_does_not_go_on_with_damaged_samples(tmp_path: Path) -> None:
    bundle = dumped(tmp_path, Scripted(entries(9), confirmed=9))
    (part,) = bundle.parts("status")
    part.path.write_text('{"node":1}\n')
    with pytest.raises(NoEvidence, match=r"status\.jsonl is damaged.*of a dump, delete it"):
        dumped(tmp_path, Scripted(entries(9), confirmed=9))
    part.path.unlink()
    dumped(tmp_path, Scripted(entries(9), confirmed=9))


def test_a_flip_anywhere_in_parquet_is_refused(bundle: Bundle, tmp_path: Path) -> None:
    """Headers of pages have no checksums of their own."""
    pytest.importorskip("pyarrow", reason="needs the [spark] extra")
    from admin.checker.parquet import to_parquet  # noqa: PLC0415 - the same

    kept = to_parquet(bundle, tmp_path / "parquet")
    assert check_bundle(kept.path).result is Result.PASS
    dice = Random(1)
    for part in (part for table in TABLES for part in kept.parts(table)):
        whole = part.path.read_bytes()
        flip_a_bit(part.path, dice.randrange(8 * len(whole)))
        with pytest.raises(NoEvidence, match=str(part.path)):
            check_bundle(kept.path)
        part.path.write_bytes(whole)
