"""How long each fault of a run lasted, by the steps of its report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from admin.drills.report_tables import maps, number, text
from admin.drills.verbs.catalogue import VERBS, WAITING


@dataclass(slots=True, kw_only=True)
class FaultBand:
    """One fault: its kind, its node, and its begin and end in seconds of the run."""

    verb: str
    nodes: tuple[str, ...]
    begun: float
    ended: float

    @property
    def label(self) -> str:
        """A short label: `kill n1`."""
        return " ".join([self.verb.replace("_", " "), ", ".join(self.nodes)]).strip()


def fault_bands(report: Mapping[str, object]) -> list[FaultBand]:
    """Return every fault, from its step to the step that ended it, or to the healing."""
    found: list[FaultBand] = []
    lasting: list[tuple[str, FaultBand]] = []
    for step in maps(report, "steps"):
        name = text(step, "verb")
        verb = VERBS.get(name)
        if verb is None or name in WAITING:
            continue
        nodes, ended = _names(step), number(step, "to")
        over = [
            (undo, band)
            for undo, band in lasting
            if verb.spec.ends_all or (undo == name and (not nodes or {*nodes} & {*band.nodes}))
        ]
        for each in over:
            each[1].ended = ended
            lasting.remove(each)
        if verb.spec.faults and not verb.spec.ends_all:
            band = FaultBand(verb=name, nodes=nodes, begun=number(step, "from"), ended=ended)
            found.append(band)
            if verb.spec.undone_by is not None and not verb.spec.in_turn:
                lasting.append((verb.spec.undone_by, band))
    for _, band in lasting:
        band.ended = number(report, "seconds")
    return found


def lanes(bands: Sequence[FaultBand], width: float) -> list[int]:
    """Return a row for each band, without overlaps; each takes at least `width` seconds."""
    free: list[float] = []
    rows: list[int] = []
    for band in bands:
        row = next((at for at, ended in enumerate(free) if ended <= band.begun), len(free))
        free[row : row + 1] = [max(band.ended, band.begun + width)]
        rows.append(row)
    return rows


def _names(step: Mapping[str, object]) -> tuple[str, ...]:
    found = step.get("nodes")
    return tuple(map(str, found)) if isinstance(found, list | tuple) else ()
