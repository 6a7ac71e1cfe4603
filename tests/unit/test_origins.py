"""Limits by address: who has a network of IPv6 has no more than who has an address of IPv4."""

import socket

import pytest

from election.messages import Replica
from qsync.errors import Overloaded
from qsync.node.connection import Connection
from qsync.node.origins import origin_of
from qsync.node.strangers import Strangers
from qsync.wire.session import Acceptor, Greeting
from tests.unit.test_logins import Door, fail

GREETING = Greeting(cluster="c", instance="i", replica=Replica(1), name="n1")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::7", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::7", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("::1", "::1"),
        ("", ""),
        ("no:address", "no:address"),
    ],
)
def test_all_addresses_of_a_network_of_ipv6_count_as_one(host: str, origin: str) -> None:
    assert origin_of(host) == origin


def test_many_addresses_of_one_network_are_one_stranger_s() -> None:
    strangers = Strangers(per_address_max=2)
    here, there = socket.socketpair()
    with here, there:

        def come(host: str) -> None:
            connection = Connection(here, frame_bytes_max=1, opened_at=0.0)
            strangers.add(connection, Acceptor(GREETING), host)

        come("2001:db8::1")
        come("2001:db8::2")
        with pytest.raises(Overloaded, match="2001:db8::/64"):
            come("2001:db8::3")
        come("2001:db8:0:1::1")


def test_who_guesses_from_many_addresses_of_one_network_waits_as_from_one() -> None:
    door = Door()
    for number in range(5):
        fail(door, 1, user=f"user{number}", address=f"2001:db8::{number}")
    with pytest.raises(Overloaded):
        door.knock(right=True, address="2001:db8::99")
    door.knock(right=True, address="2001:db8:0:1::1")
