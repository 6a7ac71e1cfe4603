"""A vote is on the disk before it is told, and whoever leads has the votes of a majority."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def durable(tables: Tables) -> "DataFrame":
    """The ballot before a vote is that vote, or one of a later term."""
    return query(
        """
        with known as (
            select run_id from {events} where name in ('vote', 'ballot') group by run_id
            having count(distinct name) = 2),
        told as (
            select *, last_value(case when name = 'ballot' then struct(term, peer) end, true) over (
                   partition by run_id, node, generation order by number
                   rows between unbounded preceding and current row) ballot
            from {events} where name in ('vote', 'ballot')),
        votes as (
            select run_id, node, term, not coalesce(ballot.term > term
                   or (ballot.term = term and ballot.peer <=> peer), false) odd
            from told join known using (run_id) where name = 'vote')
        select run_id, 'vote-durable' invariant, node, 0L `index`, term, odd,
               concat('node ', node, ' told a vote in term ', term, ' that is not on its disk')
               message
        from votes
        """,
        tables,
        "events",
    )


def suffice(tables: Tables) -> "DataFrame":
    """Voters of whom a vote, or their own ballot, is known before they lead."""
    return query(
        """
        with votes as (
            select run_id, term, peer, node, min(number) number from {events}
            where name = 'vote' or (name = 'ballot' and peer = node)
            group by run_id, term, peer, node),
        leads as (
            select e.run_id, e.node, e.term, e.number, first(r.voters) voters, count(v.node) have
            from {events} e join {runs} r on r.run_id = e.run_id and r.voters > 0
            left join votes v on v.run_id = e.run_id and v.term = e.term and v.peer = e.node
                 and v.number < e.number
            where e.name = 'leads' group by e.run_id, e.node, e.term, e.number)
        select run_id, 'votes-suffice' invariant, node, 0L `index`, term,
               have < floor(voters / 2) + 1 odd,
               concat('node ', node, ' leads term ', term, ' with ', have, ' votes') message
        from leads
        """,
        tables,
        "events",
        "runs",
    )
