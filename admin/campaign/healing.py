"""Removes all faults after a round, waits until the cluster is whole, and compares nodes."""

import signal
import time

import trio

from admin.campaign import spaces
from admin.campaign.book import CampaignHistory
from admin.campaign.checker import StoredState
from admin.campaign.figures import BrokenPromise
from admin.campaign.nodes import Nodes
from admin.campaign.operators import CampaignOperators
from admin.campaign.strikes import unanswered
from admin.campaign.writing import Writing
from admin.cluster import fault_points, surveys
from admin.cluster.surveys import ClusterHealth, ClusterSurvey
from admin.workload import proof
from qsync.client.blocking import connect
from qsync.errors import QsyncError, Unavailable

HEAL_S = 180.0
"""How long a healed cluster may take no writes before the round has failed."""
MEET_S = 90.0
LOOK_S = 0.3
ASK_S = 2.0
PATIENCE_S = 30.0


async def heal(nodes: Nodes, book: CampaignHistory) -> bool:
    """Undo everything, and wait until all nodes take part and each is a voter again."""
    await trio.to_thread.run_sync(nodes.lab.control.heal)
    for node in nodes.all:
        async with nodes.held(node):
            nodes.signal(node, signal.SIGCONT)
            nodes.room(node, full=False)
            nodes.start(node)
    await trio.to_thread.run_sync(_disarm, nodes)
    deadline = time.monotonic() + HEAL_S
    why = "nobody answers"
    while time.monotonic() < deadline:
        for node in nodes.all:
            nodes.start(node)  # a node that ended by itself is counted, and needed
        try:
            found = await trio.to_thread.run_sync(_survey, nodes)
        except Unavailable as error:
            why = error.message
        else:
            why = missing(found)
            if not why:
                return True
        await trio.sleep(LOOK_S)
    book.broken(BrokenPromise.STUCK, f"{HEAL_S:g} s after all was put right: {why}")
    return False


def missing(found: ClusterSurvey) -> str:
    """Return what keeps a cluster from being whole; empty if it is whole."""
    strangers = [each.name for each in found.samples if each.recruit or each.stranger]
    verdict = surveys.judge(found)
    if verdict.health is not ClusterHealth.HEALTHY:
        return verdict.sentence
    return f"strangers: {', '.join(strangers)}" if strangers else ""


async def compare(
    nodes: Nodes, book: CampaignHistory, writing: Writing, operators: CampaignOperators
) -> None:
    """Wait until nothing is under way, and compare what the nodes hold."""
    writing.close_gate()
    try:
        while writing.under_way or operators.under_way:  # noqa: ASYNC110 - of two, seldom
            await trio.sleep(LOOK_S)
        await trio.to_thread.run_sync(_compare, nodes, book)
    finally:
        writing.open_gate()


async def stored(nodes: Nodes) -> dict[str, StoredState]:
    """Return the full state of each node, while there are no writes."""
    return await trio.to_thread.run_sync(_stored, nodes)


def _stored(nodes: Nodes) -> dict[str, StoredState]:
    found: dict[str, StoredState] = {}
    for node in nodes.all:
        with connect(node.address, direct=True, timeout=PATIENCE_S) as client:
            found[node.name] = spaces.stored(client)
    return found


def _compare(nodes: Nodes, book: CampaignHistory) -> None:
    try:
        digests = proof.same_digests(nodes.lab.addresses, timeout=MEET_S)
    except QsyncError as error:
        book.broken(BrokenPromise.STUCK, error.message)
        return
    book.figures.counts["comparisons"] += 1
    first, *others = digests.items()
    for address, found in others:
        if found != first[1]:
            names = [
                name
                for name in found.keys() | first[1].keys()
                if found.get(name) != first[1].get(name)
            ]
            book.broken(
                BrokenPromise.DIFFERENT, f"{first[0]} and {address}: {', '.join(sorted(names))}"
            )


def _survey(nodes: Nodes) -> ClusterSurvey:
    return surveys.survey(nodes.lab.addresses, timeout=ASK_S)


def _disarm(nodes: Nodes) -> None:
    for node in nodes.all:
        with unanswered():
            fault_points.disarm(node.address)
