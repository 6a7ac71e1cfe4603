"""One key of a history, checked exactly as in one process, if the quick test is undecided."""

import json
import pickle  # noqa: TID251 - between tasks of one Spark job, as Spark itself does
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from admin.checker.clip import clip
from admin.checker.elle import IsolationLevel
from admin.checker.kinds import Hints, ObjectKind, kind_of
from admin.checker.linear import LINEARIZABLE, STEPS_MAX
from admin.checker.operation import CompletionType as Ended
from admin.checker.operation import Operation, freeze, happened
from admin.checker.quick import OF_NO_KIND, check_operations
from admin.checker.sessions import MONOTONIC_READS
from admin.checker.verdict import Result, Verdict

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """The options for checking histories."""

    hints: Hints = field(default_factory=Hints)
    level: IsolationLevel = IsolationLevel.STRICT_SERIALIZABLE
    steps_max: int = STEPS_MAX


@dataclass(frozen=True, slots=True)
class KeyVerdicts:
    """Verdicts on some keys of one run, and the kinds of their objects."""

    kinds: tuple[ObjectKind, ...]
    verdicts: tuple[Verdict, ...]

    def packed(self) -> bytes:
        """Return it packed for transport."""
        return pickle.dumps(self)

    @classmethod
    def unpacked(cls, packed: bytes) -> "KeyVerdicts":
        """The inverse. A task of the same job packed it."""
        found = pickle.loads(packed)  # noqa: S301 - by ourselves
        assert isinstance(found, cls), found
        return found


def judge_key(
    operations: Sequence[Operation], terms: Terms, beside: Collection[str] = ()
) -> KeyVerdicts:
    """All verdicts on one key; `beside`: the names of operations on any key of its history."""
    kind = terms.hints.kind or kind_of(operations, beside)
    if kind is None:
        fs = ", ".join(sorted({each.f for each in operations}))
        note = f"{OF_NO_KIND}{fs} (key {clip(operations[0].key)})"
        odd = Verdict(invariant=LINEARIZABLE, result=Result.UNKNOWN, facts=0, note=note)
        return KeyVerdicts((), (odd,))
    kinds, checked = check_operations(
        operations, replace(terms.hints, kind=kind), terms.level, terms.steps_max
    )
    nothing = not happened(operations)
    verdicts = [
        each.verdict
        for each in checked
        if each.verdict.invariant != MONOTONIC_READS
        and not (nothing and each.verdict.invariant == LINEARIZABLE)
    ]
    return KeyVerdicts(kinds, tuple(verdicts))


def judge_appends(operations: Sequence[Operation], terms: Terms) -> KeyVerdicts:
    """Transactions of one run, all together."""
    hints = replace(terms.hints, kind=ObjectKind.LIST_APPEND)
    kinds, checked = check_operations(operations, hints, terms.level, terms.steps_max)
    return KeyVerdicts(kinds, tuple(each.verdict for each in checked))


def operations_of(rows: Iterable[Row]) -> list[Operation]:
    """From the columns COLUMNS, in that order."""
    found = []
    for key, number, process, f, value, ended, kind, session, seq, *places in rows:
        place, term, floor, floor_term = map(_number, places)
        assert isinstance(number, int)
        assert isinstance(process, int)
        found.append(
            Operation(
                number=number,
                process=process,
                f=str(f),
                value=_json(value),
                begun=number,
                ended=_number(ended),
                key=freeze(_json(key)),
                kind=Ended(str(kind)),
                session=_json(session),
                seq=_number(seq),
                index=place,
                term=term,
                floor=floor,
                floor_term=floor_term,
            )
        )
    return found


COLUMNS = (
    "key",
    "number",
    "process",
    "f",
    "value",
    "ended",
    "kind",
    "session",
    "seq",
    "place",
    "term",
    "floor",
    "floor_term",
)
"""The columns that `operations_of` needs."""


def _json(text: object) -> object:
    return None if text is None else json.loads(str(text))


def _number(value: object) -> int | None:
    assert value is None or isinstance(value, int)
    return value
