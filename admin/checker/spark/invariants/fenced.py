"""A leader that was replaced stops taking writes, at the latest when its fence says so."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fenced(tables: Tables) -> "DataFrame":
    """Every sample that takes writes, against the first of the next term in which somebody did."""
    return query(
        """
        with writable as (
            select s.*, r.fence from {status} s join {runs} r using (run_id)
            where s.ro = false and r.fence is not null and r.one_clock),
        firsts as (
            select run_id, term, min(struct(time_mono, sample, node)) began from writable
            group by run_id, term),
        terms as (
            select *, lead(began) over (partition by run_id order by term) next from firsts),
        late as (
            select w.run_id, w.node, w.sample, w.term, next.node != w.node and
                   w.time_mono - next.time_mono > cast(w.fence * 1000000000 as bigint) odd
            from writable w join terms t on t.run_id = w.run_id and t.term = w.term
            where t.next is not null)
        select run_id, 'fenced' invariant, node, sample `index`, term, odd,
               concat('node ', node, ' takes writes in term ', term, ' long after another does')
               message
        from late
        """,
        tables,
        "status",
        "runs",
    )
