"""The limbo as the records of one log alone tell it: what is pending at each entry."""

from dataclasses import dataclass, field

from admin.checker.rules.run import CONFIRM, DEMOTE, PROMOTE, ROLLBACK, TXN, WAIT_ACK, LogTable

Pending = tuple[int, bool]
"""Place of an entry, and whether it is synchronous."""


@dataclass(slots=True)
class LimboReplay:
    """Feed it the places of a log in order. A leader may know more than its records, not less."""

    log: LogTable
    pending: list[Pending] = field(default_factory=list)
    places: dict[tuple[int, int], int] = field(default_factory=dict)
    lsns: dict[int, int] = field(default_factory=dict)
    confirmed: dict[int, int] = field(default_factory=dict)
    """By origin: the highest lsn that a CONFIRM named."""
    owner: int = 0

    def named(self, place: int) -> int | None:
        """The place of the earlier entry that a control entry speaks of."""
        ref = self.log.ref[place]
        return None if ref is None else self.places.get(ref)

    def apply(self, place: int) -> list[Pending]:
        """The next entry. Returns what it rolls back."""
        log, pending = self.log, self.pending
        kind, sync = log.kind[place], self.is_sync(place)
        gone: list[Pending] = []
        named = self.named(place)
        if kind == PROMOTE or (kind == TXN and (sync or pending)):
            pending.append((place, sync))
        elif kind == CONFIRM and named is not None:
            self._confirm(named)
        elif kind == ROLLBACK and named is not None:
            gone = [each for each in pending if each[0] >= named]
            self.pending = [each for each in pending if each[0] < named]
        if kind in {PROMOTE, DEMOTE}:
            self.owner = log.origin[place] if kind == PROMOTE else 0
        self.places[log.origin[place], log.lsn[place]] = place
        self.lsns[log.origin[place]] = log.lsn[place]
        return gone

    def is_sync(self, place: int) -> bool:
        """It waits for a quorum of its own accord."""
        return self.log.kind[place] == PROMOTE or bool(
            self.log.kind[place] == TXN and self.log.flags[place] & WAIT_ACK
        )

    def _confirm(self, named: int) -> None:
        end, pending = 0, self.pending
        while end < len(pending) and (pending[end][0] <= named or (end and not pending[end][1])):
            end += 1
        self.pending = pending[end:]
        origin, lsn = self.log.origin[named], self.log.lsn[named]
        self.confirmed[origin] = max(self.confirmed.get(origin, 0), lsn)
