"""What a client does when a node refuses it before it may ask anything."""

from election.messages import Replica
from qsync.errors import Overloaded
from qsync.wire.session import Acceptor, Greeting
from tests.unit.test_client_core import CLUSTER, Stage


def test_a_node_that_refuses_the_handshake_is_left_alone_as_long_as_it_says() -> None:
    stage = Stage("a:1", "b:1")
    stage.get()
    link = stage.greet("a:1")
    greeting = Greeting(cluster=CLUSTER, instance="i", replica=Replica(1), name="n")
    why = Overloaded("too many logins failed", details={"retry_after": 3.0})
    stage.core.received(link, Acceptor(greeting).refuse(why), stage.now)
    stage.play()
    assert stage.dialled == ["a:1", "b:1"], "the other is dialled at once"
    stage.core.lost(stage.link("b:1"), "gone", stage.now)
    for _ in range(20):
        stage.pass_time(0.1)
    assert "a:1" not in stage.dialled[1:]
    stage.pass_time(1.2)
    assert "a:1" in stage.dialled[1:]
