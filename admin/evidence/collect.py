"""Evidence from the nodes of a cluster, running or stopped: their logs, status and digests."""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from admin import logs
from admin.ask import Line
from admin.evidence import rows
from admin.evidence.bundle import Bundle, is_bundle, log_part, write_part
from admin.evidence.manifest import PART_ENTRIES, Manifest, NodeFacts, NoEvidence
from admin.evidence.tables import Row
from admin.sample import NodeSample
from election.messages import Index
from qsync.errors import ProtocolError
from qsync.record import Entry
from qsync.wire import replies
from qsync.wire.verbs import Digest, Plain, Verb

TIMEOUT_S = 30.0

Progress = Callable[[str, int, int], None]
"""The name of a node, how many of its entries are written, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a node is and says of itself, before its log is read."""

    facts: NodeFacts
    cluster: str = ""
    cluster_uuid: str = ""
    quorum: int = 0
    sample: NodeSample | None = None


class Witness(Protocol):
    """A node that can be asked for evidence."""

    def account(self) -> Account:
        """Who it is, and how far it has confirmed now."""
        ...

    def batches(self, first: int) -> Iterator[bytes]:
        """Its log from `first` on, as stored."""
        ...

    def digests(self, node: int) -> list[Row]:
        """Hashes of its spaces, if it can tell."""
        ...


@dataclass(frozen=True, slots=True)
class Running:
    """A node that answers."""

    line: Line

    def account(self) -> Account:
        """From STATUS."""
        sample = NodeSample.read(replies.read_map(self.line.ask(Plain(1, Verb.STATUS))))
        facts = NodeFacts(
            node=sample.id,
            name=sample.name,
            uuid=sample.uuid,
            address=sample.address,
            voter=not sample.recruit,
            confirmed=sample.confirmed,
            last=sample.written,
        )
        return Account(
            facts=facts,
            cluster=sample.cluster,
            cluster_uuid=sample.cluster_uuid,
            quorum=sample.limbo.quorum,
            sample=sample,
        )

    def batches(self, first: int) -> Iterator[bytes]:
        """By LOG."""
        return logs.Online(self.line).batches(first, None)

    def digests(self, node: int) -> list[Row]:
        """By DIGEST: of what is visible, with the index at which it was."""
        index, _folded, found = self.line.ask(Digest(1))
        if not isinstance(index, int) or not isinstance(found, dict):
            raise ProtocolError("the answer to DIGEST is none")
        return rows.digest_rows(node, index, {str(k): str(v) for k, v in found.items()})


@dataclass(frozen=True, slots=True)
class Stopped:
    """The directory of a node, taken while no process runs on it."""

    path: Path

    def account(self) -> Account:
        """From its identity, and from what its log has recorded as confirmed."""
        from qsync.store.directory import Directory  # noqa: PLC0415 - LMDB is slow to import
        from qsync.store.log import LmdbLog  # noqa: PLC0415 - the same

        identity = logs.identity_of(self.path)
        with (
            Directory(self.path, wanted=identity) as directory,
            contextlib.closing(LmdbLog(directory.log, identity=identity)) as log,
        ):
            found = log.recover()
        facts = NodeFacts(
            node=int(identity.replica),
            name=identity.name,
            uuid=identity.instance,
            confirmed=int(found.confirmed),
            last=int(found.last),
            problem=found.quarantined or "",
        )
        return Account(facts=facts, cluster_uuid=identity.cluster)

    def batches(self, first: int) -> Iterator[bytes]:
        """From LMDB."""
        return logs.Stopped(self.path).batches(Index(first), None)

    def digests(self, node: int) -> list[Row]:  # noqa: ARG002 - a directory cannot tell
        """Only a running node has folded all that it shows."""
        return []


@dataclass(slots=True)
class Dump:
    """One collection into one folder. What an interrupted one left there is used again."""

    folder: Path
    run_id: str = ""
    part_entries: int = PART_ENTRIES
    progress: Progress = lambda _name, _done, _all: None
    clock: Callable[[], int] = time.monotonic_ns
    _before: dict[int, NodeFacts] = field(default_factory=dict)

    def collect(self, witnesses: Iterable[Witness], *, source: str) -> Bundle:
        """First what all say of themselves, then their logs, then their digests."""
        known = list(witnesses)
        self.folder.mkdir(parents=True, exist_ok=True)
        if is_bundle(self.folder):
            former = Manifest.load(self.folder)
            if former.part_entries == self.part_entries:
                self._before = {each.node: each for each in former.nodes}
        status: list[Row] = []
        accounts = [self._account(each, status) for each in known]
        manifest = self._manifest(accounts, source)
        kept = [self._kept(each.facts) for each in accounts]
        manifest.save(self.folder)
        written = 0
        facts: list[NodeFacts] = []
        digests: list[Row] = []
        for witness, account, last in zip(known, accounts, kept, strict=True):
            count, found = self._log(witness, account.facts, last)
            written += count
            facts.append(found)
        for witness, account in zip(known, accounts, strict=True):
            digests += witness.digests(account.facts.node)
            self._account(witness, status)
        counted = {
            "wal": written,
            "status": write_part(self.folder / "status.jsonl", status),
            "digests": write_part(self.folder / "digests.jsonl", digests),
        }
        manifest = replace(manifest, nodes=tuple(facts), rows=counted)
        manifest.save(self.folder)
        return Bundle(self.folder, manifest)

    def _account(self, witness: Witness, status: list[Row]) -> Account:
        account = witness.account()
        if account.sample is not None:
            row = rows.status_row(
                account.sample,
                number=len(status),
                life=account.sample.pid,
                time_mono=self.clock(),
            )
            status.append(row)
        return account

    def _manifest(self, accounts: list[Account], source: str) -> Manifest:
        clusters = {each.cluster_uuid for each in accounts if each.cluster_uuid}
        if len(clusters) > 1:
            raise NoEvidence(f"the nodes are of {len(clusters)} clusters: {sorted(clusters)}")
        nodes = [each.facts for each in accounts]
        if len({each.node for each in nodes}) < len(nodes):
            raise NoEvidence(f"a node was named twice: {sorted(each.name for each in nodes)}")
        majority = len(nodes) // 2 + 1
        return Manifest(
            run_id=self.run_id or self.folder.name,
            source=source,
            cluster=next((each.cluster for each in accounts if each.cluster), ""),
            quorum=max((each.quorum for each in accounts), default=0) or majority,
            voters=sum(each.voter for each in nodes),
            part_entries=self.part_entries,
            nodes=tuple(nodes),
        )

    def _log(self, witness: Witness, facts: NodeFacts, kept: int) -> tuple[int, NodeFacts]:
        """Write what is not there yet, part by part; returns how many rows there are."""
        size, first = self.part_entries, kept + 1
        beginning, last = 0, kept
        for number, entries in _parts(witness.batches(first), size):
            write_part(
                self._place(facts, number * size),
                [rows.wal_row(each, node=facts.node) for each in entries],
            )
            beginning, last = beginning or int(entries[0].index), int(entries[-1].index)
            self.progress(facts.name, last, max(last, facts.last))
        start = 1 if first > 1 else beginning or 1
        return last - start + 1, replace(facts, first=start, last=last)

    def _kept(self, facts: NodeFacts) -> int:
        """Up to where whole parts are there that can have changed no more: all was confirmed.

        The others go before the manifest says anything new, so that nobody takes them for those.
        """
        before, size, last = self._before.get(facts.node), self.part_entries, 0
        parts = self._place(facts, 0).parent
        if before is not None and before.uuid == facts.uuid:
            while last + size <= before.confirmed and self._place(facts, last).is_file():
                last += size
        stale = {each for each in parts.glob("*-*") if int(each.stem.split("-")[0]) > last}
        for each in stale:
            each.unlink()
        return last

    def _place(self, facts: NodeFacts, after: int) -> Path:
        return log_part(
            self.folder, facts.node, facts.generation, after + 1, after + self.part_entries
        )


def _parts(batches: Iterator[bytes], size: int) -> Iterator[tuple[int, list[Entry]]]:
    entries = (each for batch in batches for each in rows.entries_of(batch))
    for number, found in itertools.groupby(entries, key=lambda each: (each.index - 1) // size):
        yield number, list(found)


@contextlib.contextmanager
def witnesses(targets: Iterable[str]) -> Iterator[list[Witness]]:
    """Nodes by address (`host:port`) or by directory; hangs up at the end."""
    with contextlib.ExitStack() as lines:
        found: list[Witness] = []
        for target in targets:
            if (Path(target) / "identity.json").is_file():
                found.append(Stopped(Path(target)))
            else:
                found.append(Running(lines.enter_context(Line(target, timeout=TIMEOUT_S))))
        yield found


def dump(targets: Iterable[str], folder: Path) -> Bundle:
    """All of it in one call, for programs."""
    with witnesses(targets) as found:
        source = "nodes" if any(isinstance(each, Running) for each in found) else "directories"
        return Dump(folder).collect(found, source=source)
