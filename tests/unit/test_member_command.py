"""What `qsync member` says of a change that was made."""

import socket

import pytest

from cli.commands.member import settled
from cli.exits import CheckFailed, Exit, exit_of
from qsync.errors import Outcome


def test_a_change_that_was_made_is_told_though_the_cluster_takes_no_writes_after_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(CheckFailed, match="n4 is removed, and that stays so") as caught:
        settled([address], "n4 is removed", timeout=0.1)
    error = caught.value
    assert "not writable after 0.1 s: no node answers" in error.message
    assert (error.outcome, exit_of(error)) == (Outcome.COMMITTED, Exit.CHECK_FAILED)
