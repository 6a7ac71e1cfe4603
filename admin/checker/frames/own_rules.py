"""Rules of users: a function from evidence to violations, and their proofs."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from admin.checker.frames import verdicts
from admin.checker.frames.evidence import EvidenceFrames
from admin.checker.frames.frame_rule import FrameRule
from admin.checker.quick import TITLES
from admin.checker.rules.catalogue import BY_ID
from admin.evidence.tables import TABLES
from qsync.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RuleFunction: TypeAlias = "Callable[[EvidenceFrames], DataFrame]"


def rule(id: str, title: str, *, needs: Sequence[str]) -> "Callable[[RuleFunction], FrameRule]":
    """Make a rule of a function. Raises ConfigError if the id is taken, or a table is unknown.

    The function returns a DataFrame of violations with `run_id`, `message` and any other columns of
    `VIOLATIONS`. It has no row for a run without violations.

    ```python
    @frames.rule("calm", "no term above 100 has a leader", needs=["status"])
    def calm(evidence):
        high = evidence.status.where("role = 'leader' and term > 100")
        return high.select("run_id", "node", "term", F.lit("a high term").alias("message"))


    evidence.check(calm).verdicts.show()
    ```
    """
    if id in BY_ID or id in TITLES:
        raise ConfigError(f"there is a built-in rule {id}", hint="choose another id for your rule")
    odd = sorted(set(needs) - TABLES.keys())
    if odd or not needs:
        told = f"needs a table {odd[0]!r}, and there is none" if odd else "needs no table"
        raise ConfigError(f"the rule {id} {told}", hint=f"known are {', '.join(TABLES)}")

    def made(find: "RuleFunction") -> FrameRule:
        def fitted(evidence: EvidenceFrames) -> "DataFrame":
            return verdicts.violations_frame(id, title, find(evidence))

        return FrameRule(id, title, tuple(needs), fitted)

    return made


def witness(table: str, *columns: str) -> "Column":
    """The current row as the proof of a violation: a column `witness` with these columns.

    ```python
    evidence.ops.select(
        "run_id", frames.witness("ops", "index", "process", "error").alias("witness")
    )
    ```
    """
    row = F.to_json(F.struct(*columns))
    return F.array(F.struct(F.lit(table).alias("table"), row.alias("row")))
