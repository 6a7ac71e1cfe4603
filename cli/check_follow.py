"""`qsync check --follow`: a running cluster checked continuously on Spark, until Ctrl-C."""

import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import click

from cli import targets
from cli.check_outputs import lacks_extra
from cli.ending import while_read
from cli.exits import Exit
from cli.output import say, style, text

if TYPE_CHECKING:
    from admin.checker.follow import Follow
    from admin.checker.follow_events import FollowNote

_SCHEMA = "qsync/follow/1"
_ONE_SLASH = re.compile("^(qsyncs?):/(?=[^/])")


def follow(
    sources: Sequence[str],
    *,
    seconds: float | None,
    spark: str | None,
    settings: Mapping[str, str],
) -> int:
    """Tell what happens in a cluster; 0 if nothing broke and there was something to look at."""
    addresses = _addresses(sources)
    try:
        from admin.checker.spark.follow import FollowOptions  # noqa: PLC0415 - needs the extra
        from admin.checker.spark.follow import follow as run  # noqa: PLC0415 - the same
        from admin.checker.spark.session import using_session  # noqa: PLC0415 - the same
    except ImportError as error:
        raise lacks_extra(error, "--follow") from None
    say("starting Spark, which takes a while")
    # In this order: Spark, when it starts, takes Ctrl-C for itself.
    unsaid: list[OSError] = []
    with (
        using_session(spark, settings=settings) as session,
        _until_interrupted() as stop,
        while_read(stop),
    ):
        say("following; the first look takes a while; Ctrl-C ends it")
        wanted = FollowOptions(addresses=addresses, seconds=seconds)
        state = run(session, wanted, told=_teller(stop, unsaid), stop=stop)
    if unsaid:
        raise unsaid[0]
    return _conclude(state)


def _addresses(sources: Sequence[str]) -> list[str]:
    found: list[str] = []
    for source in sources:
        # A path has lost one of the slashes of a URL.
        whole = _ONE_SLASH.sub(r"\1://", source)
        try:
            found += targets.resolve(whole)
        except ValueError as error:
            raise click.UsageError(f"--follow: {error}") from None
    return list(dict.fromkeys(found))


@contextmanager
def _until_interrupted() -> Iterator[threading.Event]:
    """Ctrl-C, or a polite request to end, sets the event; a second Ctrl-C interrupts."""
    stop = threading.Event()

    def request_stop(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    former = {number: signal.signal(number, request_stop) for number in numbers}
    try:
        yield stop
    finally:
        for number, before in former.items():
            signal.signal(number, before)


def _teller(
    stop: threading.Event, unsaid: list[OSError]
) -> "Callable[[Sequence[FollowNote]], None]":
    """Prints lines; it is called from another thread, which does not know how to speak.

    When nobody can be told any more there is nothing to go on for: the reason is left in `unsaid`.
    """
    show = _as_json if style().as_json else _as_text

    def tell(notes: "Sequence[FollowNote]") -> None:
        try:
            for note in notes:
                text(show(note))
        except OSError as error:
            unsaid.append(error)
            stop.set()

    return tell


def _as_text(note: "FollowNote") -> str:
    alarm = f"VIOLATION {note.invariant}: " if note.invariant else ""
    return f"{note.seconds:8.1f}  {alarm}{note.message}"


def _as_json(note: "FollowNote") -> str:
    members: dict[str, object] = {
        "schema": _SCHEMA,
        "what": note.what.value,
        "seconds": round(note.seconds, 3),
        "message": note.message,
        "invariant": note.invariant,
        "node": note.node,
        "index": note.index,
        "term": note.term,
    }
    return json.dumps({name: found for name, found in members.items() if found not in ("", 0)})


def _conclude(state: "Follow") -> int:
    from admin.checker.verdict import Result  # noqa: PLC0415 - only here, slow to import

    behind = state.behind
    members: dict[str, object] = {
        "schema": _SCHEMA,
        "what": "summary",
        "verdict": state.result.value,
        "violations": state.violations.total(),
        "invariants": [
            {
                "id": each.id,
                "title": each.title,
                "status": each.result.value,
                "facts": each.facts,
                "violations": each.violations,
            }
            for each in state.judged
        ],
        "seconds": round(state.events.seconds, 3),
        "samples": state.samples,
        "batches": state.batches,
        "behind": None if behind is None else [round(each, 3) for each in behind],
        "window": state.window.size,
    }
    if style().as_json:
        text(json.dumps(members, ensure_ascii=False))
    else:
        for each in state.judged:
            text(f"  {each.id}: {each.result.value}, {each.facts} facts, {each.title}")
        late = "" if behind is None else f", {behind[0]:.1f} s behind (at most {behind[1]:.1f} s)"
        text(
            f"{state.result.value}: {state.violations.total()} violations in "
            f"{state.samples} samples{late}; logs are compared over the newest "
            f"{state.window.size} entries, and by their checksums on everything before"
        )
    return Exit.DONE if state.result is Result.PASS else Exit.CHECK_FAILED
