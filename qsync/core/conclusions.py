"""The conclusion about a numbered write from one answer: one rule for every client.

A request and its attempts are two things (protocol.md section 5). An attempt whose connection
broke, or whose node said itself that it does not know, may still lie unread in a socket, be pending
in a log that wins a later term, or be done already. As long as there may be such an attempt, or the
number came from another client as a token, the request is in doubt.
"""

from enum import Enum


class AttemptResult(Enum):
    """The meaning of an answer for its attempt."""

    NOT_NOW = "not now"
    """Nothing was done: another node, or another moment, may do it."""
    OPEN = "open"
    """The node has it and does not know what will become of it."""
    CUT = "cut"
    """Its entry was cut off a log and can never come back."""
    ROLLED_BACK = "rolled back"
    """The entry of this session and number has a ROLLBACK that is on a quorum."""
    FORGOTTEN = "forgotten"
    """The session or the number is not known any more, or the entry that would say more is gone."""
    REFUSED = "refused"
    """The attempt did nothing, because of the data or of what it asks."""
    RECORDED = "recorded"
    """The same, and the refusal is committed in the log under the number of the request."""


class Conclusion(Enum):
    """The conclusion for the request."""

    AGAIN = "again"
    """Ask again with the same number."""
    DEFINITE = "definite"
    """It was not done and never will be."""
    UNKNOWN = "unknown"
    """The outcome is unknown."""


def conclude(heard: AttemptResult, *, doubted: bool) -> Conclusion:
    """Return the fate of the request. `doubted`: another attempt may have succeeded, or may yet."""
    match heard:
        case AttemptResult.NOT_NOW | AttemptResult.OPEN | AttemptResult.CUT:
            # That an entry was cut is the fate of the entry: with this number there may be another
            # one in the log, or there may come to be.
            return Conclusion.AGAIN
        case AttemptResult.ROLLED_BACK:
            # On a quorum, so every later leader knows the number as rolled back.
            return Conclusion.DEFINITE
        case AttemptResult.FORGOTTEN:
            return Conclusion.UNKNOWN
        case AttemptResult.REFUSED:
            # Whichever node says so: the other attempt may reach it, or another leader, later.
            return Conclusion.UNKNOWN if doubted else Conclusion.DEFINITE
        case AttemptResult.RECORDED:
            # The number is taken: any other attempt finds this refusal instead of taking effect.
            return Conclusion.DEFINITE
