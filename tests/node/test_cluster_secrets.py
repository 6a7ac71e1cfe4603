"""A new cluster without TLS has a secret from the start: who does not know it is no peer."""

import logging
import re
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest
import trio

import qsync
from admin.lab.ports import free_ports
from cli.main import run
from qsync.config import NodeConfig, secret
from qsync.node.node import Node
from tests.node import three

FAST = ("--set", "election.timeout=300ms", "--set", "replication.timeout=50ms")
KNOWN, NEXT = "only-the-members-know", "what-they-know-from-now-on"


@pytest.fixture
def founded(tmp_path: Path) -> Path:
    """The directories of a cluster of three, as `qsync init` makes them."""
    hosts = [f"127.0.0.1:{port}" for port in free_ports(3)]
    assert run(["init", "--cluster", str(tmp_path / "c"), *hosts, *FAST]) == 0
    return tmp_path / "c"


def config(directory: Path) -> NodeConfig:
    return NodeConfig.load(directory / "node.yaml", {})


def without_secret(directory: Path) -> NodeConfig:
    """The same node as a release made it that knew of no secrets."""
    (directory / secret.FILE).unlink()
    text = (directory / "node.yaml").read_text("utf-8")
    assert text.count("  secret_file: secret") == 1
    (directory / "node.yaml").write_text(text.replace("  secret_file: secret", ""), "utf-8")
    return config(directory)


def last_of(node: Node) -> int:
    """The last entry of its log."""
    return node.replica.machine.replicated_log.log.last


async def writes(nodes: list[Node]) -> None:
    """A cluster that confirms a write on all of these nodes."""
    await three.until(lambda: len(three.leaders(nodes)) == 1, "somebody leads")
    async with qsync.connect_async([each.address for each in nodes], timeout=60) as db:
        await db.schema.create_space("t", format=[("id", "unsigned")], is_sync=True)
        await db.space("t").insert([1])
    last = last_of(nodes[0])
    await three.until(lambda: all(last_of(n) >= last for n in nodes), "all")


async def until_said(node: Node, to: int, words: str) -> None:
    """Wait until the other node refuses this one in these words."""
    await three.until(lambda: words in three.link(node, to), words)


async def test_a_node_without_the_secret_is_no_peer_and_learns_nothing(
    founded: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "qsync.node")
    stranger = without_secret(founded / "n3")
    async with three.running([config(founded / "n1"), config(founded / "n2"), stranger]) as nodes:
        *members, outside = nodes
        empty = last_of(outside)
        await writes(members)
        said = "this node has a cluster secret, n3 has none"
        for number, each in enumerate(members, 1):
            answered = f"n{number} has a cluster secret, this node has none"
            await until_said(outside, number, said)
            await until_said(each, 3, answered)
            assert not each.server.hears(3)
            assert not outside.server.hears(number)
        told = {getattr(each, "qsync", {}).get("told") for each in caplog.records}
        assert said in told, "who runs a member reads it in its log, too"
        assert last_of(outside) == empty
        assert not outside.replica.machine.leader


class RollingRestart:
    """Nodes that are restarted one by one with changed files; each must come back as a member."""

    def __init__(self, nursery: trio.Nursery, directories: list[Path]) -> None:
        self._nursery = nursery
        self._directories = directories
        self._running: dict[Path, three.RunningNode] = {}

    @property
    def nodes(self) -> list[Node]:
        return [each.node for each in self._running.values()]

    async def start(self) -> None:
        for directory in self._directories:
            await self._start(directory)

    async def change(self, files: Callable[[Path], None]) -> None:
        for directory in self._directories:
            await self._running.pop(directory).stop()
            files(directory)
            await self._start(directory)
            await three.until(self.has_all, f"{directory.name} has the log of the others")

    def has_all(self) -> bool:
        """Does one node lead, and does everybody have all of its log?"""
        nodes = self.nodes
        return len(three.leaders(nodes)) == 1 and len({last_of(each) for each in nodes}) == 1

    async def stop(self) -> None:
        for each in self._running.values():
            await each.stop()

    async def _start(self, directory: Path) -> None:
        self._running[directory] = await self._nursery.start(three.run_node, config(directory))


def written(text: str, *, optional: bool = False) -> Callable[[Path], None]:
    """Change the directory of a node so that it has these secrets."""

    def change(directory: Path) -> None:
        (directory / secret.FILE).write_text(text, "utf-8")
        file = directory / "node.yaml"
        bare = re.sub(r"\n  secret_(file|optional):[^\n]*", "", file.read_text("utf-8"))
        said = f"\ncluster:\n  secret_file: {secret.FILE}"
        said += "\n  secret_optional: true" if optional else ""
        assert bare.count("\ncluster:") == 1
        file.write_text(bare.replace("\ncluster:", said), "utf-8")

    return change


async def test_a_running_cluster_gets_a_secret_and_another_one_while_a_client_writes(
    founded: Path,
) -> None:
    directories = [founded / f"n{number}" for number in (1, 2, 3)]
    for each in directories:
        without_secret(each)
    changed = trio.Event()

    async def write(addresses: list[str]) -> None:
        long = three.PATIENCE_S
        async with qsync.connect_async(addresses, timeout=long, connect_timeout=long) as db:
            await db.schema.create_space("t", format=[("id", "unsigned")], is_sync=True)
            for key in count(1):
                done = changed.is_set()
                await db.space("t").insert([key])
                if done:
                    assert await db.space("t").count() == key
                    return

    with trio.fail_after(6 * three.PATIENCE_S):
        async with trio.open_nursery() as nursery:
            cluster = RollingRestart(nursery, directories)
            await cluster.start()
            async with trio.open_nursery() as writing:
                writing.start_soon(write, [each.address for each in cluster.nodes])
                await cluster.change(written(KNOWN, optional=True))
                await cluster.change(written(KNOWN))
                await cluster.change(written(f"{KNOWN}\n{NEXT}"))
                await cluster.change(written(f"{NEXT}\n{KNOWN}"))
                await cluster.change(written(NEXT))
                changed.set()
            await cluster.stop()
    assert {config(each).secret.text for each in directories} == {NEXT}


async def test_nodes_of_a_former_release_that_know_no_secret_still_are_a_cluster(
    founded: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    old = [without_secret(founded / f"n{n}") for n in (1, 2, 3)]
    async with three.running(old) as nodes:
        await writes(nodes)
        listen = ["--listen", f"127.0.0.1:{free_ports(1)[0]}"]
        join = ["--join", nodes[0].address, *listen]
        given = ["--set", f"cluster.secret={KNOWN}"]
        new = str(tmp_path / "n4")
        assert await trio.to_thread.run_sync(run, ["init", new, *join, *given]) == 2
        assert "n1 has no cluster secret" in capsys.readouterr().err
        assert await trio.to_thread.run_sync(run, ["init", new, *join]) == 0
        assert not config(tmp_path / "n4").secret


async def shows_nothing(
    capsys: pytest.CaptureFixture[str], address: str, known: str, folder: Path
) -> None:
    """Ask for all that a node tells of itself: no answer and no file of evidence has the secret."""
    for words in (
        ["dump", address, "--out", str(folder / "bundle")],
        ["status", address, "--json"],
        ["info", "--target", address],
        ["doctor", address],
        ["config", "show", str(folder / "n1/node.yaml")],
    ):
        code = await trio.to_thread.run_sync(run, words)
        told = capsys.readouterr()
        assert code == 0, told.err
        assert told.out or told.err
        assert known not in told.out + told.err
    assert await trio.to_thread.run_sync(partial(files_with, folder, known)) == [
        folder / "n1" / secret.FILE,
        folder / "n2" / secret.FILE,
    ]


def files_with(folder: Path, known: str) -> list[Path]:
    """The files below it in which that stands."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in files if known.encode() in path.read_bytes())


async def test_who_joins_must_name_the_secret_and_takes_a_copy_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ports, second = free_ports(2), tmp_path / "n2"
    assert run(["init", "n1", "--set", f"listen=127.0.0.1:{ports[0]}", *FAST]) == 0
    command = ["init", "n2", "--join", f"127.0.0.1:{ports[0]}", "--listen", f"127.0.0.1:{ports[1]}"]
    async with qsync.Node("n1/node.yaml") as first:
        await three.until(lambda: first.leads, "it leads")
        assert await trio.to_thread.run_sync(run, command) == 2
        refused = capsys.readouterr().err
        assert "n1 has a cluster secret, and a node without it could not join" in refused
        assert "--set cluster.secret_file=FILE" in refused
        named = [*command, "--set", "cluster.secret_file=n1/secret", *FAST]
        assert await trio.to_thread.run_sync(run, named) == 0
        assert config(second).secret == config(tmp_path / "n1").secret
        async with three.running([config(second)]) as (joined,):
            add = ["member", "add", joined.address, "--target", first.address]
            adding = partial(trio.to_thread.run_sync, run, add)
            assert await adding() == 0
            async with qsync.connect_async(first.address) as db:
                await db.schema.create_space("t", is_sync=True)
                await db.space("t").insert([1], timeout=60)
                assert await db.space("t").get(1) == [1]
            await shows_nothing(capsys, first.address, config(second).secret.text, tmp_path)


async def test_an_addition_names_the_secret_that_keeps_the_node_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = (f"127.0.0.1:{port}" for port in free_ports(2))
    assert run(["init", "n1", "--set", f"listen={first}", *FAST]) == 0
    async with qsync.Node("n1/node.yaml") as leader:
        await three.until(lambda: leader.leads, "it leads")
        wrong = ["--set", f"cluster.secret={NEXT}"]
        init = ["init", "n2", "--join", first, "--listen", second, *wrong, *FAST]
        assert await trio.to_thread.run_sync(run, init) == 0
        async with three.running([config(tmp_path / "n2")]):
            add = ["member", "add", second, "--target", first, "--timeout", "1s"]
            assert await trio.to_thread.run_sync(run, add) == 6
            refused = capsys.readouterr().err
            assert "NOT_CAUGHT_UP: n2 has not caught up yet: n1 does not reach n2" in refused
            assert "does not prove that it knows this cluster's secret" in refused
            assert "qsync member remove n2" in refused
            assert await trio.to_thread.run_sync(run, ["doctor", first, "--check", "links-stand"])
            assert "change the secret or the certificate" in capsys.readouterr().out
