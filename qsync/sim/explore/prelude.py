"""How a scope begins: a script that brings a new cluster to the state that is explored from."""

from collections import deque
from collections.abc import Callable

from election.messages import Replica
from qsync.core.ready import TimerKind
from qsync.sim import mutants
from qsync.sim.explore.acts import Act, Alarm, Delivery, Write, perform
from qsync.sim.explore.host import Host
from qsync.sim.explore.ids import node_ids
from qsync.sim.explore.plan import Draft, Plan
from qsync.sim.explore.scope import Scope
from qsync.sim.trace import Sight

Post = tuple[Replica, Delivery]
"""Receiver and what arrives there."""


class Prelude:
    """`elect N`, `put N NAME`, `confirm N`: each until nothing is under way any more.

    `only A B`: from now on messages pass between these two alone; `all` again between all.
    """

    def __init__(self, scope: Scope, mutant: str | None) -> None:
        self.hosts = {plan.me: Host(plan) for plan in _plans(scope, mutant)}
        self.acts: list[tuple[Sight, Act]] = []
        """What was done, and the node after it."""
        self._script = scope.prelude
        self._post: deque[Post] = deque()
        self._open = frozenset(int(each) for each in self.hosts)

    def play(self) -> None:
        """The whole script, once. Raises Violation when a mutant cannot even be brought so far."""
        peers = [each.greeting() for each in self.hosts.values()]
        for me in self.hosts:
            self._act(Act(me, "start", tuple(each for each in peers if each.peer != me)))
        self._settle()
        for line in self._script.split(";"):
            word, *words = line.split() or ["all"]
            _WORDS[word](self, words)

    def _act(self, act: Act) -> None:
        host = self.hosts[act.node]
        self.acts.append((host.sight(), act))
        told = perform(host, act)
        self.acts[-1] = (host.sight(), act)
        for receiver, message in told.letters:
            if int(receiver) in self._open and int(act.node) in self._open:
                late = type(message).__name__ == "AskVote"
                instance = host.platter.instance
                self._post.append((receiver, Delivery(act.node, message, late, instance)))

    def _settle(self) -> None:
        while True:
            writing = [each.me for each in self.hosts.values() if each.platter.write is not None]
            if writing:
                self._act(Act(writing[0], "land"))
            elif self._post:
                receiver, delivery = self._post.popleft()
                self._act(Act(receiver, "deliver", delivery))
            else:
                return

    def _node(self, word: str) -> Replica:
        return next(each for each in self.hosts if int(each) == int(word))

    def elect(self, words: list[str]) -> None:
        """A node becomes the leader, if the others let it."""
        self._act(Act(self._node(words[0]), "campaign"))
        self._settle()

    def put(self, words: list[str]) -> None:
        """The leader takes a synchronous transaction."""
        write = Write(words[1], sync=True, ticket=0)
        self._act(Act(self._node(words[0]), "put", write))
        self._settle()

    def create(self, words: list[str]) -> None:
        """The leader takes the transaction that makes the space and the session."""
        self._act(Act(self._node(words[0]), "create"))
        self._settle()

    def confirm(self, words: list[str]) -> None:
        """The leader writes its CONFIRM."""
        alarm = Alarm(TimerKind.CONFIRM, 0.0)
        self._act(Act(self._node(words[0]), "fire", alarm))
        self._settle()

    def only(self, words: list[str]) -> None:
        """Nothing passes but between these."""
        self._open = frozenset(int(word) for word in words)

    def all(self, words: list[str]) -> None:
        """Everything passes."""
        assert not words
        self._open = frozenset(int(each) for each in self.hosts)


_WORDS: dict[str, Callable[[Prelude, list[str]], None]] = {
    "elect": Prelude.elect,
    "put": Prelude.put,
    "create": Prelude.create,
    "confirm": Prelude.confirm,
    "only": Prelude.only,
    "all": Prelude.all,
}


def _plans(scope: Scope, mutant: str | None) -> list[Plan]:
    voters = node_ids(scope.nodes)
    drafts = [Draft(scope.config(me, voters)) for me in voters]
    if mutant is not None:
        mutants.plant(mutant, drafts)
    return [
        Plan(
            config=draft.config,
            seal=draft.disk.seal,
            remodel=draft.remodel,
            whole=scope.whole,
            reads="reads" in scope.bounds,
            slow_disk=scope.slow_disk,
            unheard=scope.unheard,
        )
        for draft in drafts
    ]
