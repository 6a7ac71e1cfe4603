"""One PySyncObj node, `NUMBER PORT,PORT,PORT JOURNAL`; the leader makes the load in its process.

It reads commands from its standard input, a line each: `lead`, `run OPERATION OUTSTANDING SECONDS`,
and answers each with a line of JSON. Without a hop from a client to the leader: that favours it.
"""

import json
import os
import sys
import threading
import time
from typing import Any

from pysyncobj import SyncObj, SyncObjConf, replicated

KEY_BYTES, VALUE_BYTES, TXN_PUTS = 16, 100, 10
DRAIN_S = 20.0


class KeyValue(SyncObj):  # type: ignore[misc]  # it has no types
    """A dictionary that is replicated."""

    def __init__(self, number: int, ports: list[int], journal: str) -> None:
        addresses = [f"127.0.0.1:{port}" for port in ports]
        others = [each for n, each in enumerate(addresses) if n != number]
        settings = SyncObjConf(
            journalFile=journal, dynamicMembershipChange=False, commandsQueueSize=1_000_000
        )
        super().__init__(addresses[number], others, settings)
        self.own = addresses[number]
        self.rows: dict[bytes, bytes] = {}

    @replicated  # type: ignore[untyped-decorator]  # nor has this
    def put(self, keys: list[bytes], value: bytes) -> None:
        """All of them, at once."""
        for key in keys:
            self.rows[key] = value


class Loop:
    """A closed loop of so many puts under way, by callbacks."""

    def __init__(self, rows: KeyValue, puts: int, seconds: float) -> None:
        self.latencies: list[float] = []
        self.errors = 0
        self._rows, self._puts, self._value = rows, puts, os.urandom(VALUE_BYTES)
        self._end = time.perf_counter() + seconds
        self._under_way = 0
        self._over = threading.Event()

    def run(self, outstanding: int) -> dict[str, float]:
        """What came of it."""
        begin, spent = time.perf_counter(), time.process_time()
        self._under_way = outstanding
        for _ in range(outstanding):
            self._put()
        self._over.wait(self._end - begin + DRAIN_S)
        took = max(time.perf_counter() - begin, 1e-9)
        spent = time.process_time() - spent
        found = sorted(self.latencies) or [0.0]
        return {
            "ops_per_second": len(self.latencies) / took,
            "p50_ms": found[len(found) // 2] * 1e3,
            "p99_ms": found[len(found) * 99 // 100] * 1e3,
            "leader_us": spent / max(1, len(self.latencies)) * 1e6,
            "errors": self.errors,
        }

    def _put(self) -> None:
        begin = time.perf_counter()

        def answered(_result: object, error: int) -> None:
            now = time.perf_counter()
            if error:
                self.errors += 1
            else:
                self.latencies.append(now - begin)
            if now < self._end:
                self._put()
                return
            self._under_way -= 1
            if not self._under_way:
                self._over.set()

        keys = [os.urandom(KEY_BYTES) for _ in range(self._puts)]
        self._rows.put(keys, self._value, callback=answered)


def main() -> None:
    """See above."""
    number, ports, journal = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[3]
    rows = KeyValue(number, [int(port) for port in ports], journal)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "lead":
            answer: Any = rows.isReady() and str(rows._getLeader()) == rows.own
        else:
            puts = TXN_PUTS if words[1] == "txn10" else 1
            answer = Loop(rows, puts, float(words[3])).run(int(words[2]))
        print(json.dumps(answer), flush=True)
    os._exit(0)  # its thread ticks for ever


if __name__ == "__main__":
    main()
