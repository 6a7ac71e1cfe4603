"""The names that a lab may have: those that a cluster may."""

from typing import Final

from qsync.errors import ConfigError
from qsync.options.member_names import MEMBER_NAME, NAME_CHARS_MAX

_HINT: Final = "give the lab another --name"


def is_name(text: str) -> bool:
    """Return whether this is a valid name of a lab."""
    return MEMBER_NAME.fullmatch(text) is not None


def check_name(text: str, *, said: str = "--name") -> None:
    """Check a name of a lab. Raises ConfigError, which says that it was given as `said`."""
    if is_name(text):
        return
    if len(text) > NAME_CHARS_MAX and is_name(text[:NAME_CHARS_MAX]):
        long = f"has {len(text)} characters; the name of a lab has at most {NAME_CHARS_MAX}"
        raise ConfigError(f"{said} {text!r} {long}", hint=_HINT)
    rule = "letters, digits, dot, dash, underscore, the first a letter or a digit"
    raise ConfigError(f"{said} {text!r} is not a name: {rule}", hint=_HINT)
