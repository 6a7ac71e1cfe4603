"""The registry of invariants that are whole Spark queries of their own, a file or a few each.

Each is a function from tables to a DataFrame of `found.DDL`. Beside the tables of evidence there
are `known` (a row a log: run_id, node, generation, first, last, confirmed), `rolled` (run_id, node,
generation, index of what is rolled back there) and `runs` (run_id, voters, quorum).
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Frame = Callable[[Mapping[str, DataFrame]], DataFrame]

REGISTRY: "tuple[Frame, ...]" = ()
"""Add yours here: what it returns is judged with everything else, in the same job."""


def frames(tables: "Mapping[str, DataFrame]") -> "list[DataFrame]":
    """What all of them look for."""
    return [each(tables) for each in REGISTRY]
