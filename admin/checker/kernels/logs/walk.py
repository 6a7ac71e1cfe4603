"""One log followed from its first entry to its last, slice by slice, without Python per row."""

import numpy as np

from admin.checker.kernels.columns import Samples
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.limbo import LimboWalk
from admin.checker.kernels.logs.names import Lsns, controls
from admin.checker.kernels.logs.outlines import LogOutline, OutlineWalk
from admin.checker.kernels.logs.owner import Lead
from admin.checker.kernels.logs.references import NamedEntries, Past, synchronous
from admin.checker.kernels.logs.replayed import REPLAY, LimboComparison
from admin.checker.kernels.logs.requests import AskedRequests, RequestWalk
from admin.checker.kernels.logs.slices import ROLLBACK, Slice
from admin.checker.kernels.logs.status_samples import LimboSample, within
from admin.checker.rules.rule import RuleFinding


class LogWalk:
    """Feed it slices in order.

    Findings that need the whole log are available at its end. `upto`: the known confirmed index. If
    there are `suspects`, feed all slices a second time, to `look_again`.
    """

    def __init__(
        self,
        node: int,
        generation: int,
        status: Samples,
        samples: list[LimboSample],
        *,
        upto: int = 0,
        asked: AskedRequests | None = None,
    ) -> None:
        self._samples = samples
        self._found = LogFindings(node, generation)
        self._last = 0
        self._whole = False
        self._dense = True
        self._past = Past()
        self._lsns = Lsns(self._found)
        self._lead = Lead(self._found)
        self._outline = OutlineWalk(upto)
        self._requests = RequestWalk(self._found, upto, asked or AskedRequests())
        self._limbo = LimboWalk(self._found)
        self._comparison = LimboComparison(status, self._found)

    def next_slice(self, here: Slice) -> None:
        """Take the next slice; its indexes are higher than the last slice's."""
        if not self._last:
            self._whole = here.index[0] == 1
        elif here.index[0] != self._last + 1:
            self._dense = False
        self._dense &= bool((np.diff(here.index) == 1).all())
        self._last = int(here.index[-1])
        sync = synchronous(here)
        names, nameless = self._past.names(here, sync)
        controls(here, nameless, self._found, whole=self._whole)
        self._lsns.next_slice(here, whole=self._whole)
        self._lead.next_slice(here, whole=self._whole)
        self._limbo.next_slice(here, sync, names, self._past.count)
        if self._whole:
            self._in_order(here, names)
        else:
            self._roll_back(here, names)
        self._lead.end_slice(here)
        self._limbo.end_slice()
        self._past.next_slice(here, sync)
        self._outline.next_slice(here, names)
        self._requests.next_slice(here)

    @property
    def suspects(self) -> bool:
        """Whether a second pass is needed."""
        return self._requests.suspects

    def look_again(self, here: Slice) -> None:
        """Take a slice in the second pass."""
        self._requests.look_again(here)

    def outline(self) -> LogOutline:
        """The outline of this log, for comparison with others."""
        log = self._outline.end((self._found.node, self._found.generation), self._limbo.rolled)
        log.applied = self._requests.applied(log)
        return log

    def end(self) -> dict[str, RuleFinding]:
        """Return all findings by invariant."""
        self._requests.end(self.outline())
        found = self._found.by_id
        if not (self._whole and self._dense):
            found.pop(REPLAY, None)
        for each in found.values():
            each.breaches.sort(key=lambda breach: breach.index)
        return dict(found)

    def _roll_back(self, here: Slice, names: NamedEntries) -> None:
        """ROLLBACKs of a trimmed log: none reaches back before its beginning (M6 f).

        The removed entries are known. Whether the ROLLBACK was allowed is not known, because
        earlier entries may have waited.
        """
        for number in np.flatnonzero(here.kind[names.at] == ROLLBACK).tolist():
            self._limbo.take_back(here, names, number)

    def _in_order(self, here: Slice, names: NamedEntries) -> None:
        """ROLLBACKs, the entries between them, PROMOTEs, and samples after their last entry."""
        cuts = np.flatnonzero(here.kind[names.at] == ROLLBACK).tolist()
        steps: list[tuple[int, int, int | LimboSample]]
        steps = [(int(names.at[number]), 0, number) for number in cuts]
        steps += [(at, 1, at) for at in self._lead.marks(here)]
        steps += [(at, 2, sample) for at, sample in within(here, self._samples)]
        begin = 0
        for at, _, step in sorted(steps, key=lambda each: each[:2]):
            if isinstance(step, LimboSample):
                self._comparison.compare(at, step, self._lead.owner(at), self._limbo)
            elif here.kind[at] == ROLLBACK:
                self._limbo.behind(here, begin, at)
                self._limbo.roll_back(here, names, step)
                begin = at + 1
            else:
                self._lead.fits(here, at, self._limbo)
        self._limbo.behind(here, begin, len(here))
        self._limbo.decide(here, names)
