"""What two nodes, or all of them, can break together: asked of every state."""

from collections.abc import Sequence
from typing import NamedTuple

from election.quorum import majority
from qsync.sim import properties
from qsync.sim.canon import PropertyViolation
from qsync.sim.explore.answers import Name, Outcome, Place
from qsync.sim.explore.diary import CountedPlace
from qsync.sim.explore.host import ExploredNode
from qsync.sim.generations import ExploredCluster


class PropertyView(NamedTuple):
    """What of a node the properties speak of. Equal views break the same properties."""

    me: int
    cluster: ExploredCluster
    terms: tuple[int, ...]
    """Of its log, from index 1 on, and the checksums of the same entries."""
    crcs: tuple[int, ...]
    hidden: frozenset[int]
    """What of it is rolled back, as this node sees it now."""
    confirmed: int
    visible: int
    durable: frozenset[tuple[int, int]]
    """Index and checksum of all that is or was on its disk, before that was wiped too."""
    ever: tuple[int, ...]
    """Checksums of the longest log that it ever confirmed, and the fates in it."""
    gone: tuple[bool, ...]
    shown: tuple[tuple[int, int, int], ...]
    """Index, checksum and since which term, of what it shows beyond the confirmed index."""
    counted: CountedPlace | None
    led: tuple[tuple[int, int], ...]
    establishes: int
    """The term that it leads with a confirmed PROMOTE; 0 for none."""
    leases: bool
    """It would answer a read by its lease."""
    told_ok: frozenset[Place]
    told_before: frozenset[Place]
    """Of `told_ok`, what it told as a node of an ancestor of its cluster."""
    told_gone: tuple[tuple[Place, str], ...]
    outcomes: tuple[tuple[tuple[bytes, int], Outcome], ...]
    refused: frozenset[Name]
    effective: frozenset[Name]
    read_to: Place


def view(host: ExploredNode) -> PropertyView:
    """Of a node as it is now."""
    replicated_log, diary, leader = host.replicated_log, host.diary, host.core.machine.leader
    answers = diary.answers
    entries, begins = host.history(), replicated_log.log.start.index
    hidden = [
        each.index
        for each in entries
        if (
            diary.gone[each.index - 1]
            if each.index <= begins
            else replicated_log.limbo.stretch_at(each.index)
        )
    ]
    established = leader is not None and leader.established
    disk = [(each.index, each.crc) for each in host.platter.entries]
    return PropertyView(
        me=int(host.me),
        cluster=host.platter.cluster,
        terms=tuple([int(each.term) for each in entries]),
        crcs=tuple([int(each.crc) for each in entries]),
        hidden=frozenset(hidden),
        confirmed=replicated_log.confirmed,
        visible=replicated_log.visible,
        durable=frozenset([*disk, *enumerate(diary.lost_crcs, start=1)]),
        ever=diary.confirmed_crcs,
        gone=diary.gone,
        shown=tuple(
            [
                (int(index), crc, int(term))
                for crc, (index, term) in zip(diary.shown_crcs, diary.shown, strict=True)
            ]
        ),
        counted=diary.counted,
        led=tuple([(int(term), int(at)) for term, at in diary.led]),
        establishes=leader.term if leader is not None and established else 0,
        leases=leader is not None
        and leader.leases(void=host.core.machine.raft.transfer.is_lease_void),
        told_ok=answers.promised,
        told_before=answers.before,
        told_gone=tuple(sorted(answers.gone.items())),
        outcomes=tuple(sorted(answers.outcomes.items())),
        refused=answers.refused,
        effective=diary.effective,
        read_to=answers.read_to,
    )


def pair(one: PropertyView, other: PropertyView) -> None:
    """Properties 1 to 5 and 9 of two nodes; fewer of them hold between two clusters."""
    if one.cluster.id != other.cluster.id:
        _stands_apart(one, other)
        for older, newer in ((one, other), (other, one)):
            if older.cluster.id in newer.cluster.ancestors:
                _one_log(older, newer)
                _has_all(newer, older.told_ok & newer.cluster.kept)
        return
    _one_log(one, other)
    _one_fate(one, other)
    for mine, theirs in ((one, other), (other, one)):
        _completes(mine, theirs)
        _outlasts(mine, theirs)
        _hides(mine, theirs)
        _knows_better(mine, theirs)
        _agrees(mine, theirs)


def _stands_apart(one: PropertyView, other: PropertyView) -> None:
    """Property 2: behind what they both began with, two clusters have no entry in common."""
    begun = max(one.cluster.begins.index, other.cluster.begins.index)
    shared = zip(one.crcs[begun:], other.crcs[begun:], strict=False)
    if any(crc == elsewhere for crc, elsewhere in shared):
        clusters = f"{one.cluster.id!r} and {other.cluster.id!r}"
        text = f"node {one.me} and node {other.me} have an entry of one of {clusters} both"
        raise PropertyViolation(2, text)


def _one_log(one: PropertyView, other: PropertyView) -> None:
    """Properties 1 and 5. They hold of a cluster and its ancestor, too (M8 f).

    So a receipt of the one names nothing of the other. Two that were made of one may use the same
    terms.
    """
    for index, (term, crc) in enumerate(zip(one.terms, one.crcs, strict=True), start=1):
        if index <= len(other.terms) and other.terms[index - 1] == term:
            same = other.crcs[index - 1] == crc
            properties.one_entry(one.me, index, term, same=same)
    for term, _ in one.led:
        if any(term == each for each, _ in other.led):
            properties.one_leader(term, one.me, other.me)


def _one_fate(one: PropertyView, other: PropertyView) -> None:
    known = zip(one.ever, one.gone, other.ever, other.gone, strict=False)
    for index, (crc, gone, crc_elsewhere, elsewhere) in enumerate(known, start=1):
        if crc != crc_elsewhere:
            text = f"node {one.me} and node {other.me} confirmed different entries at {index}"
            raise PropertyViolation(2, text)
        properties.one_fate(one.me, index, gone=gone, elsewhere=elsewhere)


def _completes(one: PropertyView, other: PropertyView) -> None:
    """Property 3: what clients of `one` were told is committed, `other` has when it leads.

    Over a forced recovery it is so of what the survivor had.
    """
    _has_all(other, one.told_ok)
    _has_all(other, one.told_before & other.cluster.kept)


def _has_all(one: PropertyView, told: frozenset[Place]) -> None:
    term = one.establishes
    for index, of in told:
        if of < term:
            has = index <= one.confirmed and one.terms[index - 1] == of
            has = has and index not in one.hidden
            properties.leader_complete(one.me, term=term, has=has, index=index, of=of)


def _outlasts(one: PropertyView, other: PropertyView) -> None:
    """Property 3: nobody else is elected before the lease of a leader is over."""
    if one.leases:
        for term, _ in other.led:
            properties.lease_over(one.me, one.establishes, other.me, term)


def _hides(one: PropertyView, other: PropertyView) -> None:
    """Property 4: what clients of `one` were told is gone, `other` neither shows nor promises."""
    for place, why in one.told_gone:
        index, of = place
        shown = index <= other.visible and other.terms[index - 1] == of
        if (shown and index not in other.hidden) or place in other.told_ok:
            properties.gone_is_hidden(other.me, place, why)


def _knows_better(one: PropertyView, other: PropertyView) -> None:
    """Property 4: what was decided in a term that `other` knew of, it did not begin to show else.

    Everything that `one` confirmed was decided in the term of the last entry of it, or before.
    """
    for index, crc, term in other.shown:
        if index <= len(one.ever) <= len(one.terms) and one.ever[index - 1] != crc:
            decided_in = one.terms[len(one.ever) - 1]
            if decided_in <= term:
                mine, theirs = other.terms[index - 1], one.terms[index - 1]
                properties.shown_is_leaders(other.me, index, mine, elsewhere=theirs)


def _agrees(one: PropertyView, other: PropertyView) -> None:
    """Properties 9 and 12: one request has the same outcome on every node."""
    for request in one.refused & (other.effective | one.effective):
        properties.refused_has_no_effect(request)
    for request, outcome in one.outcomes:
        for again, another in other.outcomes:
            if request == again:
                properties.one_outcome(request, outcome, another)


def confirmed_on_quorum(one: PropertyView, everybody: Sequence[PropertyView], quorum: int) -> None:
    """Property 7: what it ever confirmed is on the disks of a quorum."""
    index = len(one.ever)
    if index:
        place = (index, one.ever[-1])
        have = [each.me for each in everybody if place in each.durable]
        properties.on_quorum(one.me, index, have, quorum)


def confirmed_by_voters(one: PropertyView, everybody: Sequence[PropertyView]) -> None:
    """Property 7, where voters come and go: what a leader confirmed a majority of them had."""
    counted = one.counted
    if counted is not None:
        place, voters = (int(counted.index), counted.crc), counted.voters
        have = [each.me for each in everybody if each.me in voters and place in each.durable]
        properties.on_quorum(one.me, counted.index, have, majority(len(voters)))
