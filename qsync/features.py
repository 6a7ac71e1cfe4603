"""Features of the log: what entries may hold that not every release can read.

A release that writes something new into the log names it here. It is enabled in the log itself, as
a setting that the whole cluster shares, and only when every node that the leader may send the log
to has said that it knows it. From there on no node is admitted that does not, and no release that
does not starts on such a log.
"""

from collections.abc import Iterable, Mapping
from typing import Final

USERS: Final = "users"
"""Rows of `_user` and `_priv`. From there on who may do what is looked up in them."""
CONSUMER_OWNERS: Final = "consumer_owners"
"""Rows of `_gc_consumers` that name the user whom the consumer belongs to."""
KNOWN: Final[frozenset[str]] = frozenset({USERS, CONSUMER_OWNERS})
"""Those of this release."""
ON_DEMAND: Final[frozenset[str]] = frozenset({USERS})
"""Features for operators to enable: no leader enables them by itself."""
BASES: Final[Mapping[str, str]] = {CONSUMER_OWNERS: USERS}
"""What is about another feature: a leader enables it only in logs that use that one."""
LOG_TERMS: Final = "log_terms"
"""The start of a log is sent with the terms and rolled-back stretches of trimmed entries."""
BETWEEN_PEERS: Final[frozenset[str]] = frozenset({LOG_TERMS})
"""What peers tell each other beside those: no entry of the log needs it, so it is never enabled.
Who does not know one of these is spoken to as by the releases that did not."""
SETTING: Final = "cluster.features"
"""The row of `_settings` that names those that are enabled, with commas between them."""
_WORD: Final = "log:"
"""Begins each of them among the other features that a handshake tells."""
_RELEASE: Final = "release:"


def parse(text: str) -> frozenset[str]:
    """The features that a text names. Raises ValueError whose text completes "KEY = TEXT ..."."""
    names = text.split(",") if text else []
    if names != sorted(set(names)) or not all(name.isidentifier() for name in names):
        raise ValueError("is not a list of features in order, with commas between them")
    return frozenset(names)


def text_of(features: Iterable[str]) -> str:
    """Return a text that `parse` reads."""
    return ",".join(sorted(features))


def enabled(settings: Mapping[str, str]) -> frozenset[str]:
    """Return the features that a log has enabled, by its shared settings."""
    return parse(settings.get(SETTING, ""))


def due(known: Iterable[str], here: Iterable[str]) -> frozenset[str]:
    """The features that a leader has to enable: of those that are known, in a log that uses some.

    As soon as the log may use them, that is, as soon as everybody knows them.
    """
    used = frozenset(here)
    found = frozenset(known) - used - ON_DEMAND
    return frozenset(name for name in found if BASES.get(name) in (None, *used))


def words_of(features: Iterable[str], release: str) -> tuple[str, ...]:
    """Return features and release as words of a handshake."""
    return (f"{_RELEASE}{release}", *(_WORD + name for name in sorted(features)))


def told_in(words: Iterable[str]) -> frozenset[str]:
    """The features of the log among the words of a handshake."""
    return frozenset(word.removeprefix(_WORD) for word in words if word.startswith(_WORD))


def release_of(words: Iterable[str]) -> str:
    """The release that said these words; empty of one that does not say it."""
    found = (word.removeprefix(_RELEASE) for word in words if word.startswith(_RELEASE))
    return next(found, "")


def misfit(used: Iterable[str], who: str, known: Iterable[str]) -> str | None:
    """Return why a node cannot follow a log that uses these features; None if it can."""
    why = lacking(used, known)
    if not why:
        return None
    return f"the log of this cluster uses {why}, which the release of {who} does not know"


def lacking(wanted: Iterable[str], known: Iterable[str]) -> str:
    """In words: which of them are not known; empty when all are."""
    missing = sorted(set(wanted) - set(known))
    return f"feature {', '.join(missing)}" if missing else ""
