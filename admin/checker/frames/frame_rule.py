"""What a rule over DataFrames is, built in or a user's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class EvidenceTables(Protocol):
    """What has the tables of evidence by their names."""

    @property
    def tables(self) -> "Mapping[str, DataFrame]":
        """All of them."""
        ...


@dataclass(frozen=True)
class FrameRule:
    """A rule that can be called: evidence in, a DataFrame of its violations out (`VIOLATIONS`).

    `needs`: the tables that it looks at; of a rule of your own the rows of the first one are the
    facts that it examined.

    ```python
    frames.RULES["log-matching"](evidence).select("node", "index", "message").show()
    ```
    """

    id: str
    title: str
    needs: tuple[str, ...]
    find: "Callable[[Any], DataFrame]"

    def __call__(self, evidence: EvidenceTables) -> "DataFrame":
        """Lazy: nothing is looked at before the DataFrame is. Raises ConfigError."""
        return self.find(evidence)
