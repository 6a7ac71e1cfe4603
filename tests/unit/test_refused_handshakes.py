"""What a client does when a node refuses it before it may ask anything."""

from election.messages import Replica
from qsync.errors import AccessDenied, Overloaded
from qsync.wire.session import Acceptor, Greeting
from tests.unit.test_client_core import CLUSTER, Stage, error_of


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


def shut_out(stage: Stage, address: str, *, by_leader: bool = False) -> None:
    """Let the node there refuse the login."""
    link = stage.link(address)
    stage.core.dialled(link, stage.now)
    greeting = Greeting(cluster=CLUSTER, instance="i", replica=Replica(1), name="n")
    why = AccessDenied("who?", details={"by_leader": True} if by_leader else None)
    stage.core.received(link, Acceptor(greeting).refuse(why), stage.now)
    stage.play()


def test_access_denied_by_all_ends_everything_at_once() -> None:
    stage = Stage("a:1", "b:1", "c:1")
    ask = stage.get()
    for address in ("a:1", "b:1"):
        shut_out(stage, address)
        assert not ask.settled
    shut_out(stage, "c:1")
    assert isinstance(error_of(ask), AccessDenied)


def test_access_denied_by_the_leader_is_the_last_word() -> None:
    stage = Stage("a:1", "b:1", "c:1")
    ask = stage.get()
    shut_out(stage, "a:1")
    assert not ask.settled
    shut_out(stage, "b:1", by_leader=True)
    assert isinstance(error_of(ask), AccessDenied)


def test_a_node_that_does_not_answer_may_know_the_user() -> None:
    """It may be the leader that died after it had confirmed the user, and the others not yet."""
    stage = Stage("a:1", "b:1")
    ask = stage.get()
    shut_out(stage, "a:1")
    stage.drop(stage.link("b:1"))
    for _ in range(10):
        stage.pass_time(0.1)
    assert not ask.settled
    stage.heard(stage.accept("b:1", replica=2))
    assert not ask.settled


def test_a_node_that_does_not_know_a_user_yet_is_not_the_last_word() -> None:
    """It may be behind, or begin on a new disk; also after a node was home."""
    stage = Stage("a:1", "b:1")
    ask = stage.get()
    shut_out(stage, "a:1")
    home = stage.accept("b:1", replica=2)
    stage.heard(home)
    assert not ask.settled
    stage.drop(home)
    stage.pass_time(0.3)
    shut_out(stage, "a:1")
    assert not ask.settled
    shut_out(stage, "b:1")
    assert isinstance(error_of(ask), AccessDenied)
