"""How much memory a node takes with so many rows.

`python -m tests.bench.memory_growth [ROWS [VALUE_BYTES]] [SECTION.OPTION=VALUE ...]`: three nodes
of a lab of its own, rows of an unsigned key and a value, written in ten parts. After each part
every node has everything in its spaces on disk; then it is measured what the largest process
takes: memory of its own (`RssAnon`), and pages of files that it has mapped and the kernel may drop
(`RssFile`). Linux only.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from admin.cluster import surveys
from admin.lab import lab as labs
from qsync.client.blocking import Client, connect
from tests.bench.disk_growth import BATCH_ROWS, TIMEOUT_S
from tests.bench.resident import resident
from tests.bench.started import started_lab

SPACE = "held"
PARTS = 10
DEFAULTS = (200_000, 100)
"""Rows, bytes of a value."""


def measure(lab: labs.Lab, rows: int) -> dict[str, int]:
    """Of the node that takes most."""
    answers = surveys.survey(lab.addresses, timeout=TIMEOUT_S).samples
    taken = [resident(each.pid) for each in answers]
    largest = max(taken, key=lambda each: each["RssAnon"])
    return {"rows": rows, "anonymous": largest["RssAnon"], "mapped": largest["RssFile"]}


def wait_folded(lab: labs.Lab) -> None:
    """Until every node has in its spaces on disk what is confirmed."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        samples = surveys.survey(lab.addresses, timeout=TIMEOUT_S).samples
        if len(samples) == len(lab.nodes) and not any(each.memory.overlay_rows for each in samples):
            return
        assert time.monotonic() < deadline, "the rows are not in the spaces"
        time.sleep(0.1)


def write(client: Client, keys: range, value: str) -> None:
    """Rows of these keys."""
    for first in range(keys.start, keys.stop, BATCH_ROWS):
        part = range(first, min(first + BATCH_ROWS, keys.stop))
        client.space(SPACE).replace_many([[key, value] for key in part])


def main() -> int:
    """A line of JSON for each part."""
    options = [word for word in sys.argv[1:] if "=" in word]
    numbers = [int(word) for word in sys.argv[1:] if "=" not in word]
    rows, value_bytes = (numbers + list(DEFAULTS[len(numbers) :]))[:2]
    with (
        tempfile.TemporaryDirectory() as folder,
        started_lab(Path(folder), options) as lab,
        connect(lab.addresses, timeout=TIMEOUT_S) as client,
    ):
        client.schema.create_space(SPACE, is_sync=True)
        print(json.dumps(measure(lab, 0)))
        for part in range(PARTS):
            keys = range(rows * part // PARTS, rows * (part + 1) // PARTS)
            write(client, keys, "x" * value_bytes)
            wait_folded(lab)
            print(json.dumps(measure(lab, keys.stop)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
