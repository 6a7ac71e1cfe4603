"""How an invariant that is one SQL query is written: rows of what it looked at."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Tables = Mapping[str, "DataFrame"]
Row = Mapping[str, Any]  # what pyspark says of the columns of a row


def query(text: str, tables: Tables, *names: str) -> "DataFrame":
    """The rows of a query; names of tables stand in braces.

    Of an invariant: run_id, invariant, and of each fact that it examined node, `index` and term,
    whether it is `odd`, and the message if it is.
    """
    used = {name: tables[name] for name in names}
    session = used[names[0]].sparkSession
    return session.sql(text, None, **used)


def facts_and_breaches(rows: "DataFrame") -> "DataFrame":
    """Facts counted, and breaches one by one, as `found.DDL` has them."""
    return query(
        """
        select run_id, case when odd then 'breach' when odd is null then 'doubt' else 'facts' end
               what, invariant, if(odd, node, 0L) node, 0L generation, if(odd, `index`, 0L) `index`,
               if(odd, term, 0L) term, count(*) amount, max(if(odd is false, '', message)) message
        from {rows}
        group by run_id, invariant, odd, if(odd, node, 0L), if(odd, `index`, 0L), if(odd, term, 0L)
        """,
        {"rows": rows},
        "rows",
    )
