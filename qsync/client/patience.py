"""How long a client waits for a node that is connected, and when it asks whether it still leads."""

from typing import Final

from qsync.client.link import Link, Phase

PROBE_S: Final = 0.5
"""So long before its patience ends, a client asks the node whether it is there and leads."""
FAR: Final = float("inf")


def patient_until(link: Link, *, alone: bool) -> float:
    """Not to leave a slow node: under load, everything would be sent once more elsewhere.

    `alone`: there is nobody else to ask.
    """
    if alone:
        return FAR
    times = [
        ask.patience
        + (ask.sent_at if link.deposed and ask.wants_leader else max(ask.sent_at, link.vouched_at))
        for ask in link.inflight.values()
    ]
    return min(times, default=FAR)


def probe_at(link: Link, *, alone: bool) -> float:
    """When to ask it."""
    if link.phase is not Phase.READY:
        return FAR
    return max(patient_until(link, alone=alone), link.probed_at + 2 * PROBE_S) - PROBE_S
