"""The history of a campaign: passed to the checker as it happens, and written to a file."""

import json
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from admin.campaign.checker import Checker, OpenRead, StoredState, WritePlace
from admin.campaign.figures import BrokenPromise, Figures

HISTORY_FILE = "history.jsonl"


class CampaignHistory:
    """Events of a campaign: a read or write begins when it is recorded, not later."""

    def __init__(self, path: Path) -> None:
        self.checker = Checker()
        self._began = time.monotonic()
        self._file = path.open("w", encoding="utf-8")
        self._value = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def figures(self) -> Figures:
        """The figures that the campaign counts."""
        return self.checker.figures

    @property
    def elapsed(self) -> float:
        """Seconds since the campaign began."""
        return time.monotonic() - self._began

    def write_line(self, what: str, **members: object) -> None:
        """Write one line of the history."""
        self.checker.at = round(self.elapsed, 3)
        line = {"at": self.checker.at, "what": what, **members}
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def broken(self, kind: BrokenPromise, text: str) -> None:
        """Count a broken promise that the checker cannot see."""
        self.write_line("broken", kind=kind, text=text)
        self.figures.add(kind, text, at=self.checker.at)
        self._file.flush()

    def flush(self) -> None:
        """Write everything so far to the file."""
        self._file.flush()

    # -- writes

    def invoke(self, *, counter: int | None, strong: bool, client: str) -> int:
        """Note that a write begins. Returns its value, which no other write has."""
        self._value += 1
        self.write_line("begin", value=self._value, counter=counter, strong=strong, client=client)
        self.checker.invoke(self._value, counter=counter, strong=strong)
        return self._value

    def commit(
        self, value: int, place: WritePlace, number: int | None, *, by: str, token: str | None
    ) -> None:
        """Note that a write was answered as committed."""
        self.write_line("commit", value=value, place=list(place), number=number, by=by, token=token)
        self.checker.commit(value, place, number)

    def refuse(self, value: int, why: str, *, by: str) -> None:
        """Note that a write was answered as not done."""
        self.write_line("refuse", value=value, why=why, by=by)
        self.figures.counts["refused"] += 1
        self.checker.refuse(value, why)

    def unknown(self, value: int, token: str, why: str, *, by: str, first: bool) -> None:
        """Note an unknown outcome. `first`: no earlier attempt was unknown."""
        self.write_line("unknown", value=value, token=token, why=why, by=by)
        self.figures.counts["unknown"] += first

    # -- reads

    def look(self, counter: int, level: str, node: str, floor: int | None = None) -> OpenRead:
        """Note that a read of a counter begins."""
        return self.checker.look(counter, level, node, floor=floor)

    def show(self, look: OpenRead, begun: float, number: int, value: int) -> None:
        """Note that a read of a counter was answered."""
        self.write_line(
            "read",
            counter=look.counter,
            level=look.level,
            node=look.node,
            begun=round(begun, 3),
            floor=look.floor,
            number=number,
            value=value,
        )
        self.figures.counts[f"{look.level} reads"] += 1
        self.checker.show(look, number, value)

    def reach(self, who: str, floor: WritePlace, seen: WritePlace) -> None:
        """Note that a read showed the log up to `seen`, and had to show at least `floor`."""
        self.write_line("place", who=who, floor=list(floor), seen=list(seen))
        self.figures.counts["places"] += 1
        self.checker.reach(who, floor, seen)

    def find(self, value: int, who: str, *, must: bool, gone: bool, found: bool) -> None:
        """Note that a read for one write was answered."""
        self.write_line("find", value=value, who=who, must=must, gone=gone, found=found)
        self.figures.counts["lookups"] += 1
        if found and gone:
            self.checker.meet(value, who, gone=True)
        else:
            self.checker.find(value, who, must=must, found=found)

    # -- the end

    def end(self, stored: dict[str, StoredState]) -> None:
        """Pass what the nodes hold at the end to the checker."""
        for node, held in stored.items():
            self.write_line(
                "stored",
                node=node,
                journal=len(held.journal),
                notes=len(held.notes),
                counters={str(counter): list(row) for counter, row in held.counters.items()},
            )
        self.checker.end(stored)
