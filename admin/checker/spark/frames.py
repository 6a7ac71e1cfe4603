"""The invariants that are joins, groups and windows: from tables to rows that were found."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Tables = Mapping[str, "DataFrame"]
"""By name; `known` has a row a log: run, node, generation, first, last, confirmed."""

_LOOKS = "('read', 'r', 'get', 'txn', 'cas-unequal')"


def beforehand(tables: Tables) -> "DataFrame":
    """Small facts that others need: what nodes have confirmed, and what clients were told."""
    return _sql(
        """
        select run_id, 'confirmed' what, '' invariant, node, generation, max(confirmed) `index`,
               max(least(confirmed, coalesce(written, 0))) term, 0L amount, '' message
        from {status} group by run_id, node, generation
        union all
        select run_id, 'failed', '', 0L, 0L, 0L, 0L, seq, session from {ops}
        where type = 'fail' and session is not null and seq is not null
        union all
        select run_id, 'done', '', 0L, 0L, 0L, 0L, seq, session from {ops}
        where type = 'ok' and session is not null and seq is not null
        union all
        select run_id, 'acked', '', 0L, 0L, 0L, 0L, count(*), '' from {ops}
        where type = 'ok' and f not in LOOKS group by run_id
        union all
        select run_id, 'strikes', '', 0L, 0L, 0L, 0L, count(*), '' from {nemesis} group by run_id
        union all
        select run_id, 'events', name, 0L, 0L, 0L, 0L, count(*), '' from {events}
        group by run_id, name
        """.replace("LOOKS", _LOOKS),
        tables,
        "status",
        "ops",
        "nemesis",
        "events",
    )


def elections(tables: Tables) -> "DataFrame":
    """One leader a term, one vote a term, ballots that never go back."""
    return _sql(
        """
        with claims as (
            select run_id, term, origin leader from {wal} where kind = 'PROMOTE'
            union all select run_id, term, node from {status} where role = 'leader'
            union all select run_id, term, node from {events} where name = 'leads'),
        leaders as (
            select run_id, term, count(distinct leader) n, count(*) rows, min(leader) a,
                   max(leader) b from claims group by run_id, term),
        votes as (
            select run_id, node, term, count(distinct peer) n, count(*) rows from {events}
            where name = 'vote' group by run_id, node, term),
        ballots as (
            select *, lag(term) over w former, lag(peer) over w voted from {events}
            where name = 'ballot'
            window w as (partition by run_id, node, generation order by number))
        select run_id, 'facts' what, 'one-leader' invariant, 0L node, 0L generation, 0L `index`,
               0L term, sum(rows) amount, '' message from leaders group by run_id
        union all select run_id, 'breach', 'one-leader', 0L, 0L, 0L, term, 0L,
               concat('term ', term, ' has two leaders, ', a, ' and ', b) from leaders where n > 1
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
        "wal",
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


def logs(tables: Tables) -> "DataFrame":
    """Log matching, agreement of what is confirmed, digests, and receipts; needs `known`."""
    return _sql(
        """
        with places as (
            select run_id, `index`, term, count(distinct crc) n, count(*) rows from {wal}
            group by run_id, `index`, term),
        agreed as (
            select w.run_id, w.`index`, count(distinct w.term) n, count(*) rows from {wal} w
            join {known} k using (run_id, node, generation) where w.`index` <= k.confirmed
            group by w.run_id, w.`index`),
        shown as (
            select d.*, first(node) over w origin, first(digest) over w wanted from {digests} d
            join {known} k using (run_id, node, generation) where d.`index` <= k.confirmed
            window w as (partition by d.run_id, d.`index`, space, coalesce(bucket, 0)
                         order by node)),
        promised as (
            select distinct run_id, log_index, term from {ops}
            where type = 'ok' and f not in LOOKS and log_index > 0),
        receipts as (
            select p.run_id, k.node, p.log_index, not (w.term <=> p.term) odd from promised p
            join {known} k on k.run_id = p.run_id
                 and p.log_index between k.first and least(k.last, k.confirmed)
            left join {wal} w on w.run_id = k.run_id and w.node = k.node
                 and w.generation = k.generation and w.`index` = p.log_index)
        select run_id, 'facts' what, 'log-matching' invariant, 0L node, 0L generation, 0L `index`,
               0L term, sum(rows) amount, '' message from places group by run_id
        union all select run_id, 'breach', 'log-matching', 0L, 0L, `index`, term, 0L,
               concat(n, ' different entries at ', `index`, ' of term ', term)
        from places where n > 1
        union all select run_id, 'facts', 'confirmed-agree', 0L, 0L, 0L, 0L, sum(rows), ''
        from agreed group by run_id
        union all select run_id, 'breach', 'confirmed-agree', 0L, 0L, `index`, 0L, 0L,
               concat('entry ', `index`, ' is confirmed with ', n, ' terms') from agreed where n > 1
        union all select run_id, 'facts', 'digests-equal', 0L, 0L, 0L, 0L, count(*), ''
        from shown where node != origin group by run_id
        union all select distinct run_id, 'breach', 'digests-equal', node, 0L, `index`, 0L, 0L,
               concat('nodes ', origin, ' and ', node, ' differ at ', `index`)
        from shown where node != origin and digest != wanted
        union all select run_id, 'facts', 'receipts-kept', 0L, 0L, 0L, 0L, count(*), ''
        from receipts group by run_id
        union all select distinct run_id, 'breach', 'receipts-kept', node, 0L, log_index, 0L, 0L,
               concat('what was acknowledged at ', log_index, ' is not in the log of node ', node)
        from receipts where odd
        union all select distinct run_id, 'receipt', '', 0L, 0L, log_index, term, 0L, ''
        from promised
        """.replace("LOOKS", _LOOKS),
        tables,
        "wal",
        "known",
        "digests",
        "ops",
    )


def lookups(tables: Tables) -> "DataFrame":
    """The entries at the places in `wanted`, of all logs of the run."""
    return _sql(
        """
        select w.run_id, 'entry' what, '' invariant, w.node, w.generation, w.`index`, w.term,
               w.crc amount, '' message
        from {wal} w join (select distinct run_id, `index` from {wanted}) x
             on x.run_id = w.run_id and x.`index` = w.`index`
        """,
        tables,
        "wal",
        "wanted",
    )


def _sql(query: str, tables: Tables, *names: str) -> "DataFrame":
    used = {name: tables[name] for name in names}
    session = used[names[0]].sparkSession
    return session.sql(query, None, **used)
