"""Measures a cluster: operations a second, latency, and processor time for each operation."""

import contextlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from admin.cluster import surveys
from admin.cluster.surveys import ClusterSurvey
from admin.lab import processes
from admin.lab.processes import OsProcess
from admin.workload import stalls
from admin.workload.quantiles import quantile
from admin.workload.stalls import LoadStall
from qsync.client.blocking import Client, connect
from qsync.client.core import INFLIGHT_MAX
from qsync.client.load import LoadGenerator, LoadRequest, LoadResult, Workload
from qsync.client.numbering import SEED_BYTES
from qsync.data.operation_kinds import Op
from qsync.errors import NotLeader, QsyncError, ReadOnly, Unavailable
from qsync.form import form
from qsync.wire import cbor, requests
from qsync.wire.verbs import GetRequest, SelectRequest, WriteRequest

SPACE = "bench"
KEY_BYTES, VALUE_BYTES = 16, 100
CHOICES = 1 << 15
"""How many random choices are made beforehand and used in a circle."""
WARM_UP_S = 0.5
LOOK_S = 0.05
"""The pause between two searches for a leader."""
FILL_ROWS = 10_000
"""The prefix of progress messages."""
OPEN_LOOP_OUTSTANDING_MAX = 100_000
SCAN_ROWS = 50
TXN_PUTS = 10
ZIPF = 0.99
_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
_MARK = 0x6B6B6B6B6B6B6B6B
_KEY_MARK = b"\xa5\x5a" * (KEY_BYTES // 2)
_ROW_HEAD = b"\x82\x50"

WORKLOADS = {
    "put": (("put", 1.0),),
    "get": (("get", 1.0),),
    "txn10": (("txn", 1.0),),
    "ycsb-a": (("get", 0.5), ("put", 0.5)),
    "ycsb-b": (("get", 0.95), ("put", 0.05)),
    "ycsb-c": (("get", 1.0),),
    "ycsb-d": (("get", 0.95), ("new", 0.05)),
    "ycsb-e": (("scan", 0.95), ("new", 0.05)),
    "ycsb-f": (("get", 0.5), ("touch", 0.5)),
}
"""Shares of operations. YCSB's choose keys by Zipf's law, the others evenly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """The options of a benchmark."""

    workload: str = "put"
    clients: int = 64
    pipeline: int = 1
    seconds: float = 10.0
    rate: float | None = None
    stalls: bool = False
    """Name each stall and its causes; only with a rate."""
    keys: int = 10_000
    value_bytes: int = VALUE_BYTES
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """Latencies in microseconds; processor time in microseconds for each operation."""

    plan: BenchPlan
    seconds: float
    operations: int
    errors: int
    unknown: int
    overloaded: int
    """How often the leader was too busy, and the request was sent again."""
    leader_changes: int
    """Changes of the leader, warm-up included; the time without a leader counts."""
    latency_us: dict[str, float]
    cpu_us_per_op: dict[str, float]
    first_error: str | None
    forms: dict[str, str]
    """Which form of qsync made the load, and which served it; `mixed` when nodes differ."""
    stalls: tuple[LoadStall, ...] = ()
    interrupted: bool = False
    """By Ctrl-C: what was measured until then."""
    ended_by: QsyncError | None = None
    """Why there was no leader to go on with until the end of the run."""

    @property
    def ops_per_second(self) -> float:
        """Operations that succeeded."""
        return self.operations / self.seconds if self.seconds else 0.0


def run(
    plan: BenchPlan,
    seeds: Sequence[str],
    *,
    timeout: float,
    progress: Callable[[str], None] = lambda _: None,
) -> BenchResult:
    """Prepare the space, warm up, measure. Raises NotLeader without a leader.

    `progress` hears now and then how far it is, and of every other leader. A KeyboardInterrupt, or
    that no leader is left, ends the measurement, and is raised only if there is none yet.
    """
    found = surveys.survey(seeds)
    _leader(found)
    random = Random(plan.seed)  # noqa: S311 - replays, hides nothing
    keys = [random.randbytes(KEY_BYTES) for _ in range(plan.keys)]
    with connect(seeds, timeout=timeout) as client:
        _prepare(client, plan, keys, progress)
    maker: Workload = _Maker(plan, keys, random)
    sending = stalls.WatchedWorkload(maker, plan.rate) if plan.stalls and plan.rate else None
    late = stalls.TimedLatencies("d")
    load = _Load(plan, seeds, sending or maker, progress)
    with contextlib.closing(load):
        load.run(WARM_UP_S)
        load.tally = LoadResult() if sending is None else LoadResult(latencies=late)
        watched = _Watched(found)
        interrupted = load.was_interrupted(plan.seconds)
        tally = load.tally
        cpu = watched.spent(max(1, tally.done))
    return BenchResult(
        plan=plan,
        seconds=round(tally.seconds, 3),
        operations=tally.done,
        errors=tally.errors,
        unknown=tally.unknown,
        overloaded=tally.overloaded,
        leader_changes=load.leader_changes,
        latency_us=percentiles(tally.latencies),
        cpu_us_per_op=cpu,
        first_error=None if tally.first_error is None else str(tally.first_error),
        forms={"client": form(), "nodes": _form_of(found)},
        stalls=() if sending is None else tuple(stalls.named(late, sending, found)),
        interrupted=interrupted,
        ended_by=load.ended_by,
    )


def _leader(found: ClusterSurvey) -> str:
    """Return the address of the leader. Raises NotLeader."""
    leader = found.leader
    if leader is None or leader.ro:
        raise NotLeader("no node accepts writes, so there is nothing to measure")
    return leader.address


class _Load:
    """Puts load on the leader. Connections stay open from run to run, as in a program."""

    def __init__(
        self,
        plan: BenchPlan,
        seeds: Sequence[str],
        maker: Workload,
        progress: Callable[[str], None],
    ) -> None:
        self.tally = LoadResult()
        self.leader_changes = 0
        self.ended_by: QsyncError | None = None
        self._plan = plan
        self._seeds = seeds
        self._maker = maker
        self._progress = progress
        self._address = ""
        self._generator: LoadGenerator | None = None

    def close(self) -> None:
        """Hang up."""
        if self._generator is not None:
            self._generator.close()
            self._generator = None

    def was_interrupted(self, seconds: float) -> bool:
        """Run until the end, Ctrl-C, or `ended_by`. Raises NotLeader if nothing was measured."""
        begin = time.perf_counter()
        try:
            self.run(seconds)
        except KeyboardInterrupt:
            self.tally.seconds = time.perf_counter() - begin
            return True
        except (NotLeader, Unavailable) as error:
            if not (self.tally.done or self.tally.errors or self.tally.unknown):
                raise
            self.tally.seconds = time.perf_counter() - begin
            self.ended_by = error
        return False

    def run(self, seconds: float) -> None:
        """Run for a time, across leaders. Raises NotLeader if there is none in that time."""
        begin = time.perf_counter()
        end = begin + seconds
        while (now := time.perf_counter()) < end:
            if self._generator is None:
                self._look(end)
            # The asked node may lose the leadership while we connect: then we look again.
            with contextlib.suppress(NotLeader, ReadOnly, Unavailable, OSError):
                load = self._generator = self._generator or self._connected()
                load.tally = self.tally
                load.run(seconds=end - now, rate=self._plan.rate)
                if load.moved:
                    self.close()
        self.tally.seconds = time.perf_counter() - begin

    def _look(self, end: float) -> None:
        address, former = self._found(end), self._address
        if former and address != former:
            self.leader_changes += 1
            self._progress(f"{former} does not lead any more; on to {address}")
        self._address = address

    def _connected(self) -> LoadGenerator:
        plan = self._plan
        return LoadGenerator(
            self._address,
            self._maker,
            connections=plan.clients,
            outstanding=outstanding(plan),
            session=lambda: secrets.token_bytes(SEED_BYTES),
        )

    def _found(self, end: float) -> str:
        while True:
            try:
                return _leader(surveys.survey(self._seeds))
            except (NotLeader, Unavailable):
                if time.perf_counter() >= end:
                    raise
            time.sleep(LOOK_S)


def outstanding(plan: BenchPlan) -> int:
    """Return how many requests may be under way on a connection.

    At a fixed rate as many as a client sends at once; what is due then waits here, and is late. A
    node refuses what a session is too full for, and whoever asks for all of it again and again
    keeps it from everything else.
    """
    if plan.rate is None:
        return plan.pipeline
    return min(INFLIGHT_MAX, OPEN_LOOP_OUTSTANDING_MAX // plan.clients)


def _form_of(found: ClusterSurvey) -> str:
    forms = {sample.form for sample in found.samples if sample.form}
    return forms.pop() if len(forms) == 1 else "mixed" if forms else "untold"


def percentiles(latencies: Sequence[float]) -> dict[str, float]:
    """Latencies in seconds as percentiles in microseconds, by name: p50 to max; 0 of none."""
    ordered = sorted(latencies)
    found = {name: quantile(ordered, share) or 0.0 for name, share in _SHARES.items()}
    return {name: round(seconds * 1e6, 1) for name, seconds in found.items()}


class _Watched:
    """Processor time of the nodes on this machine and of this process, from now on."""

    def __init__(self, found: ClusterSurvey) -> None:
        self._nodes: list[tuple[str, OsProcess, float]] = []
        for sample in found.samples:
            if not sample.address.startswith(("127.", "localhost", "[::1]")):
                continue
            with contextlib.suppress(ProcessLookupError):
                process = processes.identify(sample.pid)
                role = "leader" if sample.leads else "followers"
                self._nodes.append((role, process, process.cpu_seconds()))
        self._own = time.process_time()

    def spent(self, operations: int) -> dict[str, float]:
        """Microseconds for each operation; nodes on other machines count as 0."""
        spent = {"client": time.process_time() - self._own, "leader": 0.0, "followers": 0.0}
        for role, process, before in self._nodes:
            # none is left of one that ended
            spent[role] += max(0.0, process.cpu_seconds() - before)
        return {who: round(seconds / operations * 1e6, 2) for who, seconds in spent.items()}


def _prepare(
    client: Client, plan: BenchPlan, keys: Sequence[bytes], progress: Callable[[str], None]
) -> None:
    fields = [("key", "varbinary"), ("value", "any"), ("touched", "unsigned", True)]
    client.schema.create_space(
        SPACE,
        is_sync=True,
        if_not_exists=True,
        format=[{"name": n[0], "type": n[1], "is_nullable": len(n) > 2} for n in fields],  # noqa: PLR2004 - the third word
    )
    if any(kind in {"get", "scan", "touch"} for kind, _ in WORKLOADS[plan.workload]):
        value = bytes(plan.value_bytes)
        for at in range(0, len(keys), FILL_ROWS):
            client.space(SPACE).replace_many([[key, value, 0] for key in keys[at : at + FILL_ROWS]])
            if len(keys) > FILL_ROWS:
                progress(f"{min(at + FILL_ROWS, len(keys)):,} of {len(keys):,} keys are there")


class _Maker:
    """Makes the requests of all connections, from choices that were made beforehand."""

    def __init__(self, plan: BenchPlan, keys: Sequence[bytes], random: Random) -> None:
        self._random = random
        self._value = cbor.head(cbor.MAJOR_BYTES, plan.value_bytes) + random.randbytes(
            plan.value_bytes
        )
        self._space = cbor.text(SPACE)
        kinds = WORKLOADS[plan.workload]
        makers: dict[str, Workload] = {
            "put": self._put,
            "new": self._new,
            "txn": self._txn,
            "touch": self._touch,
            "get": _get_maker(self._key),
            "scan": _scan_maker(self._key),
        }
        self._keys = random.choices(keys, _weights(plan, len(keys)), k=CHOICES)
        self._kinds = [
            makers[kind]
            for kind in random.choices([k for k, _ in kinds], [w for _, w in kinds], k=CHOICES)
        ]
        self._at = 0

    def __call__(self, request: LoadRequest) -> bytes:
        self._at = (self._at + 1) % CHOICES
        return self._kinds[self._at](request)

    def _key(self) -> bytes:
        return self._keys[self._at]

    def _put(self, request: LoadRequest) -> bytes:
        return self._insert(request, self._keys[self._at])

    def _new(self, request: LoadRequest) -> bytes:
        return self._insert(request, self._random.randbytes(KEY_BYTES))

    def _insert(self, request: LoadRequest, key: bytes) -> bytes:
        return requests.encode_put(
            request.id,
            session=request.session,
            seq=request.seq,
            low=request.low,
            flags=0,
            code=Op.REPLACE,
            space=self._space,
            row=_ROW_HEAD + key + self._value,
        )

    def _txn(self, request: LoadRequest) -> bytes:
        rows = [
            _ROW_HEAD + self._keys[(self._at + n) % CHOICES] + self._value for n in range(TXN_PUTS)
        ]
        ops: list[list[object]] = [[Op.REPLACE, SPACE, row] for row in rows]
        return requests.encode(_write(request, ops))

    def _touch(self, request: LoadRequest) -> bytes:
        ops: list[list[object]] = [[Op.UPDATE, SPACE, 0, [self._key()], [["+", 3, 1]]]]
        return requests.encode(_write(request, ops))


def _write(r: LoadRequest, ops: list[list[object]]) -> WriteRequest:
    return WriteRequest(r.id, r.session, r.seq, r.low, 0, ops)


def _weights(plan: BenchPlan, count: int) -> list[float] | None:
    if not plan.workload.startswith("ycsb"):
        return None
    return [1 / (rank**ZIPF) for rank in range(1, count + 1)]


def _get_maker(key: Callable[[], bytes]) -> Workload:
    return _patched(requests.encode(GetRequest(_MARK, SPACE, 0, [_KEY_MARK])), key)


def _scan_maker(key: Callable[[], bytes]) -> Workload:
    scan = SelectRequest(_MARK, SPACE, 0, "ge", [_KEY_MARK], SCAN_ROWS)
    return _patched(requests.encode(scan), key)


def _patched(template: bytes, key: Callable[[], bytes]) -> Workload:
    """Requests that differ in id and key only: the encoder runs once."""
    before, _, rest = template.partition(_MARK.to_bytes(8, "big"))
    between, _, after = rest.partition(_KEY_MARK)

    def make(request: LoadRequest) -> bytes:
        return b"".join((before, request.id.to_bytes(8, "big"), between, key(), after))

    return make
