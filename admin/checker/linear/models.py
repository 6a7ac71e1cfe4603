"""Sequential specifications: the legal answers of one object to one operation after another."""

import collections
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol, TypeAlias

from admin.checker.clip import clip
from admin.checker.operation import LOOKS, Frozen, Operation, freeze

State: TypeAlias = Hashable
"""The state of an object; compared and hashed by the search."""

Atom: TypeAlias = Hashable
"""A part of a history that can be removed, by the model's own name."""


NO_SET = -1
"""Not the elements of any set."""


class Sentinel(Enum):
    """Special values besides the object's states."""

    NEVER = "the operation cannot come here"
    UNSEEN = "something that nobody read"
    ANY = "not known yet: the first read says it"


class FittedModel(Protocol):
    """A model fitted to one history. Stepping is pure."""

    @property
    def start(self) -> State:
        """The state before the first operation."""
        ...

    def step(self, state: State, f: str, value: Frozen) -> State:
        """The state after the operation, or `Mark.NEVER` if its answer is illegal here."""
        ...

    def idle(self, f: str, value: Frozen) -> bool:
        """In `Mark.UNSEEN` it may come at once: no order needs it at a later place."""
        ...

    def words(self, state: State) -> str:
        """A state of the object, as text."""
        ...


class Model(Protocol):
    """A kind of object."""

    def fit(self, operations: Sequence[Operation]) -> FittedModel:
        """The object fitted to a history: states that it cannot distinguish are merged."""
        ...

    def needless(self, operations: Sequence[Operation]) -> frozenset[int]:
        """Numbers of unknown operations that no order needs."""
        ...

    def atoms(self, operations: Sequence[Operation]) -> list[Atom]:
        """The removable parts. Sound: if the whole has a legal order, so has the rest."""
        ...

    def without(self, operations: Sequence[Operation], gone: Collection[Atom]) -> list[Operation]:
        """The history without some of its atoms."""
        ...


@dataclass(frozen=True, slots=True)
class Register:
    """`read` answers the newest `write`; `cas` of `[old, new]` happens only if `old` is there.

    A `cas` that found something else is recorded as a definite failure, and so is not here;
    where the history says that it compared, `cas-unequal` of `[old, new]` is what it saw.
    """

    initial: State = None

    def fit(self, operations: Sequence[Operation]) -> FittedModel:
        """Values that no operation read or compared are merged."""
        seen = _seen(operations)
        first = freeze(self.initial)
        unequal = any(each.f == "cas-unequal" for each in operations)
        return _RegisterMachine(first if first in seen else Sentinel.UNSEEN, seen, unequal)

    def needless(self, operations: Sequence[Operation]) -> frozenset[int]:
        """Writes of values that no read saw, unless a read saw another value there."""
        if any(each.f == "cas-unequal" for each in operations):
            return frozenset()
        seen = _seen(operations)
        return frozenset(
            each.number for each in operations if each.ended is None and _written(each) not in seen
        )

    def atoms(self, operations: Sequence[Operation]) -> list[Atom]:
        """All operations on one value, and on what a `cas` ties to it; then single looks."""
        ties = _Ties()
        for each in operations:
            if each.f == "cas":
                old, new = pair(each.value)
                ties.tie(old, new)
        values = dict.fromkeys(ties.root(value) for each in operations for value in _touched(each))
        looks = [each.number for each in operations if each.f in LOOKS]
        return [*(("value", value) for value in values), *(("number", one) for one in looks)]

    def without(self, operations: Sequence[Operation], gone: Collection[Atom]) -> list[Operation]:
        """Remove operations on removed values.

        A comparison may have been unequal because of such a value, so it is removed too.
        """
        ties = _Ties()
        for each in operations:
            if each.f == "cas":
                ties.tie(*pair(each.value))
        some = any(isinstance(atom, tuple) and atom[0] == "value" for atom in gone)
        return [
            each
            for each in operations
            if ("number", each.number) not in gone
            and not (some and each.f == "cas-unequal")
            and not any(("value", ties.root(value)) in gone for value in _touched(each))
        ]

    def unwritten(self, operations: Sequence[Operation]) -> tuple[Operation, Frozen] | None:
        """The first operation that returned a value that was never written, and the value."""
        known = {freeze(self.initial)}
        known.update(_written(each) for each in operations if each.f in {"write", "cas"})
        told = (each for each in operations if each.ended is not None and each.f in {"read", "cas"})
        odd = [(each, value) for each in told if (value := _read(each)) not in known]
        return min(odd, key=lambda one: one[0].ended or 0, default=None)


CasRegister = Register
"""The same object: a register without `cas` in its history."""


@dataclass(frozen=True, slots=True)
class Counter:
    """`read` answers the sum of all `add`."""

    initial: int = 0

    @property
    def start(self) -> State:
        """The state before the first operation."""
        return self.initial

    def fit(self, operations: Sequence[Operation]) -> FittedModel:  # noqa: ARG002 - the protocol's
        """Every sum is a state."""
        return self

    def step(self, state: State, f: str, value: Frozen) -> State:
        """Add, or read what is there."""
        assert isinstance(state, int)
        match f:
            case "add":
                if not isinstance(value, int):
                    raise TypeError(f"a counter adds numbers, not {clip(value)}")
                return state + value
            case "read":
                return state if value == state else Sentinel.NEVER
            case other:
                raise ValueError(f"a counter has no operation {clip(other)}")

    def idle(self, f: str, value: Frozen) -> bool:  # noqa: ARG002 - the protocol's
        """Every sum is observable."""
        return False

    def words(self, state: State) -> str:
        """The sum."""
        return repr(state)

    def needless(self, operations: Sequence[Operation]) -> frozenset[int]:
        """Additions of nothing."""
        return frozenset(
            each.number for each in operations if each.ended is None and not each.value
        )

    def atoms(self, operations: Sequence[Operation]) -> list[Atom]:
        """Return the reads only: every addition changes the result of later reads."""
        return look_atoms(operations)

    def without(self, operations: Sequence[Operation], gone: Collection[Atom]) -> list[Operation]:
        """Leave out reads."""
        return without_looks(operations, gone)


@dataclass(frozen=True, slots=True)
class GrowingSet:
    """`read` answers every element that was added, once, in any order."""

    initial: tuple[Frozen, ...] = ()

    def fit(self, operations: Sequence[Operation]) -> FittedModel:
        """Sets that are not a subset of any answer are merged."""
        return _SetMachine(self.initial, operations)

    def needless(self, operations: Sequence[Operation]) -> frozenset[int]:
        """Additions of elements that no read returned."""
        seen = frozenset[Frozen]().union(
            *(members(each.value) for each in operations if each.f == "read")
        )
        return frozenset(
            each.number
            for each in operations
            if each.ended is None and freeze(each.value) not in seen
        )

    def atoms(self, operations: Sequence[Operation]) -> list[Atom]:
        """Single elements, also out of the answers; then single reads."""
        elements = dict.fromkeys(freeze(each.value) for each in operations if each.f == "add")
        return [("element", element) for element in elements] + look_atoms(operations)

    def without(self, operations: Sequence[Operation], gone: Collection[Atom]) -> list[Operation]:
        """Answers keep their remaining elements."""
        kept: list[Operation] = []
        for each in operations:
            if each.f != "read":
                if ("element", freeze(each.value)) not in gone:
                    kept.append(each)
            elif ("number", each.number) not in gone:
                assert isinstance(each.value, list | tuple | set | frozenset)
                rest = [one for one in each.value if ("element", freeze(one)) not in gone]
                kept.append(replace(each, value=rest))
        return kept


def look_atoms(operations: Sequence[Operation]) -> list[Atom]:
    """Single reads: an order stays legal without them, whatever the object."""
    return [("number", each.number) for each in operations if each.f in LOOKS]


def without_looks(operations: Sequence[Operation], gone: Collection[Atom]) -> list[Operation]:
    """The history without some reads."""
    return [each for each in operations if ("number", each.number) not in gone]


def pair(value: object) -> tuple[Frozen, Frozen]:
    """The two values of a `cas`."""
    if not isinstance(value, list | tuple) or len(value) != 2:  # noqa: PLR2004 - a pair
        raise TypeError(f"a cas is [old, new], not {clip(value)}")
    old, new = value
    return freeze(old), freeze(new)


def members(value: object) -> frozenset[Frozen]:
    """The elements that a read of a set answered."""
    if value is None:
        return frozenset()
    if not isinstance(value, list | tuple | set | frozenset):
        raise TypeError(f"a set reads a list of elements, not {clip(value)}")
    return frozenset(freeze(each) for each in value)


def twice(value: object) -> list[Frozen]:
    """The elements that the answer of a read holds more than once: no set does."""
    known = [freeze(each) for each in value] if isinstance(value, list | tuple) else []
    return [element for element, count in collections.Counter(known).items() if count > 1]


@dataclass(frozen=True, slots=True)
class _RegisterMachine:
    start: State
    seen: frozenset[Frozen]
    unequal: bool

    def idle(self, f: str, value: Frozen) -> bool:
        # An unequal comparison may have seen any of these values, so they matter then.
        return f == "write" and value not in self.seen and not self.unequal

    def words(self, state: State) -> str:
        return repr(list(state) if isinstance(state, tuple) else state)

    def step(self, state: State, f: str, value: Frozen) -> State:
        match f:
            case "read":
                return state if value == state else Sentinel.NEVER
            case "write":
                return self._known(value)
            case "cas":
                old, new = pair(value)
                return self._known(new) if old == state else Sentinel.NEVER
            case "cas-unequal":
                old, _ = pair(value)
                return state if old != state else Sentinel.NEVER
            case other:
                raise ValueError(f"a register has no operation {clip(other)}")

    def _known(self, value: Frozen) -> State:
        return value if value in self.seen else Sentinel.UNSEEN


class _SetMachine:
    """A set is an integer: a bit for each element."""

    def __init__(self, initial: Collection[Frozen], operations: Sequence[Operation]) -> None:
        self._bits: dict[Frozen, int] = {}
        self._masks: dict[Frozen, int] = {}
        self._reads = {self._mask(freeze(each.value)) for each in operations if each.f == "read"}
        self.start = self._known(self._mask(tuple(initial)))

    def idle(self, f: str, value: Frozen) -> bool:  # noqa: ARG002 - the protocol's
        return f == "add"  # no later addition leads back to the read set

    def words(self, state: State) -> str:
        assert isinstance(state, int)
        return repr([element for element, bit in self._bits.items() if state & bit])

    def step(self, state: State, f: str, value: Frozen) -> State:
        match f:
            case "read":
                return state if self._mask(value) == state else Sentinel.NEVER
            case "add":
                return self._known(state | self._bit(value)) if isinstance(state, int) else state
            case other:
                raise ValueError(f"a set has no operation {clip(other)}")

    def _known(self, mask: int) -> State:
        return mask if any(mask & ~read == 0 for read in self._reads) else Sentinel.UNSEEN

    def _bit(self, element: Frozen) -> int:
        return self._bits.setdefault(element, 1 << len(self._bits))

    def _mask(self, value: Frozen) -> int:
        mask = self._masks.get(value)
        if mask is None:
            found = value if isinstance(value, tuple) else members(value)
            mask = sum({self._bit(element) for element in found})
            self._masks[value] = mask = NO_SET if twice(found) else mask
        return mask


class _Ties:
    """Connected values; each component is named by one of its values."""

    def __init__(self) -> None:
        self._parent: dict[Frozen, Frozen] = {}

    def root(self, value: Frozen) -> Frozen:
        while (parent := self._parent.get(value, value)) != value:
            value = parent
        return value

    def tie(self, one: Frozen, other: Frozen) -> None:
        self._parent[self.root(one)] = self.root(other)


def _seen(operations: Sequence[Operation]) -> frozenset[Frozen]:
    seen: set[Frozen] = set()
    for each in operations:
        if each.f == "read":
            seen.add(freeze(each.value))
        elif each.f in {"cas", "cas-unequal"}:
            seen.add(pair(each.value)[0])
    return frozenset(seen)


def _written(operation: Operation) -> Frozen:
    return pair(operation.value)[1] if operation.f == "cas" else freeze(operation.value)


def _read(operation: Operation) -> Frozen:
    return pair(operation.value)[0] if operation.f == "cas" else freeze(operation.value)


def _touched(operation: Operation) -> tuple[Frozen, ...]:
    match operation.f:
        case "cas":
            return pair(operation.value)
        case "cas-unequal":
            return ()
        case _:
            return (freeze(operation.value),)
