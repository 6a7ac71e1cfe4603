"""The cluster's secret: read from the configuration or a file of its own, never shown."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

CHARS_MIN: Final = 16
"""A shorter one can be guessed."""
CHARS_MAX: Final = 1024
SHOWN: Final = "(set, not shown)"
FILE: Final = "secret"
"""Where it is in the directory of a node that was laid out, beside the configuration."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret, or none, and then it is false. No text made of it shows it, so no message can."""

    text: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        return SHOWN if self.text else ""

    @property
    def key(self) -> bytes:
        """What proofs are made with; empty without a secret."""
        return self.text.encode()


NO_SECRET: Final = Secret()


def parse(text: str) -> Secret:
    """A secret from its text; an empty text is none. Raises ValueError with the reason."""
    if text and not CHARS_MIN <= len(text) <= CHARS_MAX:
        raise ValueError(f"has {len(text)} characters; wanted {CHARS_MIN} to {CHARS_MAX}")
    return Secret(text)


def read(path: Path) -> Secret:
    """The secret in a file, without white space around it. Raises ValueError with the reason."""
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
    """A new random secret, for whoever lays out a cluster."""
    return Secret(secrets.token_urlsafe(32))
