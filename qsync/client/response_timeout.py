"""Timeouts of a client for a connected node, and when it asks whether the node still leads."""

from collections.abc import Iterable
from typing import Final

from qsync.client.link import ClientLink, ConnectionPhase
from qsync.client.pending_request import PendingRequest

PROBE_S: Final = 0.5
"""This long before its timeout, a client asks the node whether it is there and leads."""
SILENCE_S: Final = 3.0
"""A node that does not answer a request for this long is gone, or its packets are lost: the client
connects again, even if no other node is known."""
SILENT: Final = "silent: it was asked, and said nothing at all"
FAR: Final = float("inf")


def patient_until(link: ClientLink, *, alone: bool, direct: bool) -> float:
    """Return until when to wait for a slow node: other nodes would get the same load again.

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
    """Return when silence proves that the connection of new requests is dead."""
    return min((now + max(SILENCE_S, ask.patience) for ask in asks), default=FAR)


def advanced(link: ClientLink, now: float) -> None:
    """Note that a part of a long answer has come, or that one of a long request has gone.

    It says what the answer to a probe would: that the node is there, and does what it was asked.
    """
    link.vouched_at, link.deposed = now, False
    link.word_by = max(link.word_by, now + SILENCE_S)


def heard(link: ClientLink, now: float, *, whole: bool) -> None:
    """Note that something was received: a `whole` answer or step of the handshake, or a part.

    A part of a long answer is a sign of life, too.
    """
    if not link.advanced(whole=whole):
        return
    if not whole:
        advanced(link, now)
    elif link.phase is ConnectionPhase.READY:
        link.word_by = word_by(link.inflight.values(), now)
    else:
        link.word_by = now + SILENCE_S  # it owes us the rest of the handshake


def probe_at(link: ClientLink, until: float) -> float:
    """Return when to ask the node whether it leads, if we wait until `until`."""
    if link.phase is not ConnectionPhase.READY:
        return FAR
    return max(until, link.probed_at + 2 * PROBE_S) - PROBE_S
