"""Terms that jump, said by a peer over a real socket: refused, and nothing of them is kept."""

from pathlib import Path

import pytest

from election.messages import TERM_JUMP_MAX, TERM_MAX, Index, Position, RequestVote, Term
from qsync.node.node import Node, open_node
from tests.node.knocking import PEER, Caller, calling, config


def campaign(node: Node, peer: Caller, term: int) -> None:
    """Node 2 asks for a vote in that term, with a log as long as ours."""
    at = node.replica.machine.replicated_log.log.position
    position = Position(at.term, Index(at.index))
    peer.tell(
        RequestVote(term=Term(term), candidate=PEER, position=position, pre=False, transfer=True)
    )


@pytest.mark.parametrize("jump", [TERM_JUMP_MAX + 1, TERM_MAX])
async def test_a_term_that_jumps_costs_its_connection_and_is_not_taken(
    tmp_path: Path, jump: int
) -> None:
    settings = config(tmp_path)
    async with open_node(settings) as node:
        node._begin()
        ours = node.replica.machine.term
        with calling(node) as peer:
            campaign(node, peer, min(ours + jump, TERM_MAX))
            assert not peer.connected
        assert node.replica.machine.term == ours
    async with open_node(settings) as node:
        assert node.replica.machine.term == ours


async def test_a_term_below_the_jump_is_taken(tmp_path: Path) -> None:
    async with open_node(config(tmp_path)) as node:
        node._begin()
        ours = node.replica.machine.term
        with calling(node) as peer:
            campaign(node, peer, ours + TERM_JUMP_MAX)
            assert peer.connected
        assert node.replica.machine.term == ours + TERM_JUMP_MAX
