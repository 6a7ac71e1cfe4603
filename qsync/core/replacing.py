"""A lost disk: the old pair goes out of the configuration, the new one in (membership.md M5)."""

from typing import TYPE_CHECKING

from election.messages import Index, Replica
from election.quorum import majority
from qsync.core import membership
from qsync.core.inputs import ReplaceAsked
from qsync.core.leader import Leader
from qsync.core.progress import Membership, Progress
from qsync.core.ready import Ticket

if TYPE_CHECKING:
    from qsync.core.machine import Machine


class Replacing:
    """The one replacement that this leader is making, if any.

    A disk that was lost has lost votes and acks. No repair in place is safe, so its vote is made
    worthless in the log: two changes of the configuration, each decided before the next.
    """

    def __init__(self) -> None:
        self.replica: Replica | None = None
        self.target = Index(0)
        """The newcomer must have this before the first change: our log when it was asked for."""
        self.change: Index | None = None
        """Where the last change that was made for it stands."""
        self.tickets: list[Ticket] = []

    def begin(self, replica: Replica, *, target: Index) -> None:
        """A replacement begins."""
        assert self.replica is None
        self.replica, self.target, self.change = replica, target, None

    def end(self) -> list[Ticket]:
        """It is over; who waits for it."""
        tickets, self.tickets = self.tickets, []
        self.replica = self.change = None
        return tickets

    def forget(self, ticket: Ticket) -> None:
        """Its client is gone; what was begun goes on."""
        if ticket in self.tickets:
            self.tickets.remove(ticket)


def asked(machine: "Machine", event: ReplaceAsked) -> None:
    """An operator asks; answered when the new pair is a voter and that is decided."""
    refused = refusal(machine, event.replica)
    if refused is not None:
        machine.answer(event.ticket, refused)
        return
    replacing = machine.operations.replacing
    if replacing.replica is None:
        replacing.begin(event.replica, target=machine.ledger.log.last)
    replacing.tickets.append(event.ticket)


def refusal(machine: "Machine", replica: Replica) -> str | None:
    """Why that voter cannot be replaced now; None when it can."""
    under_way = machine.operations.replacing.replica
    if machine.leader is None:
        return f"node {machine.config.me} does not lead"
    if replica == machine.config.me:
        return "a leader does not replace itself: promote another node first"
    progress = machine.peers.get(replica)
    if progress is None:
        return f"the settings of node {machine.config.me} name no peer {replica}"
    if not progress.connected:
        return f"node {replica} is not connected: start it on its new directory first"
    if under_way not in (None, replica):
        return f"node {under_way} is being replaced; one at a time"
    return None


def automatic(machine: "Machine") -> None:
    """With every heartbeat: whoever returned with a new directory gets its place (policy auto).

    An id that the configuration lacks is one whose replacement was interrupted half-way.
    """
    leader = machine.leader
    if leader is None or not leader.open or machine.config.replace != "auto":
        return
    if machine.operations.replacing.replica is not None:
        return
    for progress in machine.peers.values():
        if progress.membership is Membership.STRANGER and _is_current(machine, progress, Index(0)):
            machine.operations.replacing.begin(progress.peer, target=machine.ledger.log.last)
            return


def advance(machine: "Machine") -> None:
    """Make the next change when the last one is decided; answer who waits at the end."""
    replacing, leader = machine.operations.replacing, machine.leader
    if replacing.replica is None:
        return
    if leader is None:
        _end(machine, "this node no longer leads; ask the leader to replace it")
        return
    progress = machine.peers[replacing.replica]
    if _was_taken_back(machine, replacing.change):
        _end(machine, f"the change of the configuration at {replacing.change} was rolled back")
        return
    decided = machine.ledger.confirmed >= machine.ledger.configurations.last_decisive
    if progress.membership is not Membership.STRANGER:
        if decided:
            _end(machine, None)
    elif decided and leader.open and _is_current(machine, progress, replacing.target):
        _change(machine, leader, progress)


def _change(machine: "Machine", leader: Leader, progress: Progress) -> None:
    configuration = machine.ledger.configurations.followed
    assert configuration is not None
    assert progress.instance is not None
    replica = progress.peer
    # Never both in one entry: replacing is two changes (membership.md M1 a). Out first, so that
    # no replica id is there twice (M5 b).
    if configuration.instance_of(replica) is not None:
        wanted = configuration.without(replica)
    else:
        wanted = configuration.with_(replica, progress.instance)
    entry = leader.configure(wanted, machine.pace.wall)
    machine.operations.replacing.change = entry.index
    membership.follow(machine)


def _is_current(machine: "Machine", progress: Progress, target: Index) -> bool:
    """It has our log up to `target`, and answered within two heartbeats (membership.md M4 a)."""
    fresh = machine.ledger.now - 2 * machine.config.replication_timeout
    last = max(target, machine.ledger.confirmed)
    return (
        progress.connected
        and progress.instance is not None
        and not progress.probing
        and progress.match >= last
        and progress.heard_at >= fresh
    )


def _was_taken_back(machine: "Machine", change: Index | None) -> bool:
    return change is not None and change not in {
        index for index, _ in machine.ledger.configurations.standing()
    }


def _end(machine: "Machine", refused: str | None) -> None:
    replacing = machine.operations.replacing
    machine.out.note("replaced", replica=replacing.replica, refused=refused)
    for ticket in replacing.end():
        machine.answer(ticket, refused)


def keep_quorum(machine: "Machine") -> None:
    """A leader that its own pending change deprives of a quorum takes the change back.

    Instead of stepping down, if a majority of the former configuration is there: once the change
    is inherited by somebody it cannot be rolled back, and may never find its quorum (M3 f).
    """
    leader, raft, ledger = machine.leader, machine.raft, machine.ledger
    if leader is None or not leader.open:
        return
    changes = list(ledger.configurations.standing())
    if not changes or changes[-1][0] <= ledger.confirmed:
        return
    if not raft.state.contact.is_lost(ledger.now):
        return
    former = ledger.configurations.before(changes[-1][0])
    assert former is not None
    since = ledger.now - raft.state.contact.timeout
    heard = [
        each
        for each in machine.peers.values()
        if former.names(each.peer, each.instance) and each.heard_at >= since
    ]
    own = former.names(machine.config.me, machine.config.instance)
    if len(heard) + own >= majority(len(former.voters)):
        machine.roll_back("configuration")
        membership.follow(machine)
