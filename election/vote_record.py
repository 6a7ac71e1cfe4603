"""Requests for votes with their answers and reasons: kept for `_voting`, bounded."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from election.messages import RejectReason, Replica, Term

VOTE_RECORDS_MAX = 64
"""How many requests are remembered; the oldest is forgotten first."""


@dataclass(slots=True, kw_only=True)
class VoteRecord:
    """One request for votes in one term, and the answers to it. None is AYE."""

    term: Term
    candidate: Replica
    pre: bool
    answers: dict[Replica, RejectReason | None] = field(default_factory=dict)

    def record(self, voter: Replica, nay: RejectReason | None) -> None:
        """Note an answer. A late NAY does not take an AYE back: a vote is given once."""
        granted = self.granted()
        if voter not in self.answers or self.answers[voter] is not None:
            self.answers[voter] = nay
        # Raft §5.2: a server votes for at most one candidate in a term, and keeps to it.
        assert self.granted() >= granted

    def granted(self) -> int:
        """How many voters granted it."""
        return sum(1 for nay in self.answers.values() if nay is None)

    def rejections(self) -> set[RejectReason]:
        """The reasons given."""
        return {nay for nay in self.answers.values() if nay is not None}

    def open(self, voters: int) -> int:
        """Return how many votes it can still get, if all that have not answered grant it."""
        return self.granted() + voters - len(self.answers)


class VoteHistory:
    """The requests of the recent terms, oldest first, with the answers this node knows of."""

    def __init__(self, limit: int = VOTE_RECORDS_MAX) -> None:
        self._limit = limit
        self._kept: OrderedDict[tuple[Term, Replica, bool], VoteRecord] = OrderedDict()

    def of(self, *, term: Term, candidate: Replica, pre: bool) -> VoteRecord:
        """Return the record of this request: the one that is kept, or a new one."""
        key = (term, candidate, pre)
        record = self._kept.get(key)
        if record is None:
            record = self._kept[key] = VoteRecord(term=term, candidate=candidate, pre=pre)
            if len(self._kept) > self._limit:
                self._kept.popitem(last=False)
        assert len(self._kept) <= self._limit
        return record

    def kept(self, *, term: Term, candidate: Replica, pre: bool) -> VoteRecord | None:
        """Return the record of a request that may be over or forgotten."""
        return self._kept.get((term, candidate, pre))

    def __iter__(self) -> Iterator[VoteRecord]:
        return iter(self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)
