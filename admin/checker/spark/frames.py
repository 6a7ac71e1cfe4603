"""The invariants that are groups and windows: from small tables to rows that were found."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from admin.checker.spark.answered import answered
from admin.checker.spark.loading import named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Tables = Mapping[str, "DataFrame"]
"""By name; `known` has a row a log: run, node, generation, first, last, confirmed."""


def beforehand(tables: Tables) -> "DataFrame":
    """Small facts that others need: what nodes have confirmed, and what clients were told."""
    found = _sql(
        """
        select run_id, 'confirmed' what, '' invariant, node, generation,
               max(least(confirmed, coalesce(written, confirmed))) `index`,
               max(least(confirmed, coalesce(written, 0))) term, 0L amount, '' message
        from {status} group by run_id, node, generation
        union all
        select run_id, 'strikes', '', 0L, 0L, 0L, 0L, count(*), '' from {nemesis} group by run_id
        """,
        tables,
        "status",
        "nemesis",
    )
    return found.unionByName(named(tables)).unionByName(answered(tables))


def elections(tables: Tables) -> "DataFrame":
    """Who says that it leads, one vote a term, ballots that never go back."""
    return _sql(
        """
        with claims as (
            select run_id, term, node from {status} where role = 'leader'
            union all select run_id, term, leader from {status} where leader != 0
            union all select run_id, term, node from {events} where name = 'leads'),
        votes as (
            select run_id, node, term, count(distinct peer) n, count(*) rows from {events}
            where name = 'vote' group by run_id, node, term),
        ballots as (
            select *, lag(term) over w former, lag(peer) over w voted from {events}
            where name = 'ballot'
            window w as (partition by run_id, node, generation order by number))
        select run_id, 'claim' what, 'one-leader' invariant, node, 0L generation, 0L `index`,
               term, count(*) amount, '' message from claims group by run_id, node, term
        union all select run_id, 'led', '', node, 0L, 0L, term, 0L, '' from {events}
        where name = 'leads' group by run_id, node, term
        union all select run_id, 'since', '', node, 0L, 0L, min(term), 0L, '' from {events}
        group by run_id, node
        union all select run_id, 'facts', 'one-vote', 0L, 0L, 0L, 0L, sum(rows), '' from votes
        group by run_id
        union all select run_id, 'breach', 'one-vote', node, 0L, 0L, term, 0L,
               concat('node ', node, ' voted for several in term ', term) from votes where n > 1
        union all select run_id, 'facts', 'ballot-kept', 0L, 0L, 0L, 0L, count(*), '' from ballots
        group by run_id
        union all select run_id, 'breach', 'ballot-kept', node, 0L, 0L, term, 0L,
               concat('the ballot of node ', node, ' went back in term ', term) from ballots
        where term < former or (term = former and voted is not null and not (peer <=> voted))
        """,
        tables,
        "status",
        "events",
    )


def statuses(tables: Tables) -> "DataFrame":
    """What only grows does not go back; one node takes writes; indexes are in order."""
    return _sql(
        """
        with series as (
            select *, lag(term) over w former, lag(coalesce(confirmed, 0)) over w had from {status}
            window w as (partition by run_id, node, generation, life order by sample)),
        writable as (
            select run_id, term, count(distinct node) n, count(*) rows from {status}
            where ro = false group by run_id, term),
        orders as (
            select *, not (confirmed <= visible and visible <= last)
                   or coalesce(limbo_len > last - confirmed, false) odd from {status}
            where last is not null and confirmed is not null and visible is not null)
        select run_id, 'facts' what, 'status-monotone' invariant, 0L node, 0L generation,
               0L `index`, 0L term, count(*) amount, '' message from series group by run_id
        union all select run_id, 'breach', 'status-monotone', node, 0L, sample, term, 0L,
               concat('node ', node, ' went back from term ', former, ', confirmed ', had)
        from series where term < former or coalesce(confirmed, 0) < had
        union all select run_id, 'facts', 'one-writable', 0L, 0L, 0L, 0L, sum(rows), ''
        from writable group by run_id
        union all select run_id, 'breach', 'one-writable', 0L, 0L, 0L, term, 0L,
               concat(n, ' nodes took writes in term ', term) from writable where n > 1
        union all select run_id, 'facts', 'status-coherent', 0L, 0L, 0L, 0L, count(*), ''
        from orders group by run_id
        union all select run_id, 'breach', 'status-coherent', node, 0L, sample, term, 0L,
               concat('node ', node, ': confirmed ', confirmed, ', visible ', visible, ', last ',
                      last, ' do not fit') from orders where odd
        """,
        tables,
        "status",
    )


def digests(tables: Tables) -> "DataFrame":
    """Nodes that have confirmed the same index, or rest there, show the same; needs `known`."""
    return _sql(
        """
        with shown as (
            select d.*, first(node) over w origin, first(digest) over w wanted from {digests} d
            join {known} k using (run_id, node, generation) join {runs} r using (run_id)
            where d.made is null and (d.`index` <= k.confirmed or r.whole)
            window w as (partition by d.run_id, d.`index`, space, coalesce(bucket, 0)
                         order by node))
        select run_id, 'facts' what, 'digests-equal' invariant, 0L node, 0L generation, 0L `index`,
               0L term, count(*) amount, '' message from shown where node != origin group by run_id
        union all select distinct run_id, 'breach', 'digests-equal', node, 0L, `index`, 0L, 0L,
               concat('nodes ', origin, ' and ', node, ' differ at ', `index`)
        from shown where node != origin and digest != wanted
        """,
        tables,
        "digests",
        "known",
        "runs",
    )


def _sql(query: str, tables: Tables, *names: str) -> "DataFrame":
    used = {name: tables[name] for name in names}
    session = used[names[0]].sparkSession
    return session.sql(query, None, **used)
