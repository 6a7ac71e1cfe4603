"""Mutants of the node around a replica, and of the client: one broken rule each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from election.messages import Replica
from qsync.client.link import ClientLink
from qsync.client.numbering import Token
from qsync.client.pending_request import Observe, PendingRequest
from qsync.core.ready import Ready
from qsync.core.ready import Write as Disked
from qsync.core.retention import ConsumerChanges
from qsync.errors import Outcome, OutcomeUnknown, QsyncError, RolledBack, Unavailable
from qsync.node.connection import Connection
from qsync.node.links import PeerLink
from qsync.node.node import Node
from qsync.sim.kernel.broken_leaving import LEAVING
from qsync.sim.kernel.broken_retention import RETENTION
from qsync.sim.kernel.machine import MemberMachine
from qsync.sim.kernel.program import Program
from qsync.sim.mutants import catalogue
from qsync.store.writer import Done
from qsync.wire import requests
from qsync.wire.verbs import WriteRequest

Rebuild = Callable[[Node], None]


def plant(name: str, machines: Sequence[MemberMachine], programs: Sequence[Program]) -> None:
    """Break the rule in every node, or every client, of this world, and in no other."""
    if name in NODES:
        for machine in machines:
            machine.rebuild = partial(both, machine.rebuild, NODES[name])
    elif name in CLIENTS:
        for program in programs:
            CLIENTS[name](program)
    else:
        catalogue.plant(name, machines)


def plant_in_clients(name: str | None, programs: Sequence[Program]) -> None:
    """Break it in later clients, if it is a rule of clients."""
    if name is not None and name in CLIENTS:
        plant(name, (), programs)


def both(first: Rebuild, second: Rebuild, node: Node) -> None:
    """One after the other."""
    first(node)
    second(node)


# -- nodes


def _sends_before_durable(node: Node) -> None:
    """A vote is sent before it is durable."""
    honest = node.replica.ready

    def ready() -> Ready:
        found = honest()
        found.send_now, found.send_after = [*found.send_now, *found.send_after], []
        return found

    node.replica.ready = ready  # type: ignore[method-assign]  # a mutant


def _told_before_durable(node: Node) -> None:
    """A write counts as durable when it is handed to the disk."""
    log, beside = node.storage.log, node.reactor.effects.beside()

    def submit(write: Disked, done: Done) -> None:
        def work() -> bool:
            log.write(write)
            return True

        beside.put(work)
        done(None)

    node.loop.writer.submit = submit  # type: ignore[method-assign]  # a mutant


def _stale_clock(node: Node) -> None:
    """A pass of the loop uses one reading of the clock, taken at its start."""
    reactor = node.reactor
    honest, calls = reactor._pass, reactor._calls  # noqa: SLF001 - a mutant
    fresh = [True]

    def begin() -> None:
        if fresh.pop():
            calls.begin()
        fresh.append(False)

    def one_pass(linger: float) -> bool:
        fresh[:] = [True]
        return honest(linger)

    reactor._calls = calls._replace(begin=begin)  # noqa: SLF001 - a mutant
    reactor._pass = one_pass  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _late_is_rolled_back(node: Node) -> None:
    """A write whose time is over is answered with "rolled back"."""
    honest = node.requests._fail  # noqa: SLF001 - a mutant

    def fail(connection: Connection, number: int, error: QsyncError) -> None:
        unknown = isinstance(error, OutcomeUnknown)
        honest(connection, number, RolledBack(error.message) if unknown else error)

    node.requests._fail = fail  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _never_dials_again(node: Node) -> None:
    """A peer that refused a connection is never dialled again."""
    links = node.links
    honest, honest_met = links._failed, links.met  # noqa: SLF001 - a mutant
    never = float("inf")

    def failed(link: PeerLink, why: str, *, refused: bool) -> None:
        honest(link, why, refused=refused)
        if refused:
            link.next_dial = never

    def met(peer: Replica) -> None:
        if peer in links.links and links.links[peer].next_dial != never:
            honest_met(peer)

    links._failed = failed  # type: ignore[method-assign]  # noqa: SLF001 - a mutant
    links.met = met  # type: ignore[method-assign]  # a mutant


def _silence_unnoticed(node: Node) -> None:
    """Connections have no keep-alive."""

    def tick(period: float) -> None:
        """Time passes, of whatever length."""
        del period

    node.links.tick = lambda: None  # type: ignore[method-assign]  # a mutant
    node.server.tick = tick  # type: ignore[method-assign]  # a mutant


def _no_turn_limit(node: Node) -> None:
    """All requests of one client are served before any other client has a turn."""
    reactor = node.reactor

    def serve() -> None:
        reactor._calls.begin()  # noqa: SLF001 - a mutant
        for connection in list(reactor._waiting):  # noqa: SLF001 - a mutant
            reactor._waiting.popleft()  # noqa: SLF001 - a mutant
            inbox, connection.turn.inbox = connection.turn.inbox, []
            connection.turn.until = float("inf")
            while inbox and not connection.closed:
                taken = reactor._hand(connection, inbox)  # noqa: SLF001 - a mutant
                inbox = inbox[taken:]

    reactor._serve = serve  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _sessions_never_end(node: Node) -> None:
    """A session without a client never expires."""

    def sweep(now: float) -> int:
        del now
        return 0

    node.requests.expiry.sweep = sweep  # type: ignore[method-assign]  # a mutant


def _consumers_never_go(node: Node) -> None:
    """A log consumer of a former member is never dropped."""
    retention = node.queries.retention
    honest = retention._write  # noqa: SLF001 - a mutant

    def write(changes: ConsumerChanges) -> None:
        kept = replace(changes, dropped=())
        if kept:
            honest(kept)

    retention._write = write  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


# -- clients


def _doubt_forgotten(program: Program) -> None:
    """The error of the last attempt counts as the outcome of all attempts."""
    core = program.core
    honest = core._refused  # noqa: SLF001 - a mutant

    def refused(link: ClientLink, ask: PendingRequest, error: QsyncError, now: float) -> None:
        ask.doubted = False
        honest(link, ask, error, now)

    core._refused = refused  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _doubt_unsaid(program: Program) -> None:
    """A write with an unknown outcome is reported as failed."""
    core = program.core
    honest = core._settle  # noqa: SLF001 - a mutant

    def settle(ask: PendingRequest, now: float, outcome: list[object] | QsyncError) -> None:
        honest(ask, now, outcome)
        if ask.error is not None and ask.error.outcome is Outcome.UNKNOWN:
            ask.error = Unavailable(ask.error.message)

    core._settle = settle  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _retry_renumbered(program: Program) -> None:
    """A write is sent again under a new number after its connection broke."""
    core = program.core
    honest = core._lose  # noqa: SLF001 - a mutant

    def lose(link: ClientLink, why: str, now: float) -> None:
        for ask in link.inflight.values():
            write = ask.request
            if isinstance(write, WriteRequest) and write.seq and write.session == core.numbering.id:
                ask.request = write._replace(seq=core.numbering.next_number())
                ask.frame = requests.encode(ask.request)
        honest(link, why, now)

    core._lose = lose  # type: ignore[method-assign]  # noqa: SLF001 - a mutant


def _under_way_undoubted(program: Program) -> None:
    """An attempt is not in doubt while the outcome of its write is asked for."""
    core = program.core
    honest = core.resolve

    def resolve(
        token: Token,
        *,
        now: float,
        deadline: float,
        again: bool = True,
        observe: Observe | None = None,
        begun: Callable[[PendingRequest], None] | None = None,
    ) -> PendingRequest:
        asks = core._asks.values()  # noqa: SLF001 - a mutant
        sure = [ask for ask in asks if not ask.doubted]
        question = honest(
            token, now=now, deadline=deadline, again=again, observe=observe, begun=begun
        )
        for ask in sure:
            ask.doubted = False
        return question

    core.resolve = resolve  # type: ignore[method-assign]  # a mutant


def _client_in_any_cluster(program: Program) -> None:
    """A client takes any cluster that answers at its addresses for its own."""
    program.take_any_cluster()


LIFELONG: Final[Mapping[str, Callable[[Node], None]]] = {
    "sessions_never_end": _sessions_never_end,
    "consumers_never_go": _consumers_never_go,
}
"""These mutants are detected only in a long life."""
NODES: Final[Mapping[str, Callable[[Node], None]]] = {
    "sends_before_durable": _sends_before_durable,
    "told_before_durable": _told_before_durable,
    "stale_clock": _stale_clock,
    "late_is_rolled_back": _late_is_rolled_back,
    "never_dials_again": _never_dials_again,
    "silence_unnoticed": _silence_unnoticed,
    "no_turn_limit": _no_turn_limit,
    **RETENTION,
    **LIFELONG,
}
CLIENTS: Final[Mapping[str, Callable[[Program], None]]] = {
    "doubt_forgotten": _doubt_forgotten,
    "doubt_unsaid": _doubt_unsaid,
    "retry_renumbered": _retry_renumbered,
    "under_way_undoubted": _under_way_undoubted,
    "client_in_any_cluster": _client_in_any_cluster,
    **LEAVING,
}
