"""Rows of the tables of evidence, made from the product's own objects."""

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from admin.evidence import opening
from admin.evidence.tables import Row
from admin.workload.history import HistoryLine
from qsync import record
from qsync.checksum import crc32
from qsync.record import HEADER, HEADER_SIZE, Entry, EntryKind
from qsync.wire.packed import PackedRows

if TYPE_CHECKING:
    from qsync.status.record import NodeStatus  # msgspec, which executors of Spark need not have


def wal_row(entry: Entry, *, node: int, generation: int = 1) -> Row:
    """Return an entry of a node's log as a row. Unreadable parts of a damaged body are left out."""
    body = entry.body
    size = len(entry.raw) - HEADER_SIZE
    row: Row = {
        "node": node,
        "generation": generation,
        "index": int(entry.index),
        "term": int(entry.term),
        "kind": kind_name(entry.kind),
        "origin": int(entry.origin),
        "lsn": int(entry.lsn),
        "flags": int(entry.flags),
        "time": entry.time,
        "crc": int(entry.crc),
        "body_crc": crc32(body),
        "body_len": size,
    }
    return row | (_request(body, size) if entry.kind == EntryKind.TXN else _named(body, size))


def packed_rows(rows: PackedRows, *, node: int, generation: int = 1) -> Iterator[Row]:
    """Return packed entries of a node's log, whose openings are `opening.BYTES_MAX` long."""
    assert rows.width == HEADER_SIZE + opening.BYTES_MAX, rows.width
    crcs = struct.unpack(f"<{rows.entries}I", rows.crcs)
    for at, crc in zip(range(0, len(rows.slab), rows.width), crcs, strict=True):
        index, term, origin, lsn, kind, flags, size, time, chain = HEADER.unpack_from(rows.slab, at)
        some = at + HEADER_SIZE
        body = rows.slab[some : some + min(size, opening.BYTES_MAX)]
        row: Row = {
            "node": node,
            "generation": generation,
            "index": index,
            "term": term,
            "kind": kind_name(kind),
            "origin": origin,
            "lsn": lsn,
            "flags": flags,
            "time": time,
            "crc": chain,
            "body_crc": crc,
            "body_len": size,
        }
        yield row | (_request(body, size) if kind == EntryKind.TXN else _named(body, size))


def entries_of(batch: bytes) -> Iterable[Entry]:
    """Return the entries of a batch as stored, unverified."""
    return record.decode(batch)


def kind_name(kind: int) -> str:
    """Return the name of a kind, or its number if it has none."""
    return _KINDS.get(kind, str(kind))


def kind_number(name: str) -> int:
    """Return the number of a kind: the inverse of `kind_name`."""
    return int(EntryKind[name]) if name in EntryKind.__members__ else int(name)


def status_row(
    sample: "NodeStatus", *, number: int, life: int, time_mono: int, generation: int = 1
) -> Row:
    """Return a status as a row. `life` tells the node's processes apart.

    It is dated when it was asked; by `time_mono` where nobody noted that. So nothing that it had
    done before is missing in what it said.
    """
    return {
        "node": sample.id,
        "generation": generation,
        "life": life,
        "sample": number,
        "time_mono": sample.asked or time_mono,
        "time_wall": sample.time,
        "name": sample.name,
        "role": sample.role,
        "term": sample.term,
        "vote": sample.vote,
        "leader": sample.leader,
        "ro": sample.ro,
        "ro_reason": sample.ro_reason,
        "state": sample.status,
        "last": sample.last,
        "crc": sample.crc,
        "written": sample.written,
        "confirmed": sample.confirmed,
        "visible": sample.visible,
        "folded": sample.folded,
        "limbo_owner": sample.synchro.queue.owner,
        "limbo_term": sample.synchro.queue.term,
        "limbo_len": sample.synchro.queue.len,
        "quorum": sample.synchro.quorum,
        "voters": len(sample.voters),
        "vclock": {str(origin): lsn for origin, lsn in sample.vclock.items()},
    }


def ops_row(line: HistoryLine) -> Row:
    """Return a line of a history as a row."""
    row: Row = json.loads(line.as_json())
    return row


def digest_rows(node: int, index: int, digests: Mapping[str, str]) -> list[Row]:
    """Return the digests of all spaces of a node, as of `index`."""
    return [
        {"node": node, "generation": 1, "index": index, "space": space, "digest": digest}
        for space, digest in sorted(digests.items())
    ]


def _request(body: bytes, size: int) -> Row:
    found = opening.read(body, size)
    if found is None:
        return {}
    row: Row = {
        "session": found.session.hex() or None,
        "seq": found.seq or None,
        "effects": found.effects,
    }
    if found.space is not None:
        row |= {"space": found.space, "key_hash": found.key_hash}
    return row


def _named(body: bytes, size: int) -> Row:
    if size != _REF.size:
        return {}
    owner, lsn = _REF.unpack_from(body)
    if max(owner, lsn) > opening.INT_MAX:
        return {}
    return {"ref_owner": owner, "ref_lsn": lsn}


_REF = struct.Struct(">xxQxQ")
"""The body of a control entry: the heads of an array and two numbers are passed over."""
_KINDS = {int(kind): kind.name for kind in EntryKind}
