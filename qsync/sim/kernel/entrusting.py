"""A user whose rights change while it writes, and readers of the log: both use leaders.

Their requests go to the replica itself, after authentication.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import cbor2

from qsync.consumer import ConsumerKind
from qsync.data import schema
from qsync.data.consumers import consumers_of
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.errors import QsyncError
from qsync.node.connection import Connection
from qsync.node.node import Node
from qsync.rights import LOCAL_ADMIN
from qsync.sim.dice import RandomStream
from qsync.sim.entrusted import ENTRUSTED, ROLE, SPACE_NAME, USER
from qsync.sim.kernel.machine import MemberMachine
from qsync.wire.session import Acceptor, Hello

Operation = list[object]
Asked = tuple[str, str | None, list[Operation]]
"""The name of a request, its user (None: the node itself), and its content."""
AT_ONCE_MAX: Final = 3
"""How many transactions are sent in one turn, so that some wait behind others."""
ROWS: Final = 3
READERS: Final = ("reader 1", "reader 2")
_KEY: Final = bytes(32)


def _on_space(op: Op, grantee: str) -> Operation:
    return [int(op), grantee, "write", "space", SPACE_NAME]


_ORDERS: Final[Sequence[tuple[str, Operation]]] = (
    ("grant", _on_space(Op.GRANT, USER)),
    ("grant", _on_space(Op.GRANT, USER)),
    ("revoke", _on_space(Op.REVOKE, USER)),
    ("grant role", [int(Op.GRANT), USER, "usage", "role", ROLE]),
    ("revoke role", [int(Op.REVOKE), USER, "usage", "role", ROLE]),
    ("grant to role", _on_space(Op.GRANT, ROLE)),
    ("revoke from role", _on_space(Op.REVOKE, ROLE)),
    ("lock out", [int(Op.REVOKE), USER, "session", "universe", ""]),
    ("let in", [int(Op.GRANT), USER, "session", "universe", ""]),
    ("drop user", [int(Op.DROP_USER), USER, {"if_exists": True}]),
    ("create user", [int(Op.CREATE_USER), USER, {"if_not_exists": True}]),
    ("create user", [int(Op.CREATE_USER), USER, {"if_not_exists": True}]),
)
_FOUNDING: Final[list[Operation]] = [
    [
        int(Op.CREATE_SPACE),
        SPACE_NAME,
        {
            "id": ENTRUSTED,
            "is_sync": False,
            "if_not_exists": True,
            "primary": [[1, "unsigned"]],
        },
    ],
    [int(Op.ENABLE_USERS), _KEY],
    [int(Op.CREATE_USER), "root", {"if_not_exists": True}],
    [int(Op.CREATE_USER), USER, {"if_not_exists": True}],
    [int(Op.CREATE_ROLE), ROLE, {"if_not_exists": True}],
]


class Visitors:
    """They send requests to a leader, now and then. `counts`: requests and their results."""

    def __init__(
        self, dice: RandomStream, draw: Callable[[RandomStream, Node], Asked | None]
    ) -> None:
        self.counts = Counter[str]()
        self._dice = dice
        self._draw = draw

    def __call__(self, machine: MemberMachine) -> None:
        """In its next turn, if it leads now."""
        if machine.leads:
            machine.process.soon(partial(self._ask, machine.node))

    def _ask(self, node: Node) -> None:
        node.loop.start_batch()
        for _ in range(self._dice.randint(1, AT_ONCE_MAX)):
            asked = self._draw(self._dice, node)
            if asked is None:
                break
            name, user, ops = asked
            sync = self._dice.choice((None, None, True))
            try:
                node.replica.submit(None, Request(ops=ops, user=user, sync=sync))
            except QsyncError as error:
                self.counts[f"{name} {error.code}"] += 1
            else:
                self.counts[f"{name} ok"] += 1
        node.loop.turn()


def trusted(dice: RandomStream, node: Node) -> Asked | None:
    """Half of the requests are writes of the user. None while rows are rebuilt."""
    if node.replica.lost is not None:
        return None
    if node.replica.raw.schemas.shown.rights is None:
        return "enable users", None, _FOUNDING
    if dice.random() < 0.5:
        row = cbor2.dumps([dice.randrange(ROWS), dice.getrandbits(30)])
        return "trusted write", USER, [[int(Op.REPLACE), ENTRUSTED, row]]
    name, op = dice.choice(_ORDERS)
    return name, None, [op]


def reader(dice: RandomStream, node: Node) -> Asked | None:
    """A reader registers, acknowledges up to the confirmed index or less, or unregisters."""
    if node.replica.lost is not None:
        return None
    rows = node.replica.state.select(schema.GC_CONSUMERS)
    there = {each.name: each for each in consumers_of(rows)}
    name, confirmed = dice.choice(READERS), int(node.replica.machine.replicated_log.confirmed)
    known = there.get(name)
    if known is None or known.let_go:
        op: Operation = [int(Op.REGISTER_CONSUMER), name, ConsumerKind.SUBSCRIBER.value]
        return "register reader", None, [[*op, confirmed if known else None, ""]]
    if dice.random() < 0.1:
        return "drop reader", None, [[int(Op.DROP_CONSUMER), name]]
    upto = dice.randint(int(known.index), max(int(known.index), confirmed))
    return "advance reader", None, [[int(Op.ADVANCE_CONSUMER), name, upto]]


def as_owners(node: Node) -> None:
    """All clients of that node count as its owner: authentication is tested elsewhere."""
    logins = node.server._admission.logins  # noqa: SLF001 - the simulator's door
    assert logins is not None

    def ask(connection: Connection, acceptor: Acceptor, hello: Hello) -> bytes | None:
        del acceptor, hello
        connection.turn.user = LOCAL_ADMIN
        return None

    logins.ask = ask  # type: ignore[method-assign]  # the simulator's door
