"""Properties of a single node: within one life, of its messages and of its visible data.

Runs from seeds and the search through every order of events check nodes with this.
"""

from typing import Protocol

from election.messages import Ballot, Index, Replica, RequestVoteResponse
from election.roles import Role
from qsync.core.messages import AppendResponse, Message
from qsync.core.ready import Write
from qsync.core.replicated_log import ReplicatedLog
from qsync.record import WAIT_ACK, Entry
from qsync.replica import Replica as Core
from qsync.sim import properties
from qsync.store.contract import NO_BALLOT


class DurableView(Protocol):
    """The content of a disk."""

    @property
    def ballot(self) -> Ballot:
        """Term and vote."""

    def holds(self, index: int, crc: int) -> bool:
        """Whether that entry, and so the same prefix, is durable there."""


class DurableLog:
    """The durable state of one node, by the writes of its disk.

    The disk of an explored node consists of it; the bytes of a simulated kernel are checked against
    it.
    """

    def __init__(self, me: Replica) -> None:
        self.me = me
        self.ballot: Ballot = NO_BALLOT
        self.confirmed = Index(0)
        self.entries: list[Entry] = []
        self.base = Index(0)
        """Entries up to here are not listed; the last of them has `base_crc`."""
        self.base_crc = 0

    def wrote(self, write: Write) -> None:
        """A write became durable atomically. Property 5: it reverts no ballot."""
        properties.ballot_stands(self.me, self.ballot, write.ballot)
        self.ballot, self.confirmed = write.ballot, write.confirmed
        if write.cut_above is not None:
            self.cut(write.cut_above)
        assert not write.entries or write.entries[0].index == self.last + 1
        self.entries += write.entries

    @property
    def last(self) -> Index:
        """Of the last entry."""
        return Index(self.base + len(self.entries))

    def cut(self, above: Index) -> None:
        """The entries above are removed."""
        assert above >= self.base
        del self.entries[above - self.base :]

    def forget(self, upto: Index, crc: int) -> None:
        """Entries up to there need not be listed any more."""
        assert self.holds(upto, crc)
        del self.entries[: upto - self.base]
        self.base, self.base_crc = upto, crc

    def holds(self, index: int, crc: int) -> bool:
        """Whether that entry, and so the same prefix, is durable here."""
        if index <= self.base:
            return index == 0 or (index == self.base and crc == self.base_crc)
        return index <= self.last and self.entries[index - self.base - 1].crc == crc


class LifeCursor:
    """The state of a node at the last check. A restart begins another life."""

    __slots__ = ("confirmed", "cuts", "led", "term", "visible")

    def __init__(self, core: Core) -> None:
        raft, replicated_log = core.machine.raft, core.machine.replicated_log
        self.confirmed = replicated_log.confirmed
        self.visible = replicated_log.visible
        self.cuts = replicated_log.cuts
        self.term = raft.term
        self.led = raft.term if raft.role is Role.LEADER else 0

    def look(self, me: Replica, core: Core) -> None:
        """Properties 5 to 8, of its changes since."""
        raft, replicated_log = core.machine.raft, core.machine.replicated_log
        leads = raft.term if raft.role is Role.LEADER else 0
        if replicated_log.cuts != self.cuts:
            properties.cut_spares_confirmed(me, replicated_log.log.last, self.confirmed)
            self.cuts, self.visible = replicated_log.cuts, self.confirmed
        if raft.term != self.term:
            properties.term_stands(me, self.term, raft.term)
            self.term = raft.term
        if replicated_log.confirmed != self.confirmed:
            now = replicated_log.confirmed
            properties.confirmed_stands(me, self.confirmed, now)
            if leads and leads == self.led:
                properties.own_term(me, term=leads, index=now, of=replicated_log.log.term_at(now))
            self.confirmed = now
        if replicated_log.visible != self.visible:
            properties.visible_stands(me, self.visible, replicated_log.visible)
            self.visible = replicated_log.visible
        self.led = leads


def shows(me: Replica, replicated_log: ReplicatedLog, since: Index, disk: DurableView) -> None:
    """Property 8: entries that became visible since then, unconfirmed, may be shown."""
    confirmed, visible, limbo = (
        replicated_log.confirmed,
        replicated_log.visible,
        replicated_log.limbo,
    )
    if visible <= confirmed:
        return
    for entry in replicated_log.entries(Index(max(since, confirmed) + 1), visible):
        if limbo.stretch_at(entry.index) is None:
            sync = entry.kind in properties.DECIDED and bool(entry.flags & WAIT_ACK)
            properties.not_pending(me, entry.index, confirmed=confirmed, sync=sync)
    durable = disk.holds(visible, replicated_log.log.crc_at(visible))
    properties.shown_is_durable(me, visible, durable=durable)


def acks(me: Replica, message: Message, replicated_log: ReplicatedLog, disk: DurableView) -> None:
    """Property 7: an ack covers durable entries. Checked when it is made: it may be sent later."""
    if isinstance(message, AppendResponse) and message.ok:
        log = replicated_log.log
        # For an old entry of which this node knows only index and term: the known one before it.
        index = log.known_below(message.index) if message.index <= log.last else message.index
        crc = log.crc_at(index) if index <= log.last else -1
        properties.acked_is_durable(me, message.index, durable=disk.holds(index, crc))


def votes(me: Replica, to: Replica, message: Message, disk: DurableView) -> bool:
    """Property 5: if it is a vote, it is durable. Checked when it is sent."""
    if isinstance(message, RequestVoteResponse) and message.granted and not message.pre:
        properties.vote_is_durable(me, message.asked_term, to, disk.ballot)
        return True
    return False
