"""The place of a reader of changes, which can stop and resume.

The client repeats its request, and the node keeps a request until it has news. So a reader sets its
own pace, and after a lost connection it continues at its position, with any node that answers.
"""

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from qsync.client import questions
from qsync.client.calls import ClientCall
from qsync.client.changes import Change, ChangeBatch, ChangeKind
from qsync.client.rows import Key, Receipt, key_of
from qsync.errors import QsyncError
from qsync.wire.verbs import Name

WAIT_S: Final = 1.0
"""How long a node keeps a question for which it has no news."""


def wait_within(timeout: float, left: float | None = None) -> float:
    """Return how long a node keeps it for a client whose calls last `timeout` seconds at most.

    Not as long as the call: an answer that says that there is no news has to arrive, too. `left`:
    how much longer the caller waits for news; None: as long as it takes.
    """
    most = min(WAIT_S, timeout / 2)
    return most if left is None else max(0.0, min(most, left))


@dataclass(slots=True)
class Cursor:
    """The place of a reader, and its filter. `space` becomes a number once it is known.

    `named`: the space as the reader named it.
    `term`: of the write that the feed goes on after, until the log is known to have that write.
    """

    space: Name | None
    prefix: list[object]
    upto: int | None
    term: int = 0
    pending: deque[Change] = field(default_factory=deque)
    ended: bool = False
    idle_s: float = 0.0
    reached: bool = False
    """Whether everything was read that was confirmed when the last question was answered."""
    named: Name | None = field(init=False)

    def __post_init__(self) -> None:
        self.named = self.space

    def call(self, timeout: float, idle: float | None = None) -> ClientCall[ChangeBatch]:
        """Return the next question, for calls of that `timeout`; with `idle`, for its rest."""
        wait = wait_within(timeout, None if idle is None else idle - self.idle_s)
        return questions.changes(self.upto, self.space, self.prefix, wait, term=self.term)

    def is_idle(self, idle: float | None) -> bool:
        """Return whether nothing is left to be read, and there was no change for so long."""
        return idle is not None and self.reached and self.idle_s >= idle

    def took(self, batch: ChangeBatch, asked: int | None) -> None:
        """Take its answer. `asked`: behind which place; what is behind another one is known."""
        if asked != self.upto:
            return  # two have asked at once
        if batch.confirmed >= (self.upto or 0):
            self.term = 0  # what is confirmed there is what was asked for, and stays so
        self.upto = batch.upto
        if batch.space is not None:
            self.space = batch.space
        self.pending.extend(batch.changes)
        self.reached = batch.upto >= batch.confirmed
        self.idle_s = 0.0 if batch.changes else self.idle_s + batch.seconds

    def name_space(self, error: QsyncError) -> None:
        """Let the error of a question name the space as the reader did, and not by number.

        The node does not know that name: it may have changed, and the reader may not know the
        present one.
        """
        if self.space == self.named:
            return
        number = re.compile(rf"\bspace {self.space}\b")
        error.message = number.sub(lambda _: f"space {self.named!r}", error.message)
        error.args = (error.message,)
        if error.details.get("space") == self.space:
            error.details["space"] = self.named

    def next(self) -> Change | None:
        """Return the next change that is here. After a drop of the space nothing follows."""
        if not self.pending:
            return None
        change = self.pending.popleft()
        dropped = any(each.what is ChangeKind.DROP for each in change.effects[-1:])
        if self.space is not None and dropped:
            self.pending.clear()
            self.ended = True
        return change


def cursor(space: Name | None, key: Key, after: int | Receipt | None) -> Cursor:
    """Return the first place of a reader: after an index or a write, or (None) now."""
    if isinstance(after, Receipt):
        return Cursor(space, key_of(key), after.index, after.term)
    return Cursor(space, key_of(key), after)
