"""The properties of protocol.md section 9, one function each: they raise Violation or do nothing.

Runs from seeds and the search through every order of events use the same functions.
"""

from collections.abc import Collection, Mapping
from typing import NoReturn

from election.messages import Ballot, Position, Term
from qsync.core.generation import generation_of
from qsync.core.replicated_log import ReplicatedLog
from qsync.record import EntryKind
from qsync.sim.canon import PropertyViolation

DECIDED = frozenset({int(EntryKind.TXN), int(EntryKind.PROMOTE)})
"""Kinds of entries that have an outcome."""
Requests = Mapping[tuple[bytes, int], tuple[int, int]]
"""Index and term by session and number."""


# -- logs


def one_entry(me: int, index: int, term: int, *, same: bool) -> None:
    """Property 1: equal `(index, term)` means equal entry and, by the chain, equal prefix."""
    if not same:
        raise PropertyViolation(1, f"node {me} has another entry at index {index} term {term}")


def one_order(me: int, index: int, *, term: int, elsewhere: int) -> None:
    """Property 2: a confirmed entry is the same on every node."""
    if term != elsewhere:
        raise PropertyViolation(2, f"node {me} confirmed {index} of term {term}, not {elsewhere}")


def one_fate(me: int, index: int, *, gone: bool, elsewhere: bool) -> None:
    """Property 2: a confirmed entry has the same outcome on every node."""
    if gone != elsewhere:
        fate = "rolled back" if gone else "confirmed"
        raise PropertyViolation(2, f"{index} is {fate} on node {me}, not elsewhere")


# -- leaders and votes


def one_leader(term: int, first: int, second: int) -> None:
    """Property 5: one leader per term."""
    if first != second:
        raise PropertyViolation(5, f"nodes {first} and {second} both lead term {term}")


def vote_stands(me: int, term: int, first: int, second: int) -> None:
    """Property 5: a node votes for one candidate in a term."""
    if first != second:
        raise PropertyViolation(5, f"node {me} voted for {first} and {second} in term {term}")


def vote_is_durable(me: int, term: int, candidate: int, disk: Ballot) -> None:
    """Property 5: a vote is durable before it is sent."""
    if disk.term < term or (disk.term == term and disk.vote != candidate):
        raise PropertyViolation(
            5, f"node {me} votes for {candidate} in term {term}; its disk has {disk}"
        )


def term_stands(me: int, before: int, now: int) -> None:
    """Property 5: within one life the term does not go back."""
    if now < before:
        raise PropertyViolation(5, f"node {me} went from term {before} to {now}")


def ballot_stands(me: int, before: Ballot, now: Ballot) -> None:
    """Property 5: the term on a disk does not go back, and the vote of a term does not change."""
    if now.term < before.term:
        raise PropertyViolation(5, f"term on disk {me} went from {before.term} to {now.term}")
    if now.term == before.term and before.vote is not None and now.vote != before.vote:
        raise PropertyViolation(5, f"vote on disk {me} changed in term {now.term}")


def leader_complete(me: int, *, term: int, has: bool, index: int, of: int) -> None:
    """Property 3: a leader whose PROMOTE is confirmed has every write answered in earlier terms."""
    if not has:
        raise PropertyViolation(3, f"leader {me} of term {term} lacks {index} of term {of}")


def lease_is_alone(me: int, term: int, other: int, left_s: float) -> None:
    """Property 3: while a lease runs no other node leads a later term; else its reads are stale.

    Another node may lead an earlier term: a paused candidate gets its votes when it continues.
    """
    if left_s > 0:
        raise PropertyViolation(
            3, f"node {me} leads term {term}; the lease of node {other} runs {left_s:.3f} s more"
        )


def promise_outlasts_lease(me: int, to: int, short_s: float) -> None:
    """Property 3: a promise lasts as long as the lease that may rest on it."""
    if short_s > 0:
        raise PropertyViolation(
            3, f"node {me} gave node {to} a promise shorter than its lease, by {short_s:.3f} s"
        )


# -- confirming


def confirmed_stands(me: int, before: int, now: int) -> None:
    """Property 6: within one life the confirmed index does not go back."""
    if now < before:
        raise PropertyViolation(6, f"confirmed index of node {me} went from {before} to {now}")


def cut_spares_confirmed(me: int, last: int, confirmed: int) -> None:
    """Property 6: no cut reaches what is confirmed."""
    if last < confirmed:
        raise PropertyViolation(6, f"node {me} cut above {last}: confirmed {confirmed}")


def acked_is_durable(me: int, index: int, *, durable: bool) -> None:
    """Property 7: an ack covers only entries on the disk."""
    if not durable:
        raise PropertyViolation(7, f"node {me} acked {index}, which is not on its disk")


def on_quorum(me: int, index: int, have: Collection[int], quorum: int) -> None:
    """Property 7: everything at or below a confirmed index is durable on a quorum."""
    if len(have) < quorum:
        disks = sorted(int(each) for each in have)
        raise PropertyViolation(
            7, f"node {me} confirmed {index}, which is on the disks of {disks} only"
        )


def own_term(me: int, *, term: int, index: int, of: int) -> None:
    """Property 7: a leader confirms by an entry of its own term."""
    if of != term:
        raise PropertyViolation(7, f"leader {me} of term {term} confirmed {index} of an older term")


# -- what can be seen


def refused_by_what_is_shown(me: int, request: str, visible: int) -> None:
    """Property 8, called for a refusal that no visible data justifies."""
    raise PropertyViolation(8, f"node {me} at {visible} refuses {request} because of pending data")


def visible_stands(me: int, before: int, now: int) -> None:
    """Property 8: within one life, and without a cut, the visible index does not go back."""
    if now < before:
        raise PropertyViolation(8, f"visible index of node {me} went from {before} to {now}")


def not_pending(me: int, index: int, *, confirmed: int, sync: bool) -> None:
    """Property 8: a synchronous transaction is visible only when it is confirmed."""
    if sync and index > confirmed:
        raise PropertyViolation(8, f"node {me} shows {index}, which is pending")


def shown_is_durable(me: int, index: int, *, durable: bool) -> None:
    """Property 8: an asynchronous transaction is visible only when it is on this node's disk."""
    if not durable:
        raise PropertyViolation(8, f"node {me} shows {index}, which is not on its disk")


def shown_is_leaders(me: int, index: int, term: int, *, elsewhere: int) -> None:
    """Property 4: a node that knows the confirmed entry at an index shows no other there."""
    if term != elsewhere:
        raise PropertyViolation(
            4, f"node {me} shows {index} of term {term}, where {elsewhere} is confirmed"
        )


def shows(replicated_log: ReplicatedLog, index: int, term: int) -> bool:
    """The transaction `(term, index)` can be read there."""
    return (
        replicated_log.log.start.index <= index <= replicated_log.visible
        and replicated_log.log.term_at(index) == term
        and replicated_log.limbo.stretch_at(index) is None
    )


def readable(me: int, why: str) -> NoReturn:
    """Property 18, called for an entry that a node's release cannot read."""
    raise PropertyViolation(18, f"node {me} was sent an entry that it cannot read: {why}")


# -- outcomes of clients


def gone_for_good(me: int, place: tuple[int, int], why: str, *, decided: bool) -> None:
    """Property 4: a client gets "rolled back" or "cut" only after the confirmed log decides it."""
    if not decided:
        raise PropertyViolation(
            4, f"node {me} says {place[0]} of term {place[1]} is {why} for good"
        )


def told_gone(request: tuple[bytes, int], place: tuple[int, int], *, gone: bool) -> None:
    """Property 4: a client gets "rolled back" only if no attempt of its write can be confirmed."""
    if not gone:
        text = f"request {request[1]} was answered as rolled back; {place[0]} of term {place[1]}"
        raise PropertyViolation(4, f"{text} may still be confirmed")


def gone_is_hidden(me: int, place: tuple[int, int], why: str) -> None:
    """Property 4, called if `place` is visible although it was answered as not committed."""
    raise PropertyViolation(
        4, f"node {me} shows {place[0]} of term {place[1]}, which was {why} for good"
    )


def committed_is_shown(me: int, place: tuple[int, int], replicated_log: ReplicatedLog) -> None:
    """Property 3: a write that a node answers as committed is visible there."""
    index, term = place
    if index > replicated_log.visible or not replicated_log.log.has(index, term):
        raise PropertyViolation(3, f"node {me} committed {index} of term {term}, and hides it")


def committed_is_confirmed(me: int, place: tuple[int, int], *, confirmed: bool) -> None:
    """Property 3: a synchronous write that is answered as committed is confirmed."""
    if not confirmed:
        raise PropertyViolation(
            3, f"node {me} committed {place[0]} of term {place[1]}, not confirmed"
        )


def own_request(asked: tuple[bytes, int], found: tuple[bytes, int]) -> None:
    """Property 9: an answer is about the client's own request."""
    if asked != found:
        raise PropertyViolation(9, f"request {asked} is answered with the place of request {found}")


def requests_known(me: int, known: Requests, wanted: Requests) -> None:
    """Property 9: a node knows exactly the numbered requests of its log."""
    for request in known.keys() | wanted.keys():
        if known.get(request) != wanted.get(request):
            raise PropertyViolation(
                9,
                f"node {me} takes request {request[1]} for {known.get(request, 'never asked')}; "
                f"in its log it is {wanted.get(request, 'nowhere')}",
            )


def refusal_known(me: int, seq: int, *, by: int, wanted: int) -> None:
    """Property 9: a node knows the error of a refused request, also when its entry is trimmed."""
    if by != wanted:
        raise PropertyViolation(
            9,
            f"node {me} takes request {seq} for refused by error {by}; in its log that is {wanted}",
        )


def refused_has_no_effect(request: tuple[bytes, int]) -> None:
    """Property 12, called for a refused request that took effect."""
    raise PropertyViolation(
        12, f"request {request[1]} of {request[0]!r} was refused, and took effect"
    )


def one_outcome(request: tuple[bytes, int], first: object, second: object) -> None:
    """Property 9: a request has one outcome, on every node."""
    if first != second:
        raise PropertyViolation(9, f"request {request[1]} has outcomes {first} and {second}")


def operators_answered(waiting: Collection[str], timeouts: int) -> None:
    """Property 13: every operator gets an answer, once no more faults happen."""
    if waiting:
        text = ", ".join(waiting)
        raise PropertyViolation(13, f"not answered after {timeouts} election timeouts: {text}")


def operators_known(me: int, asked: int, known: int) -> None:
    """Property 13: a node knows every operator without an answer."""
    if asked != known:
        raise PropertyViolation(13, f"{asked} operators wait at node {me}, which knows of {known}")


def promoted(me: int, *, leads: bool) -> None:
    """Property 13: a promotion is reported as done when the node's PROMOTE is confirmed."""
    if not leads:
        raise PropertyViolation(13, f"node {me} reports its promotion as done, but cannot write")


def operation_ends(me: int, what: str, *, timed: bool) -> None:
    """Property 13: an operation that waits for another node has a timer that ends it."""
    if not timed:
        raise PropertyViolation(13, f"no timer ends the {what} at node {me}")


def lease_over(me: int, term: int, other: int, elected: int) -> None:
    """Property 3: lease reads are fresh, since no other node can have been elected."""
    if not term:
        raise PropertyViolation(3, f"node {me} has a lease before its PROMOTE is confirmed")
    if elected > term:
        text = f"node {me} still has a lease of term {term}"
        raise PropertyViolation(3, f"{text}, and node {other} was elected in {elected}")


def rows_agree(me: int, differs: Collection[str]) -> None:
    """Property 10: a follower that compares its stored rows with the leader's finds them equal."""
    if differs:
        names = ", ".join(sorted(differs))
        raise PropertyViolation(10, f"node {me}: stored rows differ from the leader's: {names}")


def clock_read_since(me: int, *, looked: float, received: float) -> None:
    """Property 3: promises and leases use a clock that is read after the message arrived."""
    if looked < received:
        raise PropertyViolation(
            3,
            f"node {me} judges a message by a clock that it read {received - looked:.6f} s before",
        )


def fresh(me: int, consistency: str, replicated_log: ReplicatedLog, floor: Position) -> None:
    """Property 3: a read shows all that was answered before it began, by index and term."""
    shown = replicated_log.readable_place
    if floor.index > shown.index or not replicated_log.log.has(floor.index, floor.term):
        text = f"node {me} serves a {consistency} read at {shown.index} of term {shown.term}"
        raise PropertyViolation(
            3, f"{text}, though {floor.index} of {floor.term} was answered before"
        )


def superseded_is_silent(me: int, what: str) -> None:
    """Property 16, called for an action of a superseded node, which must not act (M8 e)."""
    raise PropertyViolation(16, f"node {me} is superseded, and {what}")


def whole_log_counts(me: int, *, begins: int, wanted: int) -> None:
    """Property 20: a recovered cluster continues where the survivor's log ends (M8 a, i)."""
    if begins != wanted:
        raise PropertyViolation(
            20, f"the cluster made of node {me} begins behind {begins}, not behind {wanted}"
        )


def alone_at_first(me: int, *, voters: object, wanted: object) -> None:
    """Property 20: a cluster of one survivor begins with that one, and nobody else (M8 c)."""
    if voters != wanted:
        raise PropertyViolation(
            20, f"the cluster made of node {me} begins with {voters}, not with {wanted}"
        )


def survivor_keeps(me: int, *, confirmed: int, stands: int) -> None:
    """Property 20: its confirmed entries have the same outcome in the new one (M8 a)."""
    if stands < confirmed:
        text = f"the cluster made of node {me} has what was decided up to {stands}"
        raise PropertyViolation(20, f"{text}, and {confirmed} was confirmed there")


def terms_are_new(me: int, *, term: Term, seen: Term) -> None:
    """Property 20: no term of the old cluster is one of the new, so no receipt means two things."""
    if generation_of(term) <= generation_of(seen):
        raise PropertyViolation(
            20, f"the cluster made of node {me} begins in term {term}; the old one was in {seen}"
        )


def no_peer_of_the_new(me: int, what: str) -> None:
    """Property 20, called for an act of a node of the old cluster in the new one (M8 d)."""
    raise PropertyViolation(20, f"node {me} of the cluster that ended {what}")


def no_client_of_the_new(number: int) -> NoReturn:
    """Property 20, called of a client that knows the cluster that ended, and is let in (M8 d)."""
    raise PropertyViolation(
        20, f"client {number} of the cluster that ended is let into the new one"
    )


def number_ended(request: tuple[bytes, int], what: str) -> NoReturn:
    """Property 20, called of a request of an older generation that is not left unknown (M8 g)."""
    session, number = request
    raise PropertyViolation(
        20, f"request {number} of session {session.hex()}, of the cluster that ended, {what}"
    )


def left_gets_nothing(me: int, peer: int, *, last: int, left: int) -> None:
    """Property 21: entries for a node that was removed end with its removal (M4 f)."""
    if last > left:
        raise PropertyViolation(
            21,
            f"leader {me} sends entries up to {last} to node {peer}, which was removed at {left}",
        )


def counts_by_its_log(me: int, *, mine: object, wanted: object) -> None:
    """membership.md M1 b, M6 a: the voters are those of the log, also of a trimmed one."""
    if mine != wanted:
        raise PropertyViolation(2, f"node {me} uses the voters {mine}, its log has {wanted}")
