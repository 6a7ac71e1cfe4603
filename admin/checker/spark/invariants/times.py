"""Times that go back prove nothing: whoever compares them must know."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def times(tables: Tables) -> "DataFrame":
    """Lines of the history, and samples of a process, in the order in which they were written."""
    return query(
        """
        with steps as (
            select run_id, 'the clients' whose,
                   time - lag(time) over (partition by run_id order by `index`) step from {ops}
            union all select run_id, concat('node ', node), time_mono - lag(time_mono) over (
                   partition by run_id, node, generation, life order by sample) from {status})
        select run_id, 'times-usable' invariant, 0L node, 0L `index`, 0L term,
               if(step < 0, null, false) odd,
               concat('the clock of ', whose, ' went back: times prove nothing') message
        from steps where step is not null
        """,
        tables,
        "ops",
        "status",
    )
