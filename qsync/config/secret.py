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


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, or none (then it is false). Its text never shows it, so no message can."""

    text: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        return SHOWN if self.text else ""

    @property
    def key(self) -> bytes:
        """The key for proofs; empty without a secret."""
        return self.text.encode()


NO_SECRET: Final = Secret()


def parse(text: str) -> Secret:
    """Parse a secret; an empty text means none. Raises ValueError with the reason."""
    if text and not CHARS_MIN <= len(text) <= CHARS_MAX:
        raise ValueError(f"has {len(text)} characters; wanted {CHARS_MIN} to {CHARS_MAX}")
    return Secret(text)


def read(path: Path) -> Secret:
    """Read a secret from a file, without outer white space. Raises ValueError with the reason."""
    try:
        with path.open("rb") as file:
            text = file.read(4 * CHARS_MAX).decode().strip()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8 text") from error
    if not text:
        raise ValueError("holds no secret")
    return parse(text)


def fresh() -> Secret:
    """Return a new random secret, for a new cluster."""
    return Secret(secrets.token_urlsafe(32))
