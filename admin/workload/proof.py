"""Checks after a run what must hold, in the healed cluster and in the history."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from admin.checker.elle import check_appends
from admin.checker.linear import LINEARIZABLE, Bank, CasRegister, GrowingSet, Model, check
from admin.checker.operation import operations
from admin.checker.sessions import check_read_your_writes
from admin.checker.verdict import Result, Verdict, merge
from admin.cluster import ask
from admin.workload.catalogue import LOADS, balances_of, integer, register, set_name, set_of
from admin.workload.history import History, HistoryLine, OutcomeType
from admin.workload.load_names import (
    ACCOUNTS,
    BALANCE,
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
from admin.workload.restored import RestoredPoint, stretches, survives
from admin.workload.tally import WriteTally
from election.messages import Position
from qsync.client.blocking import Client
from qsync.client.rows import Row
from qsync.errors import QsyncError, Unavailable
from qsync.wire.verbs import DigestRequest

AGAIN_S = 0.1
PAGE = 10_000
EXAMPLES_MAX = 10
_TOTAL = 2 * ACCOUNTS * BALANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The findings. `lost` and `rolled_back_visible` hold numbers of the journal.

    So do `left_behind`: acknowledged, and behind the point to which the cluster was restored, and
    `not_left_behind`: those of them that are there all the same.
    """

    lost: tuple[int, ...]
    rolled_back_visible: tuple[int, ...]
    balances: dict[str, int]
    balances_expected: dict[str, int]
    linearity: Verdict
    replicas_identical: bool
    digests: dict[str, dict[str, str]]
    left_behind: tuple[int, ...] = ()
    not_left_behind: tuple[int, ...] = ()

    @property
    def total_conserved(self) -> bool:
        """Every transfer in the journal was made exactly once, so no money appeared or went."""
        return self.balances == self.balances_expected and (
            not self.balances or sum(self.balances.values()) == _TOTAL
        )

    @property
    def holds(self) -> bool:
        """Whether every promise held."""
        return (
            not self.lost
            and not self.rolled_back_visible
            and not self.not_left_behind
            and self.total_conserved
            and self.linearity.result is Result.PASS
            and self.replicas_identical
        )

    def complaints(self) -> list[str]:
        """Return what does not hold, in words."""
        said: list[str] = []
        if self.lost:
            said.append(f"{len(self.lost)} acknowledged writes are missing: {_some(self.lost)}")
        if self.rolled_back_visible:
            seen = _some(self.rolled_back_visible)
            said.append(f"{len(self.rolled_back_visible)} rolled-back writes are visible: {seen}")
        if self.not_left_behind:
            seen = _some(self.not_left_behind)
            said.append(f"{len(self.not_left_behind)} writes behind the restore are there: {seen}")
        if not self.total_conserved:
            said.append(f"the bank holds {self.balances}, not {self.balances_expected}")
        if not self.replicas_identical:
            said.append(f"replicas differ: {self.digests}")
        if self.linearity.result is not Result.PASS:
            said += self.linearity.describe()
        return said


def read_back(
    client: Client, history: History, kind: LoadKind = LoadKind.MIXED
) -> tuple[set[int], dict[str, int]]:
    """Read everything linearizably: numbers of the writes that are there, and the balances."""
    spaces = LOADS[kind].spaces
    process = history.new_process()
    for space, look in _LOOKS.items():
        if space in spaces:
            look(client, history, process)
    written = {integer(row[0]) for row in _rows(client, JOURNAL)}
    if QUEUE in spaces:
        # Asynchronous writes are not in a journal; the queue is read once, at the end.
        written |= {integer(row[0]) for row in _rows(client, QUEUE)}
        history.invoke(process, "read", key=QUEUE)
        history.complete(process, OutcomeType.OK, value=sorted(written))
    return written, balances_of(client) if LEFT in spaces else {}


def _rows(client: Client, space: str) -> Iterator[Row]:
    after: list[object] | None = None
    while rows := client.space(space).select(limit=PAGE, after=after, iterator="all"):
        yield from rows
        after = rows[-1]


def _registers(client: Client, history: History, process: int) -> None:
    for key in range(KEYS):
        history.invoke(process, "read", key=register(key))
        found = client.space(REGISTERS).get([key])
        history.complete(process, OutcomeType.OK, value=None if found is None else found[1])


def _lists(client: Client, history: History, process: int) -> None:
    keys = [integer(row[0]) for row in _rows(client, LISTS)]
    for key in keys:
        history.invoke(process, "txn", key=None, value=[["r", key, None]])
        (row,) = client.space(LISTS).select([key])
        history.complete(process, OutcomeType.OK, value=[["r", key, row[1]]])


def _sets(client: Client, history: History, process: int) -> None:
    for which in sorted({integer(row[0]) for row in _rows(client, SETS)}):
        history.invoke(process, "read", key=set_name(which))
        history.complete(process, OutcomeType.OK, value=set_of(client, which))


def prove(
    tally: WriteTally,
    lines: Sequence[HistoryLine],
    *,
    journal: set[int],
    balances: dict[str, int],
    digests: dict[str, dict[str, str]],
    restored: Sequence[RestoredPoint] = (),
) -> Proof:
    """Compare the answers with what is there. `restored`: restores during the run."""
    told = tally.acked | _kept(tally)
    there = {number for number, place in told.items() if survives(restored, place)}
    behind = told.keys() - there
    return Proof(
        lost=tuple(sorted(there - journal)),
        left_behind=tuple(sorted(behind)),
        not_left_behind=tuple(sorted(behind & journal)),
        rolled_back_visible=tuple(sorted(tally.undone & journal)),
        balances=balances,
        balances_expected=_expected(lines, journal) if balances else {},
        linearity=merge(
            LINEARIZABLE, [each for part in stretches(lines, restored) for each in _linearity(part)]
        ),
        replicas_identical=len({str(sorted(each.items())) for each in digests.values()}) == 1,
        digests=digests,
    )


def same_digests(addresses: Sequence[str], *, timeout: float) -> dict[str, dict[str, str]]:
    """Return the digests of all nodes at one index. Raises Unavailable if there is none."""
    deadline = time.monotonic() + timeout
    while True:
        answers: dict[str, tuple[object, dict[str, str]]] = {}
        for address in addresses:
            try:
                visible, _, found = ask.value(address, DigestRequest(1))
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


def _expected(lines: Sequence[HistoryLine], journal: set[int]) -> dict[str, int]:
    """The balances after each transfer of the journal, once."""
    balances = _opening()
    for line in lines:
        if line.f == "transfer" and line.type is OutcomeType.INVOKE:
            assert isinstance(line.value, list)
            source, target, amount, number = line.value
            if number in journal:
                balances[source] -= amount
                balances[target] += amount
    return balances


def _opening() -> dict[str, int]:
    return {f"{name}/{account}": BALANCE for name in (LEFT, RIGHT) for account in range(ACCOUNTS)}


def _linearity(lines: Sequence[HistoryLine]) -> list[Verdict]:
    """Check linearizability by object, and transactions on lists by their dependencies."""
    known = operations(lines)
    on_lists = [each for each in known if each.f == "txn"]
    rest = [each for each in known if each.f != "txn" and each.floor is None]
    given = check_read_your_writes(each for each in known if each.f != "txn")
    found = [check(rest, _model_of)] if rest or not on_lists else []
    found += [check_appends(on_lists)] if on_lists else []
    found += [given] if given.facts else []
    return found


def _model_of(key: object) -> Model | None:
    if key == BANK:
        return Bank.of(_opening(), overdraft=True)
    if isinstance(key, str) and (key == QUEUE or key.startswith(set_name(0)[:-1])):
        return GrowingSet()
    return CasRegister()


def _kept(tally: WriteTally) -> dict[int, Position]:
    """Return asynchronous writes that may not be lost: a later one of the term was acked."""
    return {
        number: place.position
        for number, place in tally.spontaneous.items()
        if place.index < tally.reach.get(place.term, 0)
    }


def _some(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:EXAMPLES_MAX]))
    return shown + (" ..." if len(numbers) > EXAMPLES_MAX else "")


_LOOKS: Mapping[str, Callable[[Client, History, int], None]] = {
    REGISTERS: _registers,
    LISTS: _lists,
    SETS: _sets,
}
