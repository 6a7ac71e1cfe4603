"""Properties of two nodes, or of all nodes: checked in every state."""

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
    """The part of a node that the properties use. Equal views violate the same properties."""

    me: int
    cluster: ExploredCluster
    terms: tuple[int, ...]
    """The terms of its log, from index 1 on, and the checksums of the same entries."""
    crcs: tuple[int, ...]
    hidden: frozenset[int]
    """The rolled-back entries, as this node knows them now."""
    confirmed: int
    visible: int
    durable: frozenset[tuple[int, int]]
    """Index and checksum of all entries that are or were on its disk, also before a wipe."""
    ever: tuple[int, ...]
    """Checksums of the longest log that it ever confirmed, and the outcomes in it."""
    gone: tuple[bool, ...]
    shown: tuple[tuple[int, int, int], ...]
    """Index, checksum and first visible term of entries shown beyond the confirmed index.
    """
    counted: CountedPlace | None
    led: tuple[tuple[int, int], ...]
    establishes: int
    """The term that it leads with a confirmed PROMOTE; 0 for none."""
    leases: bool
    """Whether it would answer a read by its lease."""
    told_ok: frozenset[Place]
    told_before: frozenset[Place]
    """The part of `told_ok` that it answered as a node of an ancestor of its cluster."""
    told_gone: tuple[tuple[Place, str], ...]
    outcomes: tuple[tuple[tuple[bytes, int], Outcome], ...]
    refused: frozenset[Name]
    effective: frozenset[Name]
    read_to: Place


def view(host: ExploredNode) -> PropertyView:
    """The view of a node now."""
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
    """Properties 1 to 5 and 9 of two nodes; between two clusters fewer of them apply."""
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
    """Property 2: after their common beginning, two clusters have no common entry."""
    begun = max(one.cluster.begins.index, other.cluster.begins.index)
    shared = zip(one.crcs[begun:], other.crcs[begun:], strict=False)
    if any(crc == elsewhere for crc, elsewhere in shared):
        clusters = f"{one.cluster.id!r} and {other.cluster.id!r}"
        text = f"node {one.me} and node {other.me} have an entry of one of {clusters} both"
        raise PropertyViolation(2, text)


def _one_log(one: PropertyView, other: PropertyView) -> None:
    """Properties 1 and 5. They also hold for a cluster and its ancestor (M8 f).

    So a receipt of the one names no entry of the other. Two clusters with the same ancestor may use
    the same terms.
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
    """Property 3: as a leader, `other` has every entry that `one` answered as committed.

    Over a forced recovery this holds for the entries of the survivor.
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
    """Property 3: no other node is elected before the lease of a leader ends."""
    if one.leases:
        for term, _ in other.led:
            properties.lease_over(one.me, one.establishes, other.me, term)


def _hides(one: PropertyView, other: PropertyView) -> None:
    """Property 4: `other` neither shows nor commits what `one` answered as not committed."""
    for place, why in one.told_gone:
        index, of = place
        shown = index <= other.visible and other.terms[index - 1] == of
        if (shown and index not in other.hidden) or place in other.told_ok:
            properties.gone_is_hidden(other.me, place, why)


def _knows_better(one: PropertyView, other: PropertyView) -> None:
    """Property 4: `other` never starts to show an entry against a decision of a term that it knew.

    All entries that `one` confirmed were decided in the term of the last of them, or before.
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
    """Property 7: every entry that it confirmed is on the disks of a quorum."""
    index = len(one.ever)
    if index:
        place = (index, one.ever[-1])
        have = [each.me for each in everybody if place in each.durable]
        properties.on_quorum(one.me, index, have, quorum)


def confirmed_by_voters(one: PropertyView, everybody: Sequence[PropertyView]) -> None:
    """Property 7 with changes of voters: a majority had every entry that a leader confirmed."""
    counted = one.counted
    if counted is not None:
        place, voters = (int(counted.index), counted.crc), counted.voters
        have = [each.me for each in everybody if each.me in voters and place in each.durable]
        properties.on_quorum(one.me, counted.index, have, majority(len(voters)))
