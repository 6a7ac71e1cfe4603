"""Every kernel finds what its oracle finds, record by record, whatever nodes wrote down."""

from collections import Counter
from collections.abc import Iterator
from random import Random

from admin.checker.kernels.in_memory import finders
from admin.checker.kernels.registry import KERNELS
from admin.checker.rules.catalogue import BY_ID, judge
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables, build
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.tables import TABLES, Row
from tests.oracle.table import ORACLE

SEEDS = range(400)
SEEN_MIN = 15
"""So many runs must break an invariant, and so many not: dice that never show it prove nothing."""


def test_oracles_are_of_kernels() -> None:
    """A later kernel may do with the faults that are planted for it."""
    assert ORACLE.keys() <= {each.id for each in KERNELS}
    assert [id_ for id_ in BY_ID if id_ in {each.id for each in KERNELS}] == [e.id for e in KERNELS]


def test_kernels_find_what_their_oracles_find() -> None:
    broken, examined = Counter[str](), Counter[str]()
    for seed in SEEDS:
        run = _run(Random(seed))
        kernels = finders(run)
        for id_, find in ORACLE.items():
            here, there = kernels[id_](run), find(run)
            assert _told(here) == _told(there), (seed, id_)
            broken[id_] += bool(there.breaches)
            examined[id_] += bool(there.facts and not there.breaches)
    assert {id_ for id_ in ORACLE if min(broken[id_], examined[id_]) < SEEN_MIN} == set()


def test_a_run_is_judged_as_kernel_by_kernel() -> None:
    run = _run(Random(1))
    judged = {each.verdict.invariant: each.verdict for each in judge(run)}
    for kernel in KERNELS:
        found = BY_ID[kernel.id].find(run)
        assert [each.message for each in judged[kernel.id].violations] == [
            each.message for each in found.breaches
        ]


def _told(found: RuleFinding) -> tuple[object, ...]:
    # What is broken comes in any order.
    breaches = sorted(found.breaches, key=repr)
    return (found.facts, found.lacks, found.doubt, breaches)


def _run(dice: Random) -> RunTables:
    """Three nodes that say what they like; mostly what they should."""
    nodes = tuple(
        NodeFacts(node=n, confirmed=dice.randrange(9), last=9, voter=dice.random() < 0.9)
        for n in (1, 2, 3)
    )
    settings: dict[str, object] = (
        {"fence_seconds": dice.choice((1e-9, 1e-9, 2e-8))} if dice.random() < 0.9 else {}
    )
    manifest = Manifest(
        run_id="dice",
        source="dice",
        voters=dice.choice((0, 3, 3, 3, 5)),
        nodes=nodes if dice.random() < 0.9 else (),
        whole=dice.random() < 0.5,
        clock="one" if dice.random() < 0.9 else "several",
        settings=settings,
    )
    tables = {
        "status": _status(dice),
        "events": _events(dice),
        "digests": _digests(dice),
        "wal": _wal(dice),
    }
    return build(manifest, {name: _whole(name, rows) for name, rows in tables.items()})


def _whole(table: str, rows: Iterator[Row]) -> list[Row]:
    blank: Row = dict.fromkeys(TABLES[table].columns)
    return [blank | row for row in rows]


def _status(dice: Random) -> Iterator[Row]:
    calm = dice.random() < 0.5
    lives, term, upto = [1, 1, 1], 1, 0
    for sample in range(dice.randrange(2, 20)):
        node = dice.randrange(3)
        term += dice.random() < 0.2
        upto += dice.randrange(2)
        lives[node] += dice.random() < 0.2
        slip = 0 if calm else dice.choice((0, 0, 0, 0, 0, 1, 2))
        leads = node == term % 3 if slip == 0 else dice.random() < 0.5
        row: Row = {"node": node + 1, "generation": 1, "life": lives[node], "sample": sample}
        row |= {"time_mono": sample, "term": max(term - slip, 1)}
        row |= {
            "role": "leader" if leads else "follower",
            "ro": None if slip == 2 and not leads else not leads,
        }
        row |= {"confirmed": max(upto - slip, 0), "visible": upto, "last": upto + dice.randrange(3)}
        row |= {"written": upto, "limbo_len": 0 if calm else dice.choice((0, 0, 1, None))}
        row |= {"quorum": 2 if calm else dice.choice((1, 2, 2, 3)), "crc": 0}
        known = (None, 0, 2, 3) if calm else (None, 3, 4)
        row |= {"voters": known[sample % len(known)]}
        row |= {
            "leader": dice.choice((0, None, term % 3 + 1, dice.randrange(4 if not calm else 1)))
        }
        yield row


def _events(dice: Random) -> Iterator[Row]:
    term, number = 1, 0
    calm = dice.random() < 0.5
    names = dice.choice((("ballot", "vote", "leads", "served"), ("served", "durable"), ("vote",)))
    for _ in range(dice.randrange(8) * 3):
        term += dice.random() < 0.4
        leader = term % 3 + 1
        some = dice.sample((1, 2, 3), 3 if calm else dice.randrange(1, 4))
        for node in sorted(some, key=lambda each: each == leader) if calm else some:
            peer = leader if calm or dice.random() < 0.9 else dice.randrange(1, 4)
            for name in names if calm else dice.sample(names, dice.randrange(len(names) + 1)):
                if name == "leads" and (node != leader if calm else dice.random() < 0.7):
                    continue
                number += 1
                row: Row = {"node": node, "generation": 1, "life": 1, "number": number}
                row |= {"time_mono": number // 6, "name": name, "term": term, "peer": peer}
                if not calm and dice.random() < 0.03:
                    row |= {"term": term - 1, "peer": None}
                index = dice.randrange(9)
                back = dice.randrange(-9 if calm else -5, 1 if calm else 2)
                row |= {"index": index, "floor": dice.choice((None, index + back)), "crc": None}
                yield row


def _digests(dice: Random) -> Iterator[Row]:
    calm = dice.random() < 0.6
    for _ in range(dice.randrange(24)):
        row: Row = {"node": dice.randrange(1, 4), "generation": 1, "index": dice.choice((4, 8))}
        row |= {"space": dice.choice("ab"), "bucket": dice.choice((None, None, 1))}
        row |= {"digest": "x" if calm else dice.choice("xxxxy")}
        yield row | {"made": dice.choice((None, None, "snapshot", "replay"))}


def _wal(dice: Random) -> Iterator[Row]:
    """What only says who wrote PROMOTEs, and where logs end."""
    terms = sorted(dice.randrange(1, 6) for _ in range(9))
    for node in sorted(dice.sample((1, 2, 3), dice.randrange(4))):
        for index in range(1, dice.choice((9, 9, 9, 4)) + 1):
            term = terms[index - 1]
            begins = index == 1 or terms[index - 2] != term
            row: Row = {"node": node, "generation": 1, "index": index, "term": term, "lsn": index}
            origin = term % 3 + 1 if dice.random() < 0.97 else dice.randrange(1, 4)
            row |= {"kind": "PROMOTE" if begins else "TXN", "origin": origin, "flags": 1}
            yield row | {"crc": index, "ref_owner": 1 if begins else None, "ref_lsn": 0}
