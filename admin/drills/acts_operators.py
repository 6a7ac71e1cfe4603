"""What a drill asks of nodes as an operator would: to lead, or to stop leading."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from admin.cluster import leadership
from admin.drills.acts import Acts
from admin.drills.model import Step
from admin.lab.lab import LabNode
from qsync.errors import QsyncError
from qsync.wire.verbs import DemoteRequest, PromoteRequest

LEAD_S_MAX = 15.0
"""How long a promote or demote may take."""


def promote(acts: Acts, step: Step, nodes: list[str]) -> None:
    """Of several at the same moment one has to succeed."""
    requests = [(acts.lab.node(name), PromoteRequest(1, LEAD_S_MAX)) for name in nodes]
    _ask(step, requests)


def demote(acts: Acts, step: Step, nodes: list[str]) -> None:
    """With an empty limbo, to whom it likes."""
    requests = [(acts.lab.node(name), DemoteRequest(1, 0, LEAD_S_MAX)) for name in nodes]
    _ask(step, requests)


def _ask(step: Step, requests: Sequence[tuple[LabNode, PromoteRequest | DemoteRequest]]) -> None:
    def one(asked: tuple[LabNode, PromoteRequest | DemoteRequest]) -> QsyncError | None:
        node, request = asked
        try:
            leadership.perform(node.address, request, timeout=LEAD_S_MAX)
        except QsyncError as error:
            return error
        return None

    with ThreadPoolExecutor(len(requests)) as pool:
        answers = list(pool.map(one, requests))
    errors = [each for each in answers if each is not None]
    if len(errors) == len(requests):
        raise errors[0]
    assert len(errors) < len(requests), step
