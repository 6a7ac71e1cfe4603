"""The cluster as one node sees it, collected only while its status page is open."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import trio

from admin.cluster.picture import ClusterPicture, PictureModel
from admin.cluster.sampler import OwnAccount, Sampler, next_round

PERIOD_S: Final = 2.0
"""How often the members are polled and the page is rendered, for any number of viewers."""
ANSWER_S: Final = 0.2
"""How long after the members were asked what they said is shown."""
FIRST_S_MAX: Final = 1.5
"""How long the first look may wait for members that do not answer."""
UNSEEN_S: Final = 60.0
"""When nobody has looked for so long nobody is asked any more, and what was seen is forgotten.

What is kept until then is bounded: the last minute of answers, and as many numbers a line as
`qsync top` has (`admin.cluster.picture.SPARKS`).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """The page for people, and the same data for programs."""

    html: bytes
    document: bytes


class ClusterLook:
    """Serves any number of viewers from one round of requests; no requests without viewers."""

    def __init__(
        self,
        own: Callable[[], OwnAccount],
        render: Callable[[ClusterPicture], RenderedPage],
        *,
        survive: Callable[[Exception], None],
    ) -> None:
        """`own`: what the node says of itself; it is part of the picture whoever else answers.

        `survive`: notes a mistake in what is shown, which must not end the node that shows it.
        """
        self._own = own
        self._render = render
        self._survive = survive
        self._wanted = trio.Event()
        self._seen = trio.Event()
        self._looked = 0.0
        self._page: RenderedPage | None = None

    async def page(self) -> RenderedPage | None:
        """What was seen last; None where that cannot be told, for a mistake of ours.

        The first look waits for answers, `FIRST_S_MAX` at the most.
        """
        self._looked = trio.current_time()
        self._wanted.set()
        await self._seen.wait()
        return self._page

    @property
    def busy(self) -> bool:
        """Whether any node is being asked at the moment."""
        return self._wanted.is_set()

    async def run(self) -> None:
        """Collect while the page is open, until cancelled."""
        while True:
            await self._wanted.wait()
            try:
                await self._ask()
            except* Exception as mistakes:  # noqa: BLE001 - whatever it is, it is noted
                self._page = None
                self._survive(mistakes)
                self._seen.set()
                await trio.sleep(UNSEEN_S)
            self._wanted, self._seen, self._page = trio.Event(), trio.Event(), None

    async def _ask(self) -> None:
        """Poll until there were no viewers for a while."""
        sampler, model = Sampler((), period=PERIOD_S, own=self._own), PictureModel()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sampler.run)
            with trio.move_on_after(FIRST_S_MAX):
                await sampler.first()
            while trio.current_time() - self._looked < UNSEEN_S:
                self._page = self._render(model.show(sampler.moment()))
                self._seen.set()
                await trio.sleep_until(next_round(trio.current_time(), PERIOD_S) + ANSWER_S)
            nursery.cancel_scope.cancel()
