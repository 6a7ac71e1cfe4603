"""A read shows at least what had been answered to anybody before it was asked."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fresh(tables: Tables) -> "DataFrame":
    """Of every read: where it was served from, and what it had to show."""
    return query(
        """
        select run_id, 'reads-fresh' invariant, node, number `index`, 0L term, `index` < floor odd,
               concat('node ', node, ' served a read at ', `index`, ', not ', floor) message
        from {events} where name = 'served' and floor is not null
        """,
        tables,
        "events",
    )
