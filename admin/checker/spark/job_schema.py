"""The shape of everything that a Spark job brings home: breaches, facts, and what comes next."""

from typing import NamedTuple

DDL = (
    "run_id string, what string, invariant string, node bigint, generation bigint, "
    "`index` bigint, term bigint, amount bigint, message string"
)
FACTS, OUTLINE, ANSWER = "facts", "outline", "answer"
SLICE, ENTRY, PROVEN = "slice", "entry", "proven"
CONFIRMED, STRIKES, EVENTS = "confirmed", "strikes", "events"
ACKED, FAILED = "acked", "failed"
LACKS, DOUBT, UNEQUAL = "lacks", "doubt", "unequal"
"""Of an invariant: why it cannot be examined, or why its facts are no pass; `message` says.

`answer`: to the question of a kernel; `outline`: of a log (see `LogOutline`); `slice`: so many
entries of one, and the ends of these. `unequal`: a place of a slice from which on logs differ (see
`PartedStretch`). `proven`: a breach, whose `message` has its text and its proof.
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
