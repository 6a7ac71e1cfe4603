"""The leader's part: send, count acks, confirm, roll back, answer reads, hand over."""

from collections.abc import Mapping

from election.messages import Index, Replica, Term
from qsync.core.config import CoreConfig
from qsync.core.configuration import Configuration
from qsync.core.entitlement import entitled
from qsync.core.messages import (
    Append,
    AppendResponse,
    HeartbeatResponse,
    InstallSnapshot,
    MemberState,
)
from qsync.core.progress import Progress, ReplicationState, counted, is_current, quorumth
from qsync.core.ready import LogAppended
from qsync.core.replicated_log import ReplicatedLog
from qsync.core.rounds import HeartbeatRounds, Send
from qsync.core.stopping import Stopping
from qsync.core.trimming import carried
from qsync.record import CONFIG, WAIT_ACK, WAIT_SYNC, Entry, EntryKind, LimboRef, ref_body

_TXN = int(EntryKind.TXN)


class Leader:
    """One leadership: it begins with the PROMOTE and ends with the term or the quorum."""

    def __init__(
        self,
        config: CoreConfig,
        replicated_log: ReplicatedLog,
        *,
        term: Term,
        followers: Mapping[Replica, Progress],
        wall: float,
    ) -> None:
        self.config = config
        self.replicated_log = replicated_log
        self.term = term
        self.followers = followers
        self.rounds = HeartbeatRounds(config, replicated_log, self.followers, term=term)
        self.stopping: Stopping | None = None
        self.standings: dict[Replica, MemberState] = {}
        """The possible successors, by their own messages in this term."""
        self.confirm_due = False
        self.promoted_at = self._promote(wall).index
        # protocol.md section 6: the PROMOTE is the first entry of the term.
        assert (
            replicated_log.log.first_of_run(self.promoted_at)
            == self.promoted_at
            == replicated_log.log.last
        )

    def _promote(self, wall: float) -> Entry:
        # protocol.md section 6: the first entry of the term names the former owner and its lsn.
        owner = self.replicated_log.limbo.owner.owner
        ref = LimboRef(owner, self.replicated_log.log.lsn_of(owner))
        return self._append(EntryKind.PROMOTE, WAIT_ACK, ref_body(ref), wall)

    def _append(self, kind: int, flags: int, body: bytes, wall: float) -> Entry:
        return self.replicated_log.propose(
            kind=kind, flags=flags, term=self.term, me=self.config.me, body=body, wall=wall
        )

    # -- state

    @property
    def established(self) -> bool:
        """The own PROMOTE is confirmed: from here on it may confirm, roll back, write, read."""
        return self.replicated_log.confirmed >= self.promoted_at

    @property
    def open(self) -> bool:
        """Whether it takes transactions: established, and not about to stop."""
        return self.replicated_log.confirmed >= self.promoted_at and self.stopping is None

    def counted(self) -> list[Progress]:
        """Followers that count in a quorum: voters that cannot have forgotten an ack."""
        return counted(self.followers.values())

    # -- writing

    def transaction(self, body: bytes, *, sync: bool, wall: float) -> Entry:
        """Append a client's transaction; the caller has checked that we may write."""
        assert self.established
        queued = WAIT_SYNC if sync or self.replicated_log.limbo.queue else 0
        flags = queued | WAIT_ACK if sync else queued
        return self._append(_TXN, flags, body, wall)

    def roll_back(self, wall: float) -> Entry | None:
        """Roll back everything pending in one step. None if there is nothing."""
        queue = self.replicated_log.limbo.queue
        # protocol.md section 5: only of the own term, and only after the PROMOTE is confirmed.
        if not queue or not self.established:
            return None
        assert queue[0].term == self.term
        ref = LimboRef(self.config.me, queue[0].lsn)
        return self._append(EntryKind.ROLLBACK, 0, ref_body(ref), wall)

    def configure(self, configuration: Configuration, wall: float) -> Entry:
        """Append a configuration; it is in force from here on (membership.md M1 b)."""
        # M2 a: also keeps changes of different leaders apart. M2 b: one change at a time.
        assert self.established
        assert self.replicated_log.confirmed >= self.replicated_log.configurations.last_decisive
        configurations = self.replicated_log.configurations
        before = configurations.in_force
        assert before is not None
        body = configurations.codec.encode(configuration.members, before=before.members)
        entry = self._append(_TXN, CONFIG | WAIT_SYNC | WAIT_ACK, body, wall)
        # It was not executed, so the mirrors of the log get it here.
        self.replicated_log.events.append(LogAppended([entry]))
        return entry

    def demote(self, wall: float) -> Entry:
        """Give the limbo up: only with an empty queue."""
        assert not self.replicated_log.limbo.queue
        assert self.established
        owner = self.config.me
        return self._append(
            EntryKind.DEMOTE,
            0,
            ref_body(LimboRef(owner, self.replicated_log.log.lsn_of(owner))),
            wall,
        )

    def record_confirm(self, wall: float) -> None:
        """One CONFIRM for all that was decided since the last one (protocol.md section 3.6)."""
        self.confirm_due = False
        index, owner, lsn = self.replicated_log.limbo.last_sync_confirmed
        if index:
            assert index <= self.replicated_log.confirmed
            self._append(EntryKind.CONFIRM, 0, ref_body(LimboRef(owner, lsn)), wall)

    # -- acks

    def appended(self, answer: AppendResponse) -> bool:
        """Take an ack or a refusal. True if it was of this term and connection."""
        progress = self.followers[answer.follower]
        if not is_current(answer.term, self.term, answer.epoch, progress):
            return answer.term == self.term
        progress.answered(recruit=answer.recruit, now=self.replicated_log.now)
        log = self.replicated_log.log
        if not answer.ok:
            progress.refused(answer, log)
        elif answer.index <= log.last:
            progress.accepted(answer.index, now=self.replicated_log.now)
            self.count()
        return True

    def count(self) -> None:
        """Confirm what a quorum has (protocol.md sections 3.6 and 3.8)."""
        replicated_log, limbo = self.replicated_log, self.replicated_log.limbo
        q = self._quorum_has()
        if q <= limbo.confirmed:
            return
        assert q <= replicated_log.log.last
        # Raft §5.4.2: acks for an entry of an older term decide nothing by themselves.
        if replicated_log.log.term_at(q) != self.term:
            return
        index = limbo.clip(q)
        if index > limbo.confirmed:
            before = limbo.last_sync_confirmed[0]
            replicated_log.confirm(index)
            if limbo.last_sync_confirmed[0] != before:
                self.confirm_due = True

    def _quorum_has(self) -> Index:
        # membership.md M4 b: who removed itself leads on and does not count itself.
        matches: list[float] = [self.replicated_log.written] if self.config.votes else []
        matches += [each.match for each in self.followers.values() if each.counts]
        quorum = self.config.quorum
        if len(matches) < quorum:
            return Index(0)
        return Index(int(quorumth(matches, quorum)))

    # -- sending

    def replicate(self, send: Send) -> None:
        """Send every follower all it lacks and may have, within its window."""
        log = self.replicated_log.log
        for progress in self.followers.values():
            if not progress.connected:
                continue
            progress.keep_within(log)
            last = entitled(progress, self.replicated_log)
            if last < log.last and not progress.ends_at(last, log):
                continue
            match progress.state:
                case ReplicationState.PROBE:
                    progress.probed(now=self.replicated_log.now)
                    self._send_batch(progress, progress.sent, send)
                case ReplicationState.PROBE_SENT | ReplicationState.SNAPSHOT_SENT:
                    pass
                case ReplicationState.SNAPSHOT:
                    progress.offered(now=self.replicated_log.now)
                    # The beginning of our log: confirmed, and outside every stretch (M6 a).
                    start = log.start
                    assert 0 < start.index <= self.replicated_log.confirmed
                    offer = InstallSnapshot(
                        term=self.term, leader=self.config.me, epoch=progress.epoch, start=start
                    )
                    send(progress.peer, offer)
                case ReplicationState.REPLICATE:
                    if progress.sent < last:
                        self._stream(progress, last, send)

    def _stream(self, progress: Progress, last: Index, send: Send) -> None:
        config, log = self.config, self.replicated_log.log
        if progress.sent == progress.match:
            progress.moved_at = self.replicated_log.now
        while progress.sent < last:
            if log.bytes_between(progress.match, progress.sent) > config.append_window_bytes:
                break
            fitting = log.fit(
                progress.sent + 1,
                entries_max=config.append_entries_max,
                bytes_max=config.append_bytes_max,
            )
            upto = min(fitting, last)
            self._send_batch(progress, upto, send)
            progress.streamed(upto)

    def _send_batch(self, progress: Progress, upto: Index, send: Send) -> None:
        log = self.replicated_log.log
        # Whose checksum is known: of a log that is far behind it may have some of that already.
        prev = log.known_below(progress.sent)
        confirmed = carried(self.replicated_log, upto)
        assert prev <= upto <= log.last
        # protocol.md section 3.8: the receiver takes it as it is, so it is of this batch's end.
        assert confirmed <= upto
        send(
            progress.peer,
            Append(
                term=self.term,
                leader=self.config.me,
                epoch=progress.epoch,
                prev_index=prev,
                prev_term=log.term_at(prev),
                prev_crc=log.crc_at(prev),
                last=upto,
                confirmed=confirmed,
            ),
        )

    # -- rounds: heartbeats, reads, leases

    def leases(self, *, void: bool) -> bool:
        """Return whether reads may be answered without a round. `void`: not in this term."""
        return (
            self.established and not void and self.replicated_log.now < self.rounds.leased_until()
        )

    def begin_round(self, send: Send) -> None:
        """Ask all followers whether they still follow."""
        self.rounds.start_round(send, promoted_at=self.promoted_at)

    def heard(self, answer: HeartbeatResponse) -> bool:
        """Take the answer of a follower. True if it was of this term."""
        progress = self.followers[answer.follower]
        if not is_current(answer.term, self.term, answer.epoch, progress):
            return answer.term == self.term
        progress.answered(recruit=answer.recruit, now=self.replicated_log.now)
        self.standings[answer.follower] = answer.standing
        self.rounds.heard(answer.follower, answer.round, promised_s=answer.promised_us / 1e6)
        return True

    # -- watching

    def resend_stalled(self) -> None:
        """A batch or its answer may be lost: probe again after two replication timeouts."""
        now, timeout = self.replicated_log.now, 2 * self.config.replication_timeout
        for progress in self.followers.values():
            if progress.connected and progress.stalled(now=now, timeout=timeout):
                progress.probe_again(now=now)
