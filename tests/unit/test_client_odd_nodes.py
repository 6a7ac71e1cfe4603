"""Whatever a node says, nobody is told of a write what is not so, and the client goes on."""

import math

import pytest

from qsync.client import local_sockets, targets
from qsync.errors import ConfigError, NotLeader, Outcome, Overloaded
from qsync.wire import limits
from tests.unit.test_client_core import Stage, error_of, write_of

NO_ADDRESSES = ["h:" + "1" * 5000, "h" * 300, "a\0b:1", "@"]


@pytest.mark.parametrize("address", [*NO_ADDRESSES, "unix:/tmp/x", "unix:" + "a" * 5000, ""])
def test_only_an_address_of_the_network_is_taken_from_a_node(address: str) -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put()
    stage.refuse(link, write_of(stage.heard(link)), NotLeader("no", leader=address))
    stage.pass_time(0.2)
    link = stage.accept("a:1")
    view = {"nodes": [[2, "n2", address]], "leader": 2, "leader_address": address}
    stage.status(link, view)
    stage.pass_time(0.2)
    assert not ask.settled
    assert stage.core.wires.route.addresses == ("a:1",)
    assert set(stage.dialled) == {"a:1"}


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_what_can_be_no_address_is_no_target(text: str) -> None:
    with pytest.raises(ConfigError):
        targets.parse(text)


@pytest.mark.parametrize("path", ["a" * 5000, "a\0b"])
def test_what_can_be_no_path_is_no_socket(path: str) -> None:
    found = targets.parse(f"unix:{path}").addresses[0]
    with pytest.raises(ConfigError, match="cannot be looked at"):
        local_sockets.check(found.removeprefix(local_sockets.SCHEME))


@pytest.mark.parametrize("pause", [1e308, 2**1024 - 1, math.inf, math.nan, -5, -(2**1024), "soon"])
def test_no_node_makes_a_client_pause_for_ever(pause: object) -> None:
    stage = Stage("a:1")
    link = stage.opened()
    ask = stage.put(timeout=1)
    details = {"retry_after": pause}
    stage.refuse(link, write_of(stage.heard(link)), Overloaded("busy", details=details))
    stage.pass_time(limits.PAUSE_S_MAX)
    assert error_of(ask).outcome is not Outcome.COMMITTED
    stage.put()
    stage.pass_time(0.2)
    assert stage.heard(link if link in stage.open else stage.accept("a:1"))
