"""Checks of replication: lag, damaged data, pending transactions, members and their roles."""

from collections.abc import Iterator

from admin.cluster import sides, surveys, troubles
from admin.cluster.lag import behind
from admin.doctor.facts import Facts, Finding, critical, notice, warning
from qsync.member import Standing
from qsync.units import how_many

AGE_SHARE_MAX = 0.5
"""Share of the timeout after which a pending transaction is rolled back."""
ROOM_SHARE_MAX = 0.8
JOIN_S_MAX = 600.0
"""Seconds for a node to catch up; after that the operator should see why it is no voter yet."""


def limbo_moves(facts: Facts) -> Iterator[Finding]:
    """Pending transactions are confirmed within a short time."""
    leader = facts.leader
    if leader is None or not leader.synchro.queue.len:
        return
    synchro, limbo = leader.synchro, leader.synchro.queue
    stall = surveys.stall(facts.survey)
    if stall is not None:
        yield critical(
            leader.name,
            f"{stall}; {limbo.len} pending, for {synchro.timeout:g} s at the most",
            "look at the disks of those that are named, then at the links to them; a node that "
            "hangs is better stopped, if a quorum is there without it",
        )
    elif synchro.timeout and limbo.age > AGE_SHARE_MAX * synchro.timeout:
        whom = ", ".join(each.label for each in limbo.missing) or "the quorum"
        yield warning(
            leader.name,
            f"{limbo.len} pending, the oldest for {limbo.age:.2g} s of {synchro.timeout:g} s; "
            f"it waits for {whom}",
            f"look at the disks and links of {whom}; then all of them are rolled back together",
        )


def limbo_room(facts: Facts) -> Iterator[Finding]:
    """The limbo is not almost full."""
    for node in facts.nodes:
        limbo = node.synchro.queue
        parts = (
            (limbo.len, limbo.entries_max, "transactions", "queue_entries_max"),
            (limbo.size, limbo.bytes_max, "bytes", "queue_bytes_max"),
        )
        for used, most, what, option in parts:
            if node.leads and most and used > ROOM_SHARE_MAX * most:
                yield warning(
                    node.name,
                    f"the limbo holds {used} of {most} {what}: writers are about to wait",
                    f"the quorum is slower than the writers; replication.{option} only hides it",
                )


def rolled_back(facts: Facts) -> Iterator[Finding]:
    """No transaction was rolled back."""
    for node, count in facts.counted("transactions_rolled_back"):
        yield notice(
            node.name,
            f"rolled back {how_many(count, 'transaction')} since its start; their clients "
            "were told",
            "no quorum acked in time: see `qsync info events` for when, and who was away then",
        )


def outcomes_known(facts: Facts) -> Iterator[Finding]:
    """Every write has a known outcome."""
    for node, count in facts.counted("unknown"):
        yield notice(
            node.name,
            f"{how_many(count, 'write')} timed out with an unknown outcome since its start",
            "clients learn it by retrying with the token (`qsync explain OUTCOME_UNKNOWN`); "
            "if this grows, the quorum is not there",
        )


def nothing_lost(facts: Facts) -> Iterator[Finding]:
    """No acknowledged asynchronous write was lost."""
    for node in facts.nodes:
        lost = node.counters.get("lost_async", 0)
        if lost:
            yield warning(
                node.name,
                f"{lost} asynchronous writes that were answered ok were cut since its start",
                "`qsync info lost` shows where they are kept; make the space is_sync if that "
                "must not happen",
            )
        elif node.lost.entries:
            yield notice(
                node.name,
                f"keeps {how_many(node.lost.entries, 'entry')} cut from its log",
                "`qsync info lost` shows them; look at them once, they change nothing",
            )


LAG_ENTRIES_MAX = 10_000
OVERLAY_ROWS_MAX = 1_000_000
UNFOLDED_ENTRIES_MAX = 200_000


def replicas_keep_up(facts: Facts) -> Iterator[Finding]:
    """No follower is far behind."""
    for node in facts.nodes:
        lag = behind(facts.survey, node)
        if not node.leads and lag > LAG_ENTRIES_MAX:
            yield warning(
                node.name,
                f"is {how_many(lag, 'entry')} behind the leader",
                "it catches up by itself; if the number grows, its disk or link is slower than "
                "the writers",
            )


def data_agrees(facts: Facts) -> Iterator[Finding]:
    """No node's confirmed data differs from the leader's."""
    for node in facts.nodes:
        if node.status == "split_brain":
            why = "; ".join(node.ro_texts)
            yield critical(
                node.name,
                f"its confirmed data differs from the leader's: {why}",
                "it keeps everything and follows nobody. Compare with `qsync log cat` on both, "
                "decide which is right, wipe the other (`qsync explain SPLIT_BRAIN`)",
            )


def none_superseded(facts: Facts) -> Iterator[Finding]:
    """No superseded node is running."""
    for node in (*facts.nodes, *facts.apart):
        if sides.is_superseded(node):
            yield critical(
                node.name,
                f"serves nothing: {sides.sentence(node)}",
                "stop it and keep its directory; `qsync init DIR --join TARGET` with an empty one, "
                "start it, `qsync member add` (`qsync explain SUPERSEDED`)",
            )


def no_old_copy(facts: Facts) -> Iterator[Finding]:
    """No node was started on an old copy of its directory."""
    for node in facts.nodes:
        if node.status == "old_copy":
            yield critical(
                node.name,
                f"runs on an old copy of its directory: {node.old_copy}",
                "it is ignored; start it again, and it continues as a new instance "
                "(`qsync explain OLD_COPY`)",
            )
        elif node.old_copy:
            yield warning(
                node.name,
                f"was started on an old copy of its directory, and is a new instance: "
                f"{node.old_copy}",
                "find out who put the copy back; its former log is kept beside `log` in its "
                "directory (`qsync explain OLD_COPY`)",
            )


def log_whole(facts: Facts) -> Iterator[Finding]:
    """No node found damage in its log."""
    for node in facts.nodes:
        if node.quarantined:
            yield critical(
                node.name,
                f"found damage in its log and started over: {node.quarantined}",
                "check its disk and memory; it votes again when it has caught up",
            )


def all_vote(facts: Facts) -> Iterator[Finding]:
    """Every node counts in the quorum."""
    for node in facts.nodes:
        if node.recruit and not node.quarantined and not node.stranger:
            yield warning(
                node.name,
                "it may have forgotten what it acked; it counts in no quorum until it caught up",
                "wait: it needs what the leader had when it came back",
            )


def all_named(facts: Facts) -> Iterator[Finding]:
    """Every member runs on the directory that the configuration names."""
    founded = any(node.voters for node in facts.nodes)
    for node in facts.nodes:
        if node.stranger and troubles.is_named(facts.nodes, node):
            yield warning(
                node.name,
                "is a member, and has not received the log yet: it neither votes nor counts",
                f"wait; if it lasts, look at the link between it and the leader, or take it out: "
                f"`qsync member remove {node.name}`",
            )
        elif node.stranger and founded and not troubles.has_place(facts.nodes, node.id):
            yield warning(
                node.name,
                "is a stranger: it waits to be made a member",
                f"`qsync member add {node.address}`, or stop it",
            )
        elif node.stranger and founded:
            yield warning(
                node.name,
                "is a stranger: its directory is new, or another than the configuration names; it "
                "receives the log, and neither votes nor counts",
                f"`qsync member replace {node.name}` names it; under `replication.replace: auto` "
                "the leader does so by itself as soon as it has caught up",
            )
        elif node.stranger:
            yield critical(
                node.name,
                "is a stranger, and so are all others: nobody has founded a cluster",
                "`qsync init` makes directories that are a cluster; a node that starts on an empty "
                "one never founds anything",
            )


def joins_end(facts: Facts) -> Iterator[Finding]:
    """Every node that joins as a voter becomes one soon."""
    for node in facts.nodes:
        if node.standing == Standing.JOINING and node.uptime > JOIN_S_MAX:
            lag = behind(facts.survey, node)
            yield warning(
                node.name,
                f"has run for {node.uptime / 60:.0f} min, is to become a voter when it has caught "
                f"up, and is {how_many(lag, 'entry')} behind the leader",
                "if the number falls, wait; if not, its disk or link is slower than the writers: "
                f"`qsync top {node.address}`, or give it up: `qsync member remove {node.name}`",
            )


def folding_keeps_up(facts: Facts) -> Iterator[Finding]:
    """Confirmed rows go from memory to the spaces on disk in time."""
    for node in facts.nodes:
        waiting = node.confirmed - node.folded
        if node.memory.overlay_rows > OVERLAY_ROWS_MAX or waiting > UNFOLDED_ENTRIES_MAX:
            yield warning(
                node.name,
                f"{node.memory.overlay_rows} row versions and {waiting} entries wait in memory to "
                "be folded",
                "writes come faster than the disk takes rows: memory and the time of a restart "
                "grow; see store.memtable_rows_max",
            )
