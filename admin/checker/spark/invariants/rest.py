"""A healed cluster comes to rest: it has one leader, and nothing is left pending."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WHOLE = """
    with samples as (
        select run_id, node, max_by(struct(sample, term, ro, limbo_len), sample) s
        from {status} group by run_id, node),
    ends as (
        select e.run_id, e.node, e.s.* from samples e join {runs} r using (run_id)
        where r.whole),
    whole as (
        select r.run_id, array_sort(collect_list(case when e.ro = false then e.node end)) leaders
        from {runs} r join ends e using (run_id) group by r.run_id, r.nodes
        having size(array_except(r.nodes, collect_set(e.node))) = 0)
    """


def pending(tables: Tables) -> "DataFrame":
    """By the last sample of every node."""
    return query(
        _WHOLE  # noqa: S608 - of our own texts
        + """
        select e.run_id, 'comes-to-rest' invariant, node, sample `index`, term,
               coalesce(limbo_len, 0) > 0 odd,
               concat('at the end ', limbo_len, ' are still pending on node ', node) message
        from ends e join whole using (run_id)
        """,
        tables,
        "status",
        "runs",
    )


def leaders(tables: Tables) -> "DataFrame":
    """One of all of them; that is no fact of its own."""
    return query(
        _WHOLE  # noqa: S608 - of our own texts
        + """
        select run_id, 'breach' what, 'comes-to-rest' invariant, 0L node, 0L generation,
               0L `index`, 0L term, 0L amount,
               concat('at the end ', size(leaders), ' nodes take writes: [',
                      array_join(leaders, ', '), ']') message
        from whole where size(leaders) != 1
        """,
        tables,
        "status",
        "runs",
    )
