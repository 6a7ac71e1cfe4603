"""A kernel that asks one question after the other of tables that may be large.

What it asks next depends on what it was told. Who runs it looks at the table, part by part in any
order, and brings the answers of all parts together; they are few, and lists of what JSON can say.
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
"""What a kernel of this sort is; it returns what it found."""


def answered(kernel: Asking, ask: Callable[[TableQuestion], Iterable[list[Any]]]) -> RuleFinding:
    """Until it asks no more."""
    try:
        question = next(kernel)
        while True:
            question = kernel.send(list(ask(question)))
    except StopIteration as end:
        found: RuleFinding = end.value
        return found
