"""A row of evidence that proves a violation: which table it is in, and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass

EXHIBITS_MAX = 6
"""How many rows of one violation are shown, the first ones; the tables have the others."""


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One row. Columns without a value are left out."""

    table: str
    row: Mapping[str, object]

    def describe(self) -> str:
        """In one line."""
        return f"{self.table}: " + " ".join(f"{name}={value}" for name, value in self.row.items())


def exhibit(table: str, row: Mapping[str, object]) -> EvidenceRow:
    """Without unknown values, and without the name of the run."""
    known = {name: value for name, value in row.items() if value is not None and name != "run_id"}
    return EvidenceRow(table, known)
