"""How many clients a node takes: one user leaves room for others, and the owner has his own."""

import pytest

from qsync.errors import Overloaded
from qsync.node.client_room import OWNER_MORE, ClientRoom
from qsync.rights import LOCAL_ADMIN


def refused(room: ClientRoom, user: str) -> bool:
    """Does one more connection of that user get in? As a node asks."""
    try:
        room.check(local=user == LOCAL_ADMIN)
        room.check_user(user)
    except Overloaded:
        return True
    room.enter(user)
    return False


def entered(room: ClientRoom, user: str, *, times: int) -> int:
    """How many of so many get in."""
    return sum(not refused(room, user) for _ in range(times))


def test_one_user_leaves_a_tenth_of_the_connections_to_others() -> None:
    room = ClientRoom(20)
    assert entered(room, "ann", times=30) == 18
    assert entered(room, "bob", times=30) == 1
    room.leave("bob")
    room.leave("ann")
    assert entered(room, "ann", times=2) == 1
    assert room.count == 18


def test_several_greedy_users_leave_a_place_to_one_more() -> None:
    room = ClientRoom(100)
    taken = [entered(room, user, times=200) for user in ("ann", "bob", "eve")]
    assert taken == [90, 9, 1]
    for _ in range(80):
        room.leave("ann")
    assert entered(room, "bob", times=200) == 80 - 9, "what others leave again is his, too"


def test_the_owner_gets_in_where_nobody_else_does() -> None:
    room = ClientRoom(20)
    assert sum(entered(room, user, times=18) for user in ("ann", "bob", "cid")) == 20
    assert entered(room, LOCAL_ADMIN, times=20) == OWNER_MORE
    assert refused(room, "eve")


def test_who_finds_no_room_is_told_how_much_there_is_and_by_which_limits() -> None:
    room = ClientRoom(3)
    assert entered(room, "", times=4) == 3
    with pytest.raises(Overloaded, match=r"room for 3: `limits.connections_max`.*`ulimit -n`"):
        room.check(local=False)


def test_without_users_only_the_limit_of_all_counts() -> None:
    room = ClientRoom(20)
    assert entered(room, "", times=30) == 20


@pytest.mark.parametrize("most", [1, 2])
def test_of_a_very_small_room_a_user_gets_one_place(most: int) -> None:
    assert entered(ClientRoom(most), "ann", times=3) == 1


def test_who_is_gone_is_not_remembered() -> None:
    room = ClientRoom(20)
    assert not refused(room, "ann")
    room.leave("ann")
    assert room.count == 0
    assert not room._of_user
