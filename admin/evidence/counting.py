"""The voters by which a cluster counts, as its nodes say, or the directories of stopped ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from admin.evidence.witnesses import Account
from election.quorum import majority


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """`voters`: how many there are; `quorum`: how many must have an entry. 0: nobody knows.

    `ids`: of the voters, as far as they are known. `absent`: names of members that are known, and
    of which there is no account.
    """

    voters: int
    quorum: int
    ids: frozenset[int]
    absent: tuple[str, ...]


def counting(accounts: Sequence[Account]) -> Counting:
    """Return it by what running nodes say; if none runs, by the log that has confirmed the most."""
    if any(each.sample is not None for each in accounts):
        return _by_samples(accounts)
    return _by_log(accounts)


def _by_samples(accounts: Sequence[Account]) -> Counting:
    samples = [each.sample for each in accounts if each.sample is not None]
    recruits = {peer.id for each in samples for peer in each.peers if peer.recruit}
    members = {id: name for each in samples for id, name, _ in each.nodes if id not in recruits}
    absent = _absent(members, accounts)
    furthest = max(samples, key=lambda each: (each.confirmed, each.id))
    own = [each.facts.node for each in accounts if each.facts.voter]
    voters = len(furthest.voters) or len(own) + len(absent)
    return Counting(
        voters=voters,
        quorum=max((each.quorum for each in accounts if each.facts.voter), default=0)
        or majority(voters),
        ids=frozenset(id for id, _ in furthest.voters) or frozenset(own),
        absent=absent,
    )


def _by_log(accounts: Sequence[Account]) -> Counting:
    """By its configuration, and by changes of it that may be in force, too, though unconfirmed.

    What is confirmed there may count by any of them, so the quorum is the smallest of theirs.
    """
    furthest = max(
        accounts,
        key=lambda each: (each.facts.confirmed, bool(each.configurations), each.facts.last),
        default=None,
    )
    if furthest is None or not furthest.configurations:
        return Counting(voters=0, quorum=0, ids=frozenset(), absent=())
    sizes = [len(each.replicas) for each in furthest.configurations]
    names = {
        int(each.replica): each.name or f"n{each.replica}"
        for one in furthest.configurations
        for each in one.members
        if each.votes
    }
    return Counting(
        voters=max(sizes),
        quorum=min(map(majority, sizes)),
        ids=frozenset(names),
        absent=_absent(names, accounts),
    )


def _absent(members: dict[int, str], accounts: Sequence[Account]) -> tuple[str, ...]:
    here = {each.facts.node for each in accounts}
    return tuple(name for id, name in sorted(members.items()) if id not in here)
