"""Clients that put one kind of load on a cluster, retry, and record the answers."""

import threading
from collections.abc import Sequence
from dataclasses import replace

from admin.workload.catalogue import LOADS
from admin.workload.history import AnsweredBy, History, OutcomeType
from admin.workload.load_names import (
    ACCOUNTS,
    BALANCE,
    JOURNAL,
    LEFT,
    QUEUE,
    RIGHT,
    SPACES,
    LoadKind,
)
from admin.workload.tally import WriteTally
from admin.workload.worker import Worker, WorkerConfig, WorkerGate
from election.messages import Position
from qsync.client import calls, operations
from qsync.client.blocking import Client
from qsync.client.calls import Commit
from qsync.client.numbering import parse_token
from qsync.errors import Outcome, QsyncError

THINK_S = 0.01
"""The pause of a client between operations: this is about safety, not speed."""
NEVER = "its session was ended before it took effect"


class Workload:
    """All clients of a run."""

    def __init__(
        self,
        seeds: Sequence[str],
        *,
        history: History,
        clients: int,
        seed: int,
        think: float = THINK_S,
        kind: LoadKind = LoadKind.MIXED,
    ) -> None:
        self.kind = kind
        self.tally = WriteTally()
        self.history = history
        self._stop, self._open = threading.Event(), threading.Event()
        self._open.set()
        self._workers = [
            Worker(
                WorkerConfig(
                    seeds=seeds, number=number, seed=seed, think=think, acts=LOADS[kind].acts
                ),
                history=history,
                tally=self.tally,
                gate=WorkerGate(stop=self._stop, is_open=self._open),
            )
            for number in range(1, clients + 1)
        ]

    def start(self) -> None:
        """Start every client."""
        for worker in self._workers:
            worker.thread.start()

    def stop(self) -> None:
        """Let every client finish its operation, and stop it. Raises what a client died of."""
        self._stop.set()
        for worker in self._workers:
            if worker.thread.ident is not None:
                worker.thread.join()
        self.check()

    def pause(self) -> None:
        """Let every client finish its operation and wait; returns when all of them have."""
        self._open.clear()
        for worker in self._workers:
            with worker.gate.working:
                pass
        self.tally.pause()

    def resume(self) -> None:
        """Let the clients go on."""
        self.tally.resume()
        self._open.set()

    @property
    def is_paused(self) -> bool:
        """Whether the clients are paused."""
        return not self._open.is_set()

    def begin_anew(self) -> None:
        """Connect every client to another cluster; none asks the former one any more.

        What is unknown of that one stays so, until it is looked up.
        """
        self.connect_anew()
        for number, each in list(self.tally.unknown.items()):
            self.tally.unknown[number] = replace(each, client=None)

    def connect_anew(self) -> None:
        """Let every client connect again with its next operation, in a new session."""
        for worker in self._workers:
            worker.gate.begins_anew = True

    def check(self) -> None:
        """Raise what a client died of, if one did."""
        for worker in self._workers:
            if worker.crash is not None:
                raise worker.crash

    def resolve(self) -> int:
        """Resolve unknown outcomes by token. Returns how many are known now."""
        known = 0
        for number, each in list(self.tally.unknown.items()):
            if each.client is None:
                continue
            try:
                receipt = each.client.resolve(each.token)
            except QsyncError as error:
                if error.outcome is Outcome.UNKNOWN:
                    continue
                self.tally.undone.add(number)
                self.history.complete(
                    each.process, OutcomeType.FAIL, told=AnsweredBy(error=error.code)
                )
            else:
                self.tally.acked[number] = Position(receipt.term, receipt.index)
                told = AnsweredBy(term=receipt.term, lsn=receipt.lsn, log_index=receipt.index)
                self.history.complete(each.process, OutcomeType.OK, told=told)
            del self.tally.unknown[number]
            known += 1
        return known

    def settle(self, client: Client) -> int:
        """Look up the outcomes that are still unknown when nobody writes. Returns their number.

        What a retry is told, a conflict say, decides nothing: an earlier attempt may arrive after
        it (protocol.md section 5). So the sessions are ended first, by an entry on a quorum: no
        request of theirs takes effect behind it. What is there then stays, and what is not there
        never comes. Raises as a write and a read of `client` do.
        """
        left = {number: each for number, each in self.tally.unknown.items() if each.token}
        if not left:
            return 0
        sessions = {parse_token(each.token).session for each in left.values() if each.client}
        if sessions:  # those of a cluster that is gone ended with it
            ops = [operations.expire_session(each) for each in sorted(sessions)]
            client.run(calls.write(ops, Commit(is_sync=True)))
        for number, each in left.items():
            if any(client.space(space).get([number]) for space in self._journals):
                self.history.complete(each.process, OutcomeType.OK, told=AnsweredBy())
            else:
                self.tally.undone.add(number)
                self.history.complete(each.process, OutcomeType.FAIL, told=AnsweredBy(error=NEVER))
            del self.tally.unknown[number]
        return len(left)

    @property
    def _journals(self) -> list[str]:
        """Return the journal spaces of every kind of load."""
        return [JOURNAL, *(space for space in LOADS[self.kind].spaces if space == QUEUE)]

    def close(self) -> None:
        """Hang up."""
        self._stop.set()
        for worker in self._workers:
            for client in worker.clients:
                client.close()


def prepare(client: Client, kind: LoadKind = LoadKind.MIXED) -> None:
    """Create the spaces and the accounts."""
    load = LOADS[kind]
    for name in (*load.spaces, JOURNAL):
        format_, sync, primary = SPACES[name]
        client.schema.create_space(name, is_sync=sync, format=format_, primary=primary)
    if load.has_bank:
        for name in (LEFT, RIGHT):
            for account in range(ACCOUNTS):
                client.space(name).replace([account, BALANCE])


def drop(client: Client) -> None:
    """Remove the spaces that an earlier run left, if any."""
    for name in SPACES.keys() & client.schema.spaces().keys():
        client.schema.drop_space(name)
