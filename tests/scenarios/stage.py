"""A hand-driven cluster of cores for transcripts: deliveries and timers are commands."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from election.messages import Ballot, Index, Replica, Term
from election.quorum import parse
from qsync.core.config import CoreConfig
from qsync.core.inputs import (
    Connected,
    DemoteAsked,
    Disconnected,
    PromoteAsked,
    Received,
    RollbackAsked,
    TimerFired,
    Written,
)
from qsync.core.machine import Machine
from qsync.core.messages import Append, Message
from qsync.core.ready import Ready, Write
from qsync.record import Entry, Kind, headers, read_ref

QUIET = {"elected", "follows", "votes", "campaign", "pre_vote", "stepped_down", "promote", "member"}


class Actor:
    """One node: a core and a disk that keeps what was written, across crashes."""

    def __init__(self, stage: "Stage", me: int) -> None:
        self.stage = stage
        self.me = Replica(me)
        self.disk: list[Entry] = []
        self.ballot = Ballot(term=Term(0), vote=None, member=True)
        self.confirmed = Index(0)
        self.archive: list[list[Entry]] = []
        self.slow = False
        self.write: tuple[Write, list[tuple[Replica, Message]]] | None = None
        self.tickets: dict[int, str] = {}
        self.machine = self.boot()
        self.up = True

    def boot(self) -> Machine:
        stage = self.stage
        batch = b"".join(entry.raw for entry in self.disk)
        machine = Machine(
            replace(stage.config, me=self.me),
            ballot=self.ballot,
            confirmed=self.confirmed,
            headers=headers(batch),
            tail=lambda first, last: self.disk[first - 1 : last],
        )
        machine.clock(stage.now)
        machine.start()
        return machine

    def settle(self) -> None:
        while self._once():
            pass

    def _once(self) -> bool:
        ready = self.machine.ready()
        self.stage.send(self, ready.send_now)
        self._tell(ready)
        if ready.write is None:
            self.stage.send(self, ready.send_after)
            return bool(ready.settled or ready.reads)
        self.write = (ready.write, ready.send_after)
        if self.slow:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        if self.write is None:
            return
        (write, after), self.write = self.write, None
        if write.cut_above is not None and write.cut_above < len(self.disk):
            self.archive.append(self.disk[write.cut_above :])
            del self.disk[write.cut_above :]
        self.disk += write.entries
        self.ballot, self.confirmed = write.ballot, write.confirmed
        self.machine.step(Written(id=write.id))
        self.stage.send(self, after)

    def _tell(self, ready: Ready) -> None:
        say = self.stage.say
        for note in ready.notes:
            if note.name not in QUIET:
                words = " ".join(f"{key}={value}" for key, value in note.fields.items())
                say(f"{self.me}: {note.name} {words}".rstrip())
        for settled in ready.settled:
            name = self.tickets.get(settled.ticket, "?")
            say(f"{self.me}: {name} {settled.verdict.value}")
        for read in ready.reads:
            name = self.tickets.get(read.ticket, "?")
            say(f"{self.me}: {name} " + (f"refused: {read.refused}" if read.refused else "done"))

    def describe(self, entry: Entry) -> str:
        kind = Kind(entry.kind)
        if kind is Kind.TXN:
            return entry.body.decode() + ("" if entry.flags & 1 else " async")
        ref = read_ref(entry)
        if kind is Kind.DEMOTE:
            return "DEMOTE"
        return f"{kind.name} {ref.owner}/{ref.lsn}"


class Stage:
    """The nodes, the wires between them, and what was said since the last command."""

    def __init__(self) -> None:
        self.now = 0.0
        self.config = CoreConfig(
            me=Replica(1), voters=(Replica(1),), synchro_quorum=parse("N / 2 + 1")
        )
        self.actors: dict[int, Actor] = {}
        self.wires: dict[tuple[int, int], deque[tuple[int, Message]]] = {}
        self.cut: set[tuple[int, int]] = set()
        self.epochs = 0
        self.epoch: dict[tuple[int, int], int] = {}
        self.said: list[str] = []
        self.tickets = 0

    def run(self, command: str) -> list[str]:
        """One command line; what it made the nodes say, in order."""
        self.said = []
        word, *words = command.split()
        action: Callable[[list[str]], None] = getattr(self, f"do_{word}")
        action(words)
        return self.said

    def say(self, line: str) -> None:
        self.said.append(line)

    def send(self, actor: Actor, messages: list[tuple[Replica, Message]]) -> None:
        for to, message in messages:
            link = (int(actor.me), int(to))
            if link in self.cut or not self.actors[to].up:
                continue
            filled = message
            if isinstance(message, Append):
                found = actor.machine.ledger.entries(Index(message.prev_index + 1), message.last)
                filled = replace(message, entries=tuple(found))
            self.wires[link].append((self.epoch[link], filled))

    def deliver(self, link: tuple[int, int], count: int | None = None) -> bool:
        wire, moved = self.wires[link], False
        actor = self.actors[link[1]]
        while wire and count != 0:
            epoch, message = wire.popleft()
            if epoch == self.epoch[link] and actor.up:
                actor.machine.clock(self.now)
                actor.machine.step(Received(peer=Replica(link[0]), message=message))
                actor.settle()
            moved = True
            count = None if count is None else count - 1
        return moved

    # -- commands

    def do_cluster(self, words: list[str]) -> None:
        """cluster N [option=value ...]: nodes that know each other, nobody leads."""
        count = int(words[0])
        options = dict(word.split("=") for word in words[1:])
        voters = tuple(Replica(each) for each in range(1, count + 1))
        self.config = replace(self.config, voters=voters)
        if "quorum" in options:
            self.config = replace(self.config, synchro_quorum=parse(options["quorum"]))
        if "policy" in options:
            self.config = replace(self.config, synchro_policy=options["policy"])
        if "batch" in options:
            self.config = replace(self.config, append_entries_max=int(options["batch"]))
        if "timeout" in options:
            self.config = replace(self.config, synchro_timeout=float(options["timeout"]))
        for each in voters:
            self.actors[each] = Actor(self, each)
        for a in voters:
            for b in voters:
                if a != b:
                    self.wires[(a, b)] = deque()
                    self._connect(a, b)
        for actor in self.actors.values():
            actor.settle()
        self.said = []

    def _connect(self, a: int, b: int) -> None:
        self.epochs += 1
        self.epoch[(a, b)] = self.epochs
        self.wires[(a, b)].clear()
        empty = not self.actors[b].machine.ledger.log.last
        event = Connected(peer=Replica(b), epoch=self.epochs, empty=empty)
        self.actors[a].machine.step(event)

    def do_elect(self, words: list[str]) -> None:
        """elect N: N is promoted, everything delivered; an unreachable leader is given up."""
        me = int(words[0])
        leader = self.actors[me].machine.raft.leader
        unreachable = leader and ((me, leader) in self.cut or not self.actors[leader].up)
        if unreachable:
            self.now += 2 * self.config.election_timeout
        self.do_promote(words)
        if unreachable:
            self.do_timer([words[0], "transfer"])
        self.do_deliver([])

    def do_promote(self, words: list[str]) -> None:
        """promote N: the operator asks; nothing is delivered yet."""
        actor = self.actors[int(words[0])]
        self.tickets += 1
        actor.tickets[self.tickets] = "promote"
        actor.machine.clock(self.now)
        actor.machine.step(PromoteAsked(ticket=self.tickets))
        actor.settle()

    def do_demote(self, words: list[str]) -> None:
        """demote N [TO]."""
        actor = self.actors[int(words[0])]
        self.tickets += 1
        actor.tickets[self.tickets] = "demote"
        to = Replica(int(words[1])) if len(words) > 1 else None
        actor.machine.step(DemoteAsked(ticket=self.tickets, to=to))
        actor.settle()

    def do_rollback(self, words: list[str]) -> None:
        """rollback N: the operator rolls the queue back."""
        actor = self.actors[int(words[0])]
        self.tickets += 1
        actor.tickets[self.tickets] = "rollback"
        actor.machine.step(RollbackAsked(ticket=self.tickets))
        actor.settle()

    def do_put(self, words: list[str]) -> None:
        """put N NAME... [async]: clients of node N; one batch."""
        actor = self.actors[int(words[0])]
        actor.machine.clock(self.now)
        sync = words[-1] != "async"
        for name in words[1:] if sync else words[1:-1]:
            reasons = actor.machine.reasons()
            if reasons:
                self.say(f"{actor.me}: {name} refused: " + "; ".join(r.text for r in reasons))
                continue
            self.tickets += 1
            actor.tickets[self.tickets] = name
            actor.machine.propose(name.encode(), sync=sync, ticket=self.tickets)
        actor.settle()

    def do_deliver(self, words: list[str]) -> None:
        """deliver [A B [COUNT]]: what waits on one wire, or everything until it is quiet."""
        if words:
            count = int(words[2]) if len(words) > 2 else None
            self.deliver((int(words[0]), int(words[1])), count)
            return
        while sum(self.deliver(link) for link in sorted(self.wires)):
            pass

    def do_drop(self, words: list[str]) -> None:
        """drop A B: what waits on the wire is lost."""
        self.wires[(int(words[0]), int(words[1]))].clear()

    def do_cut(self, words: list[str]) -> None:
        """cut A B | cut A: from now on nothing passes between them (or between A and all)."""
        for link in self._links(words):
            self.cut.add(link)
            self.wires[link].clear()

    def do_heal(self, words: list[str]) -> None:
        """heal [A [B]]: connections stand again, as new ones."""
        links = self._links(words) if words else sorted(self.cut)
        for link in links:
            if link in self.cut:
                self.cut.discard(link)
                self._connect(*link)
        for actor in self.actors.values():
            if actor.up:
                actor.settle()

    def _links(self, words: list[str]) -> list[tuple[int, int]]:
        a = int(words[0])
        others = [int(words[1])] if len(words) > 1 else [b for b in self.actors if b != a]
        return [link for b in others for link in ((a, b), (b, a))]

    def do_crash(self, words: list[str]) -> None:
        """crash N: what was not written is gone, and so is everything in memory."""
        actor = self.actors[int(words[0])]
        actor.up, actor.write = False, None
        for link in self._links(words):
            self.wires[link].clear()
            if link[1] == actor.me:
                gone = Disconnected(peer=actor.me, epoch=self.epoch[link], refused=False)
                self.actors[link[0]].machine.step(gone)

    def do_restart(self, words: list[str]) -> None:
        """restart N: from its disk; connections stand again."""
        actor = self.actors[int(words[0])]
        actor.machine, actor.up = actor.boot(), True
        for link in self._links(words):
            if link not in self.cut and self.actors[link[0]].up and self.actors[link[1]].up:
                self._connect(*link)
        for each in self.actors.values():
            if each.up:
                each.settle()

    def do_disk(self, words: list[str]) -> None:
        """disk N slow|fast: writes wait, or complete (the waiting one at once)."""
        actor = self.actors[int(words[0])]
        actor.slow = words[1] == "slow"
        if not actor.slow:
            actor.flush()
            actor.settle()

    def do_wait(self, words: list[str]) -> None:
        """wait SECONDS: time passes, no timer comes."""
        self.now += float(words[0])
        for actor in self.actors.values():
            actor.machine.clock(self.now)
            actor.settle()

    def do_timer(self, words: list[str]) -> None:
        """timer N KIND: that timer of node N comes."""
        actor = self.actors[int(words[0])]
        actor.machine.clock(self.now)
        actor.machine.step(TimerFired(kind=words[1]))
        actor.settle()

    def do_beat(self, words: list[str]) -> None:
        """beat N: a heartbeat and the deferred CONFIRM of leader N, delivered."""
        self.do_timer([words[0], "confirm"])
        self.do_timer([words[0], "heartbeat"])
        self.do_deliver([])

    def do_log(self, words: list[str]) -> None:
        """log [N...]: entries and fates: ? pending, + confirmed, - rolled back, ~ visible."""
        for me in [int(word) for word in words] or sorted(self.actors):
            actor = self.actors[me]
            ledger = actor.machine.ledger
            found = ledger.entries(Index(1), ledger.log.last)
            self.say(f"{me}: " + " | ".join(self._marked(actor, entry) for entry in found))

    def _marked(self, actor: Actor, entry: Entry) -> str:
        ledger = actor.machine.ledger
        text = actor.describe(entry)
        if entry.kind not in (Kind.TXN, Kind.PROMOTE):
            return text
        if ledger.limbo.stretch_at(entry.index):
            return "-" + text
        if entry.index <= ledger.confirmed:
            return "+" + text
        return ("~" if entry.index <= ledger.limbo.visible(ledger.log.last) else "?") + text

    def do_acks(self, words: list[str]) -> None:
        """acks N: how far everybody is, as leader N knows it (the limbo's vclock, in lsn)."""
        machine = self.actors[int(words[0])].machine
        log, leader = machine.ledger.log, machine.leader
        assert leader is not None
        reached = {machine.config.me: machine.ledger.written}
        reached |= {each.peer: each.match for each in leader.followers.values()}
        base = leader.promoted_at
        self.say(str([max(0, int(reached[each]) - base) for each in sorted(reached)]))
        assert log.last >= base

    def do_show(self, words: list[str]) -> None:
        """show N: the node in one line."""
        self.say(repr(self.actors[int(words[0])].machine))

    def do_archive(self, words: list[str]) -> None:
        """archive N: the tails cut off node N."""
        actor = self.actors[int(words[0])]
        for tail in actor.archive:
            self.say(f"{actor.me}: cut " + " | ".join(actor.describe(entry) for entry in tail))
