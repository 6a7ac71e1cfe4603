"""How to check, from the words that a caller gives for it."""

from enum import StrEnum
from typing import TypeVar

from admin.checker.elle import IsolationLevel
from admin.checker.kinds import Hints, ObjectKind
from admin.checker.readers import HistoryFormat
from admin.checker.spark.clients.keys import Terms
from qsync.errors import ConfigError

Word = TypeVar("Word", bound=StrEnum)


def terms_of(
    *,
    model: ObjectKind | str | None,
    level: IsolationLevel | str,
    format: HistoryFormat | str | None = None,
) -> Terms:
    """The terms of a check. Raises ConfigError that names the known words."""
    hints = Hints(
        format=None if format is None else _one_of(HistoryFormat, format, "format"),
        kind=None if model is None else _one_of(ObjectKind, model, "model"),
    )
    return Terms(hints, _one_of(IsolationLevel, level, "level"))


def _one_of(words: type[Word], word: str, what: str) -> Word:
    try:
        return words(word)
    except ValueError:
        known = ", ".join(words)
        raise ConfigError(f"there is no {what} {word!r}", hint=f"there are {known}") from None
