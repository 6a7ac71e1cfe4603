"""Whether the others of a cluster run is seen before one of them goes on alone."""

from pathlib import Path

import pytest
import trio

from admin.lab.ports import free_ports
from admin.recovery import forcing
from admin.recovery.failures import RecoveryRefused
from admin.recovery.survey import OtherLog, survey
from admin.recovery.survivor import opened
from cli.main import run
from qsync.config import NodeConfig
from qsync.node.node import open_node


async def others_seen(path: Path, *flags: str) -> tuple[OtherLog, ...]:
    """What the stopped one of two nodes sees of the other, which runs."""
    hosts = [f"127.0.0.1:{port}" for port in free_ports(2)]
    assert run(["init", str(path), *hosts, "--cluster", *flags]) == 0

    def look() -> tuple[OtherLog, ...]:
        with opened(path / "n1") as left:
            found = survey(left)
        with pytest.raises(RecoveryRefused, match="n2 runs"):
            forcing.check(found, lose=0, others_are_stopped=True)
        return found.others

    async with open_node(NodeConfig.load(path / "n2/node.yaml", {})):
        return await trio.to_thread.run_sync(look)


async def test_a_member_that_runs_is_seen_and_compared(tmp_path: Path) -> None:
    (other,) = await others_seen(tmp_path)
    assert (other.runs, other.only_there, other.why) == (True, 0, "")


async def test_a_member_that_tells_strangers_nothing_is_seen_to_run_all_the_same(
    tmp_path: Path,
) -> None:
    """The survivor's own certificate is enough to be greeted, and no client's."""
    (other,) = await others_seen(tmp_path, "--secure")
    assert (other.runs, other.only_there) == (True, None)
    assert "opens no session of a client" in other.why
