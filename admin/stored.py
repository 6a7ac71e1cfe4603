"""What a node said of its stored rows: are they what its log makes of them?"""

from dataclasses import dataclass

from admin import fields
from admin.fields import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacesSample:
    """The rows on disk. `error`: why they cannot be read, and how far they are made anew.

    `rebuilds` and `scrubs` (looks at all rows that found nothing) since the process began.
    """

    error: str | None = None
    rebuilds: int = 0
    scrubs: int = 0

    @classmethod
    def read(cls, answer: Answer) -> "SpacesSample":
        """From STATUS `spaces`."""
        return cls(
            error=fields.text_or_none(answer, "error"),
            rebuilds=fields.integer(answer, "rebuilds"),
            scrubs=fields.integer(answer, "scrubs"),
        )
