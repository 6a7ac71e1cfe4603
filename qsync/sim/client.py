"""Clients with sessions: one operation after another, each until its fate is known."""

from typing_extensions import override

from election.messages import Position
from qsync.data.sessions import born
from qsync.sim import repertoire, transactions
from qsync.sim.calls import WriteDone
from qsync.sim.courier import Courier, Streets
from qsync.sim.history import SimHistory
from qsync.sim.operations import Ask, OperationRecord, OperationResult, Steps
from qsync.sim.repertoire import OperationGenerator
from qsync.sim.scripted import ScriptedClient
from qsync.sim.session import SharedSession

_PROCESSES = 1000
"""A process of a history ends with an unknown outcome; the client goes on under this much more."""


class SimulatedClient(ScriptedClient):
    """One client. `counts` has its operations by name and how they ended, or that they began.

    It shares its session with others, as the threads of one program do.
    """

    def __init__(
        self,
        mind: OperationGenerator,
        session: SharedSession,
        streets: Streets,
        history: SimHistory,
    ) -> None:
        super().__init__(mind)
        self._courier = Courier(mind.number, session, streets, mind.dice)
        self._clockwork = streets.clockwork
        self._history = history
        self._process = mind.number
        self._seed = b""
        self._scripted = False

    # -- one operation after another

    @override
    def _go_on(self) -> None:
        if self._now is not None:
            return
        session = self._courier.session
        if not session.open:
            self._seed = session.id
            self._begin(*repertoire.open_session(session.id, lazy=self._mind.load.lazy))
            return
        self._mind.sessions[self._mind.number] = session.id
        if self.script:
            self._begin(*self.script[0](), scripted=True)
            return
        if self.done is not None:
            done, self.done = self.done, None
            done()
        if not self.stopping:
            self._begin(*transactions.draw(self._mind))

    def _begin(self, operation: OperationRecord, steps: Steps, *, scripted: bool = False) -> None:
        self._now = operation
        self._scripted = scripted
        self._history.invoke(self._process, operation)
        self.counts[f"{operation.name} asked"] += 1
        self._ask(operation, steps, next(steps))

    def _ask(self, operation: OperationRecord, steps: Steps, ask: Ask) -> None:
        def told(told: OperationResult) -> None:
            self._noted(ask, told)
            try:
                then = steps.send(told)
            except StopIteration:
                self._resolve(operation, told)
            else:
                self._ask(operation, steps, then)

        self._courier.go(ask, told)

    def _resolve(self, operation: OperationRecord, told: OperationResult) -> None:
        self._now = None
        self._history.complete(self._process, operation, told)
        self.counts[f"{operation.name} {told.type}"] += 1
        mine = self._mind.sessions.get(self._mind.number, b"")
        if operation.name == "open" and isinstance(told.reply, WriteDone):
            place = Position(told.reply.term, told.reply.index)
            self._courier.session.opened(born(self._seed, place))
        elif operation.name == "leave" or getattr(told.reply, "code", "") == "SESSION_EXPIRED":
            self._courier.session.over(told.session or mine)
        elif self._scripted and told.ok:
            self.script.pop(0)  # what has to be done is asked for until it succeeds
        if told.type == "info":
            self._process += _PROCESSES
        self._clockwork.after(self._mind.pause(), self._go_on)
