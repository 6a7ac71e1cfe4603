"""What a node said of its stored rows: are they what its log makes of them?"""

from dataclasses import dataclass

from admin.status import fields
from admin.status.fields import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacesSample:
    """The rows on disk. `error`: why they cannot be read, and how far they are made anew.

    `differs`: the spaces that were not the leader's when they were compared last, at `compared`.
    `rebuilds` and `scrubs` (looks at all rows that found nothing) since the process began.
    """

    error: str | None = None
    rebuilds: int = 0
    scrubs: int = 0
    compared: int = 0
    differs: tuple[str, ...] = ()

    @classmethod
    def read(cls, answer: Answer) -> "SpacesSample":
        """From STATUS `spaces`."""
        return cls(
            error=fields.text_or_none(answer, "error"),
            rebuilds=fields.integer(answer, "rebuilds"),
            scrubs=fields.integer(answer, "scrubs"),
            compared=fields.integer(answer, "compared"),
            differs=tuple(map(str, fields.array(answer, "differs"))),
        )
