"""The sources of evidence: running nodes, directories of stopped ones, copies of logs."""

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from admin.cluster import logs
from admin.evidence import rows
from admin.evidence.manifest import NodeFacts, NoEvidence
from admin.evidence.replays import compared
from admin.evidence.tables import Row
from election.messages import Index
from qsync import record
from qsync.client.one_node import NodeConnection
from qsync.core.configuration import Configuration
from qsync.directory_files import is_node_directory
from qsync.errors import Compacted, Damaged, ProtocolError, Unavailable
from qsync.member import WITHOUT_VOTE
from qsync.record import Entry, RecordDamage
from qsync.status import decode
from qsync.status.record import NodeStatus
from qsync.wire import packed, replies
from qsync.wire.packed import PackedRows
from qsync.wire.verbs import DigestRequest, InfoRequest, PackedRequest, PlainRequest, Verb

TIMEOUT_S = 30.0
"""How long a node may take for an answer, by default: it has digests to make."""
TOLD_AFTER_S = 1.0
"""How long a node may take to be there before somebody is told what is waited for."""
STRETCH_ENTRIES = packed.ENTRIES_MAX
"""Asked for at once: while one stretch is looked at, the node packs the next."""


_MISSING = "it is missing"


IDS = itertools.count(1)
"""The time limit of requests: a late answer must not be taken for the next one's."""


class LogWasCut(Exception):
    """The end of what was read is not in the log any more: a leader cut its tail meanwhile."""


class LogWasTrimmed(LogWasCut):
    """What was to be read next is not in the log any more: it begins later now."""


class LogChunk(NamedTuple):
    """Entries of a log back to back, from `first` on."""

    first: int
    rows: PackedRows

    @property
    def last(self) -> int:
        """The last of them."""
        return self.first + self.rows.entries - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A node's account of itself, taken before its log is read.

    `configurations`: of a directory, by its log: the one in force at its confirmed index, and those
    behind it, oldest first.
    """

    facts: NodeFacts
    cluster: str = ""
    cluster_uuid: str = ""
    term: int = 0
    quorum: int = 0
    sample: NodeStatus | None = None
    settings: dict[str, object] = field(default_factory=dict)
    configurations: tuple[Configuration, ...] = ()


class EvidenceSource(Protocol):
    """A node that can be asked for evidence."""

    def account(self) -> Account:
        """Return who the node is, and how far it has confirmed."""
        ...

    def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
        """Return its log `first..last`, or up to what is durable at first. Raises LogCut."""
        ...

    def digests(self, node: int) -> list[Row]:
        """Return hashes of its spaces, if it can."""
        ...


@dataclass(frozen=True, slots=True)
class Running:
    """A node that runs and answers."""

    line: NodeConnection

    def account(self) -> Account:
        """Return its account by STATUS."""
        asked = {"asked": time.monotonic_ns()}
        answer = replies.read_map(self.line.ask(PlainRequest(1, Verb.STATUS)))
        sample = decode.status(answer | asked)
        begins = logs.start_of(self.line).index + 1
        return Account(
            facts=replace(facts_of(sample), first=begins),
            cluster=sample.cluster.name,
            cluster_uuid=sample.replicaset.uuid,
            term=sample.term,
            quorum=sample.synchro.quorum,
            sample=sample,
            settings=replies.read_map(self.line.ask(InfoRequest(1, "settings"))),
        )

    def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
        """Return its log by PACKED, one question ahead; by LOG from older nodes.

        What was trimmed is not there. Raises LogWasTrimmed if that happens meanwhile.
        """
        try:
            yield from self._read(first, last, opening)
        except Compacted as error:
            raise LogWasTrimmed from error

    def _read(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
        first = max(first, logs.start_of(self.line).index + 1)
        if packed.FEATURE not in self.line.greeting.features:
            source = logs.Online(self.line)
            yield from _packed(source.batches(first, last), opening, last)
            return
        crc: int | None = None
        ask: PackedRequest | None = self._post(first, last, opening)
        while ask is not None:
            answer = packed.read(self.line.receive(ask))
            if crc is not None and answer.before != crc:
                raise LogWasCut
            rows, ask = answer.rows, None
            if not rows.entries:
                return
            # Else a log that grows as fast as it is read would never end.
            last = answer.durable if last is None else last
            if answer.reached < min(answer.durable, last):
                ask = self._post(answer.reached + 1, last, opening)
            crc = packed.last_crc(rows)
            yield LogChunk(answer.first, rows)

    def _post(self, first: int, last: int | None, opening: int) -> PackedRequest:
        count = STRETCH_ENTRIES if last is None else min(STRETCH_ENTRIES, last - first + 1)
        ask = PackedRequest(next(IDS), Index(first), max(0, count), opening)
        self.line.post(ask)
        return ask

    def digests(self, node: int) -> list[Row]:
        """Return the digests by DIGEST: of what is visible, with the index."""
        index, _folded, found = self.line.ask(DigestRequest(1))
        if not isinstance(index, int) or not isinstance(found, dict):
            raise ProtocolError("the answer to DIGEST is none")
        return rows.digest_rows(node, index, {str(k): str(v) for k, v in found.items()})


@dataclass(frozen=True, slots=True)
class StoppedNode:
    """The directory of a node, locked while no process runs on it."""

    path: Path

    def account(self) -> Account:
        """Return its account by its identity, and by what its log recorded as confirmed.

        A log that is missing is a problem of the node, and none of the dump.
        """
        from qsync.decided import stopped_log  # noqa: PLC0415 - LMDB is slow to import
        from qsync.node.assembly import founding  # noqa: PLC0415 - the same
        from qsync.store.directory import Directory  # noqa: PLC0415 - the same
        from qsync.store.opening import open_stored_log  # noqa: PLC0415 - the same

        identity = logs.identity_of(self.path)
        who = NodeFacts(
            node=int(identity.replica), name=identity.name, uuid=identity.instance, problem=_MISSING
        )
        if not self._has_log():
            return Account(facts=who, cluster_uuid=identity.cluster)
        with (
            Directory(self.path, wanted=identity) as directory,
            contextlib.closing(open_stored_log(directory)) as log,
        ):
            found = log.recover()
            readable = replace(found, confirmed=Index(min(found.confirmed, found.last)))
            followed = stopped_log(log, readable, founding(identity)).configurations
        facts = replace(
            who,
            confirmed=int(found.confirmed),
            first=found.start.index + 1,
            last=int(found.last),
            problem=found.quarantined or "",
            # What was set aside is not in the events yet if its node did not get so far.
            recorded=found.quarantined is None and found.ballot.member,
        )
        in_force = followed.before(Index(readable.confirmed + 1))
        later = [each for index, each in followed.standing() if index > readable.confirmed]
        return Account(
            facts=facts,
            cluster_uuid=identity.cluster,
            term=int(found.ballot.term),
            configurations=(*filter(None, [in_force]), *later),
        )

    def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
        """Return its log from its files."""
        if not self._has_log():
            return
        with _damage_placed(self.path), logs.stopped(self.path) as source:
            yield from _packed(source.batches(Index(first), last), opening, last)

    def digests(self, node: int) -> list[Row]:
        """Return digests of the stored rows, and of what the log makes of them up to there.

        None of rows that a crash of the machine left in doubt: its node will rebuild them. None
        where the log is damaged or missing: what it has lost the rows may still have. Raises
        StoreError if rows are damaged, or were found so before.
        """
        from qsync.store.directory import Directory  # noqa: PLC0415 - LMDB is slow to import
        from qsync.store.mark import is_damaged, is_trusted  # noqa: PLC0415 - the same
        from qsync.store.opening import open_stored_log  # noqa: PLC0415 - the same
        from qsync.store.spaces import SpaceStore  # noqa: PLC0415 - the same

        if is_damaged(self.path / "data"):
            raise Damaged("rows were found damaged before the node was stopped")
        if not is_trusted(self.path / "data") or not self._has_log():
            return []
        with (
            Directory(self.path, wanted=logs.identity_of(self.path)) as directory,
            contextlib.closing(open_stored_log(directory)) as log,
            contextlib.closing(SpaceStore(directory.data, repair=False)) as spaces,
            _damage_placed(self.path),
        ):
            found = log.recover()
            if found.start.index or found.quarantined is not None:
                return []  # what the log alone makes of the rows needs all of it

            def entries() -> Iterator[Entry]:
                for batch in log.batches(Index(1), log.last, bytes_max=logs.BATCH_BYTES):
                    yield from record.decode(batch.raw)

            return compared(node, entries, spaces)

    def _has_log(self) -> bool:
        from qsync.store.directory import Directory  # noqa: PLC0415 - LMDB is slow to import
        from qsync.store.opening import is_log_missing  # noqa: PLC0415 - the same

        with Directory(self.path, wanted=logs.identity_of(self.path)) as directory:
            return not is_log_missing(directory)


@dataclass(frozen=True, slots=True)
class CopiedLog:
    """A copy of a log, made while its node may have been running."""

    path: Path
    node: int

    def account(self) -> Account:
        """Return its account: its id was given with the copy, which has the rest."""
        from admin.evidence.copies import open_copy  # noqa: PLC0415 - LMDB is slow to import

        with contextlib.closing(open_copy(self.path)) as copy:
            facts = NodeFacts(
                node=self.node,
                name=f"n{self.node}",
                confirmed=copy.confirmed,
                first=copy.begins,
                last=copy.durable,
                problem=copy.problem,
            )
        return Account(facts=facts)

    def stretches(self, first: int, last: int | None, opening: int) -> Iterator[LogChunk]:
        """Return its log from the copy, which is not changed."""
        from admin.evidence.copies import open_copy  # noqa: PLC0415 - LMDB is slow to import

        with contextlib.closing(open_copy(self.path)) as copy, _damage_placed(self.path):
            yield from _packed(copy.batches(first), opening, last)

    def digests(self, node: int) -> list[Row]:  # noqa: ARG002 - a log alone cannot tell
        """Return no digests: only a running node has folded all that it shows."""
        return []


def facts_of(sample: NodeStatus) -> NodeFacts:
    """Return what the manifest says of a node that answers."""
    return NodeFacts(
        node=sample.id,
        name=sample.name,
        uuid=sample.uuid,
        address=sample.address,
        voter=not sample.recruit and sample.standing not in WITHOUT_VOTE,
        confirmed=sample.confirmed,
        last=sample.written,
    )


def _packed(batches: Iterable[bytes], opening: int, last: int | None) -> Iterator[LogChunk]:
    """Return stored batches as ranges; they may begin before what was asked for."""
    crc: int | None = None
    for raw in batches:
        first = packed.first_index(raw)
        if crc is not None and not packed.follows(raw, crc):
            raise LogWasCut
        left = None if last is None else last - first + 1
        if left is not None and left <= 0:
            return
        found = packed.pack(raw, opening=opening, entries_max=left).rows
        crc = packed.last_crc(found)
        yield LogChunk(first, found)


def _is_log(path: Path) -> bool:
    if not path.is_dir():
        return False
    from qsync.store.opening import is_log  # noqa: PLC0415 - LMDB is slow to import

    return is_log(path)


def _dial(address: str, timeout: float, tell: Callable[[str], None]) -> NodeConnection:
    line = f"waiting for {address}, up to {timeout:g} s"
    late = threading.Timer(TOLD_AFTER_S, tell, [line])
    late.start()
    try:
        return NodeConnection(address, timeout=timeout)
    except Unavailable as error:
        error.hint = "of a node that does not run name the directory instead"
        raise
    finally:
        late.cancel()


@contextlib.contextmanager
def _damage_placed(path: Path) -> Iterator[None]:
    """Report damage with its place."""
    try:
        yield
    except RecordDamage as damage:
        raise NoEvidence(f"{path} is damaged: {damage}") from damage


@contextlib.contextmanager
def witnesses(
    targets: Iterable[str],
    *,
    timeout: float = TIMEOUT_S,
    tell: Callable[[str], None] = lambda _line: None,
) -> Iterator[list[EvidenceSource]]:
    """Open nodes by address (`host:port`), directory, or copy of a log (`ID=DIR`).

    `timeout`: for each answer of a node. `tell`: hears of a node that is waited for, from a thread.
    Raises Unavailable for an address where nobody answers.
    """
    with contextlib.ExitStack() as lines:
        found: list[EvidenceSource] = []
        for target in targets:
            number, is_copy, path = target.partition("=")
            if is_copy and number.isdecimal():
                found.append(CopiedLog(Path(path), int(number)))
            elif is_node_directory(Path(target)):
                found.append(StoppedNode(Path(target)))
            elif _is_log(Path(target)):
                raise NoEvidence(
                    f"{target} is the log of some node",
                    hint=f"say which: ID={target}, with the id of its node",
                )
            else:
                found.append(Running(lines.enter_context(_dial(target, timeout, tell))))
        yield found
