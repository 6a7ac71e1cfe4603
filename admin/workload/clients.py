"""Clients that do one kind of load, retry, and write down what they were told."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from admin.workload.catalogue import (
    ACCOUNTS,
    BALANCE,
    FULL,
    JOURNAL,
    LEFT,
    LOADS,
    QUEUE,
    RIGHT,
    SPACES,
    Act,
)
from admin.workload.history import AnsweredBy, History, OutcomeType
from admin.workload.load_names import LoadKind
from admin.workload.node_reads import Glances
from admin.workload.row_names import SpaceIds
from admin.workload.tally import ReceiptPlace, UnresolvedWrite, WriteTally
from election.messages import Position
from qsync.client import calls, operations
from qsync.client.blocking import Client, connect
from qsync.client.calls import Commit
from qsync.client.numbering import parse_token
from qsync.client.rows import Receipt
from qsync.client.transaction import Transaction
from qsync.errors import Conflict, Outcome, OutcomeUnknown, QsyncError

THINK_S = 0.01
"""A client waits so long between operations: the demo shows safety, the benchmark speed."""
TIMEOUT_S = 3.0
NUMBERS_EACH = 1_000_000_000
"""Numbers of the journal that each client has for itself."""
NEVER = "its session was ended before it took effect"
MAY_GO = "asynchronous: it was answered, and may still be lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """What a client is told to do. `think`: its pause between two operations, in seconds."""

    seeds: Sequence[str]
    number: int
    seed: int
    think: float
    acts: tuple[tuple[Act, int], ...]


class Worker:
    """One client in a thread of its own. It never stops on an error that a user may meet."""

    def __init__(
        self, orders: WorkerConfig, *, history: History, tally: WriteTally, stop: threading.Event
    ) -> None:
        self.dice = Random(f"{orders.seed} {orders.number}")  # noqa: S311 - replays, hides nothing
        self.clients: list[Client] = []
        self.crash: BaseException | None = None
        self._orders = orders
        self._history = history
        self._tally = tally
        self._stop = stop
        self._process = history.new_process()
        self._next = orders.number * NUMBERS_EACH
        self._glances = Glances(orders.seeds, self.dice)
        self._spaces = SpaceIds()
        name = f"client {orders.number}"
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def number(self) -> int:
        """Which of the clients it is."""
        return self._orders.number

    @property
    def chapter(self) -> int:
        """Which lists and sets are in use: checking and reading take longer as they grow."""
        return len(self._tally.acked) // FULL

    def _run(self) -> None:
        acts = [act for act, _ in self._orders.acts]
        shares = [share for _, share in self._orders.acts]
        try:
            client = connect(self._orders.seeds, timeout=TIMEOUT_S)
            self.clients.append(client)
            while not self._stop.wait(self._orders.think):
                (act,) = self.dice.choices(acts, shares)
                act(self, client)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that judges
            self.crash = error
        finally:
            self._glances.close()

    def change(
        self,
        client: Client,
        f: str,
        key: str | None,
        value: Callable[[int], object],
        change: Callable[[Transaction, int], None],
        *,
        sync: bool = True,
        row: tuple[str, int] | None = None,
    ) -> None:
        """Do one transaction and note what was told; an unknown one costs the process its name.

        `value`: what the history says of a write by its number, asked before and after it. `row`:
        the space and the key of the first row that it changes.
        """
        self._next += 1
        number, process = self._next, self._process
        known = self._spaces.hash_of(client, row)
        self._history.invoke(process, f, key=key, value=value(number), key_hash=known)
        begun = time.monotonic()
        tx = client.transaction()
        try:
            try:
                with tx:
                    change(tx, number)
            finally:
                self._number(process, tx.token)
        except OutcomeUnknown as error:
            self._tally.met_unknown += 1
            self._tally.unknown[number] = UnresolvedWrite(
                process=process, number=number, token=error.token, client=client
            )
            self._process = self._history.new_process()
        except QsyncError as error:
            self._undone(process, number, error)
        else:
            receipt = receipt_of(tx)
            place = ReceiptPlace(client=self.number, term=receipt.term, index=receipt.index)
            self._tally.ack(number, place, time.monotonic() - begun, sync=sync)
            self._glances.written = Position(receipt.term, receipt.index)
            told = AnsweredBy(
                term=receipt.term,
                lsn=receipt.lsn,
                log_index=receipt.index,
                error=None if sync else MAY_GO,
            )
            kind = OutcomeType.OK if sync else OutcomeType.INFO
            self._history.complete(process, kind, value=value(number), told=told)
            if not sync:
                self._process = self._history.new_process()

    def _number(self, process: int, token: str | None) -> None:
        """What was sent has a number, by which logs know it; what was given up before has none."""
        if token is not None:
            session, seq = parse_token(token)
            self._history.numbered(process, session.hex(), seq)

    def _undone(self, process: int, number: int, error: QsyncError) -> None:
        if error.outcome is Outcome.UNKNOWN:
            # It can never be asked about again; only a log may know.
            self._tally.met_unknown += 1
            self._process = self._history.new_process()
            return
        self._tally.conflicts += isinstance(error, Conflict)
        self._tally.refused += isinstance(error, Conflict)
        self._tally.undone.add(number)
        self._history.complete(process, OutcomeType.FAIL, told=AnsweredBy(error=error.code))

    def look(self, client: Client, f: str, key: str, look: Callable[[], object]) -> object:
        """Do one read and note what was told; None also when there was no answer."""
        process = self._process
        self._history.invoke(process, f, key=key, session=client.session)
        try:
            value = look()
        except QsyncError as error:
            self._tally.conflicts += isinstance(error, Conflict)
            self._history.complete(process, OutcomeType.FAIL, told=AnsweredBy(error=error.code))
            return None
        self._tally.reads += 1
        self._history.complete(process, OutcomeType.OK, value=value)
        return value

    def glance(self, f: str, name: str, space: str, key: int) -> None:
        """Read one field of a row at any node, at least as new as a place that it was told of."""
        floor = self._glances.floor()
        if floor is None:
            return
        process = self._process
        self._history.invoke(process, f, key=name, floor=(floor.term, floor.index))
        try:
            row, shown = self._glances.get(space, key, floor)
        except QsyncError as error:
            self._history.complete(process, OutcomeType.FAIL, told=AnsweredBy(error=error.code))
            return
        self._tally.reads += 1
        told = AnsweredBy(term=shown.term, log_index=shown.index)
        self._history.complete(process, OutcomeType.OK, value=row and row[1], told=told)


def receipt_of(tx: Transaction) -> Receipt:
    """Of a transaction that was committed."""
    assert tx.receipt is not None
    return tx.receipt


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
        self._stop = threading.Event()
        self._workers = [
            Worker(
                WorkerConfig(
                    seeds=seeds, number=number, seed=seed, think=think, acts=LOADS[kind].acts
                ),
                history=history,
                tally=self.tally,
                stop=self._stop,
            )
            for number in range(1, clients + 1)
        ]

    def start(self) -> None:
        """Set every client going."""
        for worker in self._workers:
            worker.thread.start()

    def stop(self) -> None:
        """Let every client finish what it does. Raises what a client died of."""
        self._stop.set()
        for worker in self._workers:
            if worker.thread.ident is not None:
                worker.thread.join()
        self.check()

    def check(self) -> None:
        """Raises what a client died of, if one did."""
        for worker in self._workers:
            if worker.crash is not None:
                raise worker.crash

    def resolve(self) -> int:
        """Ask again about every unknown outcome, with its token; how many are known now."""
        known = 0
        for number, each in list(self.tally.unknown.items()):
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
                self.tally.acked[number] = receipt.term
                told = AnsweredBy(term=receipt.term, lsn=receipt.lsn, log_index=receipt.index)
                self.history.complete(each.process, OutcomeType.OK, told=told)
            del self.tally.unknown[number]
            known += 1
        return known

    def settle(self, client: Client) -> int:
        """Look up what is unknown still, when nobody writes any more; how many there were.

        What a retry is told, a conflict say, decides nothing: an earlier attempt may arrive after
        it (protocol.md section 5). So the sessions are ended first, by an entry on a quorum: no
        request of theirs takes effect behind it. What is there then stays, and what is not there
        never comes. Raises as a write and a read of `client` do.
        """
        left = {number: each for number, each in self.tally.unknown.items() if each.token}
        if not left:
            return 0
        sessions = sorted({parse_token(each.token).session for each in left.values()})
        ops = [operations.expire_session(each) for each in sessions]
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
        """Spaces by which numbers of writes are known, whatever kind of load they are of."""
        return [JOURNAL, *(space for space in LOADS[self.kind].spaces if space == QUEUE)]

    def close(self) -> None:
        """Hang up."""
        self._stop.set()
        for worker in self._workers:
            for client in worker.clients:
                client.close()


def prepare(client: Client, kind: LoadKind = LoadKind.MIXED) -> None:
    """Make the spaces and open the accounts."""
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
