"""The confirmed index never stops inside of a rolled-back stretch."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def stretches(tables: Tables) -> "DataFrame":
    """From the first entry that a ROLLBACK takes up to the one before it, nobody stops."""
    return query(
        """
        with parts as (
            select run_id, by record, min(`index`) first from {rolled} group by run_id, by),
        claims as (
            select distinct run_id, node, confirmed place from {status} where confirmed > 0
            union select run_id, node, `index` from {events} where name = 'confirmed')
        select c.run_id, 'stretches-whole' invariant, c.node, c.place `index`, 0L term,
               p.record is not null odd,
               concat('node ', c.node, ' stopped at ', c.place, ', before the ROLLBACK at ',
                      p.record) message
        from claims c left join parts p
             on p.run_id = c.run_id and c.place >= p.first and c.place < p.record
        where c.run_id in (select run_id from parts)
        """,
        tables,
        "rolled",
        "status",
        "events",
    )
