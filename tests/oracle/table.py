"""By id, what each invariant that is a kernel finds in a run, told a second time."""

from collections.abc import Callable, Mapping

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables
from tests.oracle import fenced, fresh, leaders, lives, meeting, rest, statuses, stored, votes

ORACLE: Mapping[str, Callable[[RunTables], RuleFinding]] = {
    leaders.ONE_LEADER: leaders.one_leader,
    leaders.KEPT: leaders.confirmed_still_in_log,
    leaders.ONE_VOTE: leaders.one_vote,
    leaders.BALLOTS: leaders.ballots,
    votes.DURABLE: votes.durable,
    votes.SUFFICE: votes.suffice,
    meeting.MEET: meeting.find,
    statuses.MONOTONE: statuses.monotone,
    statuses.ONE_WRITABLE: statuses.one_writable,
    statuses.COHERENT: statuses.coherent,
    statuses.DIGESTS: statuses.digests,
    stored.STORED: stored.find,
    lives.FORWARD: lives.find,
    fenced.FENCED: fenced.find,
    rest.REST: rest.find,
    fresh.FRESH: fresh.find,
}
