"""Whether there are users may be unknown while rows are rebuilt: nobody is told of any then."""

import socket
from collections.abc import Iterator
from typing import Final

import pytest

from election.messages import Index
from qsync.config.sections import ClusterUsers
from qsync.data.operation_kinds import Op
from qsync.errors import Rebuilding, Unavailable
from qsync.node import guard
from qsync.node.connection import Connection
from qsync.node.logins import Logins
from qsync.rights import LOCAL_ADMIN
from qsync.wire.session import Hello, Party
from qsync.wire.verbs import Verb
from tests.node.lone import Lone
from tests.node.test_rights_matrix import question
from tests.unit.test_logins import QUIET

ANSWERED: Final = frozenset(
    {
        *(Verb.PING, Verb.STATUS, Verb.INFO, Verb.WATCH, Verb.LOST),
        *(Verb.OPTIONS, Verb.FAULT, Verb.RELOAD, Verb.WRITE),
    }
)
"""Written out once more by hand: what tells of nothing but the node, and where the leader is."""


@pytest.fixture
def stranger() -> Iterator[Connection]:
    here, there = socket.socketpair()
    with here, there:
        yield Connection(here, frame_bytes_max=1 << 20, opened_at=0.0)


def refused(lone: Lone, connection: Connection) -> set[Verb]:
    """The verbs that this connection may not use."""
    rights = guard.rights_of(lone.replica)
    assert rights is not None
    found = set()
    for verb in Verb:
        error = guard.refusal(lone.replica, rights, connection, question(verb, "s"))
        if error is not None:
            assert isinstance(error, Rebuilding)
            found.add(verb)
    return found


def test_a_node_that_takes_its_rows_from_a_snapshot_tells_no_stranger_of_log_and_rows(
    stranger: Connection,
) -> None:
    """It never knew of users, and the snapshot may have some. The log behind it is there."""
    lone = Lone()
    assert guard.rights_of(lone.replica) is None
    lone.replica.lose("a snapshot takes the place of the rows", snapshot=Index(1))
    assert refused(lone, stranger) == set(Verb) - ANSWERED
    stranger.turn.user = LOCAL_ADMIN
    assert refused(lone, stranger) == set()


def test_rows_that_are_rebuilt_from_the_own_log_hide_no_users(stranger: Connection) -> None:
    lone = Lone()
    lone.replica.lose("a row has rotted")
    assert guard.rights_of(lone.replica) is None
    lone = Lone()
    lone.write([Op.ENABLE_USERS, bytes(32)])
    lone.write([Op.CREATE_USER, "ann", None])
    lone.replica.lose("a row has rotted")
    assert refused(lone, stranger) == set(Verb)


@pytest.mark.parametrize("users", ClusterUsers)
def test_nobody_logs_in_meanwhile_and_who_only_asks_for_the_status_need_not(
    users: ClusterUsers,
) -> None:
    logins = Logins(lambda: guard.PERHAPS, secret=bytes, now=float, audit=QUIET, users=users)
    ann, nobody = Hello(party=Party.CLIENT, user="ann", nonce=bytes(32)), Hello(party=Party.CLIENT)
    with pytest.raises(Unavailable, match="rebuilds its rows"):
        logins.challenge_of(ann, "")
    if users is ClusterUsers.OPTIONAL:
        assert logins.challenge_of(nobody, "") is None
        logins.certify("ann", "")
        return
    with pytest.raises(Unavailable, match="rebuilds its rows"):
        logins.challenge_of(nobody, "")
    with pytest.raises(Unavailable, match="rebuilds its rows"):
        logins.certify("ann", "")
