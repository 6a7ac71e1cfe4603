"""A bank: one object for all accounts, because a transfer changes two at once."""

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
    opening balances the first read in the order defines them; until then any balance is possible.
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
        """Every balance is observable."""
        return False

    def words(self, state: State) -> str:
        """The balances."""
        assert isinstance(state, tuple)
        return repr(dict(state))

    def needless(self, operations: Sequence[Operation]) -> frozenset[int]:  # noqa: ARG002 - the protocol's
        """None: a later read may have seen any transfer."""
        return frozenset()

    def atoms(self, operations: Sequence[Operation]) -> list[Atom]:
        """Return the reads only: every transfer changes the result of later reads."""
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
