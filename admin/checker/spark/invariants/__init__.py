"""The registry of invariants that are whole Spark queries of their own, a file or a few each.

Each is a function from tables to a DataFrame: of `found.DDL` if it is one of the `WALKS`, else of
every fact that it examined (see `queries.query`), which are counted for all of them together.

Beside the tables of evidence there are `known` (a row a log: run_id, node, generation, first, last,
confirmed), `rolled` (run_id, node, generation, index of what is rolled back there, and `by` which
record) and `runs` (of each manifest: run_id, voters, quorum, `nodes` that vote, `whole`,
`one_clock`, and `fence` in seconds).
"""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from admin.checker.spark.invariants.acks import disks
from admin.checker.spark.invariants.feeds import feeds
from admin.checker.spark.invariants.fenced import fenced
from admin.checker.spark.invariants.fresh import fresh
from admin.checker.spark.invariants.hidden import hidden
from admin.checker.spark.invariants.lives import ballots, restarts
from admin.checker.spark.invariants.meeting import meeting
from admin.checker.spark.invariants.owned import receipts
from admin.checker.spark.invariants.queries import facts_and_breaches
from admin.checker.spark.invariants.rest import leaders, pending
from admin.checker.spark.invariants.steps import steps
from admin.checker.spark.invariants.stored import stored
from admin.checker.spark.invariants.stretches import stretches
from admin.checker.spark.invariants.times import times
from admin.checker.spark.invariants.votes import durable, suffice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Frame = Callable[[Mapping[str, DataFrame]], DataFrame]

WALKS: "tuple[Frame, ...]" = (
    disks,
    receipts,
    feeds,
    hidden,
    stretches,
    fresh,
    steps,
    times,
    leaders,
)
"""Add yours here: what it returns is judged with everything else, in the same job."""

REGISTRY: "tuple[Frame, ...]" = (
    durable,
    suffice,
    meeting,
    stored,
    restarts,
    ballots,
    fenced,
    pending,
)
"""Or here."""


def frames(tables: "Mapping[str, DataFrame]") -> "list[DataFrame]":
    """What all of them look for."""
    rows = functools.reduce(_union, [each(tables) for each in REGISTRY])
    return [*(each(tables) for each in WALKS), facts_and_breaches(rows)]


def _union(one: "DataFrame", other: "DataFrame") -> "DataFrame":
    return one.unionByName(other)
