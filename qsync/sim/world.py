"""A whole cluster, its clients and its troubles, built from one plan."""

from election.messages import Replica
from qsync.sim import swarm
from qsync.sim.client import SimulatedClient
from qsync.sim.clockwork import VirtualClock
from qsync.sim.courier import Streets
from qsync.sim.disk import SimulatedDisk
from qsync.sim.faults import Faults
from qsync.sim.floors import Tokens, Wall, floors_of
from qsync.sim.history import SimHistory
from qsync.sim.invariants import Invariants
from qsync.sim.mutants import catalogue
from qsync.sim.network import SimulatedNetwork
from qsync.sim.node import SimulatedNode
from qsync.sim.plan import Plan
from qsync.sim.process import NodeEnvironment
from qsync.sim.repertoire import OperationGenerator
from qsync.sim.session import SharedSession
from qsync.sim.stage import Course
from qsync.sim.trace import Trace
from qsync.sim.troubles import NemesisContext
from qsync.sim.turns import Turns


class World(Course):
    """Of stand-ins for node and client."""

    def __init__(self, plan: Plan, *, watched_by: type[Invariants] = Invariants) -> None:
        self.plan = plan
        self.clockwork = VirtualClock(plan.seed)
        self.swarm = swarm.draw(plan, self.clockwork.dice("swarm"), self.clockwork.dice("variety"))
        self.trace = Trace()
        self.network = SimulatedNetwork(self.clockwork, self.swarm.weather)
        self.invariants = watched_by(lease_checked=self.leases_hold)
        self.nodes = [self._node(Replica(number)) for number in range(1, self.swarm.nodes + 1)]
        if plan.mutant is not None:
            catalogue.plant(plan.mutant, self.nodes)
        scene = NemesisContext(
            clockwork=self.clockwork,
            network=self.network,
            nodes=self.nodes,
            swarm=self.swarm,
            trace=self.trace,
            dice=self.clockwork.dice("nemesis"),
        )
        self.faults = Faults(scene)
        self.turns = Turns(scene)
        self.history = SimHistory(self.clockwork)
        self.clients = self._clients()

    def _node(self, me: Replica) -> SimulatedNode:
        disk = SimulatedDisk(self.clockwork, self.clockwork.dice(f"disk {me}"), self.swarm.platter)
        fold_interval = self.swarm.timing.fold_interval
        around = NodeEnvironment(
            self.clockwork, self.network, self.invariants, self.trace, fold_interval
        )
        node = SimulatedNode(self.swarm.config(me), disk, around)
        self.invariants.join(node)
        return node

    def _clients(self) -> list[SimulatedClient]:
        streets = Streets(self.clockwork, self.swarm, self.nodes, self.invariants.promises)
        sessions: dict[int, bytes] = {}
        wall: Wall = {}
        tokens = Tokens()
        count, hands = self.swarm.load.clients, self.swarm.load.hands
        programs = [
            SharedSession(self.clockwork.dice(f"session {number}"))
            for number in range((count + hands - 1) // hands)
        ]
        clients = []
        for number in range(1, count + 1):
            dice = self.clockwork.dice(f"client {number}")
            mind = OperationGenerator(
                number=number,
                dice=dice,
                load=self.swarm.load,
                sessions=sessions,
                tunings=self.swarm.tunings(),
                floors=floors_of(self.clockwork, self.swarm, number, wall),
                tokens=tokens,
            )
            session = programs[(number - 1) // self.swarm.load.hands]
            clients.append(SimulatedClient(mind, session, streets, self.history))
        return clients
