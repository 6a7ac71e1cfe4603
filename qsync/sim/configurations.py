"""The rules of configuration changes, checked against the logs of all nodes (membership.md)."""

from dataclasses import dataclass

from election.messages import Index, Replica
from election.quorum import majority
from qsync.core.configuration import Configuration, Voters, configuration_of
from qsync.core.messages import Append, InstallSnapshot, Message
from qsync.core.replicated_log import ReplicatedLog
from qsync.errors import StoreError
from qsync.record import CONFIG, EntryKind, Instance, read_ref
from qsync.replica import Replica as Core
from qsync.sim import properties
from qsync.sim.canon import PropertyViolation


@dataclass(slots=True)
class FoldedChange:
    """A configuration change in a log, and the ROLLBACK that covers it."""

    index: int
    configuration: Configuration
    rolled_back_by: int = 0


def fold(replicated_log: ReplicatedLog) -> list[FoldedChange]:
    """All changes in a log, by reading it from its beginning: slow but simple."""
    changes: list[FoldedChange] = []
    decode = replicated_log.configurations.codec.decode
    begins = Index(replicated_log.log.start.index + 1)
    for entry in replicated_log.entries(begins, replicated_log.log.last):
        if entry.flags & CONFIG:
            changes.append(FoldedChange(entry.index, Configuration(decode(entry.body))))
        elif entry.kind == EntryKind.ROLLBACK:
            ref = read_ref(entry)
            first = replicated_log.log.index_of(ref.owner, ref.lsn)
            for change in changes:
                if 0 < first <= change.index and not change.rolled_back_by:
                    change.rolled_back_by = entry.index
    return changes


class ConfigurationRules:
    """Property 14: quorums of any two configurations that may both be in use have a common voter.

    For every log: the voters of a node follow from its log alone (M1 b, M3 a), and at most one
    voter is added or removed at a time (M1 a). For every leader: it begins a change only after its
    PROMOTE is confirmed (M2 a) and the change before is decided (M2 b), and it was elected by a
    majority of the voters in its own log.
    """

    def __init__(self) -> None:
        self.founding: Configuration | None = None
        """The first configuration of the cluster; known before the first check."""
        self.votes: dict[tuple[int, Replica, Instance], Replica] = {}
        """The vote of each directory, by term."""
        self.changes = 0
        """So many were seen to come into force somewhere."""
        self._followed: dict[Replica, tuple[Core, Configuration | None]] = {}

    def look(self, me: Replica, core: Core) -> None:
        """After something happened to a node."""
        if self.founding is None:
            return
        followed = core.machine.replicated_log.configurations.followed
        known = self._followed.get(me)
        if known is not None and known[0] is core and known[1] is followed:
            return
        try:
            changes = fold(core.machine.replicated_log)
        except StoreError:
            return  # its disk cannot be read back for now
        self._followed[me] = (core, followed)
        self.changes += known is not None
        self._check(me, core, changes)

    def _check(self, me: Replica, core: Core, changes: list[FoldedChange]) -> None:
        replicated_log = core.machine.replicated_log
        followed = replicated_log.configurations.followed
        standing = [each for each in changes if not each.rolled_back_by]
        base = self._before(replicated_log)
        if standing and standing[-1].configuration != followed:
            raise PropertyViolation(
                14, f"node {me} counts by {followed}, its log says {standing[-1].configuration}"
            )
        if not standing and followed not in (None, base):
            raise PropertyViolation(14, f"node {me} counts by {followed}, which no log has")
        founding = self.founding
        assert founding is not None
        self._one_voter_at_a_time(me, base or founding, changes)
        leader = core.machine.leader
        if leader is not None:
            self._one_change_at_a_time(me, replicated_log.confirmed, changes, leader.promoted_at)

    def _before(self, replicated_log: ReplicatedLog) -> Configuration | None:
        """What is in force before all changes in a log; where that begins (M6 a), or at first."""
        start, codec = replicated_log.log.start, replicated_log.configurations.codec
        return configuration_of(start.configuration, codec) if start.index else self.founding

    def _one_voter_at_a_time(
        self, me: Replica, base: Configuration, changes: list[FoldedChange]
    ) -> None:
        for at, change in enumerate(changes):
            before = base.voters
            for former in changes[:at]:
                if not 0 < former.rolled_back_by < change.index:
                    before = former.configuration.voters
            voters = change.configuration.voters
            if len(set(voters) ^ set(before)) > 1:
                what = f"{_ids(before)} to {_ids(voters)}"
                raise PropertyViolation(
                    14, f"entry {change.index} of node {me} changes two voters at once: {what}"
                )

    def _one_change_at_a_time(
        self, me: Replica, confirmed: int, changes: list[FoldedChange], promoted_at: int
    ) -> None:
        early = [each.index for each in changes if each.index > promoted_at]
        if early and confirmed < promoted_at:
            raise PropertyViolation(
                14, f"leader {me} makes changes at {early} before its PROMOTE is confirmed"
            )
        decisive = [max(each.index, each.rolled_back_by) for each in changes]
        open_ = [each for each in decisive if each > max(confirmed, promoted_at)]
        if len(open_) > 1:
            raise PropertyViolation(14, f"leader {me} makes changes at {open_}, none is decided")

    def sent(self, me: Replica, core: Core, peer: Replica, message: Message) -> None:
        """Property 21: who left gets nothing behind its removal, once that is confirmed (M4 f)."""
        match message:
            case Append() if message.last > message.prev_index:
                last = message.last
            case InstallSnapshot():
                last = message.start.index
            case _:
                return
        replicated_log = core.machine.replicated_log
        followed = replicated_log.configurations.followed
        if followed is None or followed.member(peer) is not None:
            return
        standing = [each for each in fold(replicated_log) if not each.rolled_back_by]
        instance = core.machine.peers[peer].instance
        base = self._before(replicated_log)
        left, was = 0, base is not None and base.role_of(peer, instance) is not None
        for change in standing:
            is_ = change.configuration.role_of(peer, instance) is not None
            left, was = (change.index if was and not is_ else left), is_
        if left > replicated_log.confirmed:
            return
        properties.left_gets_nothing(me, peer, last=last, left=left)

    def begin_anew(self, configuration: Configuration) -> None:
        """What the voters of the cluster that ended said and counted by is over."""
        self.founding = configuration
        self.votes.clear()
        self._followed.clear()

    def forget(self, below: int) -> None:
        """Votes of terms that no node is in any more."""
        self.votes = {vote: to for vote, to in self.votes.items() if vote[0] >= below}

    def elected(self, me: Replica, core: Core, term: int) -> None:
        """It leads that term."""
        followed = core.machine.replicated_log.configurations.followed
        if self.founding is None:
            return
        assert followed is not None
        config = core.machine.config
        aye = [
            replica
            for replica, instance in followed.voters
            if self.votes.get((term, replica, instance)) == me
            or (replica, instance) == (me, config.instance)
        ]
        needed = majority(len(followed.voters))
        if len(aye) < needed:
            raise PropertyViolation(
                14, f"node {me} leads by the votes of {aye}, which are not {needed} of {followed}"
            )


def _ids(voters: Voters) -> str:
    return "{" + ", ".join(str(int(replica)) for replica, _ in voters) + "}"
