"""`box.why`: asks the questions of `admin.box.why` about the cluster of a session."""

from admin.box import why
from admin.box.base import BoxSession
from admin.box.why import WhyAnswer
from qsync.errors import QsyncError
from qsync.status import decode
from qsync.status.record import BoxInfo


class Why:
    """The questions. Every answer has a sentence, facts, numbers, and what can be done."""

    def __init__(self, box: BoxSession) -> None:
        self._box = box

    async def read_only(self) -> WhyAnswer:
        """Explain why the node of this session takes no writes."""
        return why.read_only(await self._box.info())

    async def waiting(self) -> WhyAnswer:
        """Explain why the oldest pending transaction waits: missing acks, and since when."""
        found = await self._box.place.survey()
        leader: BoxInfo | None = None
        if found.leader is not None:
            whole = await self._box.place.ask(found.leader.address)
            leader = decode.box_info(whole)
        return why.waiting(leader, found)

    async def would(self, what: str = "promote") -> WhyAnswer:
        """Explain what promote, demote or clear_synchro_queue of this node would do."""
        plan = await self._box.node.dry_run(what)
        found = await self._box.place.survey()
        node = next((each for each in found.samples if each.name == self._box.name), None)
        if node is None:
            raise QsyncError(f"{self._box.name} did not answer the survey")
        return why.promotion(what, node, found, plan)
