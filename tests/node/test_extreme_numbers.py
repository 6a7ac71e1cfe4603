"""Whatever numbers stand in a request, a running node answers it or hangs up, and serves on."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import cbor2
import trio

import qsync
from election.messages import Index
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.errors import Unavailable
from qsync.node import mishaps, options
from qsync.node.node import Node, open_node
from qsync.wire import limits, requests, verbs
from qsync.wire.frames import LENGTH_SIZE, frame
from qsync.wire.verbs import Request, Verb
from tests.node.knocking import config
from tests.node.test_rights_matrix import OWN, question

NUMBERS: Final = (0, 1, 7, (1 << 31) - 1, limits.U32_MAX, (1 << 63) - 1, 1 << 63, limits.U64_MAX)
"""Where a C library, a struct or a file offset ends."""
ANSWER_S: Final = 20.0
ODD: Final = (-1, 1 << 1000, 0.5, 1e308, math.inf, -math.inf, math.nan)


def varied(request: Request) -> Iterator[list[object]]:
    """The fields of the request, one number at a time at each edge; or with odd options."""
    fields: list[object] = cbor2.loads(requests.encode(request)[LENGTH_SIZE:])
    if isinstance(request, verbs.OptionsRequest):
        for name in options.DYNAMIC:
            for value in (*NUMBERS, *ODD):
                yield [*fields[:2], {name: value, "no_such_option": 1}]
    for at, known in enumerate(fields[2:], 2):
        if isinstance(known, int) and not isinstance(known, bool):
            for number in NUMBERS:
                yield [*fields[:at], number, *fields[at + 1 :]]


async def _answered(line: AsyncNodeConnection, fields: list[object]) -> None:
    """Raises Unavailable where the node hangs up instead."""
    with trio.fail_after(ANSWER_S):
        await line.send(frame(cbor2.dumps(fields)))
        while not await line.receive():
            pass


async def _asked(node: Node, asked: Iterator[list[object]]) -> int:
    """Ask all of it; over another connection where the node hung up."""
    count = 0
    line = await AsyncNodeConnection.open(node.address)
    for fields in asked:
        count += 1
        try:
            await _answered(line, fields)
        except Unavailable:
            await line.close()
            line = await AsyncNodeConnection.open(node.address)
            await _answered(line, fields)
    await line.close()
    return count


async def _live(path: Path) -> int:
    count = 0
    async with (
        open_node(config(path, alone=True)) as node,
        qsync.connect_async(node.address) as db,
    ):
        await db.schema.create_space(OWN, is_sync=True)
        await db.schema.create_space("guard", is_sync=True)
        await db.space(OWN).insert([1])
        for verb in Verb:
            first = question(verb, OWN)
            if isinstance(first, verbs.DemoteRequest):
                continue  # nobody else could lead
            if isinstance(first, verbs.SnapshotReadRequest):
                first = first._replace(snapshot=Index(await db.snapshot()))
            count += await _asked(node, varied(first))
        assert await db.space(OWN).count() == 1
        found = [each for each in node.timeline.events if each["event"] == mishaps.EVENT]
        assert found == []
    return count


def test_no_number_in_a_request_ends_a_node_or_is_a_mistake_of_ours(tmp_path: Path) -> None:
    assert trio.run(_live, tmp_path) > 200
