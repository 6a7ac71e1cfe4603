"""A running node: it opens its directory, builds the replica, serves, and closes in order."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import trio

from qsync.config import NodeConfig
from qsync.core.inputs import Input
from qsync.errors import StoreError
from qsync.faultpoints import FaultPoints
from qsync.lookups import Door
from qsync.member import MEMBERS_MAX
from qsync.node import guard, handshake, info, local_socket, logs, mishaps
from qsync.node.addresses import AddressBook
from qsync.node.answers import VisibleReads
from qsync.node.assembly import NodeStorage, WhoseFiles, make_replica, open_storage
from qsync.node.comparing import Comparing
from qsync.node.effects import Effects
from qsync.node.expiry import Expiry
from qsync.node.folding import Folding
from qsync.node.keepalive import ping_period
from qsync.node.leaving import leave
from qsync.node.links import Links
from qsync.node.listening import listen_at
from qsync.node.logins import Logins
from qsync.node.loop import EXPIRY, Loop, LoopObserver
from qsync.node.old_copies import withdraw
from qsync.node.own_address import own_doors
from qsync.node.queries import NodeQueries
from qsync.node.reactor import Reactor
from qsync.node.requests import ClientRequests
from qsync.node.retained import Retained
from qsync.node.scrub import Scrubber
from qsync.node.server import Admission, Server
from qsync.node.snapshot_transfers import SnapshotTransfers
from qsync.node.status import status
from qsync.node.strangers import Strangers
from qsync.node.superseding import supersede
from qsync.node.sweeping import sweep
from qsync.node.system import NodeSystem
from qsync.node.timeline import Timeline
from qsync.node.timers import Timers
from qsync.node.tls import opened
from qsync.node.unfinished import UnfinishedRequests
from qsync.replica import Replica
from qsync.status.record import as_members
from qsync.store.contract import Identity
from qsync.store.writer import Choice, LogWriter, WriterMode

LINKS, SWEEP, ALIVE = "links", "sweep", "alive"
"""Timers of the shell, beside `EXPIRY`; the machine's own kinds are in `TimerKind`."""


def _nothing() -> None:
    """The default: the directory stays as it is until the node is started again."""


class Node:
    """Everything of one node. Use `open_node`; nothing here runs before `start` and `tasks`.

    `observe` makes who looks on, instead of the file of events that the configuration may name.
    """

    begin_anew: Callable[[], None] = staticmethod(_nothing)
    """Set by a caller that can open the directory again, for when this is needed."""

    def __init__(
        self,
        config: NodeConfig,
        storage: NodeStorage,
        effects: Effects,
        observe: "Callable[[Node], LoopObserver] | None" = None,
    ) -> None:
        self.config: NodeConfig = config
        self.storage = storage
        self.address: str = str(config.address)
        self._born = effects.now()
        self.timeline = Timeline(storage.timeline, wall=effects.wall)
        self.replica: Replica = make_replica(config, storage, effects)
        self.reactor = Reactor(
            begin=self._begin,
            turn=self._turn,
            survive=partial(mishaps.survive, self.replica, self.timeline),
            unsent_max=config.limits.unsent_bytes_max,
            unfinished=UnfinishedRequests(config.limits.unfinished_bytes_max),
            effects=effects,
        )
        self.links = Links(
            AddressBook(config, self.replica.machine, lambda: self.address),
            reactor=self.reactor,
            hello=partial(handshake.hello, self),
            step=self._step,
            check=partial(handshake.check_greeting, self),
            keys=handshake.keys_of(config),
            period=partial(ping_period, self.replica.machine),
            tls=opened(config, effects.wall),
        )
        self.loop = self._loop(effects)
        if observe is not None:
            self.loop.events = observe(self)
        elif config.node.events:
            _record(self)
        self.requests = self._requests()
        self.loop.requests = self.requests
        self.server = self._server()
        self.folding = _folding(self)
        self.server.hear_sums = self.folding.comparing.heard
        self.server.hear_snapshot = self.transfers.heard
        self.server.hear_audit = self.queries.hear_audit
        self.server.hear_superseded = self.links.hear_superseded = partial(supersede, self)
        self.links.hear_old_copy = partial(withdraw, self)
        self.loop.snapshot_offered = self.transfers.receiver.offered

    def _loop(self, effects: Effects) -> Loop:
        mode = WriterMode(self.config.store.writer)
        return Loop(
            self.replica,
            writer=LogWriter(
                self.storage.log,
                choice=Choice(mode, probe_s=self.storage.probe_s),
                call_soon=effects.call_soon,
                beside=effects.beside(),
                clock=effects.stopwatch,
            ),
            timers=Timers(self._fired, effects),
            timeline=self.timeline,
            deliver=self.links.deliver,
            flush=self.reactor.flush,
        )

    def _requests(self) -> ClientRequests:
        events = self.loop.events
        return ClientRequests(
            self.replica,
            self._answers(),
            step=self._step if events is None else events.asking(self._step),
            send=self.reactor.send,
            leader_address=lambda: self.book.address_of(self.replica.machine.raft.leader),
            now=self.reactor.effects.now,
            inflight_max=self.config.limits.inflight_max,
            expiry=Expiry(self.replica, ttl=self.config.limits.session_ttl),
            due=self.reactor.due,
        )

    def _server(self) -> Server:
        limits, effects = self.config.limits, self.reactor.effects
        events = self.loop.events
        return Server(
            reactor=self.reactor,
            greeting=partial(handshake.greeting, self),
            admission=Admission(
                introduce=partial(handshake.introduce, self),
                depart=self.book.depart,
                connections_max=effects.connections_allowed(limits.connections_max, MEMBERS_MAX),
                client_frame_bytes_max=limits.client_frame_bytes_max,
                peer_frame_bytes_max=limits.frame_bytes_max,
                keys=handshake.keys_of(self.config),
                say=self.timeline.say,
                tls=self.links.tls,
                logins=Logins(
                    partial(guard.rights_of, self.replica),
                    secret=effects.secret,
                    now=effects.now,
                    audit=self.queries.audit,
                    users=self.config.cluster.users,
                ),
                leads=partial(guard.is_of_leader, self.replica),
            ),
            step=self._step if events is None else events.asking(self._step),
            check=self.replica.machine.check,
            requests=self.requests,
            now=effects.now,
            strangers=Strangers.of(limits),
        )

    def _answers(self) -> VisibleReads:
        return VisibleReads(
            self.replica,
            status=lambda: as_members(status(self)),
            parts=info.parts(self),
            queries=NodeQueries(self, now=self.reactor.effects.now),
        )

    @property
    def identity(self) -> Identity:
        """Cluster, instance and replica id, as they stand in the directory."""
        return self.storage.directory.identity

    @property
    def book(self) -> AddressBook:
        """The members and their addresses."""
        return self.links.book

    @property
    def queries(self) -> NodeQueries:
        """The part that answers questions that are not about data."""
        found = self.requests.queries
        assert isinstance(found, NodeQueries)
        return found

    @property
    def retained(self) -> Retained:
        """Its snapshots, and the readers for which it keeps its log."""
        return self.queries.retention.seen

    @property
    def fault_points(self) -> FaultPoints:
        """The fault points of this node."""
        return self.queries.fault_hooks.points

    def listen(self, doors: Sequence[Door]) -> None:
        """Listen at all of them. Raises ConfigError when one is taken, or none is ours."""
        listen, effects = self.config.listen, self.reactor.effects
        tell = self.timeline.say
        made = listen_at("listen", listen, doors, opened=effects.socket, tell=tell)
        if listen.port == 0:
            self.address = listen.at_port(made[0].getsockname()[1])
        for sock in made:
            self.reactor.listen(sock, self.server.accept)

    def start(self) -> None:
        """Start the node as a member of its cluster; `tasks` must run as long as it does."""
        self._begin()
        self.links.follow()
        self.replica.start()
        now = self.reactor.effects.now()
        for kind in (LINKS, SWEEP, ALIVE):
            self.loop.timers.at(kind, now)
        self.loop.turn()
        if self.storage.spaces.rebuilt is not None:
            self.timeline.append("spaces_rebuilt", {"why": self.storage.spaces.rebuilt})
        pid = self.reactor.effects.usage().pid
        self.timeline.append("started", {"pid": pid, "term": self.replica.machine.term})

    def tasks(self) -> list[Callable[[], Awaitable[None]]]:
        """Return the tasks of the node, to be run side by side."""
        return [self.reactor.run, self.loop.timers.run, self.folding.run, *self.queries.tasks()]

    def close(self) -> None:
        """Fold what is decided, make it durable, and release the directory."""
        self.reactor.shut()
        self.queries.audit.write_counts(at_once=True)
        if self.loop.events is not None:
            self.loop.events.close()
        if not self.loop.writer.close():
            return  # a write hangs: the log is in use, and the process is about to end anyway
        try:
            while self.folding.slice():
                pass
        except StoreError as error:
            self.timeline.append("fold_failed", {"why": str(error)})
        self.timeline.append("stopped", {"term": self.replica.machine.term})
        try:
            self.storage.close()
        except StoreError as error:
            # What could not be flushed is in the log, or on a disk that is gone.
            self.timeline.append("close_failed", {"why": str(error)})

    # -- one batch

    def _begin(self) -> None:
        self.loop.start_batch()

    def _step(self, event: Input) -> None:
        self.loop.step(event)

    def _turn(self) -> None:
        self.loop.timers.at(LINKS, self.links.dial_due())
        self.loop.turn()

    def _fired(self, kinds: list[str]) -> None:
        now = self.reactor.effects.now()
        own = {LINKS, EXPIRY, SWEEP, ALIVE}.intersection(kinds)
        self._begin()
        if EXPIRY in own:
            self.requests.expire()
            self.requests.queries.tick()
        if SWEEP in own:
            self.loop.timers.at(SWEEP, sweep(self, self.queries.retention, now))
        if ALIVE in own:
            period = self.links.period()
            self.links.tick()
            self.server.tick(period)
            self.loop.timers.at(ALIVE, now + period)
        if LINKS in own:
            self.loop.timers.at(LINKS, self.links.dial_due())
        self.loop.fired([kind for kind in kinds if kind not in own])

    def leader_idle(self) -> float | None:
        """Seconds since the leader was heard; 0 on the leader itself."""
        machine = self.replica.machine
        if machine.leader is not None:
            return 0.0
        if machine.raft.leader is None:
            return None
        return max(0.0, self.loop.timers.elapsed() - machine.raft.state.promise.heard_at)

    def uptime(self) -> float:
        """Seconds since this node was opened."""
        return self.reactor.effects.now() - self._born

    @property
    def transfers(self) -> SnapshotTransfers:
        """Snapshots on their way to others, and to here."""
        return self.queries.transfers


def _record(node: Node) -> None:
    """Write the node's events to a file from now on."""
    from qsync.node import events  # noqa: PLC0415 - few nodes keep them

    loop, reactor = node.loop, node.reactor

    def over(why: str) -> None:
        loop.events = reactor.leaving = None
        node.timeline.append("events_stopped", {"why": why})

    loop.events = recorder = events.open_recorder(
        node.config, node.storage, node.replica, elapsed=loop.timers.elapsed, over=over
    )
    reactor.leaving = recorder.write


def _folding(node: Node) -> Folding:
    """Make the folding of a node, and the check of its rows on disk."""
    store, spaces = node.config.store, node.storage.spaces
    effects = node.reactor.effects
    care = Scrubber(
        node.replica,
        spaces,
        timeline=node.timeline,
        interval=store.scrub_interval,
        effects=effects,
        remake=node.transfers.receiver.remake_rows,
    )

    return Folding(
        node.replica,
        spaces,
        make_room=node.loop.make_room,
        timeline=node.timeline,
        store=store,
        care=care,
        effects=effects,
        comparing=Comparing(
            node.replica,
            spaces,
            timeline=node.timeline,
            interval=store.compare_interval,
            send=node.links.deliver_to_all,
            suspect=care.suspect,
        ),
    )


@asynccontextmanager
async def open_node(
    config: NodeConfig, *, files: WhoseFiles = WhoseFiles.UNSAID
) -> AsyncIterator[Node]:
    """Open the directory, listen and serve; at the end hand over leadership and close.

    Raises StoreError (locked, foreign, full, damaged...), or ConfigError, also for an address
    that is in use, or whose name stays unknown.
    """
    log = logs.NodeLog(config.node.name, config.cluster.name)
    doors = await own_doors("listen", config.listen, log)
    storage = open_storage(config, files=files)
    try:
        node = Node(config, storage, NodeSystem(trio.lowlevel.current_trio_token()))
    except BaseException:
        storage.close()
        raise
    try:
        node.timeline.told = log.tell
        node.listen(doors)
        local_socket.listen(node, config.node.dir)
        async with trio.open_nursery() as nursery:
            node.start()
            for task in node.tasks():
                nursery.start_soon(task)
            yield node
            await leave(node)
            nursery.cancel_scope.cancel()
    finally:
        local_socket.remove(config.node.dir)
        node.close()
