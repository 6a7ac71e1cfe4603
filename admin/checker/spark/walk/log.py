"""One log and the samples that speak of it, slice by slice; no Python a row."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from admin.checker.spark.columns import ROLLBACK, Slice, Whose
from admin.checker.spark.job_schema import BREACH, FACTS, FindingRow
from admin.checker.spark.walk.facts import FactCount, OddEntry
from admin.checker.spark.walk.limbo import LimboWalk
from admin.checker.spark.walk.owner import Lead
from admin.checker.spark.walk.references import NamedEntries, Past, synchronous
from admin.checker.spark.walk.status_samples import Says, within

_REPLAY = "limbo-replay"
_LEADER = "leader"


class LogWalk:
    """Feed it slices in order. What only a whole log tells is kept until its end."""

    def __init__(self, whose: Whose, says: list[Says]) -> None:
        self.whose = whose
        self._says = says
        self._last = 0
        self._whole = False
        self._dense = True
        self._facts: Counter[str] = Counter()
        self._out: list[FindingRow] = []
        self._replayed: list[FindingRow] = []
        self._past = Past()
        self._lead = Lead()
        self._limbo = LimboWalk()

    def next_slice(self, here: Slice) -> None:
        """The next slice; what follows on the last one has a higher index."""
        if not self._last:
            self._whole = here.index[0] == 1
        elif here.index[0] != self._last + 1:
            self._dense = False
        self._dense &= bool((np.diff(here.index) == 1).all())
        self._last = int(here.index[-1])
        sync = synchronous(here)
        names = self._past.names(here, sync)
        self._note(self._lead.next_slice(here, whole=self._whole))
        self._note(self._limbo.next_slice(here, sync, names, self._past.count))
        if self._whole:
            self._events(here, names)
        self._limbo.end()
        self._past.next_slice(here, sync)

    def end(self) -> list[FindingRow]:
        """Everything."""
        run, node, _ = self.whose
        if self._whole and self._dense:
            self._out += self._replayed
        else:
            del self._facts[_REPLAY]
        counted = [FindingRow(run, FACTS, each, node, amount=n) for each, n in self._facts.items()]
        return self._out + counted

    def _events(self, here: Slice, names: NamedEntries) -> None:
        """ROLLBACKs, what lies between them, and samples, each behind the entry that it names."""
        cuts = np.flatnonzero(here.kind[names.at] == ROLLBACK).tolist()
        marks: list[tuple[int, int | None, Says | None]]
        marks = [(int(names.at[number]), number, None) for number in cuts]
        marks += [(at, None, says) for at, says in within(here, self._says)]
        begin = 0
        for at, number, says in sorted(marks, key=lambda mark: (mark[0], mark[2] is not None)):
            if number is not None:
                self._note(self._limbo.behind(here, begin, at))
                self._note(self._limbo.roll_back(here, names, number))
                begin = at + 1
            if says is not None:
                self._sample(at, says)
        self._note(self._limbo.behind(here, begin, len(here)))

    def _sample(self, at: int, says: Says) -> None:
        """What a node said when its log ended here."""
        run, node, _ = self.whose
        self._facts[_REPLAY] += 1
        owner = self._lead.owner(at)
        if owner is None:
            return
        waiting, first = self._limbo.waiting(at, says.confirmed)
        before = says.last if first is None else first - 1
        written = says.last if says.written is None else says.written
        visible = max(says.confirmed, min(before, written))
        if says.visible is not None and says.role != _LEADER and says.confirmed <= says.visible:
            # Who follows shows as much of that as it knows to be in its leader's log.
            visible = min(visible, says.visible)
        wants = (*owner, waiting, visible)
        told = (says.limbo_owner, says.limbo_term, says.limbo_len, says.visible)
        if says.confirmed < self._limbo.confirmed(at) or told != wants:
            text = f"node {node} says {told} at {says.last}, its log makes {wants}"
            where = (node, 0, says.sample, says.term, 0, text)
            self._replayed.append(FindingRow(run, BREACH, _REPLAY, *where))

    def _note(self, told: Iterable[FactCount | OddEntry]) -> None:
        run, node, _ = self.whose
        for each in told:
            if isinstance(each, FactCount):
                self._facts[each.invariant] += each.amount
            else:
                text = f"node {node}, entry {each.index}: {each.why}"
                where = (node, 0, each.index, 0, 0, text)
                self._out.append(FindingRow(run, BREACH, each.invariant, *where))
