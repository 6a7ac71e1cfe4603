"""Checks: do the replicas keep up, and is their data whole?"""

from collections.abc import Iterator

from admin.cluster import surveys
from admin.doctor.facts import Facts
from admin.doctor.finding import Finding, critical, warning

LAG_ENTRIES_MAX = 10_000
OVERLAY_ROWS_MAX = 1_000_000
UNFOLDED_ENTRIES_MAX = 200_000


def replicas_keep_up(facts: Facts) -> Iterator[Finding]:
    """No follower is far behind."""
    for node in facts.nodes:
        lag = surveys.behind(facts.survey, node)
        if not node.leads and lag > LAG_ENTRIES_MAX:
            yield warning(
                node.name,
                f"is {lag} entries behind the leader",
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
        if node.stranger and founded:
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
                "grow; see store.fold_rows_max and fold_interval",
            )
