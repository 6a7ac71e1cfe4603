"""One node on the stage: a replica, and a disk that keeps what was written, across crashes."""

from dataclasses import replace
from typing import TYPE_CHECKING

from election.messages import Index, Replica
from qsync.core.config import CoreConfig
from qsync.core.configuration import all_of
from qsync.core.inputs import WriteFailed, Written
from qsync.core.machine import Machine
from qsync.core.messages import Message
from qsync.core.ready import Ready
from qsync.errors import StoreError
from qsync.record import Instance
from qsync.replica import Replica as Core
from qsync.store.memory import MemoryLog
from tests.scenarios.desk import Desk
from tests.scenarios.words import QUIET, furnished

if TYPE_CHECKING:
    from tests.scenarios.stage import Stage

FOUNDER = Instance(0)
"""The directory that a node has when a transcript begins: the cluster was founded with it."""


class Actor:
    """`slow`: writes wait for `flush`. `paused`: its process hangs, what is sent to it waits.

    `timers`: when each armed timer is due, at the earliest.
    """

    def __init__(self, stage: "Stage", config: CoreConfig) -> None:
        self.stage = stage
        self.config = config
        self.log = MemoryLog(wall=lambda: stage.now)
        self.spaces = furnished()
        self.slow = False
        self.up = True
        self.paused = False
        self.boot()

    def boot(self) -> None:
        """A new process on the same disk; what it finds there is judged as a node does."""
        self.stage.births += 1
        found = self.log.recover()
        quarantined = found.quarantined
        if found.untrusted:
            instance = self.stage.new_instance()
            self.config = replace(self.config, instance=instance)
            self.stage.say(f"{self.me}: a new instance, {instance}")
        if quarantined is not None:
            self.stage.say(f"{self.me}: damaged: {quarantined}")
            self.log.start_over(why=quarantined, untrusted=found.untrusted)
            quarantined = None if found.untrusted else quarantined
            found = self.log.recover()
        elif found.dropped_tail:
            self.stage.say(f"{self.me}: dropped a torn record of {found.dropped_tail} bytes")
        if self.spaces.folded > found.last:
            self.spaces.wipe()
        self.after: list[tuple[Replica, Message]] = []
        self.tickets: dict[int, str] = {}
        self.timers: dict[str, tuple[float, float]] = {}
        self.core = Core(
            self.config,
            ballot=found.ballot,
            confirmed=Index(max(found.confirmed, self.spaces.folded)),
            stored=self.log.stored(),
            tail=self.log.entries,
            start=found.start,
            backing=self.spaces,
            folded=self.spaces.folded,
            founding=all_of(self.config.voters) if self.config.instance == FOUNDER else None,
            quarantined=quarantined,
            life=self.stage.births,
        )
        if self.stage.remodel is not None:
            self.stage.remodel(self.core)
        self.core.clock(self.stage.now)
        self.core.start()
        self.desk = Desk(self)

    @property
    def me(self) -> Replica:
        """Its id."""
        return self.config.me

    @property
    def machine(self) -> Machine:
        """The machine of the present life."""
        return self.core.machine

    def ticket(self, name: str) -> int:
        """A new ticket; what becomes of it is said under that name."""
        self.stage.tickets += 1
        self.tickets[self.stage.tickets] = name
        return self.stage.tickets

    def settle(self) -> None:
        """Let it do all that it can do now, unless a batch of inputs is still being given."""
        while self.me not in self.stage.batching and self._once():
            pass

    def _once(self) -> bool:
        ready = self.core.ready()
        self.stage.send(self, ready.send_now)
        for timer in ready.timers:
            if timer.earliest is None:
                self.timers.pop(timer.kind, None)
            else:
                now = self.stage.now
                self.timers[timer.kind] = (now + timer.earliest, now + timer.latest)
        self._tell(ready)
        if ready.write is None:
            self.stage.send(self, ready.send_after)
            return bool(ready.settled or ready.reads)
        self.log.begin_write(ready.write)
        self.after = ready.send_after
        if self.slow:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        """The write that is under way ends, well or not."""
        write = self.log.in_flight
        if write is None:
            return
        after, self.after = self.after, []
        try:
            self.log.finish()
        except StoreError as error:
            self.core.step(WriteFailed(id=write.id, why=error.message))
            return
        self.core.step(Written(id=write.id))
        self.stage.send(self, after)

    def _tell(self, ready: Ready) -> None:
        say = self.stage.say
        for note in ready.notes:
            if note.name not in QUIET:
                words = " ".join(f"{key}={value}" for key, value in note.fields.items())
                say(f"{self.me}: {note.name} {words}".rstrip())
        for settled in ready.settled:
            if settled.ticket in self.tickets:
                say(f"{self.me}: {self.tickets[settled.ticket]} {settled.verdict.value}")
        for read in ready.reads:
            if read.ticket in self.tickets:
                became = f"refused: {read.refused}" if read.refused else "done"
                say(f"{self.me}: {self.tickets[read.ticket]} {became}")
        if ready.settled:
            self.desk.requests.settled(ready.settled)
        if ready.reads:
            self.desk.requests.readable(ready.reads)
        self.desk.requests.resume()
