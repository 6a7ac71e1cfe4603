"""Logs walked entry by entry inside of Spark tasks: owners, control entries, and the limbo."""

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from admin.checker.spark.found import BREACH, DDL, FACTS, Found
from admin.checker.spark.invariants.queries import Tables, query
from admin.checker.spark.scanning import Batches, batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Ref = tuple[int, int] | None
_LOG = ("run_id", "node", "generation")
_COLUMNS = (
    *_LOG,
    "index",
    "term",
    "kind",
    "origin",
    "lsn",
    "flags",
    "owner",
    "named",
    "crc",
    "says",
)
CONTROLS = frozenset({"CONFIRM", "ROLLBACK"})


class Entry(NamedTuple):
    """One entry of a log. `place` counts them."""

    place: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    term: int
    kind: str
    origin: int
    lsn: int
    flags: int

    @property
    def sync(self) -> bool:
        """It waits for a quorum of its own accord."""
        return self.kind == "PROMOTE" or (self.kind == "TXN" and bool(self.flags & 1))


class Says(NamedTuple):
    """A sample whose last entry is the one that it stands behind."""

    sample: int
    term: int
    confirmed: int
    visible: int | None
    written: int | None
    owner: int | None
    owner_term: int | None
    waiting: int


def walk(tables: Tables) -> "DataFrame":
    """Every log once, in order, with the samples that speak of it behind the entry they name."""
    rows = query(
        """
        select run_id, node, generation, `index`, term, kind, origin, lsn, flags,
               ref_owner owner, ref_lsn named, crc, null says, 0 later from {wal}
        union all select run_id, node, generation, last, term, '', 0, 0, 0, null, null, crc,
               array(sample, term, coalesce(confirmed, 0), visible, written, limbo_owner,
                     limbo_term, limbo_len), 1
        from {status} where limbo_len is not null and last > 0 and crc is not null
             and coalesce(confirmed, 0) <= last
        """,
        tables,
        "wal",
        "status",
    )
    by_log = rows.repartition(*_LOG).sortWithinPartitions(*_LOG, "index", "crc", "later")
    return by_log.mapInArrow(_follow, DDL)


def _follow(batches: Batches) -> Batches:
    walked: _Log | None = None
    for rows in batches:
        columns = [rows.column(name).to_pylist() for name in _COLUMNS]
        for run_id, node, generation, *rest in zip(*columns, strict=True):
            if walked is None or walked.whose != (run_id, node, generation):
                if walked is not None:
                    yield batch(walked.end())
                walked = _Log((run_id, node, generation))
            *entry, owner, named, crc, says = rest
            if says is None:
                ref = None if owner is None or named is None else (owner, named)
                walked.entry(Entry(walked.count, *entry), ref)
                walked.end_at = (entry[0], crc)
            elif walked.end_at == (entry[0], crc):
                walked.sample(Says._make(says))
    if walked is not None:
        yield batch(walked.end())


class _Log:
    """One log. What only a whole one tells is kept until its end."""

    def __init__(self, whose: tuple[str, int, int]) -> None:
        self.whose = whose
        self.end_at = (0, 0)
        self.count = 0
        self.whole = False
        self.dense = True
        self.last = 0
        self.facts: Counter[str] = Counter()
        self.out: list[Found] = []
        self.limbo: list[Found] = []
        self.lead = _Lead()
        self.control = _Control()

    def entry(self, each: Entry, ref: Ref) -> None:
        """The next one."""
        self.count += 1
        self.whole = each.index == 1 if not self.last else self.whole
        if self.last and each.index != self.last + 1:
            self.dense = False
        self.last = each.index
        for id_, fact, why in self.lead.take(each, ref, whole=self.whole):
            self._found(id_, fact, why, each.index)
        for id_, fact, why, index in self.control.take(each, ref, whole=self.whole):
            self._found(id_, fact, why, index)

    def sample(self, says: Says) -> None:
        """What a node said when its log ended here."""
        run, node, _ = self.whose
        self.facts["limbo-replay"] += 1
        if not self.lead.owned:
            return
        waiting, before = self.control.limbo(says.confirmed, self.last)
        written = self.last if says.written is None else says.written
        visible = max(says.confirmed, min(before, written))
        wants = (self.lead.limbo_owner, self.lead.limbo_term, waiting, visible)
        told = (says.owner, says.owner_term, says.waiting, says.visible)
        if says.confirmed < self.control.reach or told != wants:
            text = f"node {node} says {told} at {self.last}, its log makes {wants}"
            where = (node, 0, says.sample, says.term, 0, text)
            self.limbo.append(Found(run, BREACH, "limbo-replay", *where))

    def end(self) -> list[Found]:
        """Everything."""
        run, node, _ = self.whose
        if self.whole and self.dense:
            self.out += self.limbo
        else:
            del self.facts["limbo-replay"]
        counted = [Found(run, FACTS, each, node, amount=n) for each, n in self.facts.items()]
        return self.out + counted

    def _found(self, id_: str, fact: int, why: str, index: int) -> None:
        self.facts[id_] += fact
        if why:
            run, node, _ = self.whose
            text = f"node {node}, entry {index}: {why}"
            self.out.append(Found(run, BREACH, id_, node, 0, index, 0, 0, text))


class _Lead:
    """Whose term it is, who owns the limbo, and what a PROMOTE must name."""

    def __init__(self) -> None:
        self.owned = False
        self.limbo_owner = 0
        self.limbo_term = 0
        self._promoted: Entry | None = None
        self._demoted = False
        self._highest = 0
        self._lsns: dict[int, int] = {}

    def take(self, each: Entry, ref: Ref, *, whole: bool) -> list[tuple[str, int, str]]:
        """The next entry: invariant, facts, and what is wrong."""
        said = []
        if each.kind != "PROMOTE" and (self._promoted is not None or whole):
            said.append(("log-owner", 1, self._stranger(each)))
        if each.kind in {"PROMOTE", "DEMOTE"}:
            if whole:
                said.append(("promote-fits", 1, self._misfit(each, ref)))
            if each.kind == "PROMOTE":
                self._promoted, self._demoted = each, False
            else:
                self._demoted = True
            self.owned = True
            self.limbo_owner = each.origin if each.kind == "PROMOTE" else 0
            self.limbo_term = each.term
        self._highest = max(self._highest, each.term)
        self._lsns[each.origin] = each.lsn
        return said

    def _stranger(self, each: Entry) -> str:
        lead = self._promoted
        if lead is None:
            return "comes before any PROMOTE"
        if (each.term, each.origin) != (lead.term, lead.origin):
            return f"is not of the owner since {lead.index}"
        if self._demoted and each.kind in {"TXN", "ROLLBACK"}:
            return "comes after the DEMOTE"
        return ""

    def _misfit(self, each: Entry, ref: Ref) -> str:
        if each.kind == "PROMOTE" and each.term <= self._highest:
            return f"its term is not newer than {self._highest}"
        wanted = (self.limbo_owner, self._lsns.get(self.limbo_owner, 0))
        return "" if ref is None or ref == wanted else f"names {ref}, not {wanted}"


class _Control:
    """What CONFIRM and ROLLBACK name, and what is pending by them."""

    def __init__(self) -> None:
        self.reach = 0
        self._named_last = -1
        self._pending: list[Entry] = []
        self._places: dict[tuple[int, int], Entry] = {}
        self._gone: set[int] = set()
        self._tail: list[tuple[Entry, Entry | None]] = []

    def take(self, each: Entry, ref: Ref, *, whole: bool) -> list[tuple[str, int, str, int]]:
        """The next entry: invariant, facts, what is wrong, and at which index."""
        named = self._places.get(ref) if ref is not None and each.kind in CONTROLS else None
        said: list[tuple[str, int, str, int]] = []
        if each.kind == "TXN" and not each.flags & 1 and whole:
            alone = bool(each.flags & 2) and not self._pending
            said.append(("fates-shared", 1, "waits for nothing" if alone else "", each.index))
        if each.kind == "PROMOTE" or (each.kind == "TXN" and (each.sync or self._pending)):
            self._pending.append(each)
        elif named is not None and each.kind == "CONFIRM":
            said.append(("confirms-forward", 1, self._backward(each, named), each.index))
            self._confirm(named)
        elif named is not None:
            said += self._roll_back(each, named) if whole else ()
        self._places[each.origin, each.lsn] = each
        self._tail.append((each, named))
        return said

    def limbo(self, confirmed: int, last: int) -> tuple[int, int]:
        """How many wait above what is confirmed, and the index before the first of them."""
        queue: list[Entry] = []
        for each, named in self._tail:
            if each.index <= confirmed:
                continue
            if each.kind == "PROMOTE" or (each.kind == "TXN" and (each.sync or queue)):
                queue.append(each)
            elif each.kind == "ROLLBACK" and named is not None:
                queue = [one for one in queue if one.place < named.place]
        return len(queue), queue[0].index - 1 if queue else last

    def _backward(self, each: Entry, named: Entry) -> str:
        if named.term != each.term:
            return f"confirms by {named.index} of term {named.term}"
        if not named.sync:
            return f"names {named.index}, which waits for no quorum"
        return "goes back" if self._named_last >= named.place else ""

    def _confirm(self, named: Entry) -> None:
        self._named_last = max(self._named_last, named.place)
        end, pending = 0, self._pending
        while end < len(pending) and (
            pending[end].place <= named.place or (end and not pending[end].sync)
        ):
            end += 1
        del pending[:end]
        if named.index > self.reach:
            self.reach = named.index
            keep = next((at for at, (e, _) in enumerate(self._tail) if e.index > named.index), None)
            del self._tail[: len(self._tail) if keep is None else keep]

    def _roll_back(self, each: Entry, named: Entry) -> list[tuple[str, int, str, int]]:
        gone = [one for one in self._pending if one.place >= named.place]
        waits = any(one.place == named.place for one in self._pending)
        self._pending = [one for one in self._pending if one.place < named.place]
        why = ""
        if any(one.kind == "PROMOTE" for one in gone):
            why = "rolls back a PROMOTE"
        elif named.place in self._gone:
            why = f"rolls back {named.index} again"
        elif not waits and not named.sync:
            why = f"names {named.index}, which never waited"
        self._gone.update(one.place for one in gone)
        said = [("rollback-legal", 1, why, each.index)]
        shown = [one for one in gone if one.flags == 0]
        return said + [("fates-shared", 0, "shown, and rolled back", one.index) for one in shown]
