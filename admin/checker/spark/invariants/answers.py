"""What clients were told, against single entries: receipts name them, rolled-back ones hide."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def receipts(tables: Tables) -> "DataFrame":
    """A receipt names the entry of the very request that it was given for."""
    return query(
        """
        with lines as (
            select run_id, log_index, term, max_by(struct(session, seq), `index`) asked from {ops}
            where type = 'ok' and seq > 0 and log_index > 0 group by run_id, log_index, term),
        pairs as (
            select w.run_id, w.node, w.`index`, asked.seq != w.seq
                   or get_json_object(concat('[', asked.session, ']'), '$[0]') != w.session odd
            from {wal} w join lines l on l.run_id = w.run_id and l.log_index = w.`index`
                 and l.term = w.term
            where w.session is not null and w.seq is not null)
        select run_id, 'receipt-own' invariant, node, `index`, 0L term, coalesce(odd, true) odd,
               concat('a receipt names ', `index`, ', which is of another request') message
        from pairs
        """,
        tables,
        "ops",
        "wal",
    )


def hidden(tables: Tables) -> "DataFrame":
    """No read shows a value whose only writes were rolled back for good."""
    return query(
        """
        with fates as (
            select w.run_id, w.session, w.seq,
                   bool_and(r.`index` is not null and w.`index` <= coalesce(k.confirmed, 0)) gone
            from {wal} w
            left join {known} k on k.run_id = w.run_id and k.node = w.node
                 and k.generation = w.generation
            left join {rolled} r on r.run_id = w.run_id and r.node = w.node
                 and r.generation = w.generation and r.`index` = w.`index`
            where w.session is not null and w.seq is not null
                 and w.run_id in (select run_id from {rolled})
            group by w.run_id, w.session, w.seq),
        lines as (
            select *, get_json_object(concat('[', session, ']'), '$[0]') who,
                   get_json_object(concat('[', value, ']'), '$[0]') one,
                   get_json_object(value, '$[1]') new from {ops}),
        writes as (
            select run_id, key, case when f = 'cas' then new else one end wrote, count(*) n,
                   max(who) who, max(seq) seq from lines
            where f in ('write', 'cas', 'put') and type != 'invoke'
            group by run_id, key, case when f = 'cas' then new else one end),
        lost as (
            select w.run_id, w.key, w.wrote from writes w join fates f on f.run_id = w.run_id
                 and f.session = w.who and f.seq = w.seq where w.n = 1 and f.gone),
        reads as (
            select * from lines where f = 'read' and type = 'ok')
        select r.run_id, 'rolled-back-hidden' invariant, 0L node, r.`index`, 0L term,
               l.wrote is not null odd,
               concat('line ', r.`index`, ' read what was rolled back') message
        from reads r left join lost l on l.run_id = r.run_id and l.key <=> r.key
             and l.wrote = r.one
        where r.run_id in (select run_id from lost)
        """,
        tables,
        "wal",
        "known",
        "rolled",
        "ops",
    )
