"""Checks of processes: clocks, open files, clients, refused connections, internal errors."""

from collections.abc import Iterator, Mapping

from admin.doctor.facts import CLUSTER, Facts, Finding, notice, warning
from qsync.errors import AccessDenied, NotMember, WrongVersion
from qsync.units import how_many

SKEW_S_MAX = 2.0
"""Longer than a round of questions to all nodes takes."""
FILES_SHARE_MAX = 0.8
CLIENTS_SHARE_MAX = 0.8
REFUSED_MAX = 100
DIALS = "something that does not speak our protocol, or a node of another cluster, dials"
REFUSED_FIX: Mapping[str, str] = {
    NotMember.code.lower(): "a node that was removed, or not added yet, runs: stop it, or add it",
    WrongVersion.code.lower(): "a node or client of another release dials: upgrade it, or stop it",
    AccessDenied.code.lower(): "clients, or nodes, show a wrong password, certificate or secret",
    "handshakes_per_address": "many clients of one host dial at once: let its threads and tasks "
    "share a client, or raise `limits.handshakes_per_address_max`",
}
"""The fix, by the most frequent reason."""


def clocks_agree(facts: Facts) -> Iterator[Finding]:
    """The wall clocks agree."""
    times = {node.name: node.time for node in facts.nodes if node.time is not None}
    if not times:
        return
    late, early = min(times, key=times.__getitem__), max(times, key=times.__getitem__)
    skew = times[early] - times[late]
    if skew > SKEW_S_MAX:
        yield warning(
            CLUSTER,
            f"the clock of {late} is {skew:.1f} s behind that of {early}",
            "nothing is decided by it, but times in logs and events mislead: set up NTP",
        )


def files_allowed(facts: Facts) -> Iterator[Finding]:
    """Open files are well below the limit."""
    for node in facts.nodes:
        if len(node.files) != 2:  # noqa: PLR2004 - those in use and the limit
            continue
        used, most = node.files
        if used > FILES_SHARE_MAX * most:
            yield warning(
                node.name,
                f"has {used} of {most} files open",
                "raise the limit (ulimit -n, LimitNOFILE): without one no client can connect",
            )


def clients_allowed(facts: Facts) -> Iterator[Finding]:
    """Client connections are well below the limit."""
    for node in facts.nodes:
        most = facts.of(node).number("limits.connections_max")
        if most is not None and node.clients > CLIENTS_SHARE_MAX * most:
            yield warning(
                node.name,
                f"has {node.clients} of {most} client connections",
                "raise limits.connections_max, or let clients share connections",
            )


def no_mishaps(facts: Facts) -> Iterator[Finding]:
    """No bug of the node ended a connection."""
    for node in facts.nodes:
        if node.mishaps:
            yield warning(
                node.name,
                f"made {node.mishaps} mistakes of its own while it served connections",
                "each ended one connection and nothing else; report the traceback, which is under "
                "`mishap` in timeline.jsonl of its directory",
            )


def refusals_few(facts: Facts) -> Iterator[Finding]:
    """Few connections are refused."""
    for node in facts.nodes:
        count = sum(node.refused.values())
        if count > REFUSED_MAX:
            why = ", ".join(f"{name} {n}" for name, n in sorted(node.refused.items()))
            yield notice(
                node.name,
                f"refused {how_many(count, 'connection')} since its start: {why}",
                REFUSED_FIX.get(max(node.refused, key=node.refused.__getitem__), DIALS),
            )
