"""Where moments come from: nodes that live, or a file of an earlier time."""

from pathlib import Path
from typing import Protocol

from admin.cluster.moment import Moment, read
from admin.cluster.sampler import Sampler
from cli.top.picture import ClusterPicture, PictureModel

BEFORE = 80
"""How many moments before a place in a recording make its rates."""


class ScreenSource(Protocol):
    """Something to show."""

    @property
    def words(self) -> str:
        """Where we are, for the header."""

    def picture(self, now: float) -> ClusterPicture:
        """The newest, or the one that is due at a monotonic time."""

    @property
    def over(self) -> bool:
        """Nothing new will come."""

    def seek(self, by: int) -> None:
        """Go on or back by so many moments."""


class LiveSource:
    """Nodes, asked by a sampler that runs elsewhere."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self._model = PictureModel()

    @property
    def words(self) -> str:
        """How often they are asked."""
        return f"{1 / self.sampler.period:g}/s"

    @property
    def over(self) -> bool:
        """Never."""
        return False

    def picture(self, _: float) -> ClusterPicture:
        """What they said last."""
        return self._model.show(self.sampler.moment())

    def seek(self, by: int) -> None:
        """The past of live nodes is in a recording."""


class Tape:
    """A recording, played at the speed at which it was made."""

    def __init__(self, path: Path) -> None:
        """Raises ConfigError when it is none."""
        self.moments: list[Moment] = read(path)
        self.at = 0
        self._model = PictureModel()
        self._shown: ClusterPicture | None = None
        self._due = 0.0
        self._sought = False

    @property
    def words(self) -> str:
        """Which one of how many."""
        return f"replay {self.at + 1}/{len(self.moments)}"

    @property
    def over(self) -> bool:
        """The last moment is shown."""
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
        """To another place; rates are made from what came before it."""
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
