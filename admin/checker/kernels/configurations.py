"""Configurations in events: their changes, their quorums, and nodes that they exclude.

The voters that a node counts are in its events `configured` and `voter`; the directory that it
counts as is in `opened`. Each rule is about one node's own log (membership.md M1 b).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from admin.checker.exhibit import EvidenceRow
from admin.checker.kernels.columns import Events
from admin.checker.kernels.kernel import Evidence, Kernel, groups
from admin.checker.replay.voters import UNTOLD, Pair, Pairs
from admin.checker.rules.rule import RuleFinding
from admin.evidence.tables import UNSEEN
from election.messages import Term
from election.quorum import majority
from qsync.core.generation import generation_of

STEPS, QUORUMS, REMOVED = "configuration-steps", "configuration-quorums", "removed-count-nowhere"
CONFIRMED = ("confirmed", UNSEEN)
FOLLOWED = ("started", "opened", "configured", "voter", "leads", *CONFIRMED)
"""Events that change the state of a followed node."""
NOBODY: Pairs = frozenset()


@dataclass(frozen=True, slots=True)
class FollowedConfiguration:
    """The configuration of a node from event `at` on: the log entry, and its voters."""

    at: int
    index: int
    term: int
    voters: Pairs


@dataclass(slots=True)
class _Followed:
    """One life of a node up to an event. `own`: changes that it appended as leader of `leads`."""

    follows: FollowedConfiguration | None = None
    former: FollowedConfiguration | None = None
    leads: int = 0
    confirmed: int = 0
    own: list[FollowedConfiguration] = field(default_factory=list)


class ConfigurationWalk:
    """All nodes of a run, event by event."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self.known = _configurations(events)
        self._lives: dict[int, _Followed] = {}
        self._instances: dict[int, int] = {}

    def of(self, node: int) -> _Followed:
        """The configuration that this node uses now."""
        return self._lives.setdefault(node, _Followed())

    def pair(self, node: int) -> Pair:
        """The replica and the directory that it counts as now (M1 d)."""
        return (node, self._instances.get(node, UNTOLD))

    def moments(self, *names: str) -> Iterator[int]:
        """The places of these events and of those of FOLLOWED, each after it was applied."""
        events = self.events
        for at in events.places(*FOLLOWED, *names):
            node, name = events.node[at], events.name[at]
            if name == "started":
                self._lives[node] = _Followed()
                self._instances.pop(node, None)
            elif name == "opened":
                self._instances[node] = events.floor[at] or UNTOLD
            elif name in CONFIRMED:
                self.of(node).confirmed = max(self.of(node).confirmed, events.index[at])
            elif name == "configured":
                life = self.of(node)
                life.former, life.follows = life.follows, self.known[at]
            elif name == "leads":
                life = self.of(node)
                life.leads, life.own = events.term[at], []
            yield at

    def shows(self, *configurations: FollowedConfiguration | None) -> list[EvidenceRow]:
        """The events that state the configurations."""
        return self.events.shows(*(each.at for each in configurations if each is not None))


def _configurations(events: Events) -> dict[int, FollowedConfiguration]:
    """Return configurations by the place of their `configured`, with the voters after it."""
    voters: dict[int, set[Pair]] = {}
    last: dict[int, int] = {}
    for at in events.places("configured", "voter"):
        node = events.node[at]
        if events.name[at] == "configured":
            last[node] = at
            voters[at] = set()
        elif node in last:
            voters[last[node]].add((events.peer[at] or 0, events.floor[at] or UNTOLD))
    return {
        at: FollowedConfiguration(at, events.index[at], events.term[at], frozenset(pairs))
        for at, pairs in voters.items()
    }


# -- how they change


def steps(evidence: Evidence) -> RuleFinding:
    """A leader changes one voter at a time, after the change before is decided (M1 a, M2 a, b).

    Its own PROMOTE must be confirmed, and the change before must be confirmed or rolled back: later
    entries are confirmed only with it. Changes of earlier leaders are before its PROMOTE.
    """
    walk = ConfigurationWalk(evidence.events)
    events, found = evidence.events, _finding(walk)
    promotes = _promotes(evidence)
    confirmed = groups(events.places(*CONFIRMED), events.node)
    for at in walk.moments() if walk.known else ():
        life = walk.of(events.node[at])
        change, former = life.follows, life.former
        if events.name[at] != "configured" or change is None or former is None:
            continue
        if not life.leads or change.term != life.leads:
            continue  # appended by another node, or none: term 0 is of what the log began with
        before = life.own[-1] if life.own else None
        if before is not None and change.index <= before.index:
            continue  # in force again after a ROLLBACK or a cut
        life.own.append(change)
        found.facts += 1
        node, where = events.node[at], f"the configuration at {change.index}"
        wrong: list[tuple[str, FollowedConfiguration | None]] = []
        turned = change.voters ^ former.voters
        if len(turned) > 1:
            names = sorted({replica for replica, _ in turned})
            wrong.append(
                (f"{where} changes {len(turned)} voters at once, of nodes {names}", former)
            )
        reached = _reached(events, confirmed.get(node, []), at, life.confirmed)
        if before is not None and reached < before.index:
            wrong.append((f"{where} came before that at {before.index} was decided", before))
        promoted = promotes.get((life.leads, node), 0)
        if reached < promoted:
            wrong.append((f"{where} came before its PROMOTE at {promoted} was confirmed", None))
        for message, other in wrong:
            rows = walk.shows(other, change)
            text = f"node {node}: {message}"
            found.broken(STEPS, text, rows, node=node, index=change.index, term=change.term)
    return found


def _promotes(evidence: Evidence) -> dict[tuple[int, int], int]:
    """Return the place of each PROMOTE, by term and leader."""
    promotes = evidence.promotes
    places = groups(range(len(promotes)), promotes.term, promotes.origin)
    return {whose: min(promotes.index[at] for at in own) for whose, own in places.items()}


def _reached(events: Events, confirmed: list[int], at: int, known: int) -> int:
    """The confirmed index when a change was appended: events of one batch have one time."""
    now = events.time_mono[at]
    same = (events.index[each] for each in confirmed if each > at and events.time_mono[each] == now)
    return max((known, *same))


# -- what they decide


def quorums(evidence: Evidence) -> RuleFinding:
    """Leaders have the votes of a majority of the voters in their own log; quorums are majorities.

    M1 b and d, M10 a and b. Also, an entry states the same configuration on every node. Another
    invariant checks whose acks confirm.
    """
    walk = ConfigurationWalk(evidence.events)
    events, found = evidence.events, _finding(walk)
    votes: dict[tuple[int, int], dict[Pair, int]] = {}
    placed: dict[tuple[int, int], FollowedConfiguration] = {}
    for at in walk.moments("vote", "ballot") if walk.known else ():
        node, name, term = events.node[at], events.name[at], events.term[at]
        if name == "vote" or (name == "ballot" and events.peer[at] == node):
            votes.setdefault((term, events.peer[at] or 0), {}).setdefault(walk.pair(node), at)
        elif name == "leads":
            _elected(walk, at, votes.get((term, node), {}), found)
        elif name in CONFIRMED:
            _counted(walk, at, found)
        elif name == "configured" and events.index[at]:
            found.facts += 1
            change = walk.known[at]
            first = placed.setdefault((change.index, change.term), change)
            if first.voters != change.voters:
                nodes = f"nodes {events.node[first.at]} and {node}"
                text = f"{nodes} follow different voters by entry {change.index} of term {term}"
                rows = walk.shows(first, change)
                found.broken(QUORUMS, text, rows, node=node, index=change.index, term=term)
    return found


def _elected(walk: ConfigurationWalk, at: int, votes: dict[Pair, int], found: RuleFinding) -> None:
    events = walk.events
    node, term, follows = events.node[at], events.term[at], walk.of(events.node[at]).follows
    if follows is None or not follows.voters:
        return
    found.facts += 1
    have = {pair: vote for pair, vote in votes.items() if pair in follows.voters}
    wanted = majority(len(follows.voters))
    if len(have) < wanted:
        of = sorted(replica for replica, _ in follows.voters)
        text = (
            f"node {node} leads term {term} with the votes of {sorted(n for n, _ in have)} among "
            f"the voters {of} and their directories; {wanted} are a majority"
        )
        rows = (*walk.shows(follows), *events.shows(*have.values(), at))
        found.broken(QUORUMS, text, rows, node=node, term=term)


def _counted(walk: ConfigurationWalk, at: int, found: RuleFinding) -> None:
    """If the quorum changed in the batch that confirmed, the earlier quorum is allowed too."""
    events = walk.events
    life, quorum = walk.of(events.node[at]), events.floor[at]
    if quorum is None or life.follows is None or not life.follows.voters:
        return
    found.facts += 1
    known = [len(life.follows.voters)]
    if life.former is not None and events.time_mono[life.follows.at] == events.time_mono[at]:
        known.append(len(life.former.voters))
    if not any(majority(count) <= quorum <= count for count in known):
        node, index = events.node[at], events.index[at]
        text = f"node {node} confirmed {index} by a quorum of {quorum} of {known[0]} voters"
        rows = (*walk.shows(life.follows), *events.shows(at))
        found.broken(QUORUMS, text, rows, node=node, index=index, term=events.term[at])


# -- who is left out


def removed(evidence: Evidence) -> RuleFinding:
    """A node that a confirmed configuration excludes does not lead (M4 d).

    Only if the node knows that it is confirmed. A directory belongs to one generation: it ignores
    terms of another one (M8 d, f).
    """
    walk = ConfigurationWalk(evidence.events)
    events, found = evidence.events, _finding(walk)
    firsts: dict[tuple[int, int], int] = {}
    mixed: set[tuple[int, int]] = set()
    for at in walk.moments("ballot", "vote") if walk.known else ():
        node, name, term = events.node[at], events.name[at], events.term[at]
        if name not in {"leads", "ballot", "vote"} or not term:
            continue
        found.facts += 1
        whose = events.whose(at)
        first = firsts.setdefault(whose, at)
        was, now = (generation_of(Term(each)) for each in (events.term[first], term))
        if was != now and whose not in mixed:
            mixed.add(whose)
            text = f"node {node} was of generation {was}, and takes part in {now}, in term {term}"
            found.broken(REMOVED, text, events.shows(first, at), node=node, term=term)
        if name == "leads":
            _left_out(walk, at, found)
    return found


def _left_out(walk: ConfigurationWalk, at: int, found: RuleFinding) -> None:
    events = walk.events
    node, term = events.node[at], events.term[at]
    follows, confirmed = walk.of(node).follows, walk.of(node).confirmed
    if follows is None or follows.index > confirmed or walk.pair(node) in follows.voters:
        return
    text = (
        f"node {node} leads term {term}, and the configuration at {follows.index}, which it knew "
        "as confirmed, does not name it among the voters"
    )
    rows = (*walk.shows(follows), *events.shows(at))
    found.broken(REMOVED, text, rows, node=node, term=term)


def _finding(walk: ConfigurationWalk) -> RuleFinding:
    return RuleFinding(lacks="" if walk.known else "no event `configured`")


KERNELS = (
    Kernel(
        STEPS,
        "a configuration changes by one voter, after all earlier changes are decided",
        ("events",),
        steps,
        events=frozenset(FOLLOWED),
        idle="nobody changed a configuration",
    ),
    Kernel(
        QUORUMS,
        "leaders and quorums are of a majority of the voters in force, each on its directory",
        ("events",),
        quorums,
        events=frozenset((*FOLLOWED, "vote", "ballot")),
        idle="no event `configured`",
    ),
    Kernel(
        REMOVED,
        "a removed node does not lead, and generations do not mix",
        ("events",),
        removed,
        events=frozenset((*FOLLOWED, "vote", "ballot")),
        idle="no event `configured`",
    ),
)
