"""Follows a running cluster with Spark: micro-batches of statuses and confirmed entries."""

import json
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from admin.checker.follow import Follow
from admin.checker.follow_events import FollowNote
from admin.checker.follow_window import WINDOW
from admin.checker.spark import credentials
from admin.checker.spark.failures import NoSpark
from admin.checker.spark.session import ending
from admin.checker.spark.source import QsyncSource
from admin.cluster import own_rights
from admin.evidence.live import LivePoll
from admin.evidence.tables import TABLES, Row
from qsync.errors import AccessDenied, Unavailable
from qsync.rights import Need, Privilege

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TRIGGER_S: Final = 0.5
"""The minimum time between the starts of two micro-batches."""
LOOK_BACK: Final = 1024
"""How many earlier entries are read at the start, for comparison."""
FIRST_S_MAX: Final = 5.0
"""A node that does not answer within this time at the start is added later."""
_LOOK_S: Final = 0.25
_NUMBERS: Final = ("node", "generation", "index", "term", "origin", "lsn", "crc", "promote")
_STATUS: Final = dict.fromkeys(TABLES["status"].columns)

Told = Callable[[list[FollowNote]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowOptions:
    """What to follow. `seconds`: the time after the first batch; None: until `stop` is set."""

    addresses: Sequence[str]
    seconds: float | None = None
    window: int = WINDOW


def follow(
    session: "SparkSession", wanted: FollowOptions, *, told: Told, stop: threading.Event
) -> Follow:
    """Report events until it is time to stop.

    Raises at the start Unavailable if no node answers, AccessDenied if the log may not be read.

    `told` is called from another thread, one call at a time.
    """
    from py4j.protocol import Py4JNetworkError  # noqa: PLC0415 - comes with the extra
    from pyspark.sql import is_remote  # noqa: PLC0415 - the same

    if is_remote():
        raise NoSpark(
            "--follow keeps its state on the Spark driver, which with Connect is another process",
            hint="use a master's URL, or none",
        )
    addresses, begin = _beginning(wanted.addresses)
    state = Follow(window=wanted.window)

    def took(frame: "DataFrame", _number: int) -> None:
        notes = judge_micro_batch(state, frame.toArrow())
        if notes:
            told(notes)

    session.dataSource.register(QsyncSource)
    with tempfile.TemporaryDirectory(prefix="qsync-follow-") as folder:
        query = (
            _stream(session, addresses, begin)
            .writeStream.foreachBatch(took)
            .trigger(processingTime=f"{TRIGGER_S} seconds")
            .option("checkpointLocation", str(Path(folder) / "checkpoint"))
            .start()
        )
        try:
            _wait(query, wanted.seconds, stop, begun=lambda: state.batches > 0)
        except (Py4JNetworkError, ConnectionError) as error:
            # The signal that ended Java may have been sent to this process too, at the same moment.
            if not stop.wait(_LOOK_S):
                raise NoSpark(f"following ended: Spark's process is gone ({error})") from error
        finally:
            with ending():
                query.stop()
    return state


def judge_micro_batch(state: Follow, found: "pa.Table") -> list[FollowNote]:
    """One micro-batch."""
    said = found.column("said")
    status: list[Row] = [_STATUS | json.loads(each) for each in said.drop_null().to_pylist()]
    status.sort(key=lambda row: int(str(row["sample"])))
    now = time.monotonic_ns()
    state.delays.extend((now - int(str(row["time_mono"]))) / 1e9 for row in status)
    log = found.filter(said.is_null())
    return state.poll(status, {name: log.column(name).to_numpy() for name in _NUMBERS})


def _beginning(addresses: Sequence[str]) -> tuple[list[str], int]:
    """All members, and the index after which their logs are read. Raises AccessDenied."""
    poll = LivePoll(addresses, timeout=FIRST_S_MAX)
    try:
        samples = poll.statuses()
        if not samples:
            raise Unavailable(
                f"none of {', '.join(addresses)} answers", details={"nodes": dict(poll.silent)}
            )
        user = own_rights.without_dump(samples.values())
        if user is not None:
            raise AccessDenied(f"user {user!r} lacks the right {Need(Privilege.DUMP)}")
        confirmed = min(min(each.confirmed, each.written) for each in samples.values())
        return list(poll.addresses), max(0, confirmed - LOOK_BACK)
    finally:
        poll.close()


def _stream(session: "SparkSession", addresses: Sequence[str], begin: int) -> "DataFrame":
    """Both tables as one stream, so that one query reads both."""
    source = (
        session.readStream.format("qsync")
        .option("nodes", ",".join(addresses))
        .option("run", "follow")
        .options(**credentials.of_environment())
    )
    log = (
        source.option("table", "wal")
        .option("begin", str(begin))
        .load()
        .selectExpr(
            "node",
            "generation",
            "`index`",
            "term",
            "origin",
            "lsn",
            "crc",
            "bigint(kind = 'PROMOTE') as promote",
            "string(null) as said",
        )
    )
    nothing = [f"0L as `{name}`" for name in _NUMBERS[2:]]
    status = (
        source.option("table", "status")
        .load()
        .selectExpr("node", "generation", *nothing, "to_json(struct(*)) as said")
    )
    return log.union(status)


def _wait(
    query: "StreamingQuery",
    seconds: float | None,
    stop: threading.Event,
    *,
    begun: Callable[[], bool],
) -> None:
    """Wait until the time after the first micro-batch is over, or it is stopped, or Spark fails."""
    until: float | None = None
    while not stop.wait(_LOOK_S):
        if until is None and seconds is not None and begun():
            until = time.monotonic() + seconds
        failed = query.exception()
        if failed is not None:
            first = (str(failed).strip().splitlines() or ["no reason given"])[0]
            raise NoSpark(f"following ended: {first}")
        if until is not None and time.monotonic() >= until:
            return
