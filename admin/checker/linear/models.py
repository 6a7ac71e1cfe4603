"""What a register, a compare-and-set register and a bank may answer: sequential specifications."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a client.

    `begun` and `ended` are places in one order of events; `ended` is None when nobody knows
    whether it took effect: it may do so at any time after `begun`, or never. `value` is what
    was asked for, for a read what was answered.
    """

    number: int
    process: int
    f: str
    value: object
    begun: int
    ended: int | None


State: TypeAlias = Hashable
"""What a model remembers; compared and hashed by the search."""


class Model(Protocol):
    """A sequential object. Stepping is pure."""

    @property
    def initial(self) -> State:
        """The state before the first operation."""
        ...

    def step(self, state: State, operation: Operation) -> tuple[bool, State]:
        """Whether the operation can answer so in this state, and the state after it."""
        ...

    def groups(self, operations: Sequence[Operation]) -> list[list[int]]:
        """Numbers of operations that can be left out together.

        Sound: if all operations have a legal order, so have the rest without any such group.
        """
        ...

    def unseen(self, operations: Sequence[Operation]) -> frozenset[int]:
        """Numbers of unknown operations that no order needs."""
        ...


@dataclass(frozen=True, slots=True)
class Register:
    """`read` answers the newest `write`. Values may be anything JSON has."""

    initial: State = None

    def step(self, state: State, operation: Operation) -> tuple[bool, State]:
        """A write is always possible; a read only of what is there."""
        value = freeze(operation.value)
        match operation.f:
            case "read":
                return value == state, state
            case "write":
                return True, value
            case other:
                raise ValueError(f"a register has no operation {other!r}")

    def groups(self, operations: Sequence[Operation]) -> list[list[int]]:
        """All operations on one value, then single reads."""
        return _groups_by_value(operations, self.initial)

    def unseen(self, operations: Sequence[Operation]) -> frozenset[int]:
        """Unknown writes of what nobody read."""
        return _unseen_writes(operations)


@dataclass(frozen=True, slots=True)
class CasRegister:
    """A register that also has `cas` of `[old, new]`: it happens only if `old` is there.

    A `cas` that found something else is recorded as a definite failure, and so is not here.
    """

    initial: State = None

    def step(self, state: State, operation: Operation) -> tuple[bool, State]:
        """As a register, and `cas` where its condition holds."""
        if operation.f == "cas":
            old, new = _pair(operation.value)
            return old == state, new
        return Register(self.initial).step(state, operation)

    def groups(self, operations: Sequence[Operation]) -> list[list[int]]:
        """All operations on one value unless a `cas` ties it to another, then single reads."""
        return _groups_by_value(operations, self.initial)

    def unseen(self, operations: Sequence[Operation]) -> frozenset[int]:
        """Unknown writes of what nobody read or compared with."""
        return _unseen_writes(operations)


@dataclass(frozen=True, slots=True)
class Bank:
    """Accounts with balances: `transfer` of `[from, to, amount, ...]` and `read` of all of them.

    With `overdraft` off a transfer that would go below zero is refused by the system.
    """

    initial: State
    overdraft: bool = False

    @classmethod
    def of(cls, balances: Mapping[str, int], *, overdraft: bool = False) -> "Bank":
        """A bank that opens with these balances."""
        return cls(freeze(dict(balances)), overdraft)

    def step(self, state: State, operation: Operation) -> tuple[bool, State]:
        """A read sees every balance at one moment; a transfer moves money in one step."""
        match operation.f:
            case "read":
                return freeze(operation.value) == state, state
            case "transfer":
                return self._transfer(state, operation.value)
            case other:
                raise ValueError(f"a bank has no operation {other!r}")

    def groups(self, operations: Sequence[Operation]) -> list[list[int]]:
        """Only reads: every transfer moves what later reads must see."""
        return [[each.number] for each in operations if each.f == "read"]

    def unseen(self, operations: Sequence[Operation]) -> frozenset[int]:  # noqa: ARG002 - the model asks
        """None: any transfer may be what a later read saw."""
        return frozenset()

    def _transfer(self, state: State, value: object) -> tuple[bool, State]:
        if not isinstance(value, list | tuple):
            raise TypeError(f"a transfer is [from, to, amount], not {value!r}")
        source, target, amount = value[:3]
        assert isinstance(state, tuple)
        balances: dict[object, int] = dict(state)
        if source not in balances or target not in balances:
            return False, state
        if balances[source] < amount and not self.overdraft:
            return False, state
        balances[source] -= amount
        balances[target] += amount
        return True, tuple(balances.items())


MODELS = ("register", "cas-register", "bank")
"""Names under which the models are known to people."""


def freeze(value: object) -> State:
    """A JSON value as something that can be hashed; objects are ordered by member name."""
    if isinstance(value, dict):
        return tuple(sorted((str(name), freeze(member)) for name, member in value.items()))
    if isinstance(value, list | tuple):
        return tuple(freeze(member) for member in value)
    assert isinstance(value, Hashable)
    return value


def _pair(value: object) -> tuple[State, State]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"a cas is [old, new], not {value!r}")
    old, new = value
    return freeze(old), freeze(new)


def _groups_by_value(operations: Sequence[Operation], initial: State) -> list[list[int]]:
    by_value: dict[State, list[int]] = {}
    tied: set[State] = {initial}
    for each in operations:
        if each.f == "cas":
            tied.update(_pair(each.value))
        else:
            by_value.setdefault(freeze(each.value), []).append(each.number)
    whole = [numbers for value, numbers in by_value.items() if value not in tied]
    reads = [[each.number] for each in operations if each.f == "read"]
    return whole + reads


def _unseen_writes(operations: Sequence[Operation]) -> frozenset[int]:
    seen: set[State] = set()
    for each in operations:
        if each.f == "read":
            seen.add(freeze(each.value))
        elif each.f == "cas":
            seen.add(_pair(each.value)[0])
    return frozenset(
        each.number
        for each in operations
        if each.f == "write" and each.ended is None and freeze(each.value) not in seen
    )
