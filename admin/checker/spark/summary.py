"""What a task says of its slice of a log, so that the driver can join slices without their rows."""

import json
from dataclasses import asdict, dataclass, field

WAITS, CONTROL, ASKED = 1, 2, 4
"""Of an entry: it waits for a quorum; it is no row of a client; a numbered request made it."""


@dataclass(slots=True, kw_only=True)
class RequestSummary:
    """Numbered requests: how many, and by session the lowest and highest number.

    `twice` and `wanted` are `(index, session, seq)`: of one number, or asked for.
    """

    count: int = 0
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    twice: list[tuple[int, str, int]] = field(default_factory=list)
    wanted: list[tuple[int, str, int]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Summary:
    """A slice.

    `head`: index, term, crc, and what the checksum of the first entry covers: origin, lsn, kind,
    flags, time, CRC and length of the body; shorter if that is not known. `tail`: index, term, crc.
    `segments`: first and last index, origin, first lsn, term: in each all of them grow by one.
    `runs`: first and last index, bits and term of entries whose fate may still be open.
    `records`: index, term, kind, owner and lsn of the named, its index (0: not in here), how far
    was confirmed before.
    `reached`: by term of the CONFIRM the last entry, and its term, that one covers.
    """

    head: list[float]
    tail: list[int]
    segments: list[list[int]]
    confirmed: int = 0
    runs: list[list[int]] = field(default_factory=list)
    records: list[list[int]] = field(default_factory=list)
    reached: list[list[int]] = field(default_factory=list)
    requests: RequestSummary = field(default_factory=RequestSummary)

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> "Summary":
        """The inverse."""
        members = json.loads(text)
        members["requests"] = RequestSummary(**members["requests"])
        return cls(**members)
