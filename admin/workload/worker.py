"""One client of a run: it does its acts, reads, retries, and records the answers."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from admin.evidence import opening
from admin.workload.history import AnsweredBy, History, OutcomeType
from admin.workload.load_names import FULL
from admin.workload.tally import ReceiptPlace, UnresolvedWrite, WriteTally
from election.messages import Position
from qsync.client import calls
from qsync.client.blocking import Client, connect
from qsync.client.numbering import parse_token
from qsync.client.rows import Receipt, Row
from qsync.client.transaction import Transaction
from qsync.core.consistency import Consistency
from qsync.errors import Conflict, Outcome, OutcomeUnknown, QsyncError
from qsync.wire.verbs import ReadLevel

PATIENCE_S = 0.5
"""How long a read waits for a node to have a place; a node that is cut off never does."""


class Glances:
    """Reads of one client. `written`: place of its last write; `shown`: last place shown here."""

    def __init__(self, seeds: Sequence[str], dice: Random) -> None:
        self.written: Position | None = None
        self.shown: Position | None = None
        self._seeds = seeds
        self._dice = dice
        self._clients: dict[str, Client] = {}

    def floor(self) -> Position | None:
        """Return what the next read must show: its own write, or what it has seen already."""
        known = [place for place in (self.written, self.shown) if place is not None]
        return self._dice.choice(known) if known else None

    def get(self, space: str, key: int, floor: Position) -> tuple[Row | None, Position]:
        """Read from any node; also returns the place that it shows. Raises QsyncError."""
        address = self._dice.choice(list(self._seeds))
        level = ReadLevel(Consistency.AT_LEAST, floor.term, floor.index)
        try:
            if address not in self._clients:
                one = connect(address, timeout=PATIENCE_S, connect_timeout=PATIENCE_S, direct=True)
                self._clients[address] = one
            row, self.shown = self._clients[address].run(calls.get_at(space, [key], level=level))
        except QsyncError:
            if address in self._clients:
                self._clients.pop(address).close()
            # It may be of an entry that is gone: an asynchronous one, or of the log of one node.
            self.shown = None
            raise
        return row, self.shown

    def close(self) -> None:
        """Hang up."""
        for client in self._clients.values():
            client.close()


class SpaceIds:
    """Ids of spaces by name, requested once."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def hash_of(self, client: Client, row: tuple[str, int] | None) -> int | None:
        """Return the hash of a row, by its space and its numeric key; None if unknown."""
        if row is None:
            return None
        if not self._ids:
            try:
                self._ids = ids(client.schema.spaces())
            except QsyncError:
                return None  # no node answers; a later row may be known
        space = self._ids.get(row[0])
        return None if space is None else opening.number_hash(space, row[1])


def ids(spaces: dict[str, object]) -> dict[str, int]:
    """From what the schema says."""
    known = {name: each.get("id") for name, each in spaces.items() if isinstance(each, dict)}
    return {name: id_ for name, id_ in known.items() if isinstance(id_, int)}


Act: TypeAlias = "Callable[[Worker, Client], None]"
"""One act of a client."""
TIMEOUT_S = 3.0
NUMBERS_EACH = 1_000_000_000
"""How many numbers of the journal each client has for itself."""
HELD_LOOK_S = 0.1
"""How often a paused client checks whether the run is over."""
MAY_GO = "asynchronous: it was answered, and may still be lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """The load of a client. `think`: its pause between two operations, in seconds."""

    seeds: Sequence[str]
    number: int
    seed: int
    think: float
    acts: tuple[tuple[Act, int], ...]


class WorkerGate:
    """Pauses and resumes one client.

    `stop`: the run is over. `is_open`: it may begin its next operation. Both are for all clients.
    """

    def __init__(self, *, stop: threading.Event, is_open: threading.Event) -> None:
        self.stop = stop
        self.is_open = is_open
        self.working = threading.Lock()
        """A lock that the client holds during an operation."""
        self.begins_anew = True
        """Set when the client should connect again, in a new session."""


class Worker:
    """One client in its own thread. It goes on after every error that a user may get."""

    def __init__(
        self, orders: WorkerConfig, *, history: History, tally: WriteTally, gate: WorkerGate
    ) -> None:
        self.dice = Random(f"{orders.seed} {orders.number}")  # noqa: S311 - replays, hides nothing
        self.clients: list[Client] = []
        self.crash: BaseException | None = None
        self.gate = gate
        self._orders = orders
        self._history = history
        self._tally = tally
        self._process = history.new_process()
        self._next = orders.number * NUMBERS_EACH
        self._glances = Glances(orders.seeds, self.dice)
        self._spaces = SpaceIds()
        name = f"client {orders.number}"
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def number(self) -> int:
        """The number of the client."""
        return self._orders.number

    @property
    def chapter(self) -> int:
        """The lists and sets in use; they change, because checks take longer as they grow."""
        return len(self._tally.acked) // FULL

    def _run(self) -> None:
        acts = [act for act, _ in self._orders.acts]
        shares = [share for _, share in self._orders.acts]
        gate = self.gate
        try:
            while not gate.stop.wait(self._orders.think):
                if not gate.is_open.wait(HELD_LOOK_S):
                    continue
                with gate.working:
                    if gate.is_open.is_set():
                        (act,) = self.dice.choices(acts, shares)
                        act(self, self._connected())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that judges
            self.crash = error
        finally:
            self._glances.close()

    def _connected(self) -> Client:
        """Its connection; one that begins again is of nobody who was there before."""
        if self.gate.begins_anew:
            self.clients.append(connect(self._orders.seeds, timeout=TIMEOUT_S))
            self._glances.close()
            self._glances = Glances(self._orders.seeds, self.dice)
            self._spaces = SpaceIds()
            self.gate.begins_anew = False
        return self.clients[-1]

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
        """Do one transaction and note the answer; after an unknown one the process gets a new name.

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
        """Note the number of the request in the log; a request that was never sent has none."""
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
        """Do one read and note the answer; None also if there was none."""
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
        """Read one field of a row at any node, at least as new as a place that it knows of."""
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
    """Return the receipt of a committed transaction."""
    assert tx.receipt is not None
    return tx.receipt
