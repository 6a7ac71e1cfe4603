"""The life of a directory and the end of its log, as words of a handshake (M7 c).

Both are words among the features, so that releases which know neither go on as before.
"""

from collections.abc import Iterable
from typing import Final

from election.messages import Index, Position, Term
from qsync.errors import ProtocolError
from qsync.life import DirectoryLife
from qsync.wire.limits import U64_MAX

_LIFE: Final = "life:"
_REACH: Final = "reach:"


def word_of(life: DirectoryLife) -> str:
    """The life that this node is in."""
    return f"{_LIFE}{life.number}:{life.nonce}"


def reach_of(term: Term, last: Position) -> str:
    """The term that it is in, and the last entry of its log."""
    return f"{_REACH}{term}:{last.term}:{last.index}"


def life_in(words: Iterable[str]) -> DirectoryLife | None:
    """The life among the features; None without one. Raises ProtocolError."""
    found = _numbers(words, _LIFE, 2)
    return None if found is None else DirectoryLife(*found)


def reach_in(words: Iterable[str]) -> tuple[Term, Position] | None:
    """Term and last entry among the features; None without them. Raises ProtocolError."""
    found = _numbers(words, _REACH, 3)
    if found is None:
        return None
    term, last, index = found
    return Term(term), Position(Term(last), Index(index))


def _numbers(words: Iterable[str], begins: str, count: int) -> list[int] | None:
    for word in words:
        if not word.startswith(begins):
            continue
        texts = word.removeprefix(begins).split(":")
        if len(texts) != count or not all(each.isascii() and each.isdigit() for each in texts):
            raise ProtocolError(f"{word!r} is no {begins}")
        numbers = [int(each) for each in texts]
        if max(numbers) > U64_MAX:
            raise ProtocolError(f"{word!r} is beyond 64 bits")
        return numbers
    return None
