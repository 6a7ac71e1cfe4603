"""Short comments on the columns of evidence, with units, for Spark's schemas."""

from admin.evidence.tables import RUN, TABLES

_ANYWHERE = {
    RUN: "name of the run, unique among runs that are judged together",
    "node": "id of the node",
    "generation": "which directory of the node, from 1 on",
    "term": "term of the election",
    "index": "place in the log, from 1 on",
    "lsn": "number of the entry among those of its origin",
    "session": "session of the client that made the request",
    "seq": "number of the request in its session",
    "key_hash": "stands for the key of the first row that is changed",
    "crc": "chain checksum: of the entry and all before it",
    "life": "which process of the node, counted from its first start",
    "time_mono": "ns, monotonic clock",
    "name": "name of the node",
}
_OF_TABLE = {
    "wal": {
        "kind": "TXN, CONFIRM, ROLLBACK, PROMOTE or DEMOTE",
        "origin": "id of the node that led when it was written",
        "flags": "1: waits for acks; 2: waits for the synchronous ones before it",
        "time": "s since 1970, clock of the leader that wrote it",
        "ref_owner": "of a control entry: whose entries it decides",
        "ref_lsn": "of a control entry: the lsn that it names",
        "space": "id of the space of the first row that is changed",
        "effects": "rows that are changed",
        "body_crc": "CRC-32 of the body",
        "body_len": "bytes of the body",
    },
    "status": {
        "sample": "number of the sample, one order over all nodes",
        "role": "leader, candidate, follower or learner",
        "time_wall": "s since 1970, clock of the node",
        "vote": "id of the node that it voted for in this term",
        "leader": "id of the leader that it follows",
        "ro": "it takes no writes",
        "ro_reason": "why it takes none",
        "state": "what the node does",
        "last": "index of the last entry of its log",
        "crc": "chain checksum of the entry `last`",
        "written": "index up to which its log is on disk",
        "confirmed": "index up to which all is confirmed",
        "visible": "index whose state reads show",
        "folded": "index up to which the stored rows have the log",
        "limbo_owner": "id of the node whose transactions wait",
        "limbo_term": "term of those",
        "limbo_len": "transactions that wait for their quorum",
        "quorum": "acks that confirm, that of the leader included",
        "voters": "voters that it counts by; 0: it has no configuration",
        "vclock": "JSON: by origin the highest lsn that it has",
    },
    "ops": {
        "index": "number of the line in the history",
        "time": "ns, monotonic clock, one for all clients",
        "process": "client that does one operation at a time",
        "type": "invoke, ok, fail or info",
        "f": "read, write, cas, add, transfer, txn ...",
        "key": "JSON: the object that it is about",
        "value": "JSON: what was asked for, of a read what was answered",
        "node": "address or name of the node that answered",
        "error": "why it did not succeed",
        "session": "JSON: session of the client",
        "floor": "index that a read had to show at least",
        "floor_term": "term of the entry there",
        "log_index": "place of a write in the log, or of the state that was read",
    },
    "events": {
        "number": "one order over the events of all nodes",
        "name": "what happened: started, durable, vote, ack, leads, confirmed ...",
        "index": "entry that it is about",
        "peer": "node that it is about",
        "floor": "what else it says, see the table of events",
    },
    "digests": {
        "index": "place in the log whose state was hashed",
        "space": "name of the space",
        "bucket": "part of the space, where it is parted",
        "digest": "hash of the visible rows, as text",
        "made": "null: of what is shown; snapshot: of stored rows; replay: of what the log makes",
    },
    "nemesis": {
        "number": "order of the fault; of a simulated run how often its kind struck",
        "f": "name of the fault",
        "type": "what kind of step it was",
        "value": "JSON: what it was done to",
    },
    "feeds": {
        "reader": "the reader of the change feed",
        "number": "number of the answer, for its reader",
        "after": "index that it was asked to begin behind",
        "upto": "index up to which it was answered",
        "places": "JSON: [index, term] of every transaction that was given",
    },
}
COLUMN_NOTES: dict[str, dict[str, str]] = {
    name: {column: _OF_TABLE[name].get(column) or _ANYWHERE[column] for column in table.columns}
    for name, table in TABLES.items()
}
"""By table and column."""
