"""Clients that move money and set registers, retry, and write down what they were told.

Every write also inserts a row with a number of its own into a journal, in the same transaction:
afterwards the journal says which writes took effect.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from admin.history import History, Told, Type
from qsync.client.blocking import Client, connect
from qsync.client.rows import Receipt
from qsync.client.transaction import Transaction
from qsync.errors import Conflict, Outcome, OutcomeUnknown, QsyncError

LEFT, RIGHT = "bank_left", "bank_right"
REGISTERS, JOURNAL = "registers", "journal"
BANK = "bank"
ACCOUNTS = 4
"""In each of the two spaces."""
BALANCE = 100
KEYS = 6
MIX = (35, 30, 10, 10, 15)
"""Shares of transfers, writes, exchanges, reads of the bank, reads of a register."""
THINK_S = 0.01
"""A client waits so long between operations: the demo shows safety, the benchmark speed."""
TIMEOUT_S = 3.0
RECENT_MAX = 4096
NUMBERS_EACH = 1_000_000_000
"""Numbers of the journal that each client has for itself."""


@dataclass(slots=True)
class Tally:
    """What was told so far; one for all clients."""

    acked: dict[int, int] = field(default_factory=dict)
    undone: set[int] = field(default_factory=set)
    unknown: dict[int, "Unresolved"] = field(default_factory=dict)
    met_unknown: int = 0
    reads: int = 0
    conflicts: int = 0
    gap: float = 0.0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_MAX))
    _last_ack: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ack(self, number: int, term: int, seconds: float) -> None:
        """A write was acknowledged."""
        now = time.monotonic()
        with self._lock:
            if self._last_ack is not None:
                self.gap = max(self.gap, now - self._last_ack)
            self._last_ack = now
            self.acked[number] = term
            self.latencies.append(seconds)

    def waiting(self) -> float:
        """How long ago the last acknowledgement was."""
        return 0.0 if self._last_ack is None else time.monotonic() - self._last_ack

    @property
    def terms(self) -> list[int]:
        """The terms in which something was acknowledged."""
        return sorted(set(self.acked.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unresolved:
    """A write of which nobody could say what became of it, and how to ask again."""

    process: int
    number: int
    token: str
    client: Client


class Worker:
    """One client in a thread of its own. It never stops on an error that a user may meet."""

    def __init__(
        self,
        seeds: Sequence[str],
        *,
        history: History,
        tally: Tally,
        stop: threading.Event,
        number: int,
        seed: int,
        think: float,
    ) -> None:
        self._seeds = seeds
        self._think = think
        self._history = history
        self._tally = tally
        self._stop = stop
        self._random = Random(f"{seed} {number}")  # noqa: S311 - replays, hides nothing
        self._process = history.new_process()
        self._next = number * NUMBERS_EACH
        self.clients: list[Client] = []
        self.crash: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name=f"client {number}", daemon=True)

    def _run(self) -> None:
        try:
            client = connect(self._seeds, timeout=TIMEOUT_S)
            self.clients.append(client)
            while not self._stop.wait(self._think):
                self._one(client)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that judges
            self.crash = error

    def _one(self, client: Client) -> None:
        (do,) = self._random.choices(
            (self._transfer, self._write, self._exchange, self._read_bank, self._read),
            MIX,
        )
        do(client)

    def _transfer(self, client: Client) -> None:
        source = self._random.randrange(ACCOUNTS)
        target = self._random.randrange(ACCOUNTS)
        amount = self._random.randint(1, 9)
        there, back = self._random.sample((LEFT, RIGHT), 2)
        value = [f"{there}/{source}", f"{back}/{target}", amount]

        def change(number: int) -> Receipt:
            with client.transaction() as tx:
                tx.space(there).update([source], [("-", "balance", amount)])
                tx.space(back).update([target], [("+", "balance", amount)])
                tx.space(JOURNAL).insert([number, "transfer"])
            return _receipt(tx)

        self._change(client, "transfer", BANK, value, change)

    def _write(self, client: Client) -> None:
        key = self._random.randrange(KEYS)

        def change(number: int) -> Receipt:
            with client.transaction() as tx:
                tx.space(REGISTERS).replace([key, number])
                tx.space(JOURNAL).insert([number, "write"])
            return _receipt(tx)

        self._change(client, "write", f"register {key}", None, change)

    def _exchange(self, client: Client) -> None:
        key = self._random.randrange(KEYS)
        old = self._read_register(client, key)
        if old is None:
            return

        def change(number: int) -> Receipt:
            with client.transaction() as tx:
                found = tx.space(REGISTERS).get([key])
                if found is None or found[1] != old:
                    raise Conflict("the register holds something else")
                tx.space(REGISTERS).replace([key, number])
                tx.space(JOURNAL).insert([number, "cas"])
            return _receipt(tx)

        self._change(client, "cas", f"register {key}", old, change)

    def _change(
        self, client: Client, f: str, key: str, value: object, change: Callable[[int], Receipt]
    ) -> None:
        """Do one write and note what was told; an unknown outcome costs the process its name."""
        self._next += 1
        number, process = self._next, self._process
        asked = _asked(f, value, number)
        self._history.invoke(process, f, key=key, value=asked)
        begun = time.monotonic()
        try:
            receipt = change(number)
        except OutcomeUnknown as error:
            self._tally.met_unknown += 1
            self._tally.unknown[number] = Unresolved(
                process=process, number=number, token=error.token, client=client
            )
            self._process = self._history.new_process()
        except QsyncError as error:
            self._undone(process, number, error)
        else:
            self._tally.ack(number, receipt.term, time.monotonic() - begun)
            told = Told(term=receipt.term, lsn=receipt.lsn)
            self._history.complete(process, Type.OK, told=told)

    def _undone(self, process: int, number: int, error: QsyncError) -> None:
        if error.outcome is Outcome.UNKNOWN:
            # It can never be asked about again, so it stays open for ever.
            self._tally.met_unknown += 1
            self._process = self._history.new_process()
            return
        self._tally.conflicts += isinstance(error, Conflict)
        self._tally.undone.add(number)
        self._history.complete(process, Type.FAIL, told=Told(error=error.code))

    def _read_bank(self, client: Client) -> None:
        """All balances at one moment: two selects that are validated together."""
        process = self._process
        self._history.invoke(process, "read", key=BANK)
        try:
            with client.transaction() as tx:
                balances = balances_of(tx)
        except QsyncError as error:
            self._tally.conflicts += isinstance(error, Conflict)
            self._history.complete(process, Type.FAIL, told=Told(error=error.code))
        else:
            self._tally.reads += 1
            self._history.complete(process, Type.OK, value=balances)

    def _read(self, client: Client) -> None:
        self._read_register(client, self._random.randrange(KEYS))

    def _read_register(self, client: Client, key: int) -> object:
        process = self._process
        self._history.invoke(process, "read", key=f"register {key}")
        try:
            found = client.space(REGISTERS).get([key])
        except QsyncError as error:
            self._history.complete(process, Type.FAIL, told=Told(error=error.code))
            return None
        self._tally.reads += 1
        value = None if found is None else found[1]
        self._history.complete(process, Type.OK, value=value)
        return value


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
    ) -> None:
        self.tally = Tally()
        self.history = history
        self._stop = threading.Event()
        self._workers = [
            Worker(
                seeds,
                history=history,
                tally=self.tally,
                stop=self._stop,
                number=number,
                seed=seed,
                think=think,
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
                self.history.complete(each.process, Type.FAIL, told=Told(error=error.code))
            else:
                self.tally.acked[number] = receipt.term
                told = Told(term=receipt.term, lsn=receipt.lsn)
                self.history.complete(each.process, Type.OK, told=told)
            del self.tally.unknown[number]
            known += 1
        return known

    def close(self) -> None:
        """Hang up."""
        self._stop.set()
        for worker in self._workers:
            for client in worker.clients:
                client.close()


def balances_of(source: Client | Transaction) -> dict[str, int]:
    """All balances, by space and account."""
    return {
        f"{name}/{row[0]}": integer(row[1])
        for name in (LEFT, RIGHT)
        for row in source.space(name).select()
    }


def integer(value: object) -> int:
    """A field that the format says is a number."""
    assert isinstance(value, int)
    return value


def prepare(client: Client) -> None:
    """Make the spaces and open the accounts."""
    for name in (LEFT, RIGHT):
        fields = [("id", "unsigned"), ("balance", "integer")]
        client.schema.create_space(name, is_sync=True, format=fields)
        for account in range(ACCOUNTS):
            client.space(name).replace([account, BALANCE])
    client.schema.create_space(
        REGISTERS, is_sync=True, format=[("id", "unsigned"), ("value", "unsigned")]
    )
    client.schema.create_space(
        JOURNAL, is_sync=True, format=[("id", "unsigned"), ("what", "string")]
    )


def drop(client: Client) -> None:
    """Remove the spaces that an earlier run left, if any."""
    for name in {LEFT, RIGHT, REGISTERS, JOURNAL} & client.schema.spaces().keys():
        client.schema.drop_space(name)


def _asked(f: str, value: object, number: int) -> object:
    """What the history says was asked for. Every written value is the write's own number."""
    match f:
        case "transfer":
            assert isinstance(value, list)
            return [*value, number]
        case "cas":
            return [value, number]
        case _:
            return number


def _receipt(tx: Transaction) -> Receipt:
    assert tx.receipt is not None
    return tx.receipt
