"""Whole nodes killed at random instants, even all at once; and what is flushed before an answer."""

import os
import re
import signal
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest

import qsync
from admin.cluster import ask, settling
from admin.lab import lab
from election.messages import Term
from qsync.config import NodeConfig
from qsync.node.assembly import NodeStorage, core_config, founding, open_storage
from qsync.replica import Replica
from qsync.store.contract import Spaces
from qsync.store.memory import MemorySpaces
from qsync.store.segments.files import SUFFIX
from qsync.wire.verbs import DigestRequest
from tests.disk import traced
from tests.live.real import Writer, running, until

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("QSYNC_TEST_NODE_KILLS", "5"))
SEED = int(os.environ.get("QSYNC_TEST_SEED", "1"))
MOMENT_MAX = 0.7
"""Seconds between two rounds of kills: shorter and longer than an election takes."""
TERMS = dict[str, Term]


@pytest.mark.timeout(120 + KILLS * 5)
def test_what_was_acked_survives_kills_of_any_nodes_and_of_all_at_once(tmp_path: Path) -> None:
    dice, stop = Random(SEED), threading.Event()
    with running(tmp_path / "three", nodes=3) as found:
        writers = [Writer(found, number, stop) for number in range(1, 4)]
        for writer in writers:
            writer.start()
        terms: TERMS = {}
        try:
            until(lambda: all(writer.acked for writer in writers), "everybody writes")
            for number in range(KILLS):
                threading.Event().wait(dice.uniform(0, MOMENT_MAX))
                many = 3 if number == 1 else dice.choice((1, 1, 2, 3))
                kill(found, dice.sample(found.nodes, many), terms)
            settling.wait_writable(found.addresses, timeout=40)
        finally:
            stop.set()
            for writer in writers:
                writer.join(90)
        assert not [writer.error for writer in writers if writer.error]
        with qsync.connect(found.addresses, timeout=40) as db:
            present = {row[0] for row in db.space("things").select(limit=1_000_000)}
        for writer in writers:
            assert writer.acked
            assert not {writer.number * 1_000_000 + value for value in writer.acked} - present
        until(lambda: identical(found), "equal digests at an equal index")
        kill(found, list(found.nodes), terms)


def kill(found: lab.Lab, victims: list[lab.LabNode], terms: TERMS) -> None:
    """Kill them, look at what each has on its disk, and start them again."""
    for node in victims:
        process = node.process
        assert process is not None
        process.send(signal.SIGKILL)
    for node in victims:
        until(partial(gone, node), "it is gone")
        terms[node.name] = examined(node, least=terms.get(node.name, Term(0)))
        found.start(node)


def gone(node: lab.LabNode) -> bool:
    return node.process is None


def examined(node: lab.LabNode, *, least: Term) -> Term:
    """Nothing is damaged, the term never goes back, the spaces are what the log makes."""
    config = NodeConfig.load(node.config, {}, {})
    storage = open_storage(config)
    try:
        assert storage.quarantined is None
        assert storage.recovered.dropped_tail == 0
        assert not storage.spaces.rebuilt
        assert storage.spaces.folded <= storage.recovered.confirmed
        assert storage.recovered.ballot.term >= least
        stored = replica(config, storage, storage.spaces)
        replayed = replica(config, storage, MemorySpaces())
        assert stored.machine.replicated_log.visible == replayed.machine.replicated_log.visible
        assert stored.state.digests() == replayed.state.digests()
        return storage.recovered.ballot.term
    finally:
        storage.close()


def replica(config: NodeConfig, storage: NodeStorage, spaces: Spaces) -> Replica:
    return Replica(
        core_config(config, instance=storage.directory.identity.instance),
        ballot=storage.recovered.ballot,
        confirmed=storage.recovered.confirmed,
        stored=storage.log.stored(),
        tail=storage.log.entries,
        backing=spaces,
        folded=spaces.folded,
        founding=founding(storage.directory.identity),
    )


def identical(found: lab.Lab) -> bool:
    answers = [ask.value(node.address, DigestRequest(1)) for node in found.nodes]
    return all(answer[0] == answers[0][0] and answer[2] == answers[0][2] for answer in answers)


# ------------------------------------------------------------------- before a client hears "done"

COMMITTED = struct.Struct(">IBBQB")
"""Length, array of 8, id of 8 bytes, 0: how the answer to a write that succeeded begins."""


@contextmanager
def watched(pid: int, log: Path) -> Iterator[None]:
    """Trace a running process. Skips where that is not allowed."""
    command = [
        *traced.COMMAND,
        "-e",
        "trace=fdatasync,fsync,write,writev,pwrite64,pwritev,sendto",
        "-o",
        str(log),
    ]
    with subprocess.Popen([*command, "-p", str(pid)], stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        said = strace.stderr.readline()
        if "attached" not in said:
            strace.kill()
            pytest.skip(f"strace may not trace a running process here: {said.strip()}")
        try:
            yield
        finally:
            strace.send_signal(signal.SIGINT)
            strace.communicate(timeout=20)


def test_a_node_writes_and_flushes_its_log_before_it_answers_a_write(tmp_path: Path) -> None:
    if reason := traced.unusable():
        pytest.skip(reason)
    calls = tmp_path / "calls"
    with running(tmp_path / "one", nodes=1) as found:
        process = found.nodes[0].process
        assert process is not None
        with qsync.connect(found.addresses, timeout=20) as db:
            things = db.space("things")
            things.replace([0, "opens the session"])
            with watched(process.pid, calls):
                for number in range(6):
                    things.replace([number, f"durable {number}"])
    # Other batches, of CONFIRM records, may be under way at any time: ours are told by their text.
    written: set[int] = set()
    durable: set[int] = set()
    answers = 0
    for name, _, path, data in traced.calls_on_files(calls):
        if name == "sendto" and is_committed(data):
            assert answers in durable
            answers += 1
        elif not is_segment(path):
            continue
        elif name == "fdatasync":
            durable, written = durable | written, set()
        else:
            written |= {int(found) for found in re.findall(rb"durable (\d)", data)}
    assert answers >= 5  # the end of the trace may miss the last one


def is_segment(path: str) -> bool:
    return Path(path).parent.name == "log" and path.endswith(SUFFIX)


def is_committed(data: bytes) -> bool:
    if len(data) < COMMITTED.size:
        return False
    _, array, head, _, number = COMMITTED.unpack_from(data)
    return (array, head, number) == (0x88, 0x1B, 0)
