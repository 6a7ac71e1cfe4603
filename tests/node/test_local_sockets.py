"""The owner of a node's directory comes in by the socket in it: each client, and what is wrong."""

import os
import socket
import sys
from pathlib import Path

import pytest
import trio

import qsync
from cli import targets
from qsync.client import local_sockets
from qsync.client import targets as client_targets
from qsync.client.local_sockets import VARIABLE
from qsync.client.one_node import NodeConnection
from qsync.client.one_node_aio import AsyncNodeConnection
from qsync.client.security import PASSWORD, USER
from qsync.errors import AccessDenied, ConfigError, NotLeader, QsyncError, Unavailable
from qsync.node.node import Node
from qsync.socket_files import FILE
from qsync.wire.verbs import RightsRequest
from tests.live import real
from tests.node import three
from tests.node.knocking import config
from tests.node.test_fault_hooks import aside

PASS = "correct horse"


def _blocking(address: str) -> object:
    with qsync.connect(address, direct=True) as db:
        return db.users.info()["user"]


def _one_node(address: str) -> object:
    with NodeConnection(address) as line:
        return _user(line.ask(RightsRequest(1)))


async def _one_node_aio(address: str) -> object:
    async with await AsyncNodeConnection.open(address) as line:
        return _user(await line.ask(RightsRequest(1)))


async def _waiting(address: str) -> object:
    async with qsync.connect_async(address, direct=True) as db:
        return (await db.users.info())["user"]


def _user(answer: list[object]) -> object:
    (about,) = answer
    assert isinstance(about, dict)
    return about["user"]


async def test_every_client_is_admin_by_the_socket_and_nobody_by_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the path is too long for the kernel, and while the environment names a user."""
    monkeypatch.setenv(VARIABLE, "")
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    async with qsync.Node(config(deep, alone=True)) as node:
        async with qsync.connect_async(node.address) as db:
            await db.users.create("root", PASS)
        local = f"unix:{deep / 'n1'}"
        for changed in ({}, {USER: "root", PASSWORD: PASS}):
            for name, value in changed.items():
                monkeypatch.setenv(name, value)
            assert await trio.to_thread.run_sync(_blocking, local) == "admin"
            assert await trio.to_thread.run_sync(_one_node, local) == "admin"
            assert await _waiting(f"{local}/{FILE}") == "admin"
            assert await _one_node_aio(client_targets.normal(local)) == "admin"
        monkeypatch.delenv(USER)
        with pytest.raises(AccessDenied, match="log in"):
            await _waiting(node.address)
        (address,) = await trio.to_thread.run_sync(targets.resolve, str(deep / "n1"))
        assert address == node.address
        assert await _waiting(address) == "admin", "it is dialled by the socket from here on"
        monkeypatch.chdir(deep / "n1")
        assert targets.default() == f"unix:{FILE}"
        assert await trio.to_thread.run_sync(targets.resolve, targets.default()) == [address]


async def test_a_leader_that_refuses_whom_a_follower_sent_is_named(tmp_path: Path) -> None:
    """By the socket of the follower a client is admin; at the leader it is nobody."""
    async with three.running(three.configs(tmp_path)) as nodes:
        await aside(lambda: real.until(lambda: any(map(leads, nodes)), "one leads"))
        leader = next(filter(leads, nodes))
        follower = next(each for each in nodes if each is not leader)
        async with qsync.connect_async(leader.address) as db:
            await db.schema.create_space("t", format=[("id", "unsigned")])
            await db.users.create("root", PASS)
        state = follower.replica.state
        known = lambda: state.schemas.shown.rights is not None  # noqa: E731 - to be waited for
        await aside(lambda: real.until(known, "the follower knows it"))
        local = f"unix:{tmp_path / follower.config.node.name}"
        for direct, error in ((False, AccessDenied), (True, NotLeader)):
            with pytest.raises(error) as refused:
                async with qsync.connect_async(local, direct=direct) as db:
                    await db.space("t").insert([1])
            assert refused.value.leader == leader.address
            assert "who leads" not in refused.value.hint
        command = ["insert", "t", "[1]", "--target", local]
        done = await trio.run_process(
            [sys.executable, "-m", "qsync", *command],
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        where = f"{leader.config.node.name} at {leader.address}"
        said = done.stderr.decode()
        assert f"the node named as leader, {where}, refused: this cluster has users" in said
        assert f"the leader is {leader.address}" in said


def leads(node: Node) -> bool:
    leader = node.replica.machine.leader
    return leader is not None and leader.open


@pytest.fixture
def wrong(tmp_path: Path) -> dict[str, Path]:
    """What is there, and cannot be come in by; each with what is said of it."""
    plain, dead = tmp_path / "plain", tmp_path / "dead.sock"
    plain.write_text("no socket")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(dead))
    return {
        "is not there: no node runs": tmp_path / "none.sock",
        "is no socket": plain,
        "refused": dead,
    }


async def test_what_is_wrong_with_a_socket_is_said(wrong: dict[str, Path]) -> None:
    for why, path in wrong.items():
        for dial in (_one_node, _blocking):
            with pytest.raises(Unavailable) as told:
                await trio.to_thread.run_sync(dial, f"unix:{path}")
            assert why in str(told.value.details).lower(), dial
        for wait in (_one_node_aio, _waiting):
            with pytest.raises(Unavailable) as told:
                await wait(f"unix:{path}")
            assert why in str(told.value.details).lower(), wait


def test_a_socket_of_somebody_else_is_not_dialled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / FILE
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
        made.listen()
        monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
        with pytest.raises(QsyncError, match="belongs to the user with the id"):
            _one_node(f"unix:{path}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_dials_no_socket_that_anybody_may_have_put_there(tmp_path: Path) -> None:
    """In a directory such as `/tmp`; in one of its own a node of another user is dialled."""
    folder = tmp_path / "open"
    folder.mkdir()
    path = folder / FILE
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        os.chown(path, 12345, 12345)
        folder.chmod(0o1777)
        with pytest.raises(ConfigError, match="belongs to the user with the id 12345, and every"):
            local_sockets.check(str(path))
        folder.chmod(0o755)
        local_sockets.check(str(path))
        folder.chmod(0o1777)
        os.chown(path, 0, 0)
        local_sockets.check(str(path))


@pytest.mark.parametrize("target", ["unix:", "unix: ,", "unix:,h:1"])
def test_a_target_that_names_no_socket_is_refused(target: str) -> None:
    with pytest.raises(ConfigError, match="names no socket"):
        client_targets.parse(target)


def test_who_comes_by_a_socket_is_admin_and_cannot_be_asked_to_be_another(tmp_path: Path) -> None:
    found = client_targets.parse(f"unix:{tmp_path}")
    assert found.addresses == (f"unix:{tmp_path / FILE}",)
    with pytest.raises(ConfigError, match="is always admin there"):
        found.logged_in("ann", "a password")


def test_what_is_dialled_by_a_socket_is_told_to_processes_that_are_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert local_sockets.path_of("h:1") is None
    local_sockets.reach("h:1", "/a/qsync.sock")
    local_sockets.reach("h:2", "/b/qsync.sock")
    assert os.environ[VARIABLE] == "h:1=/a/qsync.sock,h:2=/b/qsync.sock"
    assert local_sockets.path_of("h:2") == "/b/qsync.sock"
    assert local_sockets.path_of("h:3") is None
