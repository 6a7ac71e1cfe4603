"""Those who wait for an answer, and when somebody has to look whether they waited too long."""

from qsync.errors import Unanswered
from qsync.node.connection import Connection
from qsync.node.effects import Socket
from qsync.node.system import SYSTEM
from qsync.node.tickets import AskTicket, Tickets
from qsync.node.timers import FAR


def waiting(sock: Socket) -> AskTicket:
    connection = Connection(sock, frame_bytes_max=1, opened_at=0.0)
    return AskTicket(connection, 1, lambda _: None, write=False, late=Unanswered("late"))


def test_while_nobody_waits_nobody_is_looked_for() -> None:
    sock = SYSTEM.socket(2)
    tickets = Tickets()
    assert tickets.expires_at == FAR
    for number, deadline in ((1, 5.0), (2, 3.0), (3, 4.0)):
        tickets.put(number, waiting(sock), deadline=deadline)
    assert tickets.expires_at == 3.0
    tickets.pop(2)
    assert tickets.expires_at == 4.0
    tickets.pop(1)
    assert [number for number, _ in tickets.overdue(4.0)] == [3]
    assert tickets.expires_at == FAR
    sock.close()
