"""The history of a run, operations and answers, in Jepsen's vocabulary and one clock."""

import json
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path

from qsync.store.private import FILE_OF_OWNER

DEPTH_MAX = 200
"""Values that are nested deeper are refused: they could not be compared."""


class OutcomeType(StrEnum):
    """How an operation ended. `info`: unknown whether it took effect; a timeout is always that."""

    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One line of a history. `time` is in nanoseconds of one monotonic clock.

    The last six may be missing: the session (also of a read) and the number of a request, the
    place that a read was given, index and term, the place in the log of a write, or of the
    state that a read showed: `log_index`, of `term`, and `key_hash` of the first row that a write
    changes, as whoever wrote knows it.
    """

    index: int
    time: int
    process: int
    type: OutcomeType
    f: str
    key: object = None
    value: object = None
    node: str | None = None
    term: int | None = None
    lsn: int | None = None
    error: str | None = None
    session: int | str | None = None
    seq: int | None = None
    floor: int | None = None
    floor_term: int | None = None
    log_index: int | None = None
    key_hash: int | None = None

    def as_json(self) -> str:
        """Return the line of the file, without the newline."""
        members = {name: getattr(self, name) for name in _FIELDS}
        for name in _SELDOM:
            if members[name] is None:
                del members[name]
        return json.dumps(members, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredBy:
    """What came with an answer: the node that gave it, and the receipt.

    `log_index`: where in the log the write is.
    """

    node: str | None = None
    term: int | None = None
    lsn: int | None = None
    error: str | None = None
    log_index: int | None = None


NOTHING_TOLD = AnsweredBy()


class History:
    """A history that many threads append to. `numbered` completes the last line.

    A process does one thing at a time. One that got no answer keeps its operation open: either
    it learns the outcome later (`ok`, `fail`), or `give_up` ends it with `info` at the end.
    """

    def __init__(self, *, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._lines: list[HistoryLine] = []
        self._open: dict[int, HistoryLine] = {}
        self._processes = 0

    @property
    def lines(self) -> list[HistoryLine]:
        """A copy of all lines so far, in order."""
        with self._lock:
            return list(self._lines)

    def new_process(self) -> int:
        """Return a process number that was not used before."""
        with self._lock:
            self._processes += 1
            return self._processes - 1

    def invoke(
        self,
        process: int,
        f: str,
        *,
        key: object,
        value: object = None,
        session: str | None = None,
        floor: tuple[int, int] | None = None,
        key_hash: int | None = None,
    ) -> None:
        """Note that an operation begins, before anything is sent. `floor`: term and index."""
        line = HistoryLine(
            index=0,
            time=0,
            process=process,
            type=OutcomeType.INVOKE,
            f=f,
            key=key,
            value=value,
            session=session,
            floor=None if floor is None else floor[1],
            floor_term=None if floor is None else floor[0],
            key_hash=key_hash,
        )
        with self._lock:
            assert process not in self._open, (process, self._open[process])
            self._open[process] = self._append(line)

    def numbered(self, process: int, session: str, seq: int) -> None:
        """Note the request of the operation of `process`, once it was sent."""
        with self._lock:
            begun = self._open[process]
            named = replace(begun, session=session, seq=seq)
            self._open[process] = self._lines[begun.index] = named

    def complete(
        self,
        process: int,
        kind: OutcomeType,
        *,
        value: object = None,
        told: AnsweredBy = NOTHING_TOLD,
    ) -> None:
        """Note that the operation of `process` ends. Without `value` it repeats the invoked one."""
        assert kind is not OutcomeType.INVOKE
        with self._lock:
            begun = self._open.pop(process)
            self._append(
                replace(
                    begun,
                    type=kind,
                    value=begun.value if value is None else value,
                    node=told.node,
                    term=told.term,
                    lsn=told.lsn,
                    error=told.error,
                    log_index=told.log_index,
                )
            )

    def give_up(self, why: str) -> int:
        """End everything still open with `info`; returns how many there were."""
        with self._lock:
            left = sorted(self._open)
        for process in left:
            self.complete(process, OutcomeType.INFO, told=AnsweredBy(error=why))
        return len(left)

    def _append(self, line: HistoryLine) -> HistoryLine:
        line = replace(line, index=len(self._lines), time=self._clock())
        self._lines.append(line)
        return line


def load(path: Path) -> list[HistoryLine]:
    """Read a file of lines. Raises ValueError that names an invalid line."""
    with path.open(encoding="utf-8") as file:
        return list(parse(file))


def parse(texts: Iterable[str]) -> Iterator[HistoryLine]:
    """Parse lines of JSON; unknown members and empty lines are ignored."""
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            continue
        try:
            line = _line_of(_members_of(text))
        except ValueError as error:
            raise ValueError(f"line {number} is no history line: {error}") from error
        yield line


def _members_of(text: str) -> object:
    """Return the JSON value of a text. Raises ValueError."""
    if text.count("[") + text.count("{") > DEPTH_MAX and _depth(text) > DEPTH_MAX:
        raise ValueError(f"it is nested deeper than {DEPTH_MAX}")
    return json.loads(text)


def _depth(text: str) -> int:
    """Return how deep the brackets of a JSON text are nested, without those in texts."""
    found = depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += (bracket in ("[", "{")) - (bracket in ("]", "}"))
        found = max(found, depth)
    return found


def _line_of(members: object) -> HistoryLine:
    """Return the line with these members. Raises ValueError."""
    if not isinstance(members, dict) or not members.keys() >= _NEEDED:
        there: Collection[object] = members if isinstance(members, dict) else ()
        lacks = [name for name in _FIELDS if name in _NEEDED and name not in there]
        raise ValueError(f"it lacks {', '.join(lacks)}")
    given = {name: members[name] for name in _FIELDS if name in members}
    for name, value in given.items():
        if value is None and name not in _NEEDED:
            continue
        if name in _NUMBERS and type(value) is not int:
            raise ValueError(f"{name} is a whole number, not {value!r}")
        if name in _TEXTS and type(value) is not str:
            raise ValueError(f"{name} is text, not {value!r}")
    if given["type"] not in _TYPES:
        raise ValueError(f"type is one of {', '.join(_TYPES)}, not {given['type']!r}")
    session = given.get("session")
    if not (session is None or type(session) in (int, str)):
        raise ValueError(f"session is a whole number or text, not {session!r}")
    return HistoryLine(**given | {"type": OutcomeType(members["type"])})


def save(lines: Iterable[HistoryLine], path: Path) -> None:
    """Write lines to a file, one JSON object each. A new file is its owner's alone."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_OF_OWNER)
    with os.fdopen(opened, "w", encoding="utf-8") as file:
        file.writelines(line.as_json() + "\n" for line in lines)


_FIELDS = tuple(HistoryLine.__dataclass_fields__)
_NEEDED = frozenset(each.name for each in fields(HistoryLine) if each.default is MISSING)
_SELDOM = ("session", "seq", "floor", "floor_term", "log_index", "key_hash")
_TEXTS = frozenset({"f", "node", "error"})
_NUMBERS = frozenset(_FIELDS) - _TEXTS - {"type", "key", "value", "session"}
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')
"""A text, or a bracket outside of one."""
_TYPES = tuple(each.value for each in OutcomeType)
