"""Who may become a member: the leader goes by what a node said when it connected last."""

from pathlib import Path

import pytest

import qsync
from qsync.errors import WrongVersion
from qsync.member import MemberRole
from qsync.node.node import open_node
from tests.node import three
from tests.node.test_anonymous import anonymous

LATER = {"node.faults": "true", "node.rehearsed_features": "later"}


async def test_a_release_that_cannot_read_the_log_is_refused_by_the_leader_too(
    tmp_path: Path,
) -> None:
    members = three.configs(tmp_path, changed=dict.fromkeys((1, 2, 3), LATER))
    async with three.running(members) as nodes:
        await three.until(
            lambda: all("later" in str(each.replica.settings) for each in nodes), "it is in use"
        )
        (leader,) = three.leaders(nodes)
        me = int(leader.config.node.id)
        async with open_node(anonymous(members, tmp_path, 31)) as old:
            await three.until(lambda: "WRONG_VERSION" in three.link(old, me), "it is refused")
            async with qsync.connect_async(leader.address) as db:
                for role in (MemberRole.VOTER, MemberRole.LEARNER):
                    with pytest.raises(WrongVersion, match="release of a31 does not") as refused:
                        await db.members.add(
                            31, old.identity.instance, name="a31", address=old.address, role=role
                        )
                    assert refused.value.hint == "upgrade a31"
