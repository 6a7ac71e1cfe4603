"""Histories that real objects gave: each operation takes effect at one moment of its interval."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

from admin.checker.operation import CompletionType, Operation

Apply = Callable[[Random, int], tuple[str, object]]
"""From dice and the number of the operation: what is asked, and the value that is recorded.

Nothing of this is shared with the checkers: it is an object, not a model.
"""


@dataclass(slots=True, kw_only=True)
class Clients:
    """How many, how often nobody hears what became of an operation, and how long one takes."""

    processes: int = 5
    unknown: float = 0.02
    spread: int = 12
    key: object = None
    keep_lost: Callable[[str], bool] = field(default=lambda f: f not in {"read", "get"})


def lived(random: Random, size: int, apply: Apply, clients: Clients) -> list[Operation]:
    """A history of `size` operations. Clients begin, the object acts, they hear of it later."""
    now = 0
    built: list[Operation] = []
    free = dict.fromkeys(range(clients.processes), 0)
    waiting = list(free)
    fresh = clients.processes
    while len(built) < size:
        process = random.choice(waiting)
        begun = max(free[process], now - random.randrange(clients.spread)) + 1
        moment = max(now, begun) + 1
        now = moment
        f, value = apply(random, len(built))
        ended: int | None = moment + random.randrange(1, clients.spread)
        kind = CompletionType.OK
        free[process] = moment + clients.spread
        if random.random() < clients.unknown and clients.keep_lost(f):
            ended, kind = None, CompletionType.INFO
            waiting.remove(process)
            waiting.append(fresh)
            free[fresh] = moment + 1
            fresh += 1
        else:
            assert ended is not None
            free[process] = ended
        built.append(
            Operation(
                number=len(built),
                process=process,
                f=f,
                value=value,
                begun=begun,
                ended=ended,
                key=clients.key,
                kind=kind,
            )
        )
    return spaced(built)


def spaced(operations: list[Operation]) -> list[Operation]:
    """The same order of events, with every event at a place of its own: lines of a file."""
    events: list[tuple[int, int, int]] = []
    for at, each in enumerate(operations):
        events.append((each.begun, 0, at))
        if each.ended is not None:
            events.append((each.ended, 1, at))
    begun: dict[int, int] = {}
    ended: dict[int, int] = {}
    for place, (_, end, at) in enumerate(sorted(events)):
        (ended if end else begun)[at] = place
    return [
        replace(each, begun=begun[at], ended=ended.get(at), number=begun[at])
        for at, each in sorted(enumerate(operations), key=lambda pair: begun[pair[0]])
    ]


def register(*, values: int | None, cas: bool) -> Apply:
    """A register; with `values` None every written value is new."""
    state: list[object] = [None]

    def apply(random: Random, number: int) -> tuple[str, object]:
        new = number + 1 if values is None else random.randrange(values)
        dice = random.random()
        if dice < 0.5:
            return "read", state[0]
        if cas and dice < 0.7 and state[0] is not None:
            old, state[0] = state[0], new
            return "cas", [old, new]
        state[0] = new
        return "write", new

    return apply


def text() -> Apply:
    """A text with put, append and get."""
    state = [""]

    def apply(random: Random, number: int) -> tuple[str, object]:
        dice, piece = random.random(), f"x {number} y"
        if dice < 0.5:
            return "get", state[0]
        if dice < 0.6:
            state[0] = piece
            return "put", piece
        state[0] += piece
        return "append", piece

    return apply


def growing_set() -> Apply:
    """A set to which every number is added once."""
    state: list[int] = []

    def apply(random: Random, number: int) -> tuple[str, object]:
        if random.random() < 0.4:
            return "read", random.sample(state, len(state))
        state.append(number)
        return "add", number

    return apply


def counter() -> Apply:
    """A counter."""
    state = [0]

    def apply(random: Random, _: int) -> tuple[str, object]:
        if random.random() < 0.4:
            return "read", state[0]
        amount = random.randint(-3, 5)
        state[0] += amount
        return "add", amount

    return apply


def bank(accounts: int = 4, opening: int = 100) -> Apply:
    """A bank in which money only moves."""
    state = {f"a{number}": opening for number in range(accounts)}

    def apply(random: Random, number: int) -> tuple[str, object]:
        if random.random() < 0.4:
            return "read", dict(state)
        source, target = random.sample(sorted(state), 2)
        amount = random.randint(1, 9)
        state[source] -= amount
        state[target] += amount
        return "transfer", [source, target, amount, number]

    return apply


def many_keys(
    seed: int, keys: int, size: int, make: Callable[[], Apply], clients: Clients | None = None
) -> Iterator[list[Operation]]:
    """Histories of many objects, one after another."""
    known = clients or Clients()
    for key in range(keys):
        yield lived(Random(f"{seed} {key}"), size, make(), replace(known, key=key))
