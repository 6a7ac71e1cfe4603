"""One replica, pure: the core decides, the data follows. Node and simulator run it."""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace

from election.messages import Ballot, Index, Position, Term
from election.roles import ElectionMode
from qsync import errors, features, upgrading
from qsync.accepting import check_writable, grounded, not_new, trimmed
from qsync.core.config import CoreConfig
from qsync.core.configuration import Configuration
from qsync.core.follower import before_transactions
from qsync.core.inputs import Input, Received, TimerFired
from qsync.core.logstart import EMPTY, LogStart
from qsync.core.machine import Machine
from qsync.core.messages import Append
from qsync.core.ready import LogEvent, Ready, Ticket, TimerKind
from qsync.core.retention import foldable
from qsync.core.settings import misfits, overlaid
from qsync.core.waiters import NOTHING, Waiter, behind_what
from qsync.data import body, members
from qsync.data.fold import Fold
from qsync.data.memtable import Memtable
from qsync.data.overlay import Backing, OverlayLimits
from qsync.data.request import (
    KnownRequest,
    Limits,
    Once,
    Request,
    SubmittedTransaction,
)
from qsync.data.state import DataState
from qsync.record import Entry, Lsn
from qsync.replaying import NOTHING_STORED, UntrustedRows, follow, next_stop, replay


class Replica:
    """The machine and its state in step. The state is brought up to date when it is looked at."""

    _uses_more = False
    """The log uses a feature since the last input, and perhaps another one with it."""

    def __init__(
        self,
        config: CoreConfig,
        *,
        ballot: Ballot,
        confirmed: Index,
        stored: Iterable[bytes],
        tail: Callable[[Index, Index], list[Entry]],
        backing: Backing,
        folded: Index,
        founding: Configuration | None,
        quarantined: str | None = None,
        life: int = 0,
        start: LogStart = EMPTY,
        limits: Limits | None = None,
        memory: OverlayLimits | None = None,
    ) -> None:
        self._tail = tail
        self.machine: Machine = Machine(
            config,
            ballot=ballot,
            confirmed=confirmed,
            stored=stored,
            tail=tail,
            founding=founding,
            codec=members.CODEC,
            quarantined=quarantined,
            life=life,
            start=start,
        )
        # What is not in the log any more has to be in the spaces (membership.md M6 g).
        assert folded >= start.index
        self._state = DataState(backing, folded=folded, limits=limits, memory=memory)
        self._backlog: list[LogEvent] = []
        self._own = config
        self.settings: Mapping[str, str] = {}
        """What the cluster shares, by the log as it is here, pending entries included."""
        self.torn = False
        """An exception left it half changed: the node must stop; the log is intact."""
        self.lost: UntrustedRows | None = None
        """Why the state is not there, and how far it is rebuilt; see `lose`."""
        replicated_log = self.machine.replicated_log
        replicated_log.events.clear()
        replay(self._state, replicated_log, tail, after=folded, upto=replicated_log.log.last)
        self._state.see(replicated_log.visible)
        self._obey()

    def __repr__(self) -> str:
        return repr(self.machine)

    @property
    def state(self) -> DataState:
        """The spaces, as of everything the machine has decided. Raises Rebuilding."""
        self.absorb()
        if self.lost is not None:
            raise errors.Rebuilding(str(self.lost))
        return self._state

    @property
    def raw(self) -> DataState:
        """The same even while it is rebuilt: for its counts, never for its rows."""
        if self.lost is None:
            self.absorb()
        return self._state

    @property
    def is_full(self) -> bool:
        """Whether the rows in memory weigh too much, as far as they were absorbed."""
        return self._state.overlay.is_full

    def start(self) -> None:
        """Arm the first timers; call `ready()` next."""
        self.machine.start()

    def clock(self, now: float, wall: float = 0.0) -> None:
        """Monotonic and wall-clock seconds, before every batch of inputs."""
        self.machine.clock(now, wall)

    @property
    def has_no_room(self) -> bool:
        """Rows that the spaces do not take stay in memory, but no more of them come.

        Only if folding would make room: what is undecided may wait for the very entries that come
        now.
        """
        state = self._state
        return state.overlay.is_overfull and foldable(self.machine.replicated_log) > state.folded

    def step(self, event: Input) -> None:
        """Take one input; of a batch what there is room for."""
        self.torn = True
        if isinstance(event, Received) and isinstance(event.message, Append) and self.has_no_room:
            event = replace(event, message=before_transactions(event.message))
        former = self.machine.replicated_log.log
        self.machine.step(event)
        log = self.machine.replicated_log.log
        if log is not former:
            why = f"a snapshot at index {log.start.index} takes the place of the rows"
            self.lose(why, snapshot=log.start.index)
        self.torn = False
        is_beat = type(event) is TimerFired and event.kind == TimerKind.HEARTBEAT
        if is_beat or self._uses_more:
            self._uses_more = False
            step = upgrading.next_step(self.machine, self.settings)
            if step is not None and self.lost is None:
                self.submit(None, step)

    # -- writing

    def submit(self, ticket: Ticket | None, request: Request) -> SubmittedTransaction:
        """Execute against the head state and append; or attach a retry to its original.

        Raises NotLeader or ReadOnly when this node may not write, SessionExpired, and whatever the
        execution refuses (Conflict, DuplicateKey, WrongTuple...): then nothing was appended. The
        refusal of a doubted request is appended instead of it (protocol.md section 5): once it is
        committed, no other attempt can take effect. It need not wait for what it rests on: what is
        pending before it cannot be rolled back or cut without it.
        """
        check_writable(self.machine)
        state = self.state if self._backlog or self.machine.replicated_log.events else self._state
        if request.session and request.seq:
            seen = state.known_request(request.session, request.seq)
            if isinstance(seen, KnownRequest):
                return self._attach(ticket, seen, request.user)
            if seen is not Once.NEW:
                raise not_new(seen)
        place = Position(self.machine.term, Index(self.machine.replicated_log.log.last + 1))
        refusal = None
        try:
            if request.reads:
                request = grounded(self.machine.replicated_log.log, request)
            executed = state.execute(request, at=place)
            if executed.schema is not None:
                self._check_settings(executed.schema.settings)
        except errors.Rebuilding as error:
            self.lose(error.message)
            raise
        except errors.QsyncError as error:
            executed = state.refuse(request, error)
            refusal = body.refusal(executed.body)
        self.torn = True
        entry = self.machine.propose(executed.body, sync=executed.sync, ticket=ticket)
        state.applied(entry.index, entry.term, executed)
        if executed.schema is not None:
            self._obey()
        self.torn = False
        return SubmittedTransaction(
            entry.index,
            entry.term,
            entry.lsn,
            results=executed.results,
            duplicate=False,
            refusal=refusal,
        )

    def refusal(self, request: Request) -> errors.QsyncError | None:
        """Why what is visible here refuses a request; None if only what is pending does."""
        self.absorb()
        try:
            sound = grounded(self.machine.replicated_log.log, request)
            place = Position(self.machine.term, Index(self.machine.replicated_log.log.last + 1))
            self._state.execute(sound, at=place, visible=True)
        except errors.QsyncError as error:
            return error
        return None

    def _attach(
        self, ticket: Ticket | None, known: KnownRequest, user: str | None
    ) -> SubmittedTransaction:
        index, term = Index(known.index), Term(known.term)
        log = self.machine.replicated_log.log
        if index <= log.start.index:
            raise trimmed(log, known)
        entries = self.machine.replicated_log.entries(index, index)
        same = bool(entries) and entries[0].term == term
        results = self._state.read_results(entries[0].body, user) if same else []
        refusal = self._state.read_refusal(entries[0].body, user) if same else None
        if ticket is not None:  # Last: what may fail has not.
            behind = behind_what(self.machine.replicated_log, entries[0]) if same else NOTHING
            self.machine.waiters.attach(Waiter(index, term, ticket, behind))
        return SubmittedTransaction(
            index=index,
            term=term,
            lsn=entries[0].lsn if same else Lsn(0),
            results=results,
            duplicate=True,
            refusal=refusal,
            rolled_back=known.rolled_back,
        )

    # -- settings

    def configure(self, config: CoreConfig) -> None:
        """Change this node's own configuration; what the cluster shares still overrides it."""
        self._own = config
        self._follow_settings()

    def _check_settings(self, shared: Mapping[str, str]) -> None:
        changed = {key for key, text in shared.items() if text != self.settings.get(key)}
        changed |= self.settings.keys() - shared.keys()
        wrong = list(misfits(overlaid(self._own, shared), changed=changed)) if changed else []
        wrong += upgrading.misfits(self.machine, self.settings, shared)
        if wrong:
            raise errors.ConfigError(
                "; ".join(wrong), hint="nothing was changed", details={"problems": wrong}
            )

    def _obey(self) -> None:
        """Settings count from the place in the log where they are: also for what is pending.

        That is safe before they are confirmed: no quorum is below a majority, so any two of them,
        and any two majorities, have a voter in common (protocol.md section 2).
        """
        shared = self._state.schemas.head.settings
        if shared != self.settings:
            upgrading.refuse_unknown(self._own, shared)
            self._uses_more |= features.enabled(shared) != features.enabled(self.settings)
            self.settings = shared
            self._follow_settings()
            for lost in upgrading.outdated(self.machine, shared):
                self.machine.step(lost)  # it is sent nothing more before it connects again

    def _follow_settings(self) -> None:
        config = overlaid(self._own, self.settings)
        if self.lost is not None:
            config = replace(config, mode=ElectionMode.VOTER)
        self.machine.reconfigure(config)

    # -- output

    def ready(self) -> Ready:
        """Everything to be done now. The state follows when it is looked at, or at `absorb`."""
        if self._backlog and self.machine.leader is not None:
            self.absorb()  # what it was told to follow before it led counts for it now
        self.torn = True
        ready = self.machine.ready()
        self.torn = False
        if ready.events:
            self._backlog += ready.events
        return ready

    def absorb(self) -> None:
        """Let the state follow the log; followers do so after they have acked."""
        replicated_log = self.machine.replicated_log
        if replicated_log.events:
            self._backlog += replicated_log.events
            replicated_log.events = []
        if self.lost is not None:
            self._backlog.clear()  # it is replayed from the log
            return
        if self._backlog:
            self.torn = True
            backlog, self._backlog = self._backlog, []
            try:
                for event in backlog:
                    follow(self._state, event)
                self._obey()
            except errors.Rebuilding as error:
                self.torn = False  # all of it will be rebuilt
                self.lose(error.message)
                return
            self.torn = False
        self._state.see(replicated_log.visible)

    # -- folding

    def folding(
        self, rows_max: int, upto: Index | None = None
    ) -> Generator[None, None, Fold | None]:
        """The next slice of decided, durable rows for the spaces on disk; None without one.

        In steps (`at_once` takes them all): meanwhile the log may go on, and its tail be undone.
        `upto`: stop there, if it is not behind already.
        """
        last = foldable(self.machine.replicated_log)
        if self.lost is None:
            state = self.state
        elif self.lost.at is None:
            return None
        else:
            state, last = self._state, min(last, self._state.visible)
        if upto is not None and upto >= state.folded:
            last = min(last, upto)
        fold = yield from state.folding(last, rows_max)
        return fold if fold.folded > state.folded else None

    def folded_to(self, fold: Fold) -> list[Memtable]:
        """The store has the slice; the memtables that are not needed any more."""
        return self._state.folded_to(fold)

    # -- rows that cannot be trusted

    def lose(self, why: str, *, snapshot: Index | None = None) -> None:
        """Rows in the store cannot be trusted: nothing is served until they are rebuilt.

        The log is whole, so this node goes on acking and voting; but it can execute nothing, so
        it neither leads nor wants to. `snapshot`: the log begins at one of that index now.
        """
        if self.lost is None or snapshot is not None:
            self.lost = UntrustedRows(why=why, snapshot=snapshot)
            self.machine.disk.lost = why
            self._follow_settings()

    def rebuild(self, entries_max: int, *, stored: Index = NOTHING_STORED) -> bool:
        """Replay some more of the log; true when the state is whole. Fold all in between.

        First the store must hold nothing, or a snapshot exact at `stored`; again after an error.
        """
        lost, replicated_log = self.lost, self.machine.replicated_log
        assert lost is not None
        if lost.at is None:
            assert stored >= replicated_log.log.start.index
            self._state, lost.at = self._state.anew(stored), int(stored)
        lost.goal = min(
            replicated_log.durable_confirmed, replicated_log.confirmed, replicated_log.written
        )
        end = next_stop(replicated_log, after=lost.at, entries_max=entries_max)
        if end < lost.goal:
            replay(self._state, replicated_log, replicated_log.entries, after=lost.at, upto=end)
            self._state.see(Index(end))
            lost.at = end
            return False
        self._backlog.clear()
        replicated_log.events.clear()
        last = replicated_log.log.last
        replay(self._state, replicated_log, replicated_log.entries, after=lost.at, upto=last)
        self._state.see(replicated_log.visible)
        self.lost = self.machine.disk.lost = None
        self.settings = self._state.schemas.head.settings
        self._follow_settings()
        return True
