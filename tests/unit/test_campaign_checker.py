"""The checker of campaigns notices each promise that a planted history breaks, and nothing else."""

import pytest

from admin.campaign.checker import Checker, StoredState, WritePlace
from admin.campaign.figures import BrokenPromise

NODES = ("n1", "n2", "n3")


def counted(
    checker: Checker, value: int, place: WritePlace, number: int, *, counter: int = 0
) -> None:
    """A counted write, from the beginning to its answer."""
    checker.invoke(value, counter=counter, strong=True)
    checker.commit(value, place, number)


def two_writes() -> Checker:
    """Writes 1 and 2 are the numbers 1 and 2 of counter 0."""
    checker = Checker()
    counted(checker, 1, WritePlace(1, 10), 1)
    counted(checker, 2, WritePlace(1, 11), 2)
    return checker


def held(
    journal: dict[int, int], *, number: int, value: int, notes: dict[int, int] | None = None
) -> StoredState:
    """A node with these writes of counter 0, by how often they were done."""
    return StoredState(
        journal={each: (0, times) for each, times in journal.items()},
        notes=notes or {},
        counters={0: (number, value)},
    )


def end(checker: Checker, *stored: StoredState) -> None:
    checker.end(dict(zip(NODES, stored, strict=False)))


def broken(checker: Checker) -> set[BrokenPromise]:
    return {kind for kind, count in checker.figures.broken.items() if count}


def test_a_history_that_keeps_all_promises_is_clean() -> None:
    checker = two_writes()
    checker.show(checker.look(0, "lease", "n1"), 2, 2)
    checker.invoke(3, counter=None, strong=False)
    checker.commit(3, WritePlace(1, 12), None)  # asynchronous: it may be lost
    checker.invoke(4, counter=0, strong=True)  # nobody could say: it may be there, or not
    checker.invoke(5, counter=0, strong=True)
    checker.invoke(6, counter=0, strong=True)
    checker.refuse(6, "CONFLICT")
    good = held({1: 1, 2: 1, 4: 1}, number=3, value=4)
    end(checker, good, good, good)
    assert checker.figures.clean, checker.figures.violations


def test_a_committed_write_that_is_not_there_is_lost() -> None:
    checker = two_writes()
    end(checker, held({1: 1}, number=1, value=1))
    assert broken(checker) == {BrokenPromise.LOST}


def test_a_committed_write_that_one_node_lacks_is_lost_there_and_nodes_differ() -> None:
    checker = two_writes()
    end(checker, held({1: 1, 2: 1}, number=2, value=2), held({1: 1}, number=1, value=1))
    assert broken(checker) == {BrokenPromise.LOST, BrokenPromise.DIFFERENT}


def test_a_write_that_counts_from_below_what_was_answered_before_lost_it() -> None:
    checker = two_writes()
    counted(checker, 3, WritePlace(2, 11), 2)
    assert BrokenPromise.LOST in broken(checker)


def test_an_asynchronous_write_that_was_answered_may_be_lost_unless_it_asked_for_a_quorum() -> None:
    for strong in (False, True):
        checker = Checker()
        checker.invoke(1, counter=None, strong=strong)
        checker.commit(1, WritePlace(1, 10), None)
        checker.end({"n1": StoredState(journal={}, notes={}, counters={})})
        assert broken(checker) == ({BrokenPromise.LOST} if strong else set())


def test_a_write_that_was_done_twice_is_doubled() -> None:
    checker = two_writes()
    end(checker, held({1: 1, 2: 2}, number=3, value=2))
    assert broken(checker) == {BrokenPromise.DOUBLED}


def test_a_counter_higher_than_its_writes_is_doubled() -> None:
    checker = two_writes()
    end(checker, held({1: 1, 2: 1}, number=3, value=2))
    assert broken(checker) == {BrokenPromise.DOUBLED}


def test_a_read_of_a_number_that_nobody_can_have_written_is_doubled() -> None:
    checker = two_writes()
    checker.show(checker.look(0, "local", "n1"), 3, 0)
    assert broken(checker) == {BrokenPromise.DOUBLED}


def test_a_read_below_what_was_answered_before_it_began_is_stale() -> None:
    checker = two_writes()
    checker.show(checker.look(0, "linearizable", "n2"), 1, 1)
    assert broken(checker) == {BrokenPromise.STALE}


def test_a_read_that_began_before_the_answer_may_show_what_was_before() -> None:
    checker = Checker()
    counted(checker, 1, WritePlace(1, 10), 1)
    look = checker.look(0, "linearizable", "n2")
    counted(checker, 2, WritePlace(1, 11), 2)
    checker.show(look, 1, 1)
    assert checker.figures.clean


def test_a_read_must_show_what_an_earlier_read_has_shown() -> None:
    checker = Checker()
    checker.invoke(1, counter=0, strong=True)
    checker.show(checker.look(0, "local", "n1"), 1, 1)
    checker.show(checker.look(0, "lease", "n2"), 0, 0)
    assert broken(checker) == {BrokenPromise.STALE}


def test_a_read_with_a_receipt_must_show_that_write() -> None:
    checker = two_writes()
    checker.show(checker.look(0, "at_least", "n3", floor=1), 1, 1)
    assert checker.figures.clean
    checker.show(checker.look(0, "at_least", "n3", floor=2), 1, 1)
    assert broken(checker) == {BrokenPromise.STALE}


def test_a_read_shows_the_entry_of_an_answer_not_another_one_at_its_index() -> None:
    checker = two_writes()
    term, at = checker.newest
    for seen in (WritePlace(term, at), WritePlace(term, at + 3), WritePlace(term + 1, at + 1)):
        checker.reach("a lease read of n1", checker.newest, seen)
    assert checker.figures.clean
    for seen in (WritePlace(term, at - 1), WritePlace(term + 1, at), WritePlace(term - 1, at + 3)):
        checker = two_writes()
        checker.reach("a lease read of n1", checker.newest, seen)
        assert broken(checker) == {BrokenPromise.STALE}


def test_a_lookup_must_find_what_was_committed_before() -> None:
    checker = two_writes()
    checker.find(2, "a lease read of n1", must=checker.look_for(2), found=False)
    assert broken(checker) == {BrokenPromise.STALE}


@pytest.mark.parametrize("refused_first", [True, False])
def test_a_token_that_is_answered_in_two_ways_is_a_wrong_outcome(refused_first: bool) -> None:
    checker = Checker()
    checker.invoke(1, counter=0, strong=True)
    if refused_first:
        checker.refuse(1, "ROLLED_BACK")
    checker.commit(1, WritePlace(1, 10), 1)
    if not refused_first:
        checker.refuse(1, "ROLLED_BACK")
    assert broken(checker) == {BrokenPromise.WRONG}


def test_two_receipts_of_one_write_are_a_wrong_outcome_and_so_is_one_of_two() -> None:
    checker = two_writes()
    checker.commit(2, WritePlace(2, 15), None)
    assert broken(checker) == {BrokenPromise.WRONG}
    checker = two_writes()
    checker.invoke(3, counter=None, strong=True)
    checker.commit(3, WritePlace(1, 11), None)
    assert broken(checker) == {BrokenPromise.WRONG}


def test_a_refused_write_that_is_there_is_a_wrong_outcome() -> None:
    checker = two_writes()
    checker.invoke(3, counter=None, strong=False)
    checker.refuse(3, "ROLLED_BACK")
    end(checker, held({1: 1, 2: 1}, number=2, value=2, notes={3: 1}))
    assert broken(checker) == {BrokenPromise.WRONG}


def test_a_refused_write_that_a_read_shows_is_a_wrong_outcome() -> None:
    checker = Checker()
    checker.invoke(1, counter=0, strong=True)
    checker.show(checker.look(0, "local", "n1"), 1, 1)
    checker.refuse(1, "ROLLED_BACK")
    assert broken(checker) == {BrokenPromise.WRONG}


def test_an_asynchronous_write_may_be_read_until_it_is_refused_and_never_after() -> None:
    checker = Checker()
    checker.invoke(1, counter=None, strong=False)
    checker.meet(1, "a local read of n1")
    checker.refuse(1, "ROLLED_BACK")
    assert checker.look_out(1)
    assert checker.figures.clean
    checker.meet(1, "a local read of n1", gone=True)
    assert broken(checker) == {BrokenPromise.WRONG}


def test_a_value_that_was_read_and_is_gone_at_the_end_is_a_wrong_outcome() -> None:
    checker = two_writes()
    checker.invoke(3, counter=0, strong=True)
    checker.show(checker.look(0, "lease", "n1"), 3, 3)
    end(checker, held({1: 1, 2: 1}, number=2, value=2))
    assert BrokenPromise.WRONG in broken(checker)


def test_two_values_for_one_number_are_a_wrong_outcome() -> None:
    checker = two_writes()
    checker.invoke(3, counter=0, strong=True)
    checker.show(checker.look(0, "local", "n1"), 2, 3)
    assert broken(checker) == {BrokenPromise.WRONG}


def test_numbers_against_the_order_of_receipts_are_a_wrong_outcome() -> None:
    checker = Checker()
    checker.invoke(1, counter=0, strong=True)
    checker.invoke(2, counter=0, strong=True)
    checker.commit(1, WritePlace(1, 12), 1)
    checker.commit(2, WritePlace(1, 11), 2)
    end(checker, held({1: 1, 2: 1}, number=2, value=2))
    assert broken(checker) == {BrokenPromise.WRONG}


def test_a_value_that_nobody_wrote_is_a_wrong_outcome() -> None:
    checker = two_writes()
    checker.show(checker.look(0, "local", "n1"), 2, 99)
    assert broken(checker) == {BrokenPromise.WRONG}
