"""A redacted bundle holds nothing that users stored, and is judged as the one it was made of."""

import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin.checker.rules import catalogue
from admin.checker.verdict import Result
from admin.evidence import arrow
from admin.evidence.bundle import PARQUET, Bundle, rows_of, write
from admin.evidence.collect import Dump
from admin.evidence.manifest import Manifest, NodeFacts, NoEvidence
from admin.evidence.redacting import KeyedDigests, Redactor, redact, shifted
from admin.evidence.rows import wal_row
from admin.evidence.tables import RUN, TABLES, Row
from admin.evidence.witnesses import LogChunk, LogWasCut
from admin.evidence.writing import EvidenceWriter, PartFormat
from admin.lab.failures import DirectoryNotEmpty
from cli.main import run
from qsync.record import Entry
from tests.spark.planted import FAULTS, clean_run, planted, save, verdicts
from tests.spark.spoiling import Fault
from tests.unit.pretender import entries, pretending
from tests.unit.test_evidence import Scripted

KEY = bytes(range(32))
WORDS = ("register ann", "Grace Hopper", "orders")
NUMBER = 987_654_321
ADDRESS = "h1.example:3301"
SESSION = "0ae320c76146a40000000000000000010000000000000009"
NAMES = {
    *("checksum_flipped", "body_damaged", "transaction_torn", "row_missing", "row_twice"),
    *("another_entry_at_the_same_place", "digest_differs", "stored_differs", "stale_read"),
    *("receipt_of_another_key", "lost_update", "write_skew", "money_made", "vote_not_on_disk"),
    *("log_lost_in_a_restart", "acked_before_the_disk"),
}
TOUCHED = [each for each in FAULTS if each.name in NAMES]
"""Faults that show in what is replaced: checksums, digests, keys and values."""
OTHERS = [each for each in FAULTS if each.name not in NAMES]
CHECKSUMS = st.integers(0, (1 << 32) - 1)


def told(path: Path) -> set[tuple[str, Result, int]]:
    """What the checkers say of a bundle: of each invariant, and by how many facts."""
    found = verdicts(catalogue.load(path))
    return {(each.invariant, each.result, each.facts) for each in found}


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_a_difference_moves_over_what_follows_as_checksums_do(one: bytes, other: bytes) -> None:
    whole = zlib.crc32(one + other)
    assert whole == shifted(zlib.crc32(one), len(other)) ^ zlib.crc32(other)


@given(st.sets(CHECKSUMS, min_size=2, max_size=50))
def test_checksums_stay_different_and_none_stays_none(numbers: set[int]) -> None:
    digests = KeyedDigests(KEY)
    found = {digests.crc(each) for each in numbers}
    assert len(found) == len(numbers)
    assert (0 in found) == (0 in numbers)


def test_equal_things_are_called_equally_under_one_key_only() -> None:
    one, other = KeyedDigests(KEY), KeyedDigests(bytes(32))
    ways: list[Callable[[KeyedDigests], object]] = [
        lambda digests: digests.word("ann"),
        lambda digests: digests.space("ann"),
        lambda digests: digests.number(7),
        lambda digests: digests.session(SESSION),
        lambda digests: digests.key_hash(-7),
        lambda digests: digests.crc(7),
        lambda digests: digests.body_crc(7),
    ]
    for way in ways:
        assert way(one) == way(KeyedDigests(KEY))
        assert way(one) != way(other)
    assert one.space("_settings") == "_settings"
    assert one.session(7) == 7, "a number of a client in a history of its own"


@pytest.mark.parametrize("number", [0, 3])
def test_a_clean_run_is_judged_alike(number: int, tmp_path: Path) -> None:
    clear = save(clean_run(number), tmp_path / "clear")
    assert told(redact(clear, tmp_path / "out").path) == told(clear.path)


@pytest.mark.parametrize("fault", TOUCHED, ids=[each.name for each in TOUCHED])
def test_a_planted_fault_is_noticed_by_the_same_invariants(fault: Fault, tmp_path: Path) -> None:
    judged_alike(fault, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("fault", OTHERS, ids=[each.name for each in OTHERS])
def test_so_is_one_that_has_to_do_with_nothing_redacted(fault: Fault, tmp_path: Path) -> None:
    judged_alike(fault, tmp_path)


def judged_alike(fault: Fault, tmp_path: Path) -> None:
    clear = save(planted(fault), tmp_path / "clear")
    found = verdicts(catalogue.load(redact(clear, tmp_path / "out").path))
    assert {each.invariant for each in found if each.result is Result.FAIL} == fault.fails


def history() -> Iterator[Row]:
    """Of a register, a list and a bank, as clients keep it."""
    told: list[tuple[str, object, object]] = [
        ("write", WORDS[0], NUMBER),
        ("cas", WORDS[0], [NUMBER, WORDS[1]]),
        ("read", WORDS[0], WORDS[1]),
        ("txn", None, [["append", WORDS[2], NUMBER], ["r", WORDS[2], [NUMBER]]]),
        ("transfer", "bank", [WORDS[1], "b", 5]),
        ("read", "bank", {WORDS[1]: 95, "b": 105}),
    ]
    index = 0
    for f, key, value in told:
        for type_ in ("invoke", "ok"):
            yield {
                "index": index,
                "time": index,
                "process": 1,
                "type": type_,
                "f": f,
                "key": key,
                "value": value,
                "error": f"there is {WORDS[1]} already",
                "key_hash": NUMBER,
                "session": SESSION,
            }
            index += 1


def dumped(folder: Path) -> Bundle:
    """A bundle that says of users' rows whatever a bundle can say."""
    log = [wal_row(each, node=1) for each in entries(9, salt=WORDS[1])]
    digest = {"node": 1, "generation": 1, "index": 9, "digest": "ab" * 16}
    return write(
        folder,
        Manifest(
            run_id="r",
            source="history",
            settings={"dir": "/home/ann"},
            command=WORDS[1],
            nodes=(NodeFacts(node=1, problem=f"{ADDRESS}: it hung up"),),
            gaps={"events": f"{ADDRESS} has none"},
        ),
        {
            "wal": log,
            "ops": history(),
            "digests": [digest | {"space": each} for each in (WORDS[2], "_settings")],
        },
    )


def test_nothing_that_users_stored_is_in_it(tmp_path: Path) -> None:
    clear = dumped(tmp_path / "clear")
    hidden = [
        each.encode() for each in (*WORDS, "/home/ann", str(NUMBER), SESSION, ADDRESS, "abab")
    ]
    for row in clear.rows("wal"):
        names = ("key_hash", "body_crc", "crc", "session")
        hidden += [str(row[name]).encode() for name in names if row[name]]
    out = redact(clear, tmp_path / "out").path
    there = b"".join(each.read_bytes() for each in out.rglob("*") if each.is_file())
    before = b"".join(each.read_bytes() for each in clear.path.rglob("*") if each.is_file())
    assert len(hidden) > 20
    assert [each for each in hidden if each not in before] == []
    assert [each for each in hidden if each in there] == []


def test_a_history_keeps_its_shape_and_what_is_added_up(tmp_path: Path) -> None:
    out = redact(dumped(tmp_path / "clear"), tmp_path / "out", key=KEY)
    ann, grace, orders = (KeyedDigests(KEY).word(each) for each in WORDS)
    number, b = KeyedDigests(KEY).number(NUMBER), KeyedDigests(KEY).word("b")
    answers = [(row["f"], row["key"], row["value"]) for row in out.rows("ops")][1::2]
    assert answers == [
        ("write", ann, number),
        ("cas", ann, [number, grace]),
        ("read", ann, grace),
        ("txn", None, [["append", orders, number], ["r", orders, [number]]]),
        ("transfer", KeyedDigests(KEY).word("bank"), [grace, b, 5]),
        ("read", KeyedDigests(KEY).word("bank"), {grace: 95, b: 105}),
    ]
    assert told(out.path) == told(tmp_path / "clear")


def test_what_cannot_be_redacted_is_refused(tmp_path: Path) -> None:
    clear = dumped(tmp_path / "clear")
    with pytest.raises(DirectoryNotEmpty, match="is not empty"):
        redact(clear, clear.path)
    row = {"index": 0, "time": 0, "process": 1, "type": "invoke", "f": "get", "key": "a"}
    manifest = Manifest(run_id="r", source="history")
    with pytest.raises(NoEvidence, match="texts that grow"):
        redact(write(tmp_path / "texts", manifest, {"ops": [row]}), tmp_path / "out1")
    (clear.path / f"events{PARQUET}").write_bytes(b"")
    with pytest.raises(NoEvidence, match="cannot be read"):
        redact(clear, tmp_path / "out2")


def test_columns_are_redacted_as_lines_are(tmp_path: Path) -> None:
    clear = dumped(tmp_path / "clear")
    folder = tmp_path / "columns"
    folder.mkdir()
    for table in TABLES:
        for part in clear.parts(table):
            rows = rows_of(part, clear.manifest.run_id)
            arrow.write_rows(folder / f"{table}{PARQUET}", table, rows)
    columns = Bundle(folder, clear.manifest).seal()
    out = redact(columns, tmp_path / "out", key=KEY)
    lines = redact(clear, tmp_path / "lines", key=KEY)
    for table in TABLES:
        assert list(all_rows(out, table)) == list(all_rows(lines, table)), table
    assert {each.suffix for each in out.path.iterdir()} == {PARQUET, ".json"}
    there = b"".join(each.read_bytes() for each in out.path.iterdir())
    shown = "".join(str(row) for table in TABLES for row in all_rows(out, table))
    for word in (*WORDS, str(NUMBER)):
        assert word.encode() not in there
        assert word not in shown
    assert told(out.path) == told(lines.path)


class Cut(Scripted):
    """A node whose log is cut once, in the middle of being read."""

    def __init__(self, log: list[Entry]) -> None:
        super().__init__(log, confirmed=0)
        self._was_cut = False

    def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
        for number, each in enumerate(super().stretches(first, last, opening)):
            if number == 2 and not self._was_cut:
                self._was_cut = True
                raise LogWasCut
            yield each


def all_rows(bundle: Bundle, table: str) -> Iterator[Row]:
    for part in bundle.parts(table):
        yield from arrow.rows(part, "r") if part.is_parquet else rows_of(part, "r")


@pytest.mark.parametrize("kept", PartFormat)
def test_a_log_that_is_cut_while_it_is_redacted_is_read_again(
    tmp_path: Path, kept: PartFormat
) -> None:
    """Redacted as it comes, and judged as what was redacted afterwards."""
    log = entries(25)
    clear = Dump(tmp_path / "clear", part_entries=10).collect([Cut(log)], source="nodes")
    writer = EvidenceWriter(kept, Redactor(key=KEY))
    dump = Dump(tmp_path / "out", part_entries=10, writer=writer)
    out = dump.collect([Cut(log)], source="nodes")
    later = redact(clear, tmp_path / "later", key=KEY)
    whole = [[row | {RUN: ""} for row in all_rows(each, "wal")] for each in (out, later)]
    assert whole[0] == whole[1]
    assert len(whole[0]) == 25
    assert {each.suffix for each in (out.path / "wal").rglob("*-*")} == {kept.suffix}
    assert told(out.path) == told(clear.path)


def test_the_command_redacts_nodes_and_bundles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with pretending(2) as nodes:
        for each in nodes:
            each.log = entries(9)
        targets = [each.address for each in nodes]
        assert run(["dump", *targets, "--out", str(out), "--redact", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["path"], said["run"], said["rows"]["wal"]) == (str(out), "out", 18)
        assert [each.name for each in tmp_path.iterdir()] == ["out"]  # and nothing in the clear
        clear = tmp_path / "clear"
        assert run(["dump", *targets, "--out", str(clear)]) == 0
        again = [*targets, "--out", str(out), "--redact"]
        assert run(["dump", *again]) == 2
        assert "is not empty" in capsys.readouterr().err
    assert {row["key_hash"] for row in Bundle.open(out).rows("wal")}.isdisjoint(
        row["key_hash"] for row in Bundle.open(clear).rows("wal") if row["key_hash"]
    )
    command = ["dump", str(clear), "--redact", "--out", str(tmp_path / "other")]
    assert run(command) == 0
    assert run(["check", "--quick", str(tmp_path / "other")]) == 0
    capsys.readouterr()
    assert run([*command[:2], str(out), *command[2:-1], str(tmp_path / "third")]) == 2
    assert "redacted alone" in capsys.readouterr().err
    assert run([*command[:-1], str(tmp_path / "third"), "--format", "parquet"]) == 2
    assert "keeps the format of its files" in capsys.readouterr().err
    with pretending(2) as nodes:
        for each in nodes:
            each.log = entries(9)
        targets = [each.address for each in nodes]
        words = ["--out", str(tmp_path / "columns"), "--redact", "--format", "parquet"]
        assert run(["dump", *targets, *words]) == 0
    assert {e.path.suffix for e in Bundle.open(tmp_path / "columns").parts("wal")} == {PARQUET}
    assert run(["check", "--quick", str(tmp_path / "columns")]) == 0
