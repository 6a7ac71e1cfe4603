"""The runs, nodes and entries that remain after Spark's pushed-down filters."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
)

from admin.evidence.bundle import BundlePart


@dataclass(slots=True)
class Bounds:
    """Spark still filters the rows: bounds may be too wide, but never too narrow."""

    node: int | None = None
    run_id: str | None = None
    first: int = 0
    last: int = 1 << 62

    def pushed(self, filters: Iterable[Filter]) -> Iterator[Filter]:
        """Narrow by all filters. Returns them, so that Spark still filters the rows."""
        for each in filters:
            self.narrow(each)
            yield each

    def narrow(self, filter_: Filter) -> None:
        """Narrow by one filter, if it is usable."""
        match filter_:
            case EqualTo(("node",), int(value)):
                self.node = value
            case EqualTo(("run_id",), str(value)):
                self.run_id = value
            case EqualTo(("index",), int(value)):
                self.first, self.last = max(self.first, value), min(self.last, value)
            case GreaterThan(("index",), int(value)) | GreaterThanOrEqual(("index",), int(value)):
                self.first = max(self.first, value)
            case LessThan(("index",), int(value)) | LessThanOrEqual(("index",), int(value)):
                self.last = min(self.last, value)
            case _:
                pass

    def admit(self, run_id: str, part: BundlePart) -> bool:
        """Whether the part may have matching rows."""
        if self.run_id not in {None, run_id}:
            return False
        if part.node is None or part.first is None or part.last is None:
            return True
        asked = self.node in {None, part.node}
        return asked and part.first <= self.last and part.last >= self.first
