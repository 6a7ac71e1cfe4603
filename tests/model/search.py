"""Every state that a model can come to, breadth first, and the shortest way to a broken one."""

import time
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

S = TypeVar("S", bound=Hashable)
S_co = TypeVar("S_co", bound=Hashable, covariant=True)


class Move(Protocol[S_co]):
    """A step of a model."""

    @property
    def what(self) -> str:
        """What happens, in words."""

    @property
    def state(self) -> S_co:
        """What comes of it."""

    @property
    def broken(self) -> str:
        """What must never be, if it is."""


class Model(Protocol[S]):
    """What is searched."""

    def first(self) -> S:
        """Where it begins."""

    def steps(self, state: S) -> Iterable[Move[S]]:
        """Everything that may happen next."""

    def broken(self, state: S) -> str:
        """Which property does not hold in it; empty if all do."""

    def same(self, state: S) -> S:
        """One of all states that are alike up to the names of nodes, the same for each of them."""

    def reached(self, what: str, state: S) -> str:
        """What a scope is about, if it just happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """The result of a search. `broken` and `way`: the violated property, and the path to it."""

    states: int
    steps: int
    depth: int
    seconds: float
    broken: str = ""
    way: tuple[str, ...] = ()
    reached: frozenset[str] = frozenset()


class TooManyStates(Exception):
    """There are more states than a search may keep."""


def search(model: Model[S], *, states_max: int = 20_000_000) -> Searched:
    """Visit all states, or stop at the first that is broken. Raises TooManyStates."""
    began = time.process_time()
    first = model.same(model.first())
    parents: list[int] = [-1]
    seen = {first}
    level: list[tuple[int, S]] = [(0, first)]
    steps = depth = 0
    reached = set[str]()

    def done(broken: str = "", way: tuple[str, ...] = ()) -> Searched:
        return Searched(
            states=len(seen),
            steps=steps,
            depth=depth,
            seconds=time.process_time() - began,
            broken=broken,
            way=way,
            reached=frozenset(reached),
        )

    # What is kept of a state is its number among all, so that a way back needs no second search.
    kept: list[S] = [first]
    while level:
        below: list[tuple[int, S]] = []
        for number, state in level:
            for move in model.steps(state):
                steps += 1
                found = model.same(move.state)
                if found in seen and not move.broken:
                    continue
                reached.add(model.reached(move.what, move.state))
                broken = move.broken or model.broken(found)
                if broken:
                    return done(broken, tuple(_way(model, kept, parents, number)))
                seen.add(found)
                if len(seen) > states_max:
                    raise TooManyStates(f"more than {states_max:,} at depth {depth}")
                parents.append(number)
                kept.append(found)
                below.append((len(kept) - 1, found))
        level = below
        depth += 1
    return done()


def _way(model: Model[S], kept: list[S], parents: list[int], number: int) -> Iterator[str]:
    """What happened up to a state and broke there, in the names that the beginning has."""
    chain = list[S]()
    while number >= 0:
        chain.append(kept[number])
        number = parents[number]
    state = model.first()
    for wanted in reversed(chain[:-1]):
        for move in model.steps(state):
            if model.same(move.state) == wanted:
                yield move.what
                state = move.state
                break
        else:
            raise AssertionError("a step of a renamed state is none of the state itself")
    for move in model.steps(state):
        if move.broken or model.broken(model.same(move.state)):
            yield move.what
            return
