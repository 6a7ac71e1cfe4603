"""By id, a second implementation of each invariant that is a kernel."""

from collections.abc import Callable, Mapping

from admin.checker.rules.rule import RuleFinding
from admin.checker.rules.run import RunTables
from tests.oracle import (
    between_logs,
    client_promises,
    confirms,
    feeds,
    fenced,
    flags,
    fresh,
    leaders,
    limbo_owner,
    lives,
    meeting,
    promotes,
    receipts,
    replayed,
    rest,
    rollbacks,
    rolled_back_reads,
    shape,
    statuses,
    stored,
    votes,
)

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
LOG_ORACLE: Mapping[str, Callable[[RunTables], RuleFinding]] = {
    shape.DENSE: shape.dense,
    shape.TERMS: shape.terms,
    shape.LSNS: shape.lsns,
    shape.CONTROLS: shape.controls,
    shape.FATES: shape.fates,
    limbo_owner.OWNER: limbo_owner.find,
    promotes.FITS: promotes.find,
    confirms.FORWARD: confirms.find,
    rollbacks.LEGAL: rollbacks.find,
    flags.SHARED: flags.find,
    replayed.REPLAY: replayed.find,
}
"""The same of invariants that are judged while a log is followed."""
RUN_ORACLE: Mapping[str, Callable[[RunTables], RuleFinding]] = {
    between_logs.MATCHING: between_logs.matching,
    between_logs.AGREEMENT: between_logs.agreement,
    between_logs.COMPLETENESS: between_logs.completeness,
    client_promises.ONCE: client_promises.once,
    client_promises.FAILURES: client_promises.failures,
    client_promises.RECEIPTS: client_promises.receipts,
    receipts.OWN: receipts.find,
    rolled_back_reads.HIDDEN: rolled_back_reads.find,
    feeds.FEED: feeds.find,
}
"""And of those that look at several logs, or at logs beside what clients were told."""
