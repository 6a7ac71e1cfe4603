"""Judges a log that was just read: whole, torn above the durable mark, or damaged."""

from dataclasses import dataclass, replace

from election.messages import Ballot, Index
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.ready import Write
from qsync.store import meta
from qsync.store.chain import ChainVerification
from qsync.store.contract import NO_BALLOT, Identity, RecoveredLog
from qsync.store.meta import Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredTail:
    """`torn`: what follows `checked.last` was never acked and is to be dropped.

    `untrusted`: term and vote are lost.
    """

    numbers: Meta
    quarantined: str | None
    torn: bool
    untrusted: bool = False

    def recovered(
        self,
        checked: ChainVerification,
        *,
        identity: Identity,
        dropped: int,
        start: LogStart = EMPTY,
    ) -> RecoveredLog:
        """What the opened log holds. What was trimmed was confirmed (membership.md M6 g)."""
        confirmed = min(self.numbers.confirmed, checked.last)
        return RecoveredLog(
            ballot=self.numbers.ballot,
            confirmed=Index(max(confirmed, start.index)),
            last=checked.last,
            identity=identity,
            quarantined=self.quarantined,
            untrusted=self.untrusted,
            dropped_tail=dropped,
            start=start,
        )


def judge(stored: bytes | None, checked: ChainVerification) -> RecoveredTail:
    """Compare what verifies with the durable mark. Only what is above the mark may be dropped."""
    numbers = meta.unpack(stored) if stored is not None else meta.EMPTY
    if numbers is None or (stored is None and (checked.last or checked.fault)):
        # Without the mark anything may have been acked, and without the ballot anything voted.
        missing = "is missing" if stored is None else "does not verify"
        return RecoveredTail(
            numbers=meta.EMPTY,
            quarantined=f"the ballot with the durable mark {missing}",
            torn=False,
            untrusted=True,
        )
    why = _damage(numbers, checked)
    return RecoveredTail(
        numbers=numbers, quarantined=why, torn=why is None and checked.fault is not None
    )


def _damage(numbers: Meta, checked: ChainVerification) -> str | None:
    """Return what is wrong at or below the durable mark."""
    mark = numbers.durable
    if checked.last < mark:
        return f"{checked.fault or f'the log ends at {checked.last}'}; {mark} was durable"
    if checked.last == mark and checked.crc != numbers.crc:
        return f"entry {mark} is not the one that was made durable"
    return None


def begin_anew(ballot: Ballot, *, untrusted: bool) -> Write:
    """The first write of a log that replaces a damaged one.

    Term and vote stay, but it has forgotten acks, so it is no member; when they are lost the
    directory is a new instance, which has forgotten nothing.
    """
    return Write(
        id=0,
        cut_above=None,
        cut_reason="",
        entries=[],
        ballot=NO_BALLOT if untrusted else replace(ballot, member=False),
        confirmed=Index(0),
    )


def replaced_by(start: LogStart) -> str:
    """Why what was not known as confirmed is archived when the log restarts there."""
    return f"the log begins behind entry {start.index} of term {start.term} now"
