"""The kinds of load that clients put on a cluster, each with its spaces and checks.

Every synchronous write also inserts a row with a number of its own into a journal, in the same
transaction: afterwards the journal says which writes took effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from admin.workload.load_names import (
    ACCOUNTS,
    BANK,
    JOURNAL,
    KEYS,
    LEFT,
    LISTS,
    QUEUE,
    REGISTERS,
    RIGHT,
    SETS,
    LoadKind,
)
from admin.workload.worker import Act, Worker
from qsync.client.blocking import Client
from qsync.client.transaction import Transaction
from qsync.errors import Conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """One kind: its `acts` with their shares, and its `spaces` beside the journal."""

    about: str
    acts: tuple[tuple[Act, int], ...]
    spaces: tuple[str, ...]

    @property
    def has_bank(self) -> bool:
        """Whether there is money whose total is checked."""
        return LEFT in self.spaces


# -- the bank


def transfer(worker: Worker, client: Client) -> None:
    """Transfer money from one space to the other."""
    dice = worker.dice
    source, target = dice.randrange(ACCOUNTS), dice.randrange(ACCOUNTS)
    amount = dice.randint(1, 9)
    there, back = dice.sample((LEFT, RIGHT), 2)

    def change(tx: Transaction, number: int) -> None:
        tx.space(there).update([source], [("-", "balance", amount)])
        tx.space(back).update([target], [("+", "balance", amount)])
        tx.space(JOURNAL).insert([number, "transfer"])

    names = [f"{there}/{source}", f"{back}/{target}", amount]
    worker.change(client, "transfer", BANK, lambda number: [*names, number], change)


def read_bank(worker: Worker, client: Client) -> None:
    """Read all balances at one moment: two selects that are validated together."""

    def look() -> object:
        with client.transaction() as tx:
            return balances_of(tx)

    worker.look(client, "read", BANK, look)


def balances_of(source: Client | Transaction) -> dict[str, int]:
    """Return all balances, by space and account."""
    return {
        f"{name}/{row[0]}": integer(row[1])
        for name in (LEFT, RIGHT)
        for row in source.space(name).select()
    }


# -- registers


def write(worker: Worker, client: Client) -> None:
    """Write the write's own number to a register."""
    key = worker.dice.randrange(KEYS)

    def change(tx: Transaction, number: int) -> None:
        tx.space(REGISTERS).replace([key, number])
        tx.space(JOURNAL).insert([number, "write"])

    worker.change(client, "write", register(key), _itself, change, row=(REGISTERS, key))


def exchange(worker: Worker, client: Client) -> None:
    """Compare and set a register, with a transaction that reads first."""
    key = worker.dice.randrange(KEYS)
    old = read_register(worker, client, key)
    if old is None:
        return

    def change(tx: Transaction, number: int) -> None:
        found = tx.space(REGISTERS).get([key])
        if found is None or found[1] != old:
            raise Conflict("the register holds something else")
        tx.space(REGISTERS).replace([key, number])
        tx.space(JOURNAL).insert([number, "cas"])

    told, row = register(key), (REGISTERS, key)
    worker.change(client, "cas", told, lambda number: [old, number], change, row=row)


def read(worker: Worker, client: Client) -> None:
    """Read a register."""
    read_register(worker, client, worker.dice.randrange(KEYS))


def read_register(worker: Worker, client: Client, key: int) -> object:
    """Return the value of a register; None also if it could not be read."""

    def look() -> object:
        found = client.space(REGISTERS).get([key])
        return None if found is None else found[1]

    return worker.look(client, "read", register(key), look)


def glance(worker: Worker, client: Client) -> None:  # noqa: ARG001 - it has others
    """Read a register at any node: at least what was written or seen before."""
    key = worker.dice.randrange(KEYS)
    worker.glance("read", register(key), REGISTERS, key)


def register(key: int) -> str:
    """Its name in a history."""
    return f"register {key}"


# -- lists


def append(worker: Worker, client: Client) -> None:
    """Read one or two lists and append to one or two, in a transaction."""
    dice = worker.dice
    first = KEYS * worker.chapter
    keys = [first + key for key in dice.sample(range(KEYS), 2)]
    reads, appends = keys[: dice.randint(0, 2)], keys[dice.randint(0, 1) :]
    seen: dict[int, list[object]] = {}

    def change(tx: Transaction, number: int) -> None:
        seen.update({key: list_of(tx, key) for key in reads})
        for key in appends:
            tx.space(LISTS).replace([key, [*list_of(tx, key), number]])
        tx.space(JOURNAL).insert([number, "append"])

    def steps(number: int) -> object:
        """Return the steps of a transaction; once it is done, with what it read."""
        looked: list[list[object]] = [["r", key, seen.get(key)] for key in reads]
        return looked + [["append", key, number] for key in appends]

    worker.change(client, "txn", None, steps, change)


def list_of(source: Client | Transaction, key: int) -> list[object]:
    """Return a list; an empty one before the first append."""
    found = source.space(LISTS).get([key])
    items = [] if found is None else found[1]
    assert isinstance(items, list | tuple)
    return list(items)


# -- sets


def add(worker: Worker, client: Client) -> None:
    """Add a new element to a set."""
    which = worker.chapter

    def change(tx: Transaction, number: int) -> None:
        tx.space(SETS).insert([which, number])
        tx.space(JOURNAL).insert([number, "add"])

    worker.change(client, "add", set_name(which), _itself, change)


def read_set(worker: Worker, client: Client) -> None:
    """Read all elements of a set."""
    which = worker.chapter
    worker.look(client, "read", set_name(which), lambda: set_of(client, which))


def set_of(client: Client, which: int) -> list[object]:
    """Return the elements of a set."""
    return [row[1] for row in client.space(SETS).select([which])]


def set_name(which: int) -> str:
    """Its name in a history."""
    return f"set {which}"


# -- the queue


def offer(worker: Worker, client: Client) -> None:
    """Write to an asynchronous space, half of the time in a synchronous transaction."""
    sync = worker.dice.random() < 0.5  # noqa: PLR2004 - half

    def change(tx: Transaction, number: int) -> None:
        tx.space(QUEUE).insert([number, worker.number])
        if sync:
            tx.space(JOURNAL).insert([number, "offer"])

    worker.change(client, "add", QUEUE, _itself, change, sync=sync)


def integer(value: object) -> int:
    """A field that the format says is a number."""
    assert isinstance(value, int)
    return value


def _itself(number: int) -> object:
    """Every written value is the write's own number."""
    return number


LOADS: Mapping[LoadKind, WorkloadSpec] = {
    LoadKind.MIXED: WorkloadSpec(
        about="transfers in a bank of two spaces, registers that are set, compared and read",
        acts=(
            *((transfer, 35), (write, 30), (exchange, 10)),
            *((read_bank, 10), (read, 10), (glance, 5)),
        ),
        spaces=(LEFT, RIGHT, REGISTERS),
    ),
    LoadKind.REGISTER: WorkloadSpec(
        about="registers that are set and read, also at nodes that do not lead",
        acts=((write, 4), (read, 3), (glance, 1)),
        spaces=(REGISTERS,),
    ),
    LoadKind.CAS: WorkloadSpec(
        about="registers that are compared and set by transactions",
        acts=((write, 2), (exchange, 8), (read, 1), (glance, 1)),
        spaces=(REGISTERS,),
    ),
    LoadKind.APPEND: WorkloadSpec(
        about="transactions that append to lists and read them, and some registers",
        acts=((append, 8), (write, 1), (read, 1)),
        spaces=(LISTS, REGISTERS),
    ),
    LoadKind.BANK: WorkloadSpec(
        about="transfers in a bank of two spaces, and reads of all of it",
        acts=((transfer, 4), (read_bank, 1)),
        spaces=(LEFT, RIGHT),
    ),
    LoadKind.SET: WorkloadSpec(
        about="sets that only grow", acts=((add, 3), (read_set, 1)), spaces=(SETS,)
    ),
    LoadKind.QUEUE: WorkloadSpec(
        about="synchronous and asynchronous transactions in one queue",
        acts=((offer, 1),),
        spaces=(QUEUE,),
    ),
}
"""The kinds of load, by name."""
