"""Detection of old copies of a directory that were put back (membership.md M7 c).

Every handshake between members says in which life a directory is, and how far its log goes. Who
knows of a later life, or has led and was acked more in its term, refuses to be the peer of a copy,
and proves it. The copy counts for nothing from then on, and becomes a new instance at its next
start, which is a stranger and is given the place of the one that was lost (M5).
"""

from election.messages import Position, Replica, Term
from qsync.errors import StoreError, Unavailable
from qsync.life import DirectoryLife, OldCopy
from qsync.node.view import NodeView
from qsync.record import read_instance
from qsync.wire import lives as words
from qsync.wire.session import Greeting, Hello


def words_of(node: NodeView) -> tuple[str, ...]:
    """Return what a handshake says of this directory: its life, and how far its log goes.

    Not how far its log goes where it is known to have forgotten acks: it counts nowhere then.
    """
    machine = node.replica.machine
    life = words.word_of(node.storage.lives.own)
    if not machine.raft.ballot.member:
        return (life,)
    return (life, words.reach_of(machine.term, machine.replicated_log.log.position))


def check_greeting(node: NodeView, greeting: Greeting) -> None:
    """Refuse a node whose greeting shows an old copy. Raises OldCopy, ProtocolError.

    Nothing is noted for it: it has proved nothing yet.
    """
    remember_acks(node, greeting.replica, greeting.instance)
    _check_life(node, greeting.name, greeting.instance, words.life_in(greeting.features))


def introduce(node: NodeView, hello: Hello) -> None:
    """Check a peer that has proved its identity. Raises OldCopy, ProtocolError, Unavailable."""
    lives, instance = node.storage.lives, hello.instance or ""
    if lives.is_old(node.identity.instance):
        raise Unavailable(
            f"{node.config.node.name} runs on an old copy of its directory, and counts for nothing "
            "until it is started again"
        )
    remember_acks(node, Replica(hello.replica), instance)
    life = words.life_in(hello.features)
    _check_life(node, hello.name, instance, life)
    _check_reach(node, hello, instance)
    if life is None:
        return
    try:
        lives.heard(instance, life)
    except StoreError as error:
        node.timeline.append("life_unwritten", {"of": hello.name, "why": str(error)})


def remember_acks(node: NodeView, replica: Replica, instance: str) -> None:
    """Remember what a follower has acked, before a new connection to it forgets that."""
    machine = node.replica.machine
    progress = machine.peers.get(replica)
    log = machine.replicated_log.log
    if machine.leader is None or progress is None or not progress.counts:
        return
    if progress.instance != read_instance(instance) or progress.match <= log.start.index:
        return
    place = Position(log.term_at(progress.match), progress.match)
    acked = node.storage.lives.acked
    acked[instance] = max((machine.leader.term, place), acked.get(instance, (Term(0), place)))


def withdraw(node: NodeView, why: str) -> None:
    """Stop talking to peers: another member has proved that this directory is an old copy.

    What cannot be written down counts until the node stops.
    """
    lives, instance = node.storage.lives, node.identity.instance
    if lives.is_old(instance):
        return
    try:
        lives.withdraw(instance, why)
    except StoreError as error:
        node.timeline.append("life_unwritten", {"of": node.config.node.name, "why": str(error)})
    node.timeline.append("old_copy", {"why": why})
    node.links.part("this directory is an old copy")
    node.server.part("this directory is an old copy")
    node.begin_anew()


def _check_life(node: NodeView, name: str, instance: str, life: DirectoryLife | None) -> None:
    later = None if life is None else node.storage.lives.known.later(instance, life)
    if later is not None:
        raise OldCopy(
            f"{name} runs on an old copy of its directory: it says that it is in life {life}, and "
            f"{node.config.node.name} has met it in life {later}"
        )


def _check_reach(node: NodeView, hello: Hello, instance: str) -> None:
    """Refuse a follower whose term, or log in our term, ends before what it has acked to us.

    In a later term others may have cut its log: that is nothing to judge for the leader of this.
    """
    leader, reach = node.replica.machine.leader, words.reach_in(hello.features)
    acked = node.storage.lives.acked.get(instance)
    if leader is None or reach is None or acked is None or acked[0] != leader.term:
        return
    if reach < acked:
        term, last = reach
        raise OldCopy(
            f"{hello.name} runs on an old copy of its directory: it has acked entry "
            f"{acked[1].index} to {node.config.node.name} in term {acked[0]}, and its log ends at "
            f"entry {last.index} in term {term}"
        )
