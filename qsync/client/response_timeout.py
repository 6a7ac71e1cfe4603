"""How long a client waits for a node that is connected, and when it asks whether it still leads."""

from collections.abc import Iterable
from typing import Final

from qsync.client.link import ClientLink, ConnectionPhase
from qsync.client.pending_request import PendingRequest

PROBE_S: Final = 0.5
"""So long before its patience ends, a client asks the node whether it is there and leads."""
SILENCE_S: Final = 3.0
"""A node that was asked and says nothing at all for so long is not there any more, or its packets
vanish: the connection is dialled anew, also when there is nobody else to ask."""
SILENT: Final = "silent: it was asked, and said nothing at all"
FAR: Final = float("inf")


def patient_until(link: ClientLink, *, alone: bool, direct: bool) -> float:
    """Not to leave a slow node: under load, everything would be sent once more elsewhere.

    `alone`: there is nobody else to ask. `direct`: whoever asks one node does not probe it, and
    waits for what takes long.
    """
    if alone:
        return FAR if direct else link.word_by
    times = [
        ask.patience
        + (ask.sent_at if link.deposed and ask.wants_leader else max(ask.sent_at, link.vouched_at))
        for ask in link.inflight.values()
    ]
    return min(min(times, default=FAR), link.word_by)


def word_by(asks: Iterable[PendingRequest], now: float) -> float:
    """When silence proves that the connection is dead on which these are asked from now on."""
    return min((now + max(SILENCE_S, ask.patience) for ask in asks), default=FAR)


def word_after(link: ClientLink, now: float) -> float:
    """It has said something: when silence proves that it is dead, after that."""
    if link.phase is not ConnectionPhase.READY:
        return now + SILENCE_S  # it owes us the rest of the handshake
    return word_by(link.inflight.values(), now)


def probe_at(link: ClientLink, until: float) -> float:
    """When to ask it, if our patience lasts `until`."""
    if link.phase is not ConnectionPhase.READY:
        return FAR
    return max(until, link.probed_at + 2 * PROBE_S) - PROBE_S
