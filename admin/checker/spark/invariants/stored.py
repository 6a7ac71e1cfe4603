"""What a node has stored of its spaces is what its log makes of them."""

from typing import TYPE_CHECKING

from admin.checker.spark.invariants.queries import Tables, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def stored(tables: Tables) -> "DataFrame":
    """Two digests of a space of one node at one index, made in two ways."""
    return query(
        """
        select one.run_id, 'stored-replayed' invariant, one.node, one.`index`, 0L term,
               one.digest != two.digest odd,
               concat('space ', space, ' as node ', one.node, ' has stored it at ', one.`index`,
                      ' is not what its log makes') message
        from {digests} one join {digests} two using (run_id, node, generation, `index`, space)
        where one.made = 'snapshot' and two.made = 'replay'
        """,
        tables,
        "digests",
    )
