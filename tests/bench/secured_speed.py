"""What TLS and users cost: the same load on three clusters, one after the other in each round.

`python -m tests.bench.secured_speed [ROUNDS [SECONDS [WORKLOAD[:CLIENTS[xPIPELINE]] ...]]]` lays
out three labs of three nodes, without a proxy: `off` has neither, `tls` speaks TLS, `users` has
users as well, and is asked by one who was granted what the load takes, and no more. All nine nodes
run all the time. In each round every cluster gets the load once, in another order each time, so
that what else the machine does meets all of them. Printed: operations a second of every run, and of
each cluster the median of its rounds' shares of `off` (speed, median latency, processor time of all
processes for an operation), with the lowest and the highest. As JSON on the last line.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from admin.certs import making
from admin.certs.making import KeyPair
from admin.cluster import settling
from admin.lab import lab as labs
from admin.lab import secure
from admin.lab.lab import Lab
from qsync.client.blocking import connect
from qsync.client.security import ClientTls, assumed

ROUNDS, SECONDS = 10, 5.0
LOADS = ("put:64", "put:1", "get:64", "get:1", "txn10:16", "ycsb-a:64")
KINDS = ("off", "tls", "users")
USER = "load"
GRANTED = ("create", "read", "write")
LIMIT = 0.85
"""The least share of the speed without that is wanted."""
UP_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A cluster, and what stands in the environment of who loads it."""

    lab: Lab
    environment: Mapping[str, str]


@contextmanager
def running(folder: Path, kind: str) -> Iterator[Target]:
    """Three nodes of that kind, ready for the load."""
    lab = labs.create(folder, name=kind, nodes=3, secure=kind != "off")
    tls = secure.client_tls(folder)
    try:
        with assumed(tls):
            lab.start_all()
            settling.wait_writable(lab.addresses, timeout=UP_S)
            if kind == "users":
                secure.have_users(folder, lab.addresses)
                tls = _loader(lab)
        yield Target(lab=lab, environment={} if tls is None else tls.as_variables())
    finally:
        lab.stop_all()


def _loader(lab: Lab) -> ClientTls:
    """A user who has what the load takes, on its space alone; how he speaks to the cluster."""
    certs = lab.dir / "certs"
    authority = KeyPair(certificate=certs / "ca.crt", key=certs / "ca.key")
    pair = making.make_user(authority, KeyPair.named(certs, USER), cluster=lab.cluster, name=USER)
    with connect(lab.addresses, timeout=UP_S) as db:
        db.users.create(USER)
        db.users.grant(USER, GRANTED, space="bench")
    return ClientTls(ca=str(certs / "ca.crt"), certificate=str(pair.certificate), key=str(pair.key))


def measure(target: Target, load: str, seconds: float) -> dict[str, float]:
    """One run of `qsync bench`: operations a second, latency and processor time, in us."""
    workload, _, rest = load.partition(":")
    clients, _, pipeline = rest.partition("x")
    words = ["--workload", workload, "--clients", clients or "64", "--pipeline", pipeline or "1"]
    command = [sys.executable, "-m", "qsync", "bench", *words, "--seconds", str(seconds)]
    done = subprocess.run(
        [*command, "--json", "--target", ",".join(target.lab.addresses)],
        env={**os.environ, **target.environment},
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout)
    if found["errors"] or found["unknown"]:
        raise SystemExit(f"{load}: {found['errors']} errors, {found['unknown']} unknown")
    return {
        "ops": float(found["ops_per_second"]),
        "p50": float(found["latency_us"]["p50"]),
        "cpu": sum(map(float, found["cpu_us_per_op"].values())),
        **{who: float(us) for who, us in found["cpu_us_per_op"].items()},
    }


def _rounds(
    targets: Mapping[str, Target], load: str, rounds: int, seconds: float
) -> list[dict[str, dict[str, float]]]:
    """Of each round the figures of every cluster."""
    found: list[dict[str, dict[str, float]]] = []
    for number in range(rounds):
        turn = number % len(KINDS)
        order = [*KINDS[turn:], *KINDS[:turn]]
        if number % 2:
            order.reverse()
        here = {kind: measure(targets[kind], load, seconds) for kind in order}
        found.append(here)
        shown = "  ".join(f"{kind} {here[kind]['ops']:9,.0f}/s" for kind in KINDS)
        print(f"{load:10} round {number + 1:2}  {shown}", flush=True)
    return found


def shares(
    found: Sequence[Mapping[str, Mapping[str, float]]], kind: str, figure: str
) -> tuple[float, float, float]:
    """Median, lowest and highest share of `off` in the same round."""
    ratios = [each[kind][figure] / each["off"][figure] for each in found]
    return statistics.median(ratios), min(ratios), max(ratios)


def main() -> None:
    """Measure and print."""
    words = sys.argv[1:]
    rounds = int(words[0]) if words else ROUNDS
    seconds = float(words[1]) if len(words) > 1 else SECONDS
    result: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        targets = {kind: stack.enter_context(running(Path(name) / kind, kind)) for kind in KINDS}
        for load in words[2:] or LOADS:
            found = _rounds(targets, load, rounds, seconds)
            result[load] = {"off": statistics.median(each["off"]["ops"] for each in found)}
            for kind in KINDS[1:]:
                ops, p50, cpu = (shares(found, kind, each) for each in ("ops", "p50", "cpu"))
                result[load] |= {kind: round(ops[0], 3)}
                verdict = "" if ops[0] >= LIMIT else f"  below {LIMIT}"
                print(
                    f"{load:10} {kind:6} speed {ops[0]:.3f} ({ops[1]:.3f}..{ops[2]:.3f})  "
                    f"p50 {p50[0]:.3f}  cpu/op {cpu[0]:.3f}{verdict}",
                    flush=True,
                )
            for who in ("client", "leader", "followers"):
                spent = {
                    kind: statistics.median(each[kind][who] for each in found) for kind in KINDS
                }
                shown = "  ".join(f"{kind} {us:.1f}" for kind, us in spent.items())
                print(f"{load:10} us/op of {who:9} {shown}", flush=True)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
