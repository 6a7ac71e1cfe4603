"""What clients of a simulated run saw becomes operations, and each is held to its own promise."""

from admin.checker.operation import CompletionType
from admin.checker.verdict import Result
from admin.soak.observed import ObservedOperation, observe
from admin.soak.weak import check_written
from qsync.sim.history import RecordedLine


def line(index: int, type_: str, name: str, value: object, **more: object) -> RecordedLine:
    known: dict[str, object] = {"f": name, "space": "registers", "key": 0} | more
    return RecordedLine(
        index=index,
        time=index,
        process=1,
        type=type_,
        name=name,
        value=value,
        **known,  # type: ignore[arg-type]  # whatever the test says
    )


def seen(*lines: RecordedLine) -> list[ObservedOperation]:
    return observe(lines)


def test_an_answered_transaction_has_what_it_read() -> None:
    asked, done = [["r", 0, None], ["append", 0, 7]], [["r", 0, [5]], ["append", 0, 7]]
    about = {"f": "txn", "space": "lists", "key": None}
    (one,) = seen(line(0, "invoke", "txn", asked, **about), line(1, "ok", "txn", done, **about))
    assert one.operation.value == done
    assert one.operation.kind is CompletionType.OK


def test_of_an_unanswered_transaction_nobody_knows_what_it_read() -> None:
    """Its log entry may say that it happened; a read without an answer must not mean "nothing"."""
    asked = [["r", 0, None], ["append", 0, 7]]
    about = {"f": "txn", "space": "lists", "key": None}
    (one,) = seen(line(0, "invoke", "txn", asked, **about), line(1, "info", "txn", asked, **about))
    assert one.operation.value == [["append", 0, 7]]
    assert one.operation.ended is None
    (open_still,) = seen(line(0, "invoke", "txn", asked, **about))
    assert open_still.operation.value == [["append", 0, 7]]


def test_a_compare_and_set_has_what_it_found_when_it_began_to_write() -> None:
    (one,) = seen(line(0, "invoke", "swap", [None, 7]), line(1, "info", "swap", [3, 7]))
    assert one.operation.value == [3, 7]


def test_a_write_to_two_spaces_is_seen_in_both() -> None:
    register, note = seen(line(0, "invoke", "mixed", 7, f="write"), line(1, "ok", "mixed", 7))
    assert (register.operation.key, note.operation.key) == ("registers 0", "notes 0")
    assert register.operation.number != note.operation.number


def test_making_the_spaces_is_nothing_to_judge() -> None:
    about = {"space": "", "key": None}
    assert seen(line(0, "invoke", "open", None, **about), line(1, "ok", "open", None)) == []


def test_even_a_weak_read_shows_what_somebody_wrote() -> None:
    wrote = [line(0, "invoke", "write", 7), line(1, "ok", "write", 7)]
    read = [line(2, "invoke", "read", None), line(3, "ok", "read", 7)]
    garbage = [line(4, "invoke", "read", None), line(5, "ok", "read", 8)]
    good = [each.operation for each in seen(*wrote, *read)]
    bad = [each.operation for each in seen(*wrote, *read, *garbage)]
    assert check_written(good).result is Result.PASS
    verdict = check_written(bad)
    assert verdict.result is Result.FAIL
    assert "8 was read, which was never written" in verdict.violations[0].message


def test_nothing_is_read_before_somebody_wants_it_written() -> None:
    read = [line(0, "invoke", "read", None), line(1, "ok", "read", 7)]
    wrote = [line(2, "invoke", "write", 7), line(3, "ok", "write", 7)]
    early = [each.operation for each in seen(*read, *wrote)]
    assert check_written(early).result is Result.FAIL
