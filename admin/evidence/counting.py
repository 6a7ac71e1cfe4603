"""The voters by which a cluster counts, as its nodes say, or the directories of stopped ones."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from admin.evidence.event_rows import instance_number
from admin.evidence.inside import EventPair
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.witnesses import Account
from election.quorum import majority
from qsync.record import ONE_INSTANCE, read_instance

Pair = tuple[int, int]
"""A replica and the instance of its directory: a node is a voter by both (membership.md M1 d)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """`voters`: how many there are; `quorum`: how many must have an entry. 0: nobody knows.

    `pairs`: the voters, as far as they are known. `absent`: the names of those of which there is no
    account.
    """

    voters: int
    quorum: int
    pairs: frozenset[Pair]
    absent: tuple[str, ...]

    def is_voter(self, facts: NodeFacts) -> bool:
        """Return whether its log counts; any does where the voters are not known."""
        return not self.pairs or any(_is(facts, pair) for pair in self.pairs)


def counted_by(manifest: Manifest, voters: Collection[EventPair]) -> Manifest:
    """Add how stopped nodes counted, by their events: members come and go."""
    nodes = tuple(
        replace(each, voter=any(_is(each, pair, instance_number, 0) for pair in voters))
        for each in manifest.nodes
    )
    return replace(manifest, nodes=nodes, voters=len(voters))


@dataclass(frozen=True, slots=True)
class _View:
    """The voters of one configuration by name, and the smallest quorum that it allows."""

    names: Mapping[Pair, str]
    quorum: int


def counting(accounts: Sequence[Account]) -> Counting:
    """Return it by the accounts that have confirmed the most: others may count by former voters.

    What is confirmed there may count by any configuration, and any quorum, that these name.
    """
    furthest = max((each.facts.confirmed for each in accounts), default=0)
    ahead = [each for each in accounts if each.facts.confirmed == furthest]
    samples = [each.sample for each in accounts if each.sample is not None]
    recruits = {peer.id for each in samples for peer in each.peers if peer.recruit}
    views = [view for each in ahead for view in _views(each, recruits)]
    names = {pair: name for view in views for pair, name in view.names.items()}
    return Counting(
        voters=max((len(view.names) for view in views), default=0),
        quorum=min((view.quorum for view in views), default=0),
        pairs=frozenset(names),
        absent=tuple(name for pair, name in sorted(names.items()) if _is_absent(pair, accounts)),
    )


def _views(account: Account, recruits: Collection[int]) -> Iterator[_View]:
    """By the configuration that it follows; of a directory, also by changes not confirmed yet."""
    for each in account.configurations:
        votes = [one for one in each.members if one.votes]
        yield _view({(int(one.replica), int(one.instance)): one.name for one in votes})
    if account.sample is not None:
        known = {id: name for id, name, _ in account.sample.nodes}
        # Nodes of former releases do not tell the voters.
        pairs = [(id, int(read_instance(each))) for id, each in account.sample.voters] or [
            (id, int(ONE_INSTANCE)) for id in known if id not in recruits
        ]
        names = {(id, instance): known.get(id, "") for id, instance in pairs}
        yield from [_view(names, account.quorum)] if names else []


def _view(names: Mapping[Pair, str], quorum: int = 0) -> _View:
    """`quorum`: that it uses, if it says so. A larger one may be from after the last confirm."""
    least = majority(len(names))
    named = {(id, instance): name or f"n{id}" for (id, instance), name in names.items()}
    return _View(named, min(quorum or least, least))


def _is(
    facts: NodeFacts,
    pair: Pair,
    number: Callable[[str], int] = read_instance,
    unknown: int = ONE_INSTANCE,
) -> bool:
    """Return whether it is this voter; copies do not name their directory.

    `number`: by which number the pair names a directory, and which one says nothing of it.
    """
    replica, instance = pair
    is_known = bool(facts.uuid) and instance != unknown
    return facts.node == replica and (not is_known or number(facts.uuid) == instance)


def _is_absent(pair: Pair, accounts: Sequence[Account]) -> bool:
    """Return whether nobody tells of it; its id on a new directory that runs tells that it went."""
    running = {each.facts.node for each in accounts if each.sample is not None}
    return pair[0] not in running and not any(_is(each.facts, pair) for each in accounts)
