"""The source of the dashboard's frames: running nodes, or a recording."""

from pathlib import Path
from typing import Protocol

from admin.cluster.moment import Moment, read
from admin.cluster.picture import ClusterPicture, PictureModel
from admin.cluster.sampler import Sampler

BEFORE = 80
"""How many moments before a place in a recording its rates are computed from."""


class ScreenSource(Protocol):
    """Gives the dashboard one picture after another."""

    @property
    def words(self) -> str:
        """The source and its position, for the header."""

    def picture(self, now: float) -> ClusterPicture:
        """The newest picture, or the one of a recording that is due at a monotonic time."""

    @property
    def over(self) -> bool:
        """Whether no new picture will come."""

    def seek(self, by: int) -> None:
        """Go forward or, below zero, back by this many frames."""


class LiveSource:
    """Nodes, asked by a sampler that runs elsewhere."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self._model = PictureModel()

    @property
    def words(self) -> str:
        """How often the nodes are asked."""
        return f"{1 / self.sampler.period:g}/s"

    @property
    def over(self) -> bool:
        """False: a cluster that runs always has more to say."""
        return False

    def picture(self, _: float) -> ClusterPicture:
        """The last statuses of the nodes."""
        return self._model.show(self.sampler.moment())

    def seek(self, by: int) -> None:
        """Do nothing: only a recording has a past to go to."""


class Tape:
    """A recording, played at the speed at which it was made."""

    def __init__(self, path: Path) -> None:
        """Open a recording. Raises ConfigError when the file is none."""
        self.moments: list[Moment] = read(path)
        self.at = 0
        self._model = PictureModel()
        self._shown: ClusterPicture | None = None
        self._due = 0.0
        self._sought = False

    @property
    def words(self) -> str:
        """Which moment is shown, of how many."""
        return f"replay {self.at + 1}/{len(self.moments)}"

    @property
    def over(self) -> bool:
        """Whether the last moment is shown."""
        return self._shown is not None and self.at + 1 == len(self.moments)

    def picture(self, now: float) -> ClusterPicture:
        """The moment that is due; the last one stays."""
        if self._shown is None or self._sought:
            self._sought = False
            return self._show(now)
        if now >= self._due and self.at + 1 < len(self.moments):
            self.at += 1
            return self._show(now)
        return self._shown

    def seek(self, by: int) -> None:
        """Go to another moment; rates are computed from those before it."""
        self.at = max(0, min(len(self.moments) - 1, self.at + by))
        self._model.forget()
        for moment in self.moments[max(0, self.at - BEFORE) : self.at]:
            self._model.show(moment)
        self._sought = True

    def _show(self, now: float) -> ClusterPicture:
        moment = self.moments[self.at]
        later = self.moments[self.at + 1].time if self.at + 1 < len(self.moments) else moment.time
        self._due = now + max(0.0, later - moment.time)
        self._shown = self._model.show(moment)
        return self._shown
