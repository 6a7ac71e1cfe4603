"""Slices of a log joined on the driver: borders, lsns, controls, fates and requests."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from admin.checker.kernels.logs.slices import CONFIRM, ROLLBACK, Whose
from admin.checker.rules import texts
from admin.checker.rules.entry_checksum import checksum
from admin.checker.spark.fates import LimboRecord, Replay, numbered_requests
from admin.checker.spark.job_schema import BREACH, FACTS, LOG, REACHED, ROLLED, FindingRow
from admin.checker.spark.scan_context import ScanContext, ScanQuestions
from admin.checker.spark.stretches import LogStretches
from admin.checker.spark.summary import Summary

_SEALED = 10
"""Fields of a head of which the checksum is known to be over."""
_KINDS = {CONFIRM: "CONFIRM", ROLLBACK: "ROLLBACK"}


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
        for before, after in zip(self.slices, self.slices[1:], strict=False):
            self._border(before, after)
        self._lsns()
        self._records()
        self._requests()
        self.open.points = self.replay.unclear if self.first == 1 else set()
        run, node, generation = self.whose
        self.out.append(FindingRow(run, LOG, "", node, generation, self.last, self.first))
        for gone in self.replay.rolled_back(self.upto) if self.first == 1 else ():
            for index in range(gone.first, gone.last + 1):
                self.out.append(FindingRow(run, ROLLED, "", node, generation, index, gone.by))
        for invariant, count in self.facts.items():
            self.out.append(FindingRow(run, FACTS, invariant, node, generation, amount=count))

    def _border(self, before: Summary, after: Summary) -> None:
        node = self.whose[1]
        last, last_term, last_crc = before.tail
        index, term = int(after.head[0]), int(after.head[1])
        if index != last + 1:
            self._breach("log-dense", index, texts.dense(node, index, last))
        if term < last_term:
            self._breach("log-terms", index, texts.terms(node, term, last_term))
        if index == last + 1 and len(after.head) == _SEALED:
            self.facts["log-chain"] += 1
            crc, origin, lsn, kind, flags = (int(each) for each in after.head[2:7])
            time, body_crc, body_len = after.head[7], int(after.head[8]), int(after.head[9])
            place = (index, term, origin, lsn, kind, flags)
            wanted = checksum(place, (time, body_crc, body_len), last_crc)
            if wanted != crc:
                self._breach("log-chain", index, texts.chain(node, index, crc, wanted))

    def _lsns(self) -> None:
        known: dict[int, int] = {}
        for found in self.slices:
            for origin, lsn, index in found.firsts:
                before = known.get(origin, 0 if self.first == 1 else lsn - 1)
                if lsn != before + 1:
                    text = texts.lsns(self.whose[1], origin, lsn, before)
                    self._breach("log-lsns", index, text)
            for first, last, origin, lsn, _ in found.segments:
                known[origin] = lsn + last - first

    def _records(self) -> None:
        """Controls that name nothing, fates, and how far each term's CONFIRMs reach."""
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
                self.facts["log-fates"] += found.decided + len(records)
                self.replay.slice(found, records)
        for index, text in self.replay.odd:
            self._breach("log-fates", index, text)
        run, node, generation = self.whose
        for era, place in reached.items():
            self.out.append(FindingRow(run, REACHED, "", node, generation, *place, era))

    def _record(self, row: list[int]) -> LimboRecord | None:
        """With what it names; None if that is not in the log, or it decides nothing."""
        index, term, kind, owner, lsn, inside, before = row
        named = inside or self.places.named(owner, lsn, index)
        if owner < 0 or (self.first == 1 and lsn and named is None):
            name = _KINDS.get(kind, "the control entry")
            self._breach(
                "log-controls",
                index,
                f"{name} at {index} of node {self.whose[1]} names what is not before it",
            )
        if named is None or owner < 0 or kind not in _KINDS:
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
