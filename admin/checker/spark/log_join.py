"""Slices of a log joined on the driver: borders, fates and requests."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence

from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.neighbours import pairs
from admin.checker.kernels.logs.slices import CONFIRM, ROLLBACK, Whose
from admin.checker.rules import texts
from admin.checker.spark.fates import LimboRecord, Replay, numbered_requests
from admin.checker.spark.job_schema import BREACH, FACTS, LOG, REACHED, ROLLED, FindingRow
from admin.checker.spark.kernels import finding_rows
from admin.checker.spark.scan_context import ScanContext, ScanQuestions
from admin.checker.spark.shapes import border
from admin.checker.spark.stretches import LogStretches
from admin.checker.spark.summary import Summary


class JoinedLog:
    """One log. `out` is what was found, `open` what the slices must still be asked.

    `applied` are requests that somebody asks for, and that took effect for good.
    """

    def __init__(self, whose: Whose, slices: Sequence[Summary], given: ScanContext) -> None:
        self.whose = whose
        self.slices = sorted(slices, key=lambda each: each.head[0])
        self.given = given
        self.upto = given.confirmed.get(whose, 0)
        self.first = int(self.slices[0].head[0])
        self.last = self.slices[-1].tail[0]
        self.places = LogStretches(each for found in self.slices for each in found.segments)
        self.replay = Replay(self.slices)
        self.open = ScanQuestions()
        self.out: list[FindingRow] = []
        self.facts: Counter[str] = Counter()
        self.applied: set[tuple[str, int]] = set()
        self._join()

    def is_rolled_back(self, index: int) -> bool:
        """By a record that is confirmed."""
        known = self.first == 1
        return known and any(e.first <= index <= e.last for e in self.replay.rolled_back(self.upto))

    def _join(self) -> None:
        self._borders()
        self._records()
        self._requests()
        run, node, generation = self.whose
        self.out.append(FindingRow(run, LOG, "", node, generation, self.last, self.first))
        for gone in self.replay.rolled_back(self.upto) if self.first == 1 else ():
            for index in range(gone.first, gone.last + 1):
                self.out.append(FindingRow(run, ROLLED, "", node, generation, index, gone.by))
        for invariant, count in self.facts.items():
            self.out.append(FindingRow(run, FACTS, invariant, node, generation, amount=count))

    def _borders(self) -> None:
        """Where two slices meet, the last entry of one and the first of the next are neighbours."""
        run, node, generation = self.whose
        found = LogFindings(node, generation)
        for before, after in itertools.pairwise(self.slices):
            pairs(border(self.whose, before, after), found)
        for id_, finding in found.by_id.items():
            self.out += finding_rows(run, id_, finding)

    def _records(self) -> None:
        """Fates, and how far each term's CONFIRMs reach."""
        reached: dict[int, tuple[int, int]] = {}
        whole = self.first == 1
        for found in self.slices:
            for era, index, term in found.reached:
                reached[era] = max(reached.get(era, (0, 0)), (index, term))
            records = [each for each in map(self._record, found.records) if each is not None]
            for each in records:
                if each.kind == CONFIRM and each.index <= self.upto:
                    place = (each.named, self.places.term(each.named) or 0)
                    reached[each.term] = max(reached.get(each.term, (0, 0)), place)
            if whole:
                self.replay.slice(found, records)
        run, node, generation = self.whose
        for era, place in reached.items():
            self.out.append(FindingRow(run, REACHED, "", node, generation, *place, era))

    def _record(self, row: list[int]) -> LimboRecord | None:
        """With what it names; None if that is not in the log, or it decides nothing."""
        index, term, kind, owner, lsn, inside, before = row
        named = inside or self.places.named(owner, lsn, index)
        if named is None or owner < 0 or kind not in {CONFIRM, ROLLBACK}:
            return None
        return LimboRecord(index, term, kind, named, before)

    def _requests(self) -> None:
        """What took effect twice, or took effect though it was told to have failed."""
        failed = self.given.failed.get(self.whose[0], frozenset())
        self.facts["failures-gone"] += len(failed)
        count = sum(found.requests.count for found in self.slices)
        if self.first == 1:
            count -= sum(numbered_requests(each) for each in self.replay.rolled_back(self.upto))
        self.facts["once"] += count
        self._overlaps()
        done: dict[tuple[str, int], int] = {}
        for index, session, seq in sorted(e for s in self.slices for e in s.requests.twice):
            before = done.get((session, seq), index)
            if not self.is_rolled_back(index):
                done.setdefault((session, seq), index)
                if before != index:
                    text = texts.once(self.whose[1], (session, seq), before, index)
                    self._breach("once", index, text)
        for index, session, seq in (each for s in self.slices for each in s.requests.wanted):
            if not self.is_rolled_back(index):
                self.applied.add((session, seq))
            if (session, seq) in failed and not self.is_rolled_back(index):
                text = f"request {seq} of session {session} was told that it failed"
                self._breach("failures-gone", index, text)

    def _overlaps(self) -> None:
        """Sessions of which a later slice does not only have higher numbers."""
        highest: dict[str, int] = {}
        wanted: dict[str, list[int]] = defaultdict(list)
        for found in self.slices:
            for session, (low, high) in found.requests.spans.items():
                known = highest.get(session)
                if known is not None and low <= known:
                    wanted[session] += (low, known)
                highest[session] = high if known is None else max(known, high)
        self.open.spans = {name: (min(seqs), max(seqs)) for name, seqs in wanted.items()}

    def _breach(self, invariant: str, index: int, text: str) -> None:
        run, node, generation = self.whose
        found = FindingRow(run, BREACH, invariant, node, generation, index, message=text)
        self.out.append(found)
