"""Good requests of every kind to two spaces and a session, and hostile ones made of them."""

import cbor2
from hypothesis import strategies as st

from qsync.config.aliases import ALIASES
from tests.fuzz.hostile import BOMBS, VALUES, bent, copied, dumps, swapped

SEED = b"session"
SESSION = SEED + b"\xee" * 16
"""Stands for the session that is open; as long as its id, so that one can take its place."""
ROW = cbor2.dumps([1, "ann", 10])
SPACE = st.sampled_from(["plain", "indexed", "_space", "_index", "nobody", 512, 513, 280])
BY = st.sampled_from([0, 1, "primary", "name", "nobody"])
KEY = st.sampled_from([[1], ["ann"], [], [1, "ann"], [None], [2**64]])
ITERATOR = st.sampled_from(["eq", "req", "ge", "gt", "le", "lt", "all"])
LEVEL = st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 2**64 - 1]), st.sampled_from([0, 3]))
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("=+-!&|^#"), st.integers(-4, 5), st.integers(-2, 2**64 - 1)),
        st.tuples(
            st.just(":"),
            st.integers(1, 4),
            st.integers(-9, 9),
            st.integers(-9, 9),
            st.text(),
        ),
    ),
    max_size=3,
)
ROWS = st.one_of(
    st.just(ROW),
    st.tuples(st.integers(0, 5), st.text(max_size=3), st.integers(0, 9)).map(dumps),
    st.lists(VALUES, max_size=4).map(dumps),
    BOMBS,
)
FORMAT = st.lists(
    st.one_of(
        st.tuples(st.text(min_size=1, max_size=3), st.sampled_from(["unsigned", "string?", "any"])),
        st.fixed_dictionaries({"name": st.text(max_size=3), "type": st.sampled_from(["map", "x"])}),
    ),
    max_size=3,
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "format": FORMAT,
        "is_sync": st.booleans(),
        "if_not_exists": st.booleans(),
        "primary": st.just([[1, "unsigned"]]),
        "id": st.integers(500, 600),
    },
)
NAME = st.sampled_from(["plain", "indexed", "new", "other", "name", "primary"])
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([1, 2]), SPACE, ROWS),
        st.tuples(st.just(3), SPACE, BY, KEY, CHANGES),
        st.tuples(st.just(4), SPACE, ROWS, CHANGES),
        st.tuples(st.just(5), SPACE, BY, KEY),
        st.tuples(st.sampled_from([6, 12]), SPACE),
        st.tuples(st.sampled_from([10, 11]), NAME, OPTIONS),
        st.tuples(
            st.just(13),
            NAME,
            NAME,
            st.fixed_dictionaries(
                {},
                optional={
                    "parts": st.sampled_from([[[2, "string"]], ["id"], [1, "unsigned"], [[9]]]),
                    "unique": st.booleans(),
                },
            ),
        ),
        st.tuples(st.just(14), NAME, BY),
        st.tuples(st.just(15), NAME),
        st.tuples(
            st.just(16),
            NAME,
            st.dictionaries(
                st.sampled_from(["start", "step", "min", "max"]), st.integers(-2, 2**63), max_size=3
            ),
        ),
        st.tuples(st.just(20), SPACE, BY, KEY, st.one_of(st.none(), ROWS)),
        st.tuples(st.just(21), SPACE, BY, KEY, st.booleans()),
        st.tuples(st.sampled_from([30, 31]), st.sampled_from([SEED, SESSION, b"", b"other"])),
    ),
    max_size=3,
)
READS = st.lists(
    st.one_of(
        st.tuples(st.just("k"), SPACE, BY, KEY), st.tuples(st.just("r"), SPACE, BY, ITERATOR, KEY)
    ),
    max_size=2,
)
WAIT = st.sampled_from([0, 0.001, 1e9])
COUNTS = st.sampled_from([0, 1, 10, 2**31, 2**63, 2**64 - 1])
WRITES: st.SearchStrategy[list[object]] = st.tuples(
    st.just(3),
    st.sampled_from([b"", SESSION]),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([0, 1, 2, 4, 8, 15]),
    OPERATIONS,
    st.sampled_from([None, 0, 0.001, 1e9]),
    st.sampled_from([0, 1, 2**64 - 1]),
    st.one_of(st.just([]), READS),
).map(lambda fields: [7, *(copied(each) for each in fields)])
OTHERS: st.SearchStrategy[list[object]] = st.one_of(
    st.tuples(st.just(4), SPACE, BY, KEY, LEVEL).map(lambda t: (*t[:4], *t[4])),
    st.tuples(
        st.just(5), SPACE, BY, ITERATOR, KEY, COUNTS, COUNTS, st.one_of(st.none(), ROWS), LEVEL
    ).map(lambda t: (*t[:8], *t[8])),
    st.tuples(st.just(6), SPACE, BY, ITERATOR, KEY, LEVEL).map(lambda t: (*t[:5], *t[5])),
    st.tuples(st.sampled_from([1, 2, 7, 11, 15])),
    st.tuples(st.just(8), st.sampled_from([None, "", "election.term", "a.1", "lost.²"])),
    st.tuples(st.sampled_from([9, 11]), WAIT),
    st.tuples(st.just(10), st.integers(0, 31), WAIT),
    st.tuples(st.just(13), COUNTS, COUNTS, COUNTS),
    st.tuples(st.just(14), st.one_of(st.none(), SPACE)),
    st.tuples(st.just(16), st.sampled_from(["promote", "demote", "clear", "x"])),
    st.tuples(st.just(17), OPERATIONS, SPACE, BY, KEY, LEVEL).map(lambda t: (*t[:5], *t[5])),
    st.tuples(st.just(18), st.sampled_from(["box.status", "box.id", "x"]), VALUES, WAIT),
    st.tuples(st.just(19), st.one_of(st.none(), COUNTS), st.one_of(st.none(), SPACE), KEY, WAIT),
    st.tuples(st.just(21)),
    st.tuples(st.just(22), COUNTS, WAIT),
    st.tuples(st.integers(23, 40), VALUES, VALUES),
).map(lambda fields: [7, *(copied(each) for each in fields)])
CHANGED_OPTIONS: st.SearchStrategy[list[object]] = st.dictionaries(
    st.one_of(st.sampled_from([*ALIASES, *ALIASES.values()]), st.text(max_size=3)),
    st.one_of(VALUES, st.sampled_from([1, 0.5, "manual", "off", "N / 2 + 1", "1s", "-1", True])),
    max_size=3,
).map(lambda given: [7, 20, given])
PAYLOADS = {
    name: st.one_of(good.map(dumps), swapped(good), swapped(good), bent(good.map(dumps)), BOMBS)
    for name, good in (("write", WRITES), ("other", OTHERS), ("option", CHANGED_OPTIONS))
}


def write(*ops: list[object], reads: list[object] | None = None) -> bytes:
    """A transaction without a session."""
    return dumps([1, 3, b"", 0, 0, 0, list(ops), None, 0, reads or []])


NUMBER = b"\xc2\x59\x08\x00" + b"\xff" * 2048
"""An integer of 16384 bits, more digits than Python turns into text."""

CORPUS = [
    write([30, SEED], [31, SESSION], [30, SESSION]),
    write([31, SESSION], [31, SESSION]),
    write(reads=[["r", "plain", 0, ["eq"], [1]]]),
    write([1, "plain", ROW], [[], "plain"]),
    write([2, "plain", ROW]).replace(b"\x65plain", NUMBER),
    write([3, "plain", 0, [1], [["=", 77, 1]]]).replace(b"\x18\x4d", NUMBER),
    write(
        [10, "cyclic", {"primary": [[1, "unsigned"]]}],
        [2, "cyclic", b"\x82\x01\xd8\x1c\x81\xd8\x1d\x00"],
    ),
    write([3, "plain", 0, [1], [["=", "name", {b"k": 1}]]]),
    dumps([7, 5, "plain", 0, "all", [], 2**64 - 1, 2**64 - 1, None, 3, 0, 0]),
    dumps([7, 6, "plain", 0, "all", [], 3, 0, 0, []]),
    dumps([7, 8, "lost.²"]),
    dumps([7, 8, "lost." + "9" * 5000]),
    dumps([7, 20, {"election_mode": {b"": None}}]),
    dumps([7, 20, {"election_mode": b"\xff"}]),
]
"""Requests that once ended a node, or could have."""
