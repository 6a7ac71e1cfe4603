"""A feed of changes is ordered, gives everything once, and nothing that was rolled back."""

from typing import TYPE_CHECKING

from admin.checker.rules.feeds import USER_SPACE_MIN
from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def feeds(tables: Tables) -> "DataFrame":
    """Answers against one another, and against the first of the longest confirmed logs."""
    return query(
        f"""
        with reach as (
            select *, least(confirmed, last) upto from {{known}} where first = 1),
        best as (
            select run_id, max(upto) upto,
                   min_by(struct(node, generation), struct(-upto, node, generation)) log
            from reach group by run_id having max(upto) > 0),
        answers as (
            select *, from_json(places, 'array<array<bigint>>') listed,
                   lag(upto) over (partition by run_id, reader order by number) former
            from {{feeds}} where run_id in (select run_id from best)),
        given as (
            select w.run_id, w.`index`, w.term, coalesce(w.space, 0) >= {USER_SPACE_MIN} due
            from {{wal}} w join best b on b.run_id = w.run_id and b.log.node = w.node
                 and b.log.generation = w.generation and w.`index` <= b.upto
            left anti join {{rolled}} r on r.run_id = w.run_id and r.node = w.node
                 and r.generation = w.generation and r.`index` = w.`index`
            where w.kind = 'TXN' and w.run_id in (select run_id from answers)),
        judged as (
            select a.*, transform(listed, each -> each[0]) at from answers a join best b
                 on b.run_id = a.run_id and a.upto <= b.upto),
        items as (
            select run_id, reader, number, item[0] `index`, item[1] term
            from (select *, explode(listed) item from judged)),
        spans as (
            select run_id, reader, min(after) after, max(upto) upto from judged
            group by run_id, reader),
        missed as (
            select g.run_id, s.reader, g.`index` from given g join spans s on s.run_id = g.run_id
                 and g.due and g.`index` > s.after and g.`index` <= s.upto
            left anti join items i on i.run_id = g.run_id and i.reader = s.reader
                 and i.`index` = g.`index`),
        odd as (
            select run_id, number from answers where former != after
            union select run_id, number from judged where at != array_sort(array_distinct(at))
                 or array_min(at) <= after or array_max(at) > upto
            union select i.run_id, i.number from items i left anti join given g
                 on g.run_id = i.run_id and g.`index` = i.`index` and g.term = i.term
            union select j.run_id, j.number from judged j join missed m on m.run_id = j.run_id
                 and m.reader = j.reader and m.`index` > j.after and m.`index` <= j.upto)
        select a.run_id, 'feed-complete' invariant, 0L node, a.number `index`, 0L term,
               o.number is not null odd,
               concat('answer ', a.number, ' of a feed is not what the log has there') message
        from answers a left join odd o on o.run_id = a.run_id and o.number = a.number
        """,  # noqa: S608 - a number of our own
        tables,
        "known",
        "feeds",
        "wal",
        "rolled",
    )
