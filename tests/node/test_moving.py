"""A member gets another address: the node that answers there is checked before the change."""

import re
from pathlib import Path

import pytest
import trio

from admin.cluster import membership, surveys
from admin.cluster.membership import WantedChange
from admin.lab.ports import free_ports
from qsync.errors import ConfigError, ReadOnly, Unavailable
from qsync.member import MemberAction
from qsync.node.operator_requests import member_change
from qsync.wire.verbs import ChangeMemberRequest
from tests.node.three import configs, leaders, running, until


async def test_a_member_is_moved_to_where_it_answers_and_nowhere_else(tmp_path: Path) -> None:
    async with running(configs(tmp_path)) as nodes:
        await until(lambda: len(leaders(nodes)) == 1, "one leads")
        first, second, third = (each.address for each in nodes)
        (nobody,) = free_ports(1)

        def look() -> None:
            found = surveys.survey([first, second, third])
            (one,) = [each for each in membership.members(found) if each.name == "n2"]
            membership.check_moved(found, one, second, timeout=5.0)
            with pytest.raises(ConfigError, match=f"n3 of .* answers at {re.escape(third)}"):
                membership.check_moved(found, one, third, timeout=5.0)
            with pytest.raises(Unavailable) as refused:
                membership.check_moved(found, one, f"127.0.0.1:{nobody}", timeout=0.1)
            assert "start n2 there first" in refused.value.hint

        await trio.to_thread.run_sync(look)


async def test_a_change_that_is_refused_points_to_the_members(tmp_path: Path) -> None:
    async with running(configs(tmp_path)) as nodes:
        await until(lambda: len(leaders(nodes)) == 1, "one leads")

        def look() -> None:
            found = surveys.survey([each.address for each in nodes])
            (one,) = [each for each in membership.members(found) if each.leads]
            replaced = WantedChange(action=MemberAction.REPLACE, one=one)
            with pytest.raises(ReadOnly, match="does not replace itself") as refused:
                membership.change(found, replaced, timeout=5.0)
            assert "nothing was changed; `qsync member list`" in refused.value.hint

        await trio.to_thread.run_sync(look)


@pytest.mark.parametrize("address", ["127.0.0.1:0", "0.0.0.0:3301", "[::]:3301"])
def test_a_member_is_not_where_nobody_can_dial(address: str) -> None:
    with pytest.raises(ConfigError, match="cannot be dialled"):
        member_change(
            ChangeMemberRequest(1, "move", 2, "", "n2", address, "voter", False, False, 1.0)
        )
