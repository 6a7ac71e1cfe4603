"""Collects evidence from the nodes of a cluster, running or stopped, into one folder."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from admin.evidence import checksums, events, parts, rows
from admin.evidence.bundle import Bundle, is_bundle, log_part, rows_of
from admin.evidence.counting import counted_by, counting
from admin.evidence.inside import Inside, gather
from admin.evidence.manifest import PART_ENTRIES, Manifest, NodeFacts, NoEvidence
from admin.evidence.sampling import Generations
from admin.evidence.tables import DIGESTS, RUN, WAL, Row
from admin.evidence.witnesses import (
    Account,
    EvidenceSource,
    LogWasCut,
    LogWasTrimmed,
    Running,
    StoppedNode,
    witnesses,
)
from admin.evidence.writing import EvidenceWriter
from election.messages import Term
from election.quorum import majority
from qsync.core.generation import generation_of
from qsync.errors import StoreError

CUTS_MAX = 10
"""How often a log may be cut while it is read before the collection gives up."""

Progress = Callable[[str, int, int], None]
"""The name of a node, how many of its entries are written, and how many there are."""
Sampling = Callable[[Generations, int], list[Row]]
"""Samples of status taken over some time; the number is that of the first."""


@dataclass(slots=True)
class Dump:
    """One collection into one folder. It continues what an interrupted one left there.

    Redacted (`writer`), nothing is: the key is gone. `directories`: of nodes by id, also of running
    ones, for what they wrote down of themselves. `unnamed`, once it is collected: voters that the
    others know, and of whom nothing is here.
    """

    folder: Path
    run_id: str = ""
    part_entries: int = PART_ENTRIES
    writer: EvidenceWriter = field(default_factory=EvidenceWriter)
    progress: Progress = lambda _name, _done, _all: None
    sampling: Sampling | None = None
    directories: Mapping[int, Path] = field(default_factory=dict)
    clock: Callable[[], int] = time.monotonic_ns
    unnamed: tuple[str, ...] = ()
    _before: Manifest | None = None
    _generations: Generations = field(default_factory=Generations)
    _status: list[Row] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.run_id or self.folder.name

    def collect(self, known: Sequence[EvidenceSource], *, source: str) -> Bundle:
        """Collect samples over some time, then digests, then logs.

        In this order everything that was said to be confirmed has to be in the logs.
        """
        new = [each for each in (self.folder, *self.folder.parents) if not each.exists()]
        self.writer.make_folder(self.folder)
        try:
            return self._collect(known, source)
        finally:
            for each in new:
                if not any(each.iterdir()):  # it was refused before anything was read
                    each.rmdir()

    def _collect(self, known: Sequence[EvidenceSource], source: str) -> Bundle:
        accounts = [self._account(each) for each in known]
        self._go_on(accounts)
        inside = self._inside(known, accounts)
        if self.sampling is not None:
            self._status += self.sampling(self._generations, len(self._status))
        digests, unread = self._digests(known, accounts)
        accounts = [
            before if isinstance(each, StoppedNode) else self._account(each)
            for each, before in zip(known, accounts, strict=True)
        ]
        manifest = self._manifest(accounts, source)
        self._forget_others(manifest.nodes)
        beginnings = [self._cleared(each) for each in manifest.nodes]
        nodes = zip(manifest.nodes, beginnings, strict=True)
        manifest = replace(manifest, nodes=tuple(self._begins(*each) for each in nodes))
        manifest = self.writer.manifest_of(manifest)
        replace(manifest, checksums=self._kept_sums()).save(self.folder)
        found = [
            self._log(witness, facts, last)
            for witness, facts, last in zip(known, manifest.nodes, beginnings, strict=True)
        ]
        there = {each.whose for each in found}
        # A lost directory has no log to compare with.
        status = [row for row in self._status if (row["node"], row["generation"]) in there]
        counted = {
            "wal": sum(each.last - each.first + 1 for each in found),
            "status": self.writer.write_table(self.folder, "status", status),
            "digests": self.writer.write_table(self.folder, "digests", digests),
        }
        gaps = {DIGESTS.name: "; ".join(unread)} if unread else {}
        manifest = replace(manifest, nodes=tuple(found), rows=counted, gaps=gaps)
        manifest = self._happened(inside, manifest)
        if inside.latest and all(each.sample is None for each in accounts):
            manifest = counted_by(manifest, inside.latest)
        return Bundle(self.folder, manifest).seal()

    # -- what happened inside

    def _inside(self, known: Sequence[EvidenceSource], accounts: Sequence[Account]) -> Inside:
        """Read the nodes' events, also from directories that they had before."""
        places = dict(self.directories)
        for witness, account in zip(known, accounts, strict=True):
            if isinstance(witness, StoppedNode):
                places[account.facts.node] = witness.path
        inside = gather(places)
        for facts in (each.facts for each in accounts):
            own = inside.generations.get(facts.node, 1)
            self._generations.meet(facts.node, facts.uuid, max(own, self._generations.of(facts)))
        return inside

    def _happened(self, inside: Inside, manifest: Manifest) -> Manifest:
        """Return the manifest with the table of events, if there is one."""
        events.clear(self.folder)
        generations = {each.node: each.generation for each in manifest.nodes}
        count = events.keep(inside, self.folder, self.writer, generations=generations)
        nodes = [
            replace(each, recorded=each.recorded and inside.tells_all(each.node, each.uuid))
            for each in manifest.nodes
        ]
        said = max(manifest.quorum, majority(inside.voters))
        return replace(
            manifest,
            nodes=tuple(nodes),
            quorum=min(said, inside.quorum) if inside.quorum else manifest.quorum,
            rows=manifest.rows | ({"events": count} if count else {}),
            gaps=manifest.gaps
            | _damaged(manifest.nodes)
            | ({"events": inside.why} if inside.why else {}),
            left_out=inside.left_out,
        )

    # -- what was there before

    def _go_on(self, accounts: list[Account]) -> None:
        """Continue a former dump of these nodes; remove any other."""
        if not is_bundle(self.folder):
            return
        former = Bundle.open(self.folder)
        old = {(each.node, each.uuid) for each in former.manifest.nodes}
        if not old & {(each.facts.node, each.facts.uuid) for each in accounts}:
            for table in ("wal", "status", "digests"):
                for part in former.parts(table):
                    part.path.unlink()
            return
        self._before = former.manifest
        self._generations.restore(former.manifest.nodes)
        status: list[Row] = []
        for part in former.parts("status"):
            former.check_part(part)
            status += rows_of(part, former.manifest.run_id)
        for row in status:
            row[RUN] = self.name
        first = len(status)
        for number, row in enumerate(self._status):
            known = next(a.facts for a in accounts if a.facts.node == row["node"])
            row |= {"sample": first + number, "generation": self._generations.of(known)}
        self._status = status + self._status

    def _cleared(self, facts: NodeFacts) -> int:
        """Return up to where parts can be kept: whole ones in which all was confirmed.

        The others go before the manifest says anything new, so that nobody takes them for those.
        """
        size, last = self.part_entries, 0
        former = self._former(facts)
        if former is not None:
            while last + size <= former.confirmed and self._is_kept(self._place(facts, last)):
                last += size
        if last + 1 < facts.first:
            last = 0  # its log was trimmed meanwhile: what follows is nowhere
        self._remove_parts(facts, last)
        return last

    def _remove_parts(self, facts: NodeFacts, after: int) -> None:
        """Remove the parts of its log behind that entry, and those of its other directories."""
        for folder in self._place(facts, 0).parent.parent.glob(f"{facts.node}.*"):
            mine = folder == self._place(facts, 0).parent
            for each in folder.glob("*-*"):
                whole = each.suffix == self.writer.kept.suffix
                if not mine or not whole or int(each.stem.split("-")[0]) > after:
                    each.unlink()

    def _former(self, facts: NodeFacts) -> NodeFacts | None:
        """Return what the former dump says of it, if its parts were cut alike."""
        before, alike = self._before, (self.part_entries, self.name)
        if before is None or (before.part_entries, before.run_id) != alike:
            return None
        same = (e for e in before.nodes if (e.node, e.uuid) == (facts.node, facts.uuid))
        return next(same, None)

    def _begins(self, facts: NodeFacts, kept: int) -> NodeFacts:
        """Return it with the first entry that will be here, also if this dump is interrupted."""
        former = self._former(facts) if kept else None
        return facts if former is None else replace(facts, first=former.first)

    def _is_kept(self, place: Path) -> bool:
        """Return whether a part is there as it was written; a damaged one is read again."""
        if self._before is None or not place.is_file():
            return False
        name = place.relative_to(self.folder).as_posix()
        wanted = self._before.checksums.get(name)
        return wanted is None or not checksums.damage(place, wanted)

    def _kept_sums(self) -> dict[str, dict[str, int]]:
        """Save the checksums of the parts that stay, in case this dump is interrupted, too."""
        former = {} if self._before is None else self._before.checksums
        there = {name: each for name, each in former.items() if name.startswith("wal/")}
        return {name: each for name, each in there.items() if (self.folder / name).is_file()}

    def _forget_others(self, nodes: Sequence[NodeFacts]) -> None:
        """Remove the logs of nodes that are not in this dump."""
        named = {each.node for each in nodes}
        if is_bundle(self.folder):
            for part in Bundle.open(self.folder).parts("wal"):
                if part.node is not None and part.node not in named:
                    part.path.unlink()

    # -- what they say

    def _digests(
        self, known: Sequence[EvidenceSource], accounts: Sequence[Account]
    ) -> tuple[list[Row], list[str]]:
        """Hash their spaces. The second: of which nodes that cannot be done, and why."""
        found: list[Row] = []
        unread: list[str] = []
        for witness, facts in zip(known, (each.facts for each in accounts), strict=True):
            try:
                rows = witness.digests(facts.node)
            except StoreError as error:
                unread.append(f"the rows of {facts.name} were not compared: {error.code}")
            else:
                generation = self._generations.of(facts)
                found += [row | {"generation": generation} for row in rows]
        return found, unread

    def _account(self, witness: EvidenceSource) -> Account:
        account = witness.account()
        if account.sample is not None:
            row = rows.status_row(
                account.sample,
                number=len(self._status),
                life=account.sample.pid,
                time_mono=self.clock(),
                generation=self._generations.of(account.facts),
            )
            self._status.append(row)
        return account

    def _manifest(self, accounts: list[Account], source: str) -> Manifest:
        clusters = {each.cluster_uuid for each in accounts if each.cluster_uuid}
        if len(clusters) > 1:
            raise NoEvidence(f"the nodes are of {len(clusters)} clusters: {sorted(clusters)}")
        known = counting(accounts)
        nodes = [
            replace(
                each.facts,
                generation=self._generations.of(each.facts),
                voter=each.facts.voter and known.is_voter(each.facts),
            )
            for each in accounts
        ]
        if len({each.node for each in nodes}) < len(nodes):
            raise NoEvidence(f"a node was named twice: {sorted(each.name for each in nodes)}")
        self.unnamed = known.absent
        return Manifest(
            run_id=self.name,
            source=source,
            cluster=next((each.cluster for each in accounts if each.cluster), ""),
            cluster_id=next(iter(clusters), ""),
            cluster_generation=generation_of(
                Term(max((each.term for each in accounts), default=0))
            ),
            quorum=known.quorum,
            voters=known.voters,
            part_entries=self.part_entries,
            settings=next((each.settings for each in accounts if each.settings), {}),
            nodes=tuple(nodes),
        )

    # -- their logs

    def _log(self, witness: EvidenceSource, facts: NodeFacts, kept: int) -> NodeFacts:
        """Write the parts of a log that are not there yet."""
        first, last = facts.first if kept else 0, kept
        opening = self.writer.opening
        for _ in range(CUTS_MAX):
            try:
                for part in self._parts(witness, facts, last, opening):
                    first, last = first or part.first, part.last
                    self.progress(facts.name, last, max(last, facts.last))
            except LogWasTrimmed:
                # What was read ends where nothing follows.
                first = last = kept = 0
                self._remove_parts(facts, 0)
            except LogWasCut:
                # Only what is not confirmed is ever cut: those parts are read again.
                last = kept
            except parts.TooShort:
                opening = parts.LONG
            else:
                break
        else:
            raise NoEvidence(
                f"the log of {facts.name} is being cut again and again",
                hint="wait until a leader stays, and dump into this folder again",
            )
        # An empty log may begin behind a snapshot.
        first = first or facts.first
        return replace(facts, first=first, last=max(last, first - 1))

    def _parts(
        self, witness: EvidenceSource, facts: NodeFacts, after: int, opening: int
    ) -> Iterator[parts.EntryPart]:
        # Not only up to what it had when it was asked: what another one had confirmed by the time
        # that it was asked has to be found in the logs of a quorum.
        stretches = witness.stretches(after + 1, None, opening)
        for part in parts.split(stretches, size=self.part_entries):
            place = self._place(facts, (part.first - 1) // self.part_entries * self.part_entries)
            whose = parts.Whose(self.name, facts.node, facts.generation)
            self.writer.write_log(place, part, whose)
            yield part

    def _place(self, facts: NodeFacts, after: int) -> Path:
        whole = log_part(
            self.folder, facts.node, facts.generation, after + 1, after + self.part_entries
        )
        return whole.with_suffix(self.writer.kept.suffix)


def _damaged(nodes: Iterable[NodeFacts]) -> dict[str, str]:
    """Return the gap in the logs of nodes whose directory is damaged, if there is any."""
    whys = [f"the log of {each.name} is damaged: {each.problem}" for each in nodes if each.problem]
    return {WAL.name: "; ".join(whys)} if whys else {}


def dump(targets: Iterable[str], folder: Path) -> Bundle:
    """Collect everything in one call, for programs."""
    with witnesses(targets) as found:
        return Dump(folder).collect(found, source=source_of(found))


def source_of(found: Iterable[EvidenceSource]) -> str:
    """Return the source that the manifest names."""
    return "nodes" if any(isinstance(each, Running) for each in found) else "directories"
