"""The limbo that a node reports equals the limbo replayed from its log."""

from admin.checker.kernels import proofs
from admin.checker.kernels.columns import Samples
from admin.checker.kernels.kernel import PartKernel
from admin.checker.kernels.logs.findings import LogFindings
from admin.checker.kernels.logs.limbo import LimboWalk
from admin.checker.kernels.logs.owner import OwnerEntry
from admin.checker.kernels.logs.status_samples import LimboSample

REPLAY = "limbo-replay"
_LEADER = "leader"


class LimboComparison:
    """One log: the limbo in samples, compared with the replayed limbo."""

    def __init__(self, status: Samples, found: LogFindings) -> None:
        self._status = status
        self._found = found

    def compare(
        self, place: int, sample: LimboSample, owner: OwnerEntry | None, limbo: LimboWalk
    ) -> None:
        """A sample that was taken when the log ended at a place of the slice."""
        self._found.count(REPLAY, 1)
        if owner is None:
            return
        status, at = self._status, sample.at
        waiting, first = limbo.waiting(place, sample.confirmed)
        before, shown = sample.last if first is None else first - 1, status.visible[at]
        written = status.written[at]
        visible = max(sample.confirmed, min(before, sample.last if written is None else written))
        if shown is not None and status.role[at] != _LEADER and sample.confirmed <= shown:
            # A follower shows the part of it that it knows to be in its leader's log.
            visible = min(visible, shown)
        wants = (owner.owner, owner.term, waiting, visible)
        says = (status.limbo_owner[at], status.limbo_term[at], status.limbo_len[at], shown)
        if int(limbo.reach.index[place + 1]) > sample.confirmed:
            record = int(limbo.reach.record[place + 1])
            self._odd(sample, f"the CONFIRM at {record} confirms more", owner.index, record)
        elif says != wants:
            told = f"owner, term, waiting, visible are {says}; its log makes {wants}"
            self._odd(sample, told, owner.index, sample.last)

    def _odd(self, sample: LimboSample, why: str, *proof: int) -> None:
        node, generation = self._found.node, self._found.generation
        rows = [*self._status.shows(sample.at)]
        rows += [proofs.entry(node, generation, index) for index in proof]
        message = f"node {node} at {sample.last}, confirmed {sample.confirmed}: {why}"
        where = self._status.where(sample.at)
        self._found.by_id[REPLAY].broken(REPLAY, message, rows, **where)


KERNELS = (
    PartKernel(
        REPLAY,
        "the limbo equals the replay of the log",
        needs=("wal", "status"),
        counts="status",
        idle="no sample has the checksum of an entry of a complete log",
    ),
)
