"""A node whose log lines nobody takes."""

import os
import subprocess
import sys
from pathlib import Path

import qsync
from admin.lab.ports import free_ports
from tests.full_pipe import full_pipe


def test_a_node_serves_although_its_standard_error_is_a_full_pipe(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "qsync"]
    address = "127.0.0.1:{}".format(*free_ports(1))
    made = [*command, "init", "--cluster", str(tmp_path / "c"), address]
    subprocess.run(made, check=True, capture_output=True)
    reading, writing = full_pipe()
    started = [*command, "start", str(tmp_path / "c" / "n1")]
    with subprocess.Popen(started, stdout=subprocess.DEVNULL, stderr=writing) as node:
        try:
            with qsync.connect(address, timeout=30, connect_timeout=30) as db:
                db.schema.create_space("t")
                db.space("t").insert([1, "one"])
                assert db.space("t").get([1]) == [1, "one"]
        finally:
            node.terminate()
            assert node.wait(30) == 0
            os.close(reading)
            os.close(writing)
