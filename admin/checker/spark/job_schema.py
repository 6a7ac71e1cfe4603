"""The schema of all results of a Spark job: breaches, facts, and the following kinds."""

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
"""For an invariant: why it cannot be examined, or why it cannot pass, in `message`.

`answer`: to the question of a kernel; `outline`: of a log (see `LogOutline`); `slice`: the number
of its entries, and its borders. `unequal`: an index from which on logs differ (see
`PartedStretch`). `proven`: a breach whose `message` has its text and its proof.
"""


class FindingRow(NamedTuple):
    """`what`: one of the names above; it defines the meaning of the other columns."""

    run_id: str
    what: str
    invariant: str = ""
    node: int = 0
    generation: int = 0
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    term: int = 0
    amount: int = 0
    message: str = ""
