"""A stranger that connects again is dialled as before, and nobody else gets its place."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from election.messages import Replica
from qsync.errors import QsyncError
from qsync.node.node import Node, open_node
from tests.node.knocking import HELLO, calling, config, pump

STRANGER = Replica(9)
KNOCKS = replace(
    HELLO,
    replica=STRANGER,
    name="n9",
    instance=str(uuid.UUID(int=9)),
    address="127.0.0.9:3301",
)


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    async with _begun(tmp_path) as found:
        yield found


@asynccontextmanager
async def _begun(path: Path) -> AsyncIterator[Node]:
    async with open_node(config(path)) as found:
        found._begin()
        yield found
        pump(found)


def dialled(node: Node) -> str | None:
    """Where the node dials the stranger."""
    found = node.book.dialled().get(STRANGER)
    return None if found is None else str(found.address)


async def test_who_connects_again_before_the_loss_is_noticed_is_dialled(node: Node) -> None:
    """A host that lost power says no goodbye: its new connection comes before the old one ends."""
    with calling(node, KNOCKS):
        assert dialled(node) == KNOCKS.address
        with calling(node, replace(KNOCKS, address="127.0.0.9:3302")):
            assert node.server.hears(STRANGER)
            assert dialled(node) == "127.0.0.9:3302"
        assert dialled(node) is None
        assert not node.server.hears(STRANGER)


async def test_another_directory_with_its_id_does_not_get_its_place(node: Node) -> None:
    other = replace(KNOCKS, instance=str(uuid.UUID(int=10)), address="127.0.0.9:3302")
    with calling(node, KNOCKS):
        with pytest.raises(QsyncError, match="is taken by instance"), calling(node, other):
            pass
        assert node.server.hears(STRANGER)
        assert dialled(node) == KNOCKS.address
