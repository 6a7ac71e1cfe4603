"""A bank: one object over all accounts, because a transfer touches two of them at once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from admin.checker.clip import clip
from admin.checker.linear.models import (
    Atom,
    FittedModel,
    Sentinel,
    State,
    look_atoms,
    without_looks,
)
from admin.checker.operation import Frozen, Members, Operation


@dataclass(frozen=True, slots=True)
class Bank:
    """`transfer` of `[from, to, amount, ...]` and `read` of all accounts at one moment.

    With `overdraft` off a transfer that would go below zero is refused by the system. Without
    opening balances the first read in the order says them; until then anything may be there.
    """

    initial: State = Sentinel.ANY
    overdraft: bool = False

    @classmethod
    def of(cls, balances: Mapping[str, int], *, overdraft: bool = False) -> "Bank":
        """A bank that opens with these balances."""
        return cls(Members(sorted(balances.items())), overdraft)

    @property
    def start(self) -> State:
        """The state before the first operation."""
        return self.initial

    def fit(self, operations: Sequence[Operation]) -> FittedModel:  # noqa: ARG002 - the protocol's
        """Every set of balances is a state."""
        return self

    def step(self, state: State, f: str, value: Frozen) -> State:
        """A read sees every balance at one moment; a transfer moves money in one step."""
        match f:
            case "read":
                return value if state is Sentinel.ANY or value == state else Sentinel.NEVER
            case "transfer":
                return state if state is Sentinel.ANY else self._transfer(state, value)
            case other:
                raise ValueError(f"a bank has no operation {clip(other)}")

    def idle(self, f: str, value: Frozen) -> bool:  # noqa: ARG002 - the protocol's
        """No balance is unseen."""
        return False

    def words(self, state: State) -> str:
        """The balances."""
        assert isinstance(state, tuple)
        return repr(dict(state))

    def needless(self, operations: Sequence[Operation]) -> frozenset[int]:  # noqa: ARG002 - the protocol's
        """None: any transfer may be what a later read saw."""
        return frozenset()

    def atoms(self, operations: Sequence[Operation]) -> list[Atom]:
        """Return the reads: every transfer changes what later reads must see."""
        return look_atoms(operations)

    def without(self, operations: Sequence[Operation], gone: Collection[Atom]) -> list[Operation]:
        """Leave out reads."""
        return without_looks(operations, gone)

    def _transfer(self, state: State, value: Frozen) -> State:
        if not isinstance(value, tuple):
            raise TypeError(f"a transfer is [from, to, amount], not {clip(value)}")
        source, target, amount = value[:3]
        assert isinstance(state, tuple)
        balances: dict[str, int] = dict(state)
        if source not in balances or target not in balances:
            return Sentinel.NEVER
        if balances[source] < amount and not self.overdraft:
            return Sentinel.NEVER
        balances[source] -= amount
        balances[target] += amount
        return Members(balances.items())
