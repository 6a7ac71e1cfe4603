"""What a node has stored is what its log makes of it, also where whole spaces went."""

import json
from pathlib import Path

import pytest
import trio

import qsync
from admin.evidence import rows
from admin.evidence.replays import compared
from admin.evidence.tables import SNAPSHOT
from cli.main import run
from election.messages import Index
from qsync.node.assembly import found_cluster, open_storage
from qsync.node.node import open_node
from qsync.record import Entry
from tests.node.test_events import config

FIELDS = [("id", "unsigned"), ("n", "unsigned")]


async def lived(path: Path) -> None:
    """Spaces are truncated, dropped, and lose their primary index; one keeps its rows."""
    with trio.fail_after(60):
        mine = config(path)
        found_cluster([mine])
        async with open_node(mine) as node, qsync.connect_async(node.address) as db:
            for name in ("kept", "emptied", "bare", "gone"):
                await db.schema.create_space(name, format=FIELDS, is_sync=True)
                await db.space(name).replace([1, 1])
                await db.schema.create_index(name, "by n", parts=["n"], unique=False)
                await db.space(name).replace([2, 1])
            await db.space("emptied").truncate()
            await db.space("emptied").replace([3, 1])
            await db.schema.drop_index("bare", "by n")
            await db.schema.drop_index("bare", "primary")
            await db.schema.drop_index("kept", "by n")
            await db.schema.drop_space("gone")


def test_of_what_went_as_a_whole_nothing_is_left_in_either(tmp_path: Path) -> None:
    trio.run(lived, tmp_path)
    storage = open_storage(config(tmp_path))

    def entries() -> list[Entry]:
        batches = storage.log.batches(Index(1), storage.log.last, bytes_max=1 << 20)
        return [each for batch in batches for each in rows.entries_of(batch.raw)]

    try:
        found = compared(1, entries, storage.spaces)
    finally:
        storage.close()
    stored = {each["space"]: each["digest"] for each in found if each["made"] == SNAPSHOT}
    alone = {each["space"]: each["digest"] for each in found if each["made"] != SNAPSHOT}
    assert {"kept", "emptied", "bare"} <= stored.keys()
    assert stored == alone
    assert len({stored[name] for name in ("kept", "emptied", "bare")}) == 3


def test_rows_are_not_compared_with_a_damaged_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are of an index that the log does not reach any more."""
    trio.run(lived, tmp_path)
    file = tmp_path / "data" / "log" / "000000000001.log"
    stored = bytearray(file.read_bytes())
    stored[len(bytes(stored).rstrip(b"\0")) * 3 // 4] ^= 1
    file.write_bytes(stored)
    out = tmp_path / "out"
    assert run(["dump", str(tmp_path / "data"), "--out", str(out)]) == 0
    assert f"{out} is not whole: the log of " in capsys.readouterr().err
    assert run(["check", "--quick", str(out), "--json"]) == 6
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "unknown"
    assert "is damaged: " in found["sentence"]


@pytest.mark.parametrize("times", [1, 2], ids=["once", "known-before"])
def test_damaged_rows_are_left_out_and_the_log_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], times: int
) -> None:
    """That they are damaged is noted in the directory, as a node does that meets them."""
    trio.run(lived, tmp_path)
    file = tmp_path / "data" / "data" / "data.mdb"
    file.write_bytes(file.read_bytes().replace(b"kept", b"kepT"))
    out = tmp_path / "out"
    for _ in range(times):
        assert run(["dump", str(tmp_path / "data"), "--out", str(out)]) == 0
    assert "were not compared: " in capsys.readouterr().err
    assert run(["check", "--quick", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    results = {each["id"]: each for each in found["invariants"]}
    assert results["log-chain"]["status"] == "pass"
    assert results["stored-replayed"]["status"] == "skipped"
    assert "were not compared: " in results["stored-replayed"]["note"]


def test_a_log_alone_is_checked_as_it_was_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Chain and bodies are not in there; what else is asked of one log is."""
    trio.run(lived, tmp_path)
    assert run(["log", "cat", str(tmp_path / "data"), "--json"]) == 0
    printed = capsys.readouterr().out
    log = tmp_path / "log.json"
    log.write_text(printed, encoding="utf-8")
    assert run(["check", "--quick", str(log), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    facts = {each["id"]: each["facts"] for each in found["invariants"]}
    entries = printed.count("\n")
    assert (facts["log-dense"], facts["log-chain"]) == (entries, 0)
    assert facts["once"] > 0
    assert found["files"][0]["file"] == str(log)
    lines = printed.splitlines()
    log.write_text("\n".join([*lines[:5], *lines[6:]]), encoding="utf-8")
    assert run(["check", "--quick", str(log)]) == 6
    assert "index 7 follows 5" in capsys.readouterr().out
    odd = json.loads(lines[5]) | {"effects": [[512, "no hex", None]]}
    for line, why in (
        (b'{"index": 6}', "it is no entry"),
        (b"\xff", "codec can't decode"),
        (json.dumps(odd).encode(), "non-hexadecimal"),
        (b"[" * 100_000, "nested too deep"),
    ):
        log.write_bytes("\n".join(lines[:5]).encode() + b"\n" + line)
        assert run(["check", "--quick", str(log)]) == 2
        told = capsys.readouterr().err
        assert f"line 6 of {log} cannot be read: " in told
        assert why in told
