"""Entries of a log as lines for people: what was done, in the names of spaces."""

from cli.render.entries import EntryLines
from election.messages import Replica
from qsync import record
from qsync.data import body
from qsync.errors import DuplicateKey
from qsync.record import CHAIN_SEED, EntryKind, Flags, LimboRef, Lsn
from tests.unit.book import Book, pack


def test_a_space_has_its_name_once_its_definition_was_seen() -> None:
    book = Book()
    book.space("pets")
    book.write([1, "pets", pack(1, "rex", None)])
    book.write([5, "pets", 0, [1]])
    lines = EntryLines({})
    defined, inserted, deleted = (lines.line(each) for each in book.log)
    assert '_space [512, 1, "pets", ' in defined
    assert inserted == '       2 t1 1:2 00:00:00.000 TXN pets [1, "rex", null]'
    assert deleted == "       3 t1 1:3 00:00:00.000 TXN pets deleted [1]"
    assert EntryLines({}).line(book.log[1]).endswith('TXN space 512 [1, "rex", null]')


def test_a_space_that_is_known_beforehand_has_its_name_until_a_definition_passes() -> None:
    book = Book()
    book.space("pets")
    book.write([1, "pets", pack(1, "rex", None)])
    lines = EntryLines({512: "animals"})
    assert lines.line(book.log[1]).endswith('TXN animals [1, "rex", null]')
    lines.line(book.log[0])
    assert lines.line(book.log[1]).endswith('TXN pets [1, "rex", null]')


def test_long_values_are_cut_and_bytes_are_hexadecimal() -> None:
    book = Book()
    book.space("t", format=[["id", "unsigned"], ["data", "varbinary"], ["text", "string"]])
    book.write([1, "t", pack(1, b"\x00\xff" * 9, "x" * 200)])
    shown = EntryLines({}).line(book.log[1])
    assert f'[1, "0x{"00ff" * 8}...", "xxx' in shown
    assert shown.endswith("xxx...")


def test_other_kinds_and_refusals_say_what_they_are() -> None:
    confirm = record.make(
        index=7,
        term=2,
        origin=1,
        lsn=9,
        kind=EntryKind.CONFIRM,
        flags=Flags.WAIT_ACK,
        time=0.0,
        body=record.ref_body(LimboRef(Replica(1), Lsn(8))),
        previous=CHAIN_SEED,
    )
    assert EntryLines({}).line(confirm) == (
        "       7 t2 1:9 00:00:00.000 CONFIRM WAIT_ACK owner 1, lsn 8"
    )
    refused = Book().entry(body.encode_refusal((b"s", 1, 1), DuplicateKey("another has it")))
    assert EntryLines({}).line(refused).endswith("TXN refused, DUPLICATE_KEY: another has it")
