"""A rule over DataFrames, built in or written by a user."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class EvidenceTables(Protocol):
    """An object that has the tables of evidence as attributes."""

    @property
    def tables(self) -> "Mapping[str, DataFrame]":
        """All of them."""
        ...


@dataclass(frozen=True)
class FrameRule:
    """A callable rule: it takes evidence and returns a DataFrame of violations (`VIOLATIONS`).

    `needs`: the tables that it reads. For your own rule the rows of the first table count as the
    examined facts.

    ```python
    frames.RULES["log-matching"](evidence).select("node", "index", "message").show()
    ```
    """

    id: str
    title: str
    needs: tuple[str, ...]
    find: "Callable[[Any], DataFrame]"

    def __call__(self, evidence: EvidenceTables) -> "DataFrame":
        """Lazy: no data is read until the DataFrame is used. Raises ConfigError."""
        return self.find(evidence)
