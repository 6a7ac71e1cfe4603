"""What a node had on its disk it has in its next life: restarts lose nothing."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def restarts(tables: Tables) -> "DataFrame":
    """The first sample of a life against all of the lives before."""
    return query(
        """
        with series as (
            select *, lag(life) over w former,
                   max(case when role = 'leader' or ro = false then term end) over before led,
                   max(least(coalesce(confirmed, 0), coalesce(written, 0))) over before safe
            from {status}
            window w as (partition by run_id, node, generation order by sample),
                   before as (partition by run_id, node, generation order by sample
                              rows between unbounded preceding and 1 preceding)),
        begun as (select * from series where former != life)
        select run_id, 'lives-forward' invariant, node, sample `index`, term,
               coalesce(term < led or last < safe, false) odd,
               concat('node ', node, ' starts in term ', term, ' with ', last, '; it had led ',
                      coalesce(led, 0), ' and had ', coalesce(safe, 0)) message
        from begun
        """,
        tables,
        "status",
    )


def ballots(tables: Tables) -> "DataFrame":
    """A sample against the ballot that was on the disk before it."""
    return query(
        """
        with rows as (
            select run_id, node, generation, time_mono, 0 ballot, sample at, term from {status}
            union all select run_id, node, generation, time_mono, 1, number, term from {events}
            where name = 'ballot'),
        known as (
            select *, last_value(case when ballot = 1 then term end, true) over (
                   partition by run_id, node, generation order by time_mono, ballot, at
                   rows between unbounded preceding and current row) had from rows),
        samples as (
            select k.* from known k join {runs} r using (run_id)
            where r.one_clock and ballot = 0 and had is not null)
        select run_id, 'lives-forward' invariant, node, at `index`, term, term < had odd,
               concat('node ', node, ' is in term ', term, '; its disk had ', had) message
        from samples
        """,
        tables,
        "status",
        "events",
        "runs",
    )
