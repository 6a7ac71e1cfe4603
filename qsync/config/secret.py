"""The cluster's secret: read from the configuration or a file of its own, never shown."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

CHARS_MIN: Final = 16
"""The minimum length: a shorter secret can be guessed."""
CHARS_MAX: Final = 1024
SHOWN: Final = "(set, not shown)"
FILE: Final = "secret"
"""Where it is in the directory of a node that was laid out, beside the configuration."""


SECRETS_MAX: Final = 4
"""How many of them a node may know while its cluster changes them."""
_FILE_BYTES_MAX: Final = 8 * SECRETS_MAX * CHARS_MAX


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, or none (then it is false). Its text never shows it, so no message can.

    While a cluster changes its secret `text` has several lines: a node proves the first one, and
    accepts each.
    """

    text: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        return SHOWN if self.text else ""

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The keys for proofs, the node's own first; none without a secret."""
        return tuple(line.encode() for line in self.text.split("\n")) if self.text else ()


NO_SECRET: Final = Secret()


def parse(text: str) -> Secret:
    """Parse a secret, or several, one a line; an empty text means none.

    Raises ValueError with the reason.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) > SECRETS_MAX:
        raise ValueError(f"has {len(lines)} secrets, one a line; wanted at most {SECRETS_MAX}")
    for number, line in enumerate(lines, 1):
        if not CHARS_MIN <= len(line) <= CHARS_MAX:
            where = f" in line {number}" if len(lines) > 1 else ""
            wanted = f"wanted {CHARS_MIN} to {CHARS_MAX}"
            raise ValueError(f"has {len(line)} characters{where}; {wanted}")
    if len(set(lines)) < len(lines):
        raise ValueError("has the same secret twice")
    return Secret("\n".join(lines))


def read(path: Path) -> Secret:
    """Read a file of secrets, one a line. Raises ValueError with the reason."""
    try:
        with path.open("rb") as file:
            text = file.read(_FILE_BYTES_MAX).decode()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8 text") from error
    if not text.strip():
        raise ValueError("holds no secret")
    return parse(text)


def fresh() -> Secret:
    """Return a new random secret, for a new cluster."""
    return Secret(secrets.token_urlsafe(32))
