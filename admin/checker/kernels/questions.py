"""A kernel that asks one question after another about tables that may be large.

Its next question depends on the answers. Its runner reads the table, part by part in any order, and
collects the answers of all parts; they are few, and are lists of JSON values.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from admin.checker.kernels.tables import ColumnTable
from admin.checker.rules.rule import RuleFinding

FOREVER = 1 << 62


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """What to look for in every part of a table that may have an index in `first..last`."""

    table: str
    columns: tuple[str, ...]
    look: Callable[[ColumnTable], Iterator[list[Any]]]
    first: int = -FOREVER
    last: int = FOREVER


Asking: TypeAlias = Generator[TableQuestion, list[list[Any]], RuleFinding]
"""The type of such a kernel; it returns its findings."""


def answered(kernel: Asking, ask: Callable[[TableQuestion], Iterable[list[Any]]]) -> RuleFinding:
    """Answer its questions until it ends."""
    try:
        question = next(kernel)
        while True:
            question = kernel.send(list(ask(question)))
    except StopIteration as end:
        found: RuleFinding = end.value
        return found
