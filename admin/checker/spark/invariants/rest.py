"""A healed cluster comes to rest: it has one leader, and nothing is left pending."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rest(tables: Tables) -> "DataFrame":
    """By the last sample of every node."""
    return query(
        """
        with samples as (
            select run_id, node, max_by(struct(sample, term, ro, limbo_len), sample) s
            from {status} group by run_id, node),
        ends as (
            select e.run_id, e.node, e.s.* from samples e join {runs} r using (run_id)
            where r.whole),
        whole as (
            select r.run_id, count_if(e.ro = false) leaders
            from {runs} r join ends e using (run_id) group by r.run_id, r.nodes
            having size(array_except(r.nodes, collect_set(e.node))) = 0)
        select run_id, 'comes-to-rest' invariant, 0L node, 0L `index`, 0L term, leaders != 1 odd,
               concat('at the end ', leaders, ' nodes take writes') message from whole
        union all select e.run_id, 'comes-to-rest', node, sample, term,
               coalesce(limbo_len, 0) > 0,
               concat('at the end ', limbo_len, ' are still pending on node ', node)
        from ends e join whole using (run_id)
        """,
        tables,
        "status",
        "runs",
    )
