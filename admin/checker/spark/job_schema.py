"""The shape of everything that a Spark job brings home: breaches, facts, and what comes next."""

from typing import NamedTuple

DDL = (
    "run_id string, what string, invariant string, node bigint, generation bigint, "
    "`index` bigint, term bigint, amount bigint, message string"
)
BREACH, FACTS, ROLLED, LOG = "breach", "facts", "rolled", "log"
SLICE, ENTRY, CLAIM = "slice", "entry", "claim"
PROMOTED, REACHED = "promoted", "reached"
LACKS, DOUBT, UNEQUAL = "lacks", "doubt", "unequal"
"""Of an invariant: why it cannot be examined, or why its facts are no pass; `message` says.

`unequal`: a place of a slice from which on, up to `amount`, logs differ; `node` and `generation`
are the two nodes there.
"""


class FindingRow(NamedTuple):
    """`what`: one of the names above; it says what the other columns mean."""

    run_id: str
    what: str
    invariant: str = ""
    node: int = 0
    generation: int = 0
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    term: int = 0
    amount: int = 0
    message: str = ""
