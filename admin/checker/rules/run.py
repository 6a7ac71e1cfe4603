"""The tables of one run in memory, as columns and small records, for the invariants."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from admin.checker.exhibit import EvidenceRow, exhibit
from admin.evidence.manifest import Manifest
from admin.evidence.tables import Row

CONFIRM, ROLLBACK, PROMOTE, TXN = "CONFIRM", "ROLLBACK", "PROMOTE", "TXN"
DEMOTE = "DEMOTE"
WAIT_ACK, WAIT_SYNC = 1, 2

Whose = tuple[int, int]
"""A node and its generation."""


@dataclass(slots=True)
class LogTable:
    """The log of one node, one list per column, by index. Unknown numbers are None."""

    node: int
    generation: int
    index: list[int] = field(default_factory=list)
    term: list[int] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    origin: list[int] = field(default_factory=list)
    lsn: list[int] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    crc: list[int] = field(default_factory=list)
    ref: list[tuple[int, int] | None] = field(default_factory=list)
    request: list[tuple[str, int] | None] = field(default_factory=list)
    space: list[int | None] = field(default_factory=list)
    key: list[int | None] = field(default_factory=list)
    """The hash of the key of the first row that it changes."""
    sealed: list[tuple[float, int, int] | None] = field(default_factory=list)
    """Time, CRC and length of the body: what the checksum covers beside the other columns."""
    replays: dict[int, object] = field(default_factory=dict, repr=False, compare=False)
    """The cached result of `fates.replay`, which many invariants need."""

    @property
    def first(self) -> int:
        """The lowest index, 0 of an empty log."""
        return self.index[0] if self.index else 0

    @property
    def last(self) -> int:
        """The highest index, 0 of an empty log."""
        return self.index[-1] if self.index else 0

    def add(self, row: Mapping[str, object]) -> None:
        """Append the next entry."""
        self.index.append(number(row, "index"))
        self.term.append(number(row, "term"))
        self.kind.append(str(row["kind"]))
        self.origin.append(number(row, "origin"))
        self.lsn.append(number(row, "lsn"))
        self.flags.append(number(row, "flags"))
        self.crc.append(number(row, "crc"))
        owner, at = row.get("ref_owner"), row.get("ref_lsn")
        self.ref.append(None if owner is None or at is None else (_int(owner), _int(at)))
        session, seq = row.get("session"), row.get("seq")
        self.request.append(None if session is None or seq is None else (str(session), _int(seq)))
        self.space.append(_known(row, "space"))
        self.key.append(_known(row, "key_hash"))
        time, crc, length = row.get("time"), row.get("body_crc"), row.get("body_len")
        known = isinstance(time, float | int) and crc is not None and length is not None
        self.sealed.append((float(str(time)), _int(crc), _int(length)) if known else None)

    def sort(self) -> None:
        """Sort rows by index: they come in any order."""
        order = sorted(range(len(self.index)), key=lambda at: (self.index[at], self.crc[at]))
        if order == list(range(len(order))):
            return
        for name in _COLUMNS:
            column = getattr(self, name)
            setattr(self, name, [column[at] for at in order])

    def at(self) -> dict[int, int]:
        """Return the position of an index in the columns."""
        return {index: place for place, index in enumerate(self.index)}

    def places(self, index: int) -> list[int]:
        """Return all positions of this index in the columns."""
        return [place for place, each in enumerate(self.index) if each == index]

    def shows(self, *places: int) -> list[EvidenceRow]:
        """The entries there as rows; positions before the first are skipped."""
        return [exhibit("wal", self._row(place)) for place in places if place >= 0]

    def _row(self, place: int) -> dict[str, object]:
        ref, request = self.ref[place], self.request[place]
        row: dict[str, object] = {"node": self.node, "generation": self.generation}
        row |= {name: getattr(self, name)[place] for name in _PLAIN}
        row |= {} if ref is None else {"ref_owner": ref[0], "ref_lsn": ref[1]}
        return row if request is None else row | {"session": request[0], "seq": request[1]}


_COLUMNS = tuple(LogTable.__dataclass_fields__)[2:-1]
_PLAIN = ("index", "term", "kind", "origin", "lsn", "flags", "crc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A status sample of a node."""

    node: int
    generation: int
    life: int
    sample: int
    time_mono: int
    role: str
    term: int
    ro: bool | None
    last: int | None
    written: int | None
    confirmed: int | None
    visible: int | None
    limbo_owner: int | None
    limbo_term: int | None
    limbo_len: int | None
    crc: int | None
    quorum: int | None = None
    leader: int | None = None
    voters: int | None = None

    @property
    def whose(self) -> Whose:
        """The log that it is about."""
        return (self.node, self.generation)

    def shows(self) -> EvidenceRow:
        """Return it as a row."""
        return exhibit("status", {each.name: getattr(self, each.name) for each in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    """An event inside of a node."""

    node: int
    generation: int
    life: int
    number: int
    time_mono: int
    name: str
    term: int
    index: int
    peer: int | None
    crc: int
    floor: int | None = None

    @property
    def whose(self) -> Whose:
        """The directory that it is about."""
        return (self.node, self.generation)

    def shows(self) -> EvidenceRow:
        """Return it as a row."""
        return exhibit("events", {each.name: getattr(self, each.name) for each in fields(self)})


class DigestRow(NamedTuple):
    """A hash over rows of a space. `made`: empty for visible rows, see `tables.DIGESTS`."""

    node: int
    generation: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs
    space: str
    bucket: int
    digest: str
    made: str = ""

    def shows(self) -> EvidenceRow:
        """Return it as a row."""
        return exhibit("digests", {k: v for k, v in self._asdict().items() if v or k == "node"})


@dataclass(slots=True)
class RunTables:
    """All tables of one run."""

    manifest: Manifest
    logs: dict[Whose, LogTable] = field(default_factory=dict)
    status: list[Status] = field(default_factory=list)
    events: list[NodeEvent] = field(default_factory=list)
    digests: list[DigestRow] = field(default_factory=list)
    ops: list[Row] = field(default_factory=list)
    feeds: list[Row] = field(default_factory=list)
    strikes: int = 0

    @property
    def confirmed(self) -> dict[Whose, int]:
        """The known confirmed index of each log: a disk may lag behind what its node knows."""
        found = {each.whose: each.confirmed for each in self.manifest.nodes}
        for each in self.status:
            confirmed = each.confirmed or 0
            upto = confirmed if each.written is None else min(confirmed, each.written)
            found[each.whose] = max(found.get(each.whose, 0), upto)
        return found


def build(manifest: Manifest, tables: Mapping[str, Iterable[Row]]) -> RunTables:
    """Sort rows into a run."""
    run = RunTables(manifest)
    for row in tables.get("wal", ()):
        whose = (number(row, "node"), number(row, "generation"))
        run.logs.setdefault(whose, LogTable(*whose)).add(row)
    for log in run.logs.values():
        log.sort()
    run.status = sorted((_status(row) for row in tables.get("status", ())), key=lambda s: s.sample)
    run.events = sorted((event(row) for row in tables.get("events", ())), key=lambda e: e.number)
    run.digests = [
        DigestRow(
            number(row, "node"),
            number(row, "generation"),
            number(row, "index"),
            str(row["space"]),
            number(row, "bucket"),
            str(row["digest"]),
            str(row.get("made") or ""),
        )
        for row in tables.get("digests", ())
    ]
    run.ops = list(tables.get("ops", ()))
    run.feeds = list(tables.get("feeds", ()))
    run.strikes = sum(1 for _ in tables.get("nemesis", ()))
    return run


def number(row: Mapping[str, object], name: str) -> int:
    """An integer of a row; 0 if it has none."""
    found = row.get(name)
    return 0 if found is None else _int(found)


def _int(found: object) -> int:
    assert isinstance(found, int | float), found
    return int(found)


def _known(row: Mapping[str, object], name: str) -> int | None:
    found = row.get(name)
    return None if found is None else _int(found)


def _status(row: Mapping[str, object]) -> Status:
    ro = row.get("ro")
    return Status(
        node=number(row, "node"),
        generation=number(row, "generation"),
        life=number(row, "life"),
        sample=number(row, "sample"),
        time_mono=number(row, "time_mono"),
        role=str(row["role"]),
        term=number(row, "term"),
        ro=None if ro is None else bool(ro),
        last=_known(row, "last"),
        written=_known(row, "written"),
        confirmed=_known(row, "confirmed"),
        visible=_known(row, "visible"),
        limbo_owner=_known(row, "limbo_owner"),
        limbo_term=_known(row, "limbo_term"),
        limbo_len=_known(row, "limbo_len"),
        crc=_known(row, "crc"),
        quorum=_known(row, "quorum"),
        leader=_known(row, "leader"),
        voters=_known(row, "voters"),
    )


def event(row: Mapping[str, object]) -> NodeEvent:
    """Return the event as it is in the table."""
    return NodeEvent(
        node=number(row, "node"),
        generation=number(row, "generation"),
        life=number(row, "life"),
        number=number(row, "number"),
        time_mono=number(row, "time_mono"),
        name=str(row["name"]),
        term=number(row, "term"),
        index=number(row, "index"),
        peer=_known(row, "peer"),
        crc=number(row, "crc"),
        floor=_known(row, "floor"),
    )
