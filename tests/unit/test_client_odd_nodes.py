"""Whatever a node says, nobody is told of a write what is not so, and the client goes on."""

import pytest

from qsync.client import local_sockets, targets
from qsync.errors import ConfigError, NotLeader
from tests.unit.test_client_core import Stage, write_of

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
