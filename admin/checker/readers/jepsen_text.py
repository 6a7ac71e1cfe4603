"""The log that Jepsen prints while it runs, as Porcupine keeps it: one compare-and-set register.

`:fail` has three meanings here. With the value of a `cas` it means that the comparison was unequal,
so it is an observation; with `:timed-out` a read has no answer, and a write or `cas` may have
happened; with anything else the operation did not happen.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from admin.checker.operation import CompletionType, Operation
from admin.checker.readers.edn import Keyword, parse
from admin.checker.readers.pairing import HistoryEvent, paired

LINE = re.compile(
    r"\bjepsen\.\S+ - (?P<process>\d+)\s+"
    r":(?P<type>invoke|ok|fail|info)\s+:(?P<f>\S+)\s*(?P<value>.*)"
)
TIMED_OUT = Keyword("timed-out")
UNEQUAL = "cas-unequal"
"""Seen by a `cas` that failed: it was not the old value."""


def read(text: str) -> list[Operation]:
    """The operations of a log; lines of other kinds are skipped."""
    events = list(_events(text))
    unequal = {each.line for each in events if each.f == UNEQUAL}
    operations = paired(replace(each, f="cas") if each.f == UNEQUAL else each for each in events)
    return [
        replace(each, f=UNEQUAL, kind=CompletionType.OK) if each.ended in unequal else each
        for each in operations
    ]


def _events(text: str) -> Iterator[HistoryEvent]:
    for number, line in enumerate(text.splitlines()):
        found = LINE.search(line)
        if found is None:
            continue
        kind, f = found["type"], found["f"]
        value = _value(found["value"], number, remarks=kind in {"fail", "info"})
        if kind == "fail" and f == "cas" and isinstance(value, list):
            f = UNEQUAL
        elif kind == "fail" and value == TIMED_OUT and f != "read":
            kind = "info"
        yield HistoryEvent(line=number, process=int(found["process"]), type=kind, f=f, value=value)


def _value(text: str, line: int, *, remarks: bool) -> object:
    """The value at the end of a line. If an error is possible there, any text is valid."""
    try:
        values = parse(text)
    except ValueError as error:
        if remarks:
            return Keyword(text)
        raise ValueError(f"line {line + 1}: {error}") from error
    return values[0] if values else None
