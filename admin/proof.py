"""What must hold after a run, looked up in the healed cluster and in the history."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from admin import ask
from admin.checker.linear import Bank, CasRegister, Model, check
from admin.checker.operation import operations
from admin.checker.verdict import Result, Verdict
from admin.history import History, Line, Type
from admin.workload import (
    ACCOUNTS,
    BALANCE,
    BANK,
    JOURNAL,
    KEYS,
    LEFT,
    REGISTERS,
    RIGHT,
    Tally,
    balances_of,
    integer,
)
from qsync.client.blocking import Client
from qsync.errors import QsyncError, Unavailable
from qsync.wire.verbs import Digest

AGAIN_S = 0.1
PAGE = 10_000
EXAMPLES_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The findings. `lost` and `rolled_back_visible` hold numbers of the journal."""

    lost: tuple[int, ...]
    rolled_back_visible: tuple[int, ...]
    balances: dict[str, int]
    balances_expected: dict[str, int]
    linearity: Verdict
    replicas_identical: bool
    digests: dict[str, dict[str, str]]

    @property
    def total_conserved(self) -> bool:
        """Every transfer in the journal was made exactly once, so no money appeared or went."""
        return (
            self.balances == self.balances_expected
            and sum(self.balances.values()) == 2 * ACCOUNTS * BALANCE
        )

    @property
    def holds(self) -> bool:
        """Everything that was promised."""
        return (
            not self.lost
            and not self.rolled_back_visible
            and self.total_conserved
            and self.linearity.result is Result.PASS
            and self.replicas_identical
        )

    def complaints(self) -> list[str]:
        """What does not hold, in words."""
        said: list[str] = []
        if self.lost:
            said.append(f"{len(self.lost)} acknowledged writes are missing: {_some(self.lost)}")
        if self.rolled_back_visible:
            seen = _some(self.rolled_back_visible)
            said.append(f"{len(self.rolled_back_visible)} rolled-back writes are visible: {seen}")
        if not self.total_conserved:
            said.append(f"the bank holds {self.balances}, not {self.balances_expected}")
        if not self.replicas_identical:
            said.append(f"replicas differ: {self.digests}")
        if self.linearity.result is not Result.PASS:
            said += self.linearity.describe()
        return said


def read_back(client: Client, history: History) -> tuple[set[int], dict[str, int]]:
    """Read everything linearizably: the numbers in the journal, and the balances."""
    process = history.new_process()
    for key in range(KEYS):
        history.invoke(process, "read", key=f"register {key}")
        found = client.space(REGISTERS).get([key])
        history.complete(process, Type.OK, value=None if found is None else found[1])
    journal: set[int] = set()
    after: list[object] | None = None
    while rows := client.space(JOURNAL).select(limit=PAGE, after=after, iterator="all"):
        journal.update(integer(row[0]) for row in rows)
        after = rows[-1]
    return journal, balances_of(client)


def prove(
    tally: Tally,
    lines: Sequence[Line],
    *,
    journal: set[int],
    balances: dict[str, int],
    digests: dict[str, dict[str, str]],
) -> Proof:
    """Hold what was told against what is there."""
    return Proof(
        lost=tuple(sorted(set(tally.acked) - journal)),
        rolled_back_visible=tuple(sorted(tally.undone & journal)),
        balances=balances,
        balances_expected=_expected(lines, journal),
        linearity=check(operations(lines), _model_of),
        replicas_identical=len({str(sorted(each.items())) for each in digests.values()}) == 1,
        digests=digests,
    )


def same_digests(addresses: Sequence[str], *, timeout: float) -> dict[str, dict[str, str]]:
    """The digests of all nodes at one index. Raises Unavailable if they never meet."""
    deadline = time.monotonic() + timeout
    while True:
        answers: dict[str, tuple[object, dict[str, str]]] = {}
        for address in addresses:
            try:
                visible, _, found = ask.value(address, Digest(1))
            except QsyncError:
                break
            assert isinstance(found, dict)
            answers[address] = (visible, found)
        same = {visible for visible, _ in answers.values()}
        if len(answers) == len(addresses) and len(same) == 1:
            return {address: found for address, (_, found) in answers.items()}
        if time.monotonic() > deadline:
            where = {address: visible for address, (visible, _) in answers.items()}
            raise Unavailable(f"the replicas did not meet at one index: {where}")
        time.sleep(AGAIN_S)


def _expected(lines: Sequence[Line], journal: set[int]) -> dict[str, int]:
    """The balances after each transfer of the journal, once."""
    balances = _opening()
    for line in lines:
        if line.f == "transfer" and line.type is Type.INVOKE:
            assert isinstance(line.value, list)
            source, target, amount, number = line.value
            if number in journal:
                balances[source] -= amount
                balances[target] += amount
    return balances


def _opening() -> dict[str, int]:
    return {f"{name}/{account}": BALANCE for name in (LEFT, RIGHT) for account in range(ACCOUNTS)}


def _model_of(key: object) -> Model | None:
    if key == BANK:
        return Bank.of(_opening(), overdraft=True)
    return CasRegister()


def _some(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:EXAMPLES_MAX]))
    return shown + (" ..." if len(numbers) > EXAMPLES_MAX else "")
