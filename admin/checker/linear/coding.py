"""States and operations of one object as small integers, each step computed once."""

from collections.abc import Sequence

from admin.checker.linear.models import Model, Sentinel, State
from admin.checker.operation import LOOKS, Frozen, Operation, freeze

NEVER = -1
"""Instead of a state: the operation cannot have this answer here."""


class Coding:
    """A model fitted to a history. `rows[state].get(code)` is the next state, if computed.

    `looks[code]`: it never changes the state. `idle[code]`: it does not change the state `unseen`
    and may come at once there.
    """

    def __init__(self, operations: Sequence[Operation], model: Model) -> None:
        self._machine = model.fit(operations)
        self._states: dict[State, int] = {}
        self._names: list[State] = []
        self._asked: list[tuple[str, Frozen]] = []
        self._codes: dict[tuple[str, Frozen], int] = {}
        self.rows: list[dict[int, int]] = []
        self.looks: list[bool] = []
        self.idle: list[bool] = []
        self.unseen = self._state(Sentinel.UNSEEN)
        self.start = self._state(self._machine.start)

    def code(self, operation: Operation) -> int:
        """Operations with the same code have the same effect."""
        asked = (operation.f, freeze(operation.value))
        code = self._codes.get(asked)
        if code is None:
            code = self._codes[asked] = len(self._asked)
            self._asked.append(asked)
            self.looks.append(operation.f in LOOKS)
            self.idle.append(self._machine.idle(*asked))
        return code

    def step(self, state: int, code: int) -> int:
        """The state after an operation, or NEVER."""
        known = self.rows[state].get(code)
        if known is None:
            after = self._machine.step(self._names[state], *self._asked[code])
            known = NEVER if after is Sentinel.NEVER else self._state(after)
            self.rows[state][code] = known
        return known

    def name(self, state: int) -> str:
        """A state as text."""
        found = self._names[state]
        return found.value if isinstance(found, Sentinel) else self._machine.words(found)

    def _state(self, state: State) -> int:
        code = self._states.get(state)
        if code is None:
            code = self._states[state] = len(self._names)
            self._names.append(state)
            self.rows.append({})
        return code
