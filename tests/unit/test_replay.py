"""What nodes say that they did, replayed: each step must be one that the rules allow."""

from dataclasses import replace

import pytest

from admin.checker.replay.steps import ACKED, AUTOMATA, DIRECTORIES, PLACES, PROMISES, Automaton
from admin.checker.rules.run import NodeEvent

BY_ID = {each.id: each for each in AUTOMATA}
S = 1_000_000_000


def event(name: str, node: int, *, time: int = 0, generation: int = 1, **known: int) -> NodeEvent:
    return NodeEvent(
        node=node,
        generation=generation,
        life=1,
        number=0,
        time_mono=time,
        name=name,
        term=known.get("term", 0),
        index=known.get("index", 0),
        peer=known.get("peer"),
        crc=known.get("crc", 0),
        floor=known.get("floor"),
    )


def fed(automaton: str, *events: NodeEvent) -> Automaton:
    machine = BY_ID[automaton](2)
    for each in events:
        assert each.name in machine.names, each
        machine.step(each)
    return machine


def broken(automaton: str, *events: NodeEvent) -> list[str]:
    return [each.message for each in fed(automaton, *events).found.breaches]


PROMISED = event("promised", 2, peer=1, term=3, floor=5 * S)
VOTE = event("vote", 2, peer=3, term=4, time=4 * S)


def test_a_vote_for_another_one_breaks_a_promise_that_runs() -> None:
    assert broken(PROMISES, PROMISED, VOTE) == [
        "node 2 voted for 3 in term 4; what it promised to 1 had 1000 ms to run"
    ]


def test_who_wins_while_its_own_promise_runs_broke_it() -> None:
    assert broken(PROMISES, PROMISED, event("leads", 2, term=4, time=4 * S)) == [
        "node 2 leads term 4; what it promised to 1 had 1000 ms to run"
    ]


@pytest.mark.parametrize(
    "vote",
    [
        event("vote", 2, peer=3, term=4, time=5 * S),
        event("vote", 2, peer=1, term=4, time=4 * S),
        event("vote", 2, peer=3, term=3, time=4 * S),
        event("vote", 2, peer=3, term=4, time=4 * S, generation=2),
    ],
    ids=["it is over", "for the leader itself", "of an older term", "of another directory"],
)
def test_a_vote_breaks_no_promise_that_does_not_speak_of_it(vote: NodeEvent) -> None:
    assert not broken(PROMISES, PROMISED, vote)


def test_the_word_of_the_leader_ends_a_promise() -> None:
    assert not broken(PROMISES, PROMISED, event("released", 2, peer=1, term=3), VOTE)


def test_what_is_promised_in_the_term_of_the_word_binds_nobody() -> None:
    """An answer to a heartbeat may leave after the word was heard in the same batch."""
    assert not broken(PROMISES, event("released", 2, peer=1, term=3), PROMISED, VOTE)
    assert broken(PROMISES, event("released", 2, peer=1, term=2), PROMISED, VOTE)


def test_a_shorter_promise_ends_no_longer_one() -> None:
    shorter = event("promised", 2, peer=1, term=3, floor=2 * S)
    assert broken(PROMISES, PROMISED, shorter, VOTE)


def test_a_promise_runs_while_its_machine_is_suspended() -> None:
    """The clock of events stands still then (membership.md M11 j)."""
    before = event("slept", 2, floor=2 * S)
    promised = event("promised", 2, peer=1, term=3, floor=7 * S)
    slept = event("slept", 2, floor=3 * S)
    assert not broken(PROMISES, before, promised, slept, VOTE)
    short = event("slept", 2, floor=2 * S + S // 2)
    assert broken(PROMISES, before, promised, short, VOTE) == [
        "node 2 voted for 3 in term 4; what it promised to 1 had 500 ms to run"
    ]
    others = event("slept", 1, floor=60 * S)
    assert broken(PROMISES, before, promised, others, VOTE)


ENTRY = {"index": 7, "term": 3, "crc": 70}
LEADS = (event("leads", 1, term=3), event("durable", 1, **ENTRY))
CONFIRMED = event("confirmed", 1, **ENTRY)


def test_a_leader_that_nobody_acked_to_confirms_nothing() -> None:
    assert broken(ACKED, *LEADS, CONFIRMED) == [
        "node 1 confirmed 7 in term 3 with the acks of [1]; the quorum is 2"
    ]


def test_the_ack_of_another_makes_a_quorum() -> None:
    ack = event("ack", 2, peer=1, **ENTRY)
    assert not broken(ACKED, *LEADS, ack, CONFIRMED)
    assert fed(ACKED, *LEADS, ack, CONFIRMED).found.facts == 1


@pytest.mark.parametrize(
    "ack",
    [
        event("ack", 2, peer=1, index=7, term=2, crc=70),
        event("ack", 2, peer=3, **ENTRY),
        event("ack", 2, peer=1, index=6, term=3, crc=60),
    ],
    ids=["in an older term", "to another node", "of less"],
)
def test_an_ack_counts_for_what_it_says_and_whom_it_was_told(ack: NodeEvent) -> None:
    assert broken(ACKED, *LEADS, ack, CONFIRMED)


def test_an_entry_of_the_leader_that_is_not_on_its_disk_does_not_count() -> None:
    ack = event("ack", 2, peer=1, **ENTRY)
    assert broken(ACKED, LEADS[0], ack, CONFIRMED)


def test_a_follower_confirms_by_what_its_leader_says() -> None:
    assert not broken(ACKED, *LEADS, event("confirmed", 2, **ENTRY))


def test_who_follows_another_one_leads_no_more() -> None:
    follows = event("ack", 1, peer=2, index=6, term=4, crc=60)
    assert not broken(ACKED, *LEADS, follows, CONFIRMED)


def opens(node: int, instance: int) -> tuple[NodeEvent, NodeEvent]:
    return (event("started", node), event("opened", node, index=node, peer=9, floor=instance))


def follows(node: int, *voters: tuple[int, int], time: int = 0) -> tuple[NodeEvent, ...]:
    rows = [event("voter", node, peer=peer, floor=instance) for peer, instance in voters]
    return (event("configured", node, time=time, floor=len(voters)), *rows)


THREE = ((1, 11), (2, 12), (3, 13))
OPENED = (*opens(1, 11), *opens(2, 12), *opens(3, 13))
LATER = {**ENTRY, "time": 5, "floor": 2}
"""A confirm of the entry, by a quorum of two."""


def test_an_ack_counts_for_the_directory_that_the_configuration_names() -> None:
    """membership.md M1 d: node 2 lost its disk, and is a stranger until it is a voter again."""
    ack = event("ack", 2, peer=1, **ENTRY)
    told = (*OPENED, *follows(1, *THREE), *LEADS)
    assert not broken(ACKED, *told, ack, event("confirmed", 1, **LATER))
    lost = opens(2, 22)
    assert broken(ACKED, *told, *lost, ack, event("confirmed", 1, **LATER)) == [
        (
            "node 1 confirmed 7 in term 3 with the acks of [1]; the quorum of [1, 2, 3] is 2, and "
            "[2] acked from directories that are no voters"
        )
    ]
    # What the directory acked that was lost later was acked by a voter.
    assert not broken(ACKED, *told, ack, *lost, event("confirmed", 1, **LATER))
    replaced = follows(1, (1, 11), (2, 22), (3, 13))
    assert not broken(ACKED, *told, *lost, ack, *replaced, event("confirmed", 1, **LATER))
    assert broken(ACKED, *told, ack, *lost, *replaced, event("confirmed", 1, **LATER))


def test_the_configuration_in_force_counts_and_no_other() -> None:
    """M1 b; in the batch that changed it, it may be the one before."""
    ack = event("ack", 2, peer=1, **ENTRY)
    told = (*OPENED, *follows(1, *THREE), *LEADS, ack)
    alone = follows(1, (1, 11), (3, 13), time=5)
    assert not broken(ACKED, *told, *alone, event("confirmed", 1, **LATER))
    late = event("confirmed", 1, **{**LATER, "time": 6})
    assert broken(ACKED, *told, *alone, late)


def test_a_leader_that_removed_itself_does_not_count_itself() -> None:
    """M4 b."""
    told = (*OPENED, *follows(1, (2, 12)), *LEADS)
    one = {**ENTRY, "time": 5, "floor": 1}
    assert broken(ACKED, *told, event("confirmed", 1, **one)) == [
        (
            "node 1 confirmed 7 in term 3 with the acks of []; the quorum of [2] is 1, and [1] "
            "acked from directories that are no voters"
        )
    ]
    ack = event("ack", 2, peer=1, **ENTRY)
    assert not broken(ACKED, *told, ack, event("confirmed", 1, **one))


def test_a_quorum_below_a_majority_of_the_voters_is_none() -> None:
    """M10 b; and one that was raised in that moment counts from the next confirm on."""
    ack = event("ack", 2, peer=1, **ENTRY)
    told = (*OPENED, *follows(1, *THREE), *LEADS)
    assert broken(ACKED, *told, event("confirmed", 1, **{**LATER, "floor": 1}))
    all_ = event("confirmed", 1, **{**LATER, "floor": 3})
    assert broken(ACKED, *told, ack, all_)
    sixth = {"index": 6, "term": 3, "crc": 60}
    told = (*OPENED, event("durable", 1, **sixth), *told[len(OPENED) :])
    assert not broken(ACKED, *told, ack, event("confirmed", 1, **sixth, floor=2), all_)


def test_by_its_configuration_a_confirm_is_judged_where_no_quorum_is_told() -> None:
    machine = BY_ID[ACKED](0)
    assert machine.found.lacks
    for each in (*OPENED, *follows(1, *THREE), *LEADS, event("confirmed", 1, **LATER)):
        machine.step(each)
    assert not machine.found.lacks
    assert len(machine.found.breaches) == 1


def test_a_log_that_is_long_enough_may_still_be_another_one() -> None:
    served = event("served", 2, index=8, floor=7, term=2)
    assert broken(PLACES, CONFIRMED, served) == [
        (
            "node 2 served a read at 8 of term 2, though 7 of term 3 had been answered before it "
            "was asked"
        )
    ]


@pytest.mark.parametrize(
    "served",
    [
        event("served", 2, index=8, floor=7, term=3),
        event("served", 2, index=6, floor=6, term=2),
        event("served", 2, index=8, floor=7),
    ],
    ids=["the same", "nothing was answered", "of a former version"],
)
def test_a_read_of_what_was_answered_is_served_by_its_place(served: NodeEvent) -> None:
    assert not broken(PLACES, CONFIRMED, served)


def test_in_one_life_a_log_is_one_file() -> None:
    opened = event("log-opened", 1, index=10, peer=3)
    other = event("log-opened", 1, index=11, peer=3)
    assert not broken(DIRECTORIES, opened, opened)
    assert not broken(DIRECTORIES, opened, replace(other, life=2))
    assert broken(DIRECTORIES, opened, other) == [
        "node 1 opened inode 11 of device 3 as the log of one life that was inode 10 of device 3"
    ]


def test_a_copy_of_a_directory_is_not_the_instance() -> None:
    opened = event("opened", 1, index=10, peer=3, floor=5)
    assert not broken(DIRECTORIES, opened, opened)
    assert not broken(DIRECTORIES, opened, event("opened", 1, index=11, peer=3, floor=6))
    assert broken(DIRECTORIES, opened, event("opened", 1, index=11, peer=3, floor=5)) == [
        "node 1 opened inode 11 of device 3 as the instance that was inode 10 of device 3"
    ]


def test_a_log_that_is_made_anew_to_begin_at_a_snapshot_is_another_file() -> None:
    first, other = (event("log-opened", 1, peer=3, index=each, time=each) for each in (11, 12))
    begins = event("begins", 1, index=9, time=11 * S)
    assert not broken(DIRECTORIES, first, begins, other)
    (why,) = broken(DIRECTORIES, first, begins, event("ack", 1, index=9), other)
    assert "opened inode 12" in why
    at_its_start = event("begins", 1, index=9, time=first.time_mono)
    assert broken(DIRECTORIES, first, at_its_start, other)
