"""What is confirmed is on the disks of a quorum before."""

from admin.checker.replay.disks import DiskReplay
from admin.checker.rules import texts
from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import NodeEvent, RunTables, Whose


def quorums(run: RunTables) -> RuleFinding:
    """When something is first confirmed, it is on the disks of a quorum."""
    if any(each.name == "durable" for each in run.events):
        return _by_events(run)
    return _by_logs(run)


def _by_events(run: RunTables) -> RuleFinding:
    found, quorum = RuleFinding(), _Quorum(run.manifest.quorum)
    disks, highest, lacked = DiskReplay(), 0, False
    writes: dict[tuple[Whose, int], NodeEvent] = {}
    began: dict[Whose, NodeEvent] = {}
    for each in run.events:
        if each.name == "begins" and not _continues(disks, each):
            began[each.whose] = writes[each.whose, each.index] = each
        disks.apply(each)
        if each.name == "durable":
            writes[each.whose, each.index] = each
        wanted = quorum.at(each) if each.name == "confirmed" else 0
        if each.name == "confirmed" and each.index > highest:
            highest = each.index
            if not wanted:
                continue
            found.facts += 1
            on = [disk for disk in sorted(disks.held) if disks.holds(disk, each.index, each.crc)]
            have = dict(on)  # of several disks of a node the last one
            goes_on, lacked = lacked, len(have) < wanted
            if lacked and not goes_on:
                # Later confirmed entries depend on it: only the first of a stretch is reported.
                message = texts.quorum(each.node, each.index, list(have), wanted)
                before = {disk for disk in have.items() if each.index < disks.held[disk].first}
                told = [began[d] if d in before else writes[d, each.index] for d in have.items()]
                rows = [each.shows(), *(row.shows() for row in told)]
                found.broken(QUORUMS, message, rows, node=each.node, index=each.index)
    return found if quorum.known else RuleFinding(lacks="the quorum is not known")


class _Quorum:
    """What a node says at a confirm, or said at the one before; not below the least of all."""

    def __init__(self, least: int) -> None:
        self.known = bool(least)
        self._least = least
        self._said: dict[int, int] = {}

    def at(self, confirmed: NodeEvent) -> int:
        says = confirmed.floor or 0
        before = self._said.get(confirmed.node, says)
        self._said[confirmed.node] = says
        wanted = max(min(says, before), self._least)
        self.known = self.known or bool(wanted)
        return wanted


def _continues(disks: DiskReplay, begins: NodeEvent) -> bool:
    """Only the beginning of its log went, and that entry is known."""
    disk = disks.held.get(begins.whose)
    known = disk is not None and disk.first <= begins.index
    return known and disks.holds(begins.whose, begins.index, begins.crc)


def _by_logs(run: RunTables) -> RuleFinding:
    """What was confirmed before the logs were read is in the logs of a quorum."""
    manifest = run.manifest
    facts = {(each.node, each.generation): each for each in manifest.nodes}
    upto, whose = max(((each.confirmed, whose) for whose, each in facts.items()), default=(0, None))
    if not manifest.quorum:
        return RuleFinding(lacks="the quorum is not known")
    if "wal" in manifest.gaps:
        return RuleFinding(lacks=manifest.gaps["wal"])
    without_vote = {whose for whose, each in facts.items() if not each.voter}
    logs = [log for whose, log in run.logs.items() if whose not in without_vote]
    if whose is None or len({log.node for log in logs}) < manifest.voters or not upto:
        return RuleFinding(lacks="a voter's log is missing, or no confirmed index is known")
    log = run.logs.get(whose)
    at = log.at().get(upto) if log is not None else None
    if log is None or at is None:
        return RuleFinding(lacks=f"entry {upto} is not in the log of node {whose[0]}")
    crc, found = log.crc[at], RuleFinding(facts=1)
    have = {node for (node, _), each in facts.items() if each.voter and each.first > upto}
    rows = []
    for other in logs:
        place = other.at().get(upto)
        if place is not None and other.crc[place] == crc:
            have.add(other.node)
            rows += other.shows(place)
    if len(have) < manifest.quorum:
        message = texts.in_logs(log.node, upto, have, manifest.quorum)
        found.broken(QUORUMS, message, rows, node=log.node, index=upto)
    return found


QUORUMS = "quorum-before-confirm"
