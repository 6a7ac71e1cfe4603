"""Every quorum that confirms shares a node with every majority that elects."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def meeting(tables: Tables) -> "DataFrame":
    """Every sample that tells its quorum."""
    return query(
        """
        select s.run_id, 'quorums-meet' invariant, s.node, s.sample `index`, s.term,
               s.quorum + floor(r.voters / 2) + 1 <= r.voters odd,
               concat('node ', s.node, ' confirms by ', s.quorum, ' of ', r.voters, ' voters')
               message
        from {status} s join {runs} r using (run_id) where r.voters > 0 and s.quorum > 0
        """,
        tables,
        "status",
        "runs",
    )
