"""Operators that promote, demote and clear in quick succession, and await every answer."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from random import Random

import trio

from admin.campaign.book import CampaignHistory
from admin.campaign.figures import BrokenPromise
from admin.campaign.nodes import Nodes
from admin.campaign.wire import RequestTimedOut, wired
from admin.lab.lab import LabNode
from qsync.errors import QsyncError
from qsync.wire.verbs import ClearRequest, DemoteRequest, PromoteRequest, Request

ASKED_S = 5.0
"""The time limit that a request gives the node."""
PATIENCE_S = 60.0
"""How long to wait for a node that was not ended; then it counts as unanswered."""
TURN_S = 0.3


class OperatorVerb(StrEnum):
    """A request of an operator."""

    PROMOTE = "promote"
    DEMOTE = "demote"
    HAND_OVER = "hand over"
    CLEAR = "clear"


VERBS = tuple(OperatorVerb)


class CampaignOperators:
    """The operators of one campaign."""

    def __init__(self, book: CampaignHistory, nodes: Nodes, nursery: trio.Nursery) -> None:
        self._book = book
        self._nodes = nodes
        self._nursery = nursery
        self.under_way = 0

    async def quick_turns(self, dice: Random, seconds: float) -> None:
        """Send requests one after the other, without waiting for the answers."""
        with trio.move_on_after(seconds):
            while True:
                node = dice.choice(self._nodes.all)
                self._nursery.start_soon(self._one, node, dice.choice(VERBS), dice.random())
                await trio.sleep(dice.random() * TURN_S)

    async def _one(self, node: LabNode, verb: OperatorVerb, chance: float) -> None:
        asked = OperatorRequest(node=node, verb=verb, life=self._nodes.life(node))
        self.under_way += 1
        try:
            said = await self._ask(asked, chance)
        except QsyncError as error:
            said = error.code
        except RequestTimedOut as error:
            said = f"nothing: {error}"
            # A node that was stopped meanwhile cannot answer.
            if asked.sent and self._nodes.life(node) == asked.life:
                self._book.broken(BrokenPromise.UNANSWERED, f"{verb} on {node.name}: {error}")
        finally:
            self.under_way -= 1
        self._book.write_line("operation", verb=verb, node=node.name, sent=asked.sent, said=said)

    async def _ask(self, asked: "OperatorRequest", chance: float) -> str:
        others = [each.id for each in self._nodes.all if each is not asked.node]
        heir = (
            others[int(chance * len(others))]
            if asked.verb is OperatorVerb.HAND_OVER and others
            else 0
        )
        make = _request(asked.verb, heir)
        async with wired(asked.node.address) as wire:
            self._book.figures.counts["operations"] += 1
            asked.sent = True
            await wire.ask(make, patience=PATIENCE_S)
        return "done"


@dataclass(slots=True, kw_only=True)
class OperatorRequest:
    """One request. `life`: the number of the node's process. `sent`: the node got it."""

    node: LabNode
    verb: OperatorVerb
    life: int
    sent: bool = False


def _request(verb: OperatorVerb, heir: int) -> Callable[[int], Request]:
    match verb:
        case OperatorVerb.PROMOTE:
            return partial(PromoteRequest, timeout=ASKED_S)
        case OperatorVerb.CLEAR:
            return partial(ClearRequest, timeout=ASKED_S)
        case OperatorVerb.DEMOTE | OperatorVerb.HAND_OVER:
            return partial(DemoteRequest, to=heir, timeout=ASKED_S)
