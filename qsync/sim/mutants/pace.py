"""Rules for speed only: without them the system is correct, but slower (protocol.md 3)."""

from qsync.core.messages import Append
from qsync.core.ready import Ready, Settled, TransactionFate
from qsync.replica import Replica as Core
from qsync.sim.mutants.mutant import Mutant, keep, put


def _sends_after_writing(core: Core) -> None:
    honest = core.ready

    def ready() -> Ready:
        found = honest()
        late = [each for each in found.send_now if isinstance(each[1], Append)]
        found.send_now = [each for each in found.send_now if not isinstance(each[1], Append)]
        found.send_after = [*found.send_after, *late]
        return found

    put(core, ready=ready)


def _answers_after_record(core: Core) -> None:
    machine, late = core.machine, list[Settled]()
    honest = core.ready

    def ready() -> Ready:
        found = honest()
        recorded, confirmed = (
            machine.replicated_log.durable_confirmed,
            machine.replicated_log.confirmed,
        )
        waiting = [*late, *found.settled]
        late[:] = [
            each
            for each in waiting
            if each.verdict is TransactionFate.COMMITTED and recorded < each.index <= confirmed
        ]
        found.settled = [each for each in waiting if each not in late]
        return found

    put(core, ready=ready)
    keep(core, late=late)


PACE = (
    Mutant(
        name="sends_after_writing",
        rule="protocol.md 3.4",
        without="the leader sends a batch to its followers only after its own write",
        remodel=_sends_after_writing,
        harmless="the leader and its followers write one after the other: only slower",
    ),
    Mutant(
        name="answers_after_record",
        rule="protocol.md 3.7",
        without="clients are answered only when the CONFIRM is durable",
        remodel=_answers_after_record,
        harmless="every later leader has the transactions and can only confirm them: only slower",
    ),
)
