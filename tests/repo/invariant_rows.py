"""Tables of the checker's reference: invariants of evidence, and the faults that they notice."""

from collections.abc import Iterator, Mapping

from admin.checker.rules.catalogue import RULES
from admin.evidence.column_notes import COLUMN_NOTES
from admin.evidence.tables import TABLES

ANY = "any of them"
"""What an invariant needs that takes what there is."""
SAYS: Mapping[str, str] = {
    "votes-suffice": ", and whoever wrote a PROMOTE leads",
    "promise-kept": ", suspended or not",
    "configuration-quorums": "; one entry is one configuration on all nodes",
    "confirm-by-acks": (
        ": of the voters of the configuration in force, each on the directory that it names"
    ),
    "same-directory": ", and in one life the log is one file",
}
"""What an invariant says beyond its title."""
NEEDS: Mapping[str, str] = {
    "stored-replayed": (
        "`digests` of stopped nodes (a demo and a drill stop theirs at the end) or the simulator"
    ),
    "receipts-kept": "`wal`, `ops` with `log_index`",
    "failures-gone": "`wal`, `ops` with `session`, `seq`",
    "receipt-own": (
        "`wal`, `ops` with `session`, `seq`, `log_index`, and `key_hash` where it is known"
    ),
    "rolled-back-hidden": "`wal`, `ops` with `session`, `seq`",
    "times-usable": "`ops` or `status`",
}
"""What an invariant needs, where the names of tables do not say all of it."""


def invariants() -> Iterator[str]:
    """Every invariant of a bundle, in the order in which they are judged."""
    yield from ("| id | says | needs |", "|---|---|---|")
    for rule in RULES:
        tables = ", ".join(f"`{each}`" for each in rule.needs) or ANY
        says, needs = rule.title + SAYS.get(rule.id, ""), NEEDS.get(rule.id, tables)
        yield f"| `{rule.id}` | {says} | {needs} |"


def evidence_columns() -> Iterator[str]:
    """Every column of evidence: type, whether each row has it, meaning and unit."""
    yield from ("| table | column | type | | is |", "|---|---|---|---|---|")
    for table, notes in COLUMN_NOTES.items():
        for column, note in notes.items():
            type_ = TABLES[table].columns[column]
            needed = "never null" if column in TABLES[table].needed else ""
            yield f"| `{table}` | `{column}` | {type_} | {needed} | {note} |"


def planted_faults() -> Iterator[str]:
    """Every fault that tests plant in a run, and what it breaks."""
    from tests.spark.planted import page  # noqa: PLC0415 - slow to import

    yield from ("| fault | what was done to the run | fails | undecided |", "|---|---|---|---|")
    yield from page()
