"""A whole cluster, its clients and its troubles, built from one plan."""

from election.messages import Replica
from qsync.sim import repertoire, swarm
from qsync.sim.client import Client
from qsync.sim.clockwork import Clockwork
from qsync.sim.courier import Streets
from qsync.sim.disk import Disk
from qsync.sim.faults import Faults
from qsync.sim.floors import Tokens, Wall, floors_of
from qsync.sim.history import History
from qsync.sim.invariants import Invariants
from qsync.sim.mutants import catalogue
from qsync.sim.network import Network
from qsync.sim.node import Node
from qsync.sim.plan import Plan
from qsync.sim.process import Around
from qsync.sim.repertoire import Mind
from qsync.sim.session import Session
from qsync.sim.trace import Trace
from qsync.sim.troubles import Scene
from qsync.sim.turns import Turns


class World:
    """Everything of one run. Nothing happens until `step`."""

    def __init__(self, plan: Plan, *, watched_by: type[Invariants] = Invariants) -> None:
        self.plan = plan
        self.clockwork = Clockwork(plan.seed)
        self.swarm = swarm.draw(plan, self.clockwork.dice("swarm"), self.clockwork.dice("variety"))
        self.trace = Trace()
        self.network = Network(self.clockwork, self.swarm.weather)
        self.invariants = watched_by(lease_checked=self.leases_hold)
        self.nodes = [self._node(Replica(number)) for number in range(1, self.swarm.nodes + 1)]
        if plan.mutant is not None:
            catalogue.plant(plan.mutant, self.nodes)
        scene = Scene(
            clockwork=self.clockwork,
            network=self.network,
            nodes=self.nodes,
            swarm=self.swarm,
            trace=self.trace,
            dice=self.clockwork.dice("nemesis"),
        )
        self.faults = Faults(scene)
        self.turns = Turns(scene)
        self.history = History(self.clockwork)
        self.clients = self._clients()

    @property
    def leases_hold(self) -> bool:
        """No clock jumps, so a read by lease is as good as one that asked a quorum."""
        return "clock_jump" not in self.swarm.nemesis.active

    def _node(self, me: Replica) -> Node:
        disk = Disk(self.clockwork, self.clockwork.dice(f"disk {me}"), self.swarm.platter)
        fold_interval = self.swarm.timing.fold_interval
        around = Around(self.clockwork, self.network, self.invariants, self.trace, fold_interval)
        node = Node(self.swarm.config(me), disk, around)
        self.invariants.join(node)
        return node

    def _clients(self) -> list[Client]:
        streets = Streets(self.clockwork, self.swarm, self.nodes, self.invariants.promises)
        sessions: dict[int, bytes] = {}
        wall: Wall = {}
        tokens = Tokens()
        count, hands = self.swarm.load.clients, self.swarm.load.hands
        programs = [
            Session(self.clockwork.dice(f"session {number}"))
            for number in range((count + hands - 1) // hands)
        ]
        clients = []
        for number in range(1, count + 1):
            dice = self.clockwork.dice(f"client {number}")
            mind = Mind(
                number=number,
                dice=dice,
                load=self.swarm.load,
                sessions=sessions,
                tunings=self.swarm.tunings(),
                floors=floors_of(self.clockwork, self.swarm, number, wall),
                tokens=tokens,
            )
            session = programs[(number - 1) // self.swarm.load.hands]
            clients.append(Client(mind, session, streets, self.history))
        return clients

    def start(self) -> None:
        """Processes start; one client makes the spaces, then all begin; then things break."""
        for node in self.nodes:
            node.start()
        first = self.clients[0]
        first.script = [lambda: repertoire.create_spaces(self.swarm.load.keys)]
        first.done = self._open_doors
        first.start()

    def _open_doors(self) -> None:
        for client in self.clients[1:]:
            client.start()
        self.faults.start()
        self.turns.start()

    def step(self) -> bool:
        """The next event. Raises Violation when it breaks a property."""
        return self.clockwork.step()

    def heal(self) -> None:
        """Repair everything; clients finish what they began."""
        self.faults.heal()
        for client in self.clients:
            client.finish()

    @property
    def decided(self) -> bool:
        """Everything that anybody shows is confirmed; all nodes are up."""
        last = self.invariants.canon.last
        return all(node.core.machine.ledger.visible <= last for node in self.nodes)

    def unrest(self) -> str | None:
        """What is not at rest yet, after healing; None when all is done and equal."""
        leaders = [node.me for node in self.nodes if node.leads]
        if len(leaders) != 1:
            return f"{leaders} lead"
        busy = [client.busy_with for client in self.clients if not client.idle]
        if busy:
            return f"waiting: {busy}"
        waiting = self.waiting()
        return f"operators wait: {waiting}" if waiting else self.invariants.at_rest()

    def waiting(self) -> list[str]:
        """What operators asked for and were not answered yet."""
        return [
            f"{what} at node {node.me}"
            for node in self.nodes
            if node.up
            for what in node.process.desk.operators.values()
        ]
