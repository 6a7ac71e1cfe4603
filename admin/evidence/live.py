"""The nodes of a running cluster, asked side by side over connections that stay."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from admin.evidence.parts import LONG, SHORT
from admin.evidence.witnesses import Running
from qsync.client.one_node import NodeConnection
from qsync.errors import QsyncError, Unavailable
from qsync.status import decode
from qsync.status.record import NodeStatus
from qsync.wire import replies
from qsync.wire.verbs import PlainRequest, Verb

if TYPE_CHECKING:
    import pyarrow as pa

ANSWER_S_MAX = 1.0
"""A node that takes longer counts as silent for now."""
FETCH_S_MAX = 30.0
"""For a stretch of a log."""
NODES_MAX = 31

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRange:
    """Entries `first..last` of a node's log, and the address that has them."""

    address: str
    node: int
    uuid: str
    generation: int
    first: int
    last: int


class LivePoll:
    """Polls nodes. One that does not answer gets a new connection the next time."""

    def __init__(self, addresses: Iterable[str], *, timeout: float = ANSWER_S_MAX) -> None:
        self.addresses = list(dict.fromkeys(addresses))
        self.silent: dict[str, str] = {}
        self._timeout = timeout
        self._lines: dict[str, NodeConnection] = {}
        self._threads = ThreadPoolExecutor(NODES_MAX, thread_name_prefix="poll")

    def __reduce__(self) -> tuple[object, ...]:
        """Spark carries readers to its tasks: connections stay here."""
        return partial(LivePoll, timeout=self._timeout), (self.addresses,)

    def each(self, ask: Callable[[NodeConnection], T]) -> dict[str, T]:
        """Return the answer of each node by address; nodes without an answer are in `silent`."""
        self.silent = {}
        asked = {each: self._threads.submit(self._ask, each, ask) for each in self.addresses}
        found = {}
        for address, answer in asked.items():
            try:
                found[address] = answer.result()
            except QsyncError as error:
                self.silent[address] = error.message
        return found

    def statuses(self) -> dict[str, NodeStatus]:
        """Return the status of each node; members named in them are asked from now on."""
        found = self.each(status_of)
        known = {each.id for each in found.values()}
        for sample in list(found.values()):
            for member, _, address in sample.nodes:
                if member not in known and address not in self.addresses:
                    self.addresses.append(address)
        return found

    def close(self) -> None:
        """Close all connections."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for line in self._lines.values():
            line.close()
        self._lines.clear()

    def _ask(self, address: str, ask: Callable[[NodeConnection], T]) -> T:
        line = self._lines.get(address)
        if line is None:
            line = self._lines[address] = NodeConnection(address, timeout=self._timeout)
        try:
            return ask(line)
        except QsyncError:
            self._lines.pop(address).close()
            raise


def status_of(line: NodeConnection) -> NodeStatus:
    """Return the answer to STATUS as a record."""
    return decode.status(replies.read_map(line.ask(PlainRequest(1, Verb.STATUS))))


def batches(
    piece: LiveRange, run_id: str, *, timeout: float = FETCH_S_MAX
) -> Iterator["pa.RecordBatch"]:
    """Return entries as rows of `wal`; `timeout`: for each answer. Raises Unavailable, LogCut."""
    from admin.evidence import arrow  # noqa: PLC0415 - comes with the extra
    from admin.evidence.columns import columns  # noqa: PLC0415 - the same

    first, opening = piece.first, SHORT
    with NodeConnection(piece.address, timeout=timeout) as line:
        if line.greeting.instance != piece.uuid:
            raise Unavailable(f"{piece.address} has another directory than {piece.uuid}")
        while first <= piece.last:
            for stretch in Running(line).stretches(first, piece.last, opening):
                opened = columns(stretch.rows)
                if not opened.whole:
                    opening = LONG
                    break
                yield arrow.wal(opened, run_id=run_id, node=piece.node, generation=piece.generation)
                first = stretch.last + 1
            else:
                return
