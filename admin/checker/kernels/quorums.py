"""The quorum of the last confirmed entry, by the logs alone: for evidence without events."""

from collections.abc import Collection

from admin.checker.kernels.columns import LogEntries, Whose
from admin.checker.kernels.disks import QUORUM
from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.tables import WAL


def confirmed_last(manifest: Manifest) -> NodeFacts | None:
    """Return the node with the highest known confirmed index."""
    return max(manifest.nodes, key=lambda each: (each.confirmed, *each.whose), default=None)


def by_logs(manifest: Manifest, entries: LogEntries, logs: Collection[Whose]) -> RuleFinding:
    """Without disk events: the last confirmed entry is in the logs of a quorum of the voters.

    `entries`: the entries at that index in all logs; `logs`: those that are there.
    """
    ahead = confirmed_last(manifest)
    others = {each.whose for each in manifest.nodes if not each.voter}
    voters = {whose[0] for whose in logs if whose not in others}
    if not manifest.quorum:
        return RuleFinding(lacks="the quorum is not known")
    if WAL.name in manifest.gaps:
        return RuleFinding(lacks=manifest.gaps[WAL.name])
    if ahead is None or len(voters) < manifest.voters or not ahead.confirmed:
        return RuleFinding(lacks="a voter's log is missing, or no confirmed index is known")
    upto = ahead.confirmed
    own = [at for at in range(len(entries)) if entries.whose(at) == ahead.whose]
    if not own:
        return RuleFinding(lacks=f"entry {upto} is not in the log of node {ahead.node}")
    same = [at for at, crc in enumerate(entries.crc) if crc == entries.crc[own[-1]]]
    held = {entries.whose(at) for at in same} | _in_snapshots(manifest, upto)
    have, found = {node for node, _ in held - others}, RuleFinding(facts=1)
    if len(have) < manifest.quorum:
        message = texts.in_logs(ahead.node, upto, have, manifest.quorum)
        found.broken(QUORUM, message, entries.shows(*same), node=ahead.node, index=upto)
    return found


def _in_snapshots(manifest: Manifest, index: int) -> set[Whose]:
    """Return the nodes whose logs begin after that entry: they have it in a snapshot."""
    return {each.whose for each in manifest.nodes if each.first > index}
