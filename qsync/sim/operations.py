"""What simulated clients do: registers, compare-and-set, lists, a bank over two spaces, reads."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import cbor2

from qsync.core.inputs import Consistency
from qsync.data.request import Op
from qsync.data.state import State
from qsync.sim.canon import Violation
from qsync.sim.swarm import Load

REGISTERS, LISTS, CHECKING, SAVINGS, NOTES = 512, 513, 514, 515, 516
START = 100
"""What every account holds at first."""
_PRIMARY = 0
_FIELD, _BALANCE = 1, 2


@dataclass(slots=True, kw_only=True)
class Operation:
    """One thing a client wants, until it knows what became of it. `open`: attempts not answered."""

    f: str
    key: int | None = None
    value: object = None
    ops: list[list[object]] | None = None
    sync: bool | None = None
    keys: tuple[tuple[int, int], ...] = ()
    consistency: Consistency = Consistency.LOCAL
    seq: int = 0
    first: int = 0
    floor: int = 0
    insists: bool = False
    """A read that is asked for until it is answered."""
    open: set[int] = field(default_factory=set)

    @property
    def reads(self) -> bool:
        """It changes nothing."""
        return self.ops is None

    def look(self, state: State) -> list[bytes | None]:
        """The rows at `keys`, in one snapshot."""
        return [state.get(space, _PRIMARY, [number]) for space, number in self.keys]


def create_spaces() -> Operation:
    """The first transaction of all."""
    return Operation(f="create", ops=[_create(space) for space in _NAMES])


def fund(accounts: int) -> Operation:
    """The bank opens."""
    ops = [
        _put(space, [number, START]) for space in (CHECKING, SAVINGS) for number in range(accounts)
    ]
    return Operation(f="fund", ops=ops)


def open_session(session: bytes) -> Operation:
    """Numbers are kept from here on."""
    return Operation(f="open", ops=[[Op.OPEN_SESSION, session]])


def draw(rng: Random, load: Load, unique: int, known: dict[int, bytes | None]) -> Operation:
    """Some operation. `known`: rows this client has seen, for compare-and-set."""
    names = [name for name, _ in load.weights]
    weights = [weight for _, weight in load.weights]
    name = rng.choices(names, weights)[0]
    key = rng.randrange(load.keys)
    return _DRAWERS[name](rng, load, (key, unique), known.get(key))


def last_read(keys: int) -> Operation:
    """What every client asks at the end."""
    return Operation(
        f="read",
        keys=tuple((REGISTERS, key) for key in range(keys)),
        consistency=Consistency.LINEARIZABLE,
        insists=True,
    )


def check_total(operation: Operation, rows: list[bytes | None], accounts: int) -> None:
    """Money is neither made nor lost."""
    balances = [cbor2.loads(row)[1] for row in rows if row is not None]
    if balances and sum(balances) != 2 * accounts * START:
        raise Violation(2, f"{operation.f} counts {balances}, not {2 * accounts * START} in all")


_Names = tuple[int, int]
_Drawer = Callable[[Random, Load, _Names, bytes | None], Operation]


def _write(_rng: Random, _load: Load, names: _Names, _known: bytes | None) -> Operation:
    key, value = names
    return Operation(f="write", key=key, value=value, ops=[_put(REGISTERS, [key, value])])


def _cas(_rng: Random, _load: Load, names: _Names, known: bytes | None) -> Operation:
    key, value = names
    old = cbor2.loads(known)[1] if known is not None else None
    require: list[object] = [Op.REQUIRE_EQUAL, REGISTERS, _PRIMARY, [key], known]
    ops = [require, _put(REGISTERS, [key, value])]
    return Operation(f="cas", key=key, value=[old, value], ops=ops)


def _conditional(rng: Random, _load: Load, names: _Names, _known: bytes | None) -> Operation:
    key, value = names
    require: list[object] = [Op.REQUIRE_EXISTENCE, REGISTERS, _PRIMARY, [key], rng.random() < 0.7]
    return Operation(f="write", key=key, value=value, ops=[require, _put(REGISTERS, [key, value])])


def _append(_rng: Random, _load: Load, names: _Names, _known: bytes | None) -> Operation:
    key, value = names
    upsert: list[object] = [Op.UPSERT, LISTS, cbor2.dumps([key, value]), [["!", _BALANCE, value]]]
    return Operation(f="append", key=key, value=value, ops=[upsert])


def _transfer(rng: Random, load: Load, names: _Names, _known: bytes | None) -> Operation:
    there, amount = rng.randrange(load.keys), rng.randint(1, 9)
    spaces = [CHECKING, SAVINGS]
    rng.shuffle(spaces)
    ops: list[list[object]] = [
        [Op.UPDATE, spaces[0], _PRIMARY, [names[0]], [["-", _BALANCE, amount]]],
        [Op.UPDATE, spaces[1], _PRIMARY, [there], [["+", _BALANCE, amount]]],
    ]
    return Operation(f="transfer", key=names[0], value=[there, amount], ops=ops)


def _async(rng: Random, _load: Load, names: _Names, _known: bytes | None) -> Operation:
    key, value = names
    sync = rng.choice((None, None, True))
    return Operation(f="note", key=key, value=value, ops=[_put(NOTES, [key, value])], sync=sync)


def _read(rng: Random, _load: Load, names: _Names, _known: bytes | None) -> Operation:
    wanted = rng.choice(list(Consistency))
    return Operation(f="read", key=names[0], keys=((REGISTERS, names[0]),), consistency=wanted)


def _audit(rng: Random, load: Load, _names: _Names, _known: bytes | None) -> Operation:
    keys = tuple((space, each) for space in (CHECKING, SAVINGS) for each in range(load.keys))
    keys += ((NOTES, 0), (LISTS, 0))
    return Operation(f="audit", keys=keys, consistency=rng.choice(list(Consistency)))


def _create(space: int) -> list[object]:
    options: dict[str, object] = {
        "id": space,
        "is_sync": space != NOTES,
        "if_not_exists": True,
        "primary": [[_FIELD, "unsigned"]],
    }
    return [Op.CREATE_SPACE, _NAMES[space], options]


def _put(space: int, row: list[object]) -> list[object]:
    return [Op.REPLACE, space, cbor2.dumps(row)]


_NAMES = {
    REGISTERS: "registers",
    LISTS: "lists",
    CHECKING: "checking",
    SAVINGS: "savings",
    NOTES: "notes",
}
_DRAWERS: dict[str, _Drawer] = {
    "write": _write,
    "cas": _cas,
    "append": _append,
    "transfer": _transfer,
    "async": _async,
    "conditional": _conditional,
    "read": _read,
    "audit": _audit,
}


def values(rows: list[bytes | None]) -> list[object]:
    """Rows for a history: the fields after the key."""
    return [cbor2.loads(row)[1:] if row is not None else None for row in rows]
