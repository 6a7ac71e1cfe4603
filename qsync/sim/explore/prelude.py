"""The start of a scope: a script that brings a new cluster to the first explored state."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from election.messages import Index, Position, Replica, Term
from qsync.core.member_change import MemberChange
from qsync.core.ready import TimerKind
from qsync.member import MemberRole
from qsync.sim.explore import members
from qsync.sim.explore.acts import Alarm, Delivery, ExplorerAct, ReadAct, Tick, WriteAct, perform
from qsync.sim.explore.clients import CallAttempt
from qsync.sim.explore.host import ExploredNode
from qsync.sim.explore.ids import node_ids
from qsync.sim.explore.plan import Bare, PlanDraft, StartPlan
from qsync.sim.explore.roll import Letter
from qsync.sim.explore.scope import EVERYTHING_HEARD, Scope
from qsync.sim.mutants import catalogue
from qsync.sim.trace import TraceColumns

LEASED = 999
"""The ticket of the read by lease of a script."""
ASKED = 99
"""The ticket and the number of its request."""

Post = tuple[Replica, Delivery]
"""The receiver and the arriving message."""


class Prelude:
    """`elect N`, `put N NAME`, `confirm N`: each until no message is in flight any more.

    `only A B`: from now on messages pass only between these; `all`: between all again. `hold A B`:
    messages from A to B from now on are in flight when the exploration begins. `lose A B`: messages
    from A to B are lost, until the next `only` or `all`. `force N`: a cluster is recovered from
    this node (membership.md M8). `full N`: it has no room for transactions any more. `trim N`: it
    trims the log up to its confirmed index. `add N M ROLE`, `remove N M`, `make N M ROLE`: leader N
    changes the membership, also by force. `stall N`: its writes do not become durable; `crash N`
    loses them, `flow N` ends the stall.
    """

    def __init__(self, scope: Scope, mutant: str | None) -> None:
        self.hosts = {plan.me: ExploredNode(plan) for plan in _plans(scope, mutant)}
        self.acts: list[tuple[TraceColumns, ExplorerAct]] = []
        """The act, and the node after it."""
        self._script = scope.prelude
        self._slow_disk, self._unheard = scope.slow_disk, scope.unheard
        self._post: deque[Post] = deque()
        self.held: list[Letter] = []
        """The messages in flight in the first state."""
        self._holding: set[tuple[int, int]] = set()
        self.losing: set[tuple[int, int]] = set()
        self._stalled: set[int] = set()
        self._open = frozenset(int(each) for each in self.hosts)

    def play(self) -> None:
        """Run the whole script, once. Raises Violation if a mutant fails in the script."""
        peers = [each.greeting() for each in self.hosts.values()]
        for me in self.hosts:
            self._act(ExplorerAct(me, "start", tuple(each for each in peers if each.peer != me)))
        self._settle()
        for line in self._script.split(";"):
            word, *words = line.split() or ["all"]
            _WORDS[word](self, words)
        for host in self.hosts.values():
            host.plan = replace(host.plan, slow_disk=self._slow_disk, unheard=self._unheard)

    def _act(self, act: ExplorerAct) -> None:
        host = self.hosts[act.node]
        self.acts.append((host.sight(), act))
        told = perform(host, act)
        self.acts[-1] = (host.sight(), act)
        for receiver, message in told.letters:
            if (act.node, receiver) in self._holding:
                self.held.append(Letter(act.node, receiver, message, host.platter.instance))
            elif self._passes(int(act.node), int(receiver)):
                late = type(message).__name__ == "RequestVote"
                instance = host.platter.instance
                self._post.append((receiver, Delivery(act.node, message, late, instance)))

    def _passes(self, sender: int, receiver: int) -> bool:
        return {sender, receiver} <= self._open and (sender, receiver) not in self.losing

    def _settle(self) -> None:
        while True:
            writing = [
                each.me
                for each in self.hosts.values()
                if each.platter.write is not None and int(each.me) not in self._stalled
            ]
            if writing:
                self._act(ExplorerAct(writing[0], "land"))
            elif self._post:
                receiver, delivery = self._post.popleft()
                self._act(ExplorerAct(receiver, "deliver", delivery))
            else:
                return

    def _node(self, word: str) -> Replica:
        return next(each for each in self.hosts if int(each) == int(word))

    def at(self, word: str, name: str, what: object) -> None:
        """An act of that node, and all its consequences."""
        self._act(ExplorerAct(self._node(word), name, what))
        self._settle()

    def elect(self, words: list[str]) -> None:
        """A node becomes the leader, if the others vote for it."""
        self.at(words[0], "campaign", None)

    def put(self, words: list[str]) -> None:
        """The leader accepts a synchronous transaction."""
        write = WriteAct(words[1], sync=True, ticket=0)
        self._act(ExplorerAct(self._node(words[0]), "put", write))
        self._settle()

    def asynchronous(self, words: list[str]) -> None:
        """The leader accepts an asynchronous one; each has its own name, from `p` on."""
        write = WriteAct(words[1], sync=False, ticket=ord(words[1]))
        self._act(ExplorerAct(self._node(words[0]), "put", write))
        self._settle()

    def hold(self, words: list[str]) -> None:
        """A message for the exploration to deliver, early or late."""
        self._holding.add((int(words[0]), int(words[1])))

    def stall(self, words: list[str]) -> None:
        """Its disk stalls."""
        self._stalled.add(int(words[0]))

    def flow(self, words: list[str]) -> None:
        """Its disk ends the stall, with all waiting writes."""
        self._stalled.discard(int(words[0]))
        self._settle()

    def falls(self, word: str, how: str) -> None:
        """A node crashes and restarts; all connect again."""
        me = self._node(word)
        self._stalled.discard(int(me))
        others = [each for each in self.hosts.values() if each.me != me]
        self._act(ExplorerAct(me, how, tuple(each.greeting() for each in others)))
        for each in others:
            self._act(ExplorerAct(each.me, "reconnect", self.hosts[me].greeting()))
        self._settle()

    def connect(self, words: list[str]) -> None:
        """A connects to B again."""
        me, to = (self._node(word) for word in words)
        self._act(ExplorerAct(me, "reconnect", self.hosts[to].greeting()))
        self._settle()

    def lease(self, words: list[str]) -> None:
        """The leader is read by lease, so it requests promises from now on."""
        read = ReadAct(LEASED, Position(Term(0), Index(0)))
        self._act(ExplorerAct(self._node(words[0]), "read by lease", read))
        self._settle()

    def passes(self, words: list[str]) -> None:
        """Let this many seconds pass."""
        for me in self.hosts:
            self._act(ExplorerAct(me, "tick", Tick(float(words[0]))))

    def full(self, words: list[str]) -> None:
        """Its rows are not folded, and there is no room for more."""
        core = self.hosts[self._node(words[0])].core
        assert isinstance(core, Bare)
        core.full = True

    def only(self, words: list[str]) -> None:
        """Messages pass only between these."""
        self.losing.clear()
        self._open = frozenset(int(word) for word in words)


def _all(prelude: Prelude, words: list[str]) -> None:
    """Everything passes."""
    assert not words
    prelude.only([str(int(each)) for each in prelude.hosts])


def _lose(prelude: Prelude, words: list[str]) -> None:
    """One direction of an open connection does not work."""
    prelude.losing.add((int(words[0]), int(words[1])))


def _crash(prelude: Prelude, words: list[str]) -> None:
    """It crashes and restarts."""
    prelude.falls(words[0], "crash")


def _damage(prelude: Prelude, words: list[str]) -> None:
    """It crashes, and finds its log damaged at the restart."""
    prelude.falls(words[0], "damage")


def _force(prelude: Prelude, words: list[str]) -> None:
    """A cluster is recovered from this node alone."""
    prelude.falls(words[0], "force")


def _create(prelude: Prelude, words: list[str]) -> None:
    """The leader accepts the transaction that creates the space and the session."""
    prelude.at(words[0], "create", None)


def _confirm(prelude: Prelude, words: list[str]) -> None:
    """The leader writes its CONFIRM."""
    prelude.at(words[0], "fire", Alarm(TimerKind.CONFIRM, 0.0))


def _roll_back(prelude: Prelude, words: list[str]) -> None:
    """An operator has the leader roll back what is pending."""
    prelude.at(words[0], "roll back", None)


def _call(prelude: Prelude, words: list[str]) -> None:
    """The leader accepts a request with data, by its kind; `call N KIND SEQ` for a retry."""
    seq = int(words[2]) if len(words) > 2 else ASKED
    asked = CallAttempt(words[1], seq=seq, ticket=ASKED)
    prelude.at(words[0], "call", asked)


def _fold(prelude: Prelude, words: list[str]) -> None:
    """It folds its confirmed entries into its spaces on disk."""
    prelude.at(words[0], "fold", None)


def _beat(prelude: Prelude, words: list[str]) -> None:
    """The leader begins a round."""
    prelude.at(words[0], "fire", Alarm(TimerKind.HEARTBEAT, 0.0))


def _trim(prelude: Prelude, words: list[str]) -> None:
    """It trims its confirmed entries from its log."""
    prelude.at(words[0], "trim", None)


def _add(prelude: Prelude, words: list[str]) -> None:
    """The leader adds a member."""
    _order(prelude, words[0], members.adding(int(words[1]), MemberRole(words[2])))


def _remove(prelude: Prelude, words: list[str]) -> None:
    """The leader removes a member, possibly itself."""
    _order(prelude, words[0], members.removing(int(words[1])))


def _make(prelude: Prelude, words: list[str]) -> None:
    """The leader changes the role of a member."""
    _order(prelude, words[0], members.becoming(int(words[1]), MemberRole(words[2])))


def _order(prelude: Prelude, word: str, change: MemberChange) -> None:
    prelude.at(word, "change", members.ChangeOrder(change, forced=True))


_WORDS: dict[str, Callable[[Prelude, list[str]], None]] = {
    "elect": Prelude.elect,
    "put": Prelude.put,
    "async": Prelude.asynchronous,
    "hold": Prelude.hold,
    "lose": _lose,
    "stall": Prelude.stall,
    "flow": Prelude.flow,
    "full": Prelude.full,
    "crash": _crash,
    "damage": _damage,
    "force": _force,
    "connect": Prelude.connect,
    "beat": _beat,
    "lease": Prelude.lease,
    "pass": Prelude.passes,
    "create": _create,
    "call": _call,
    "fold": _fold,
    "trim": _trim,
    "add": _add,
    "remove": _remove,
    "make": _make,
    "confirm": _confirm,
    "rollback": _roll_back,
    "only": Prelude.only,
    "all": _all,
}


def _plans(scope: Scope, mutant: str | None) -> list[StartPlan]:
    everybody = node_ids(scope.nodes)
    drafts = [PlanDraft(scope.config(me, everybody)) for me in everybody]
    if mutant is not None:
        catalogue.plant(mutant, drafts)
    return [
        StartPlan(
            config=draft.config,
            seal=draft.disk.seal,
            remodel=draft.remodel,
            whole=scope.whole,
            reads=not {"reads", "leases", "receipts"}.isdisjoint(scope.bounds),
            slow_disk=scope.slow_disk or "stall" in scope.prelude,
            unheard=EVERYTHING_HEARD if scope.tick else scope.unheard,
            founders=scope.founding,
            changing=scope.quorum is None,
            generations=draft.generations,
        )
        for draft in drafts
    ]
