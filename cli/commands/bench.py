"""`qsync bench`: load, latency percentiles, and processor time for each operation."""

from typing import TYPE_CHECKING

import click

from cli.ending import interrupted_politely
from cli.examples import examples
from cli.exits import Exit
from cli.options import Duration, json_option, target_option, timeout_option
from cli.output import document, say, style, text

if TYPE_CHECKING:
    from admin.workload.bench import BenchResult

WORKLOADS = ("put", "get", "txn10", *(f"ycsb-{letter}" for letter in "abcdef"))


@click.command(
    epilog=examples(
        "qsync bench --workload put --clients 64 --seconds 10",
        "# latency at a fixed rate",
        "qsync bench --workload ycsb-b --open-loop 5000",
    )
)
@click.option(
    "--workload",
    type=click.Choice(WORKLOADS),
    default="put",
    show_default=True,
    help="Single writes, single reads, transactions of ten writes, or a workload of YCSB.",
)
@click.option(
    "--clients", type=click.IntRange(1, 1000), default=64, show_default=True, help="Connections."
)
@click.option(
    "--pipeline",
    type=click.IntRange(1, 4096),
    default=1,
    show_default=True,
    help="Outstanding requests on each connection.",
)
@click.option(
    "--seconds",
    type=Duration(least=0.1),
    default="10",
    show_default=True,
    help="How long it measures, after a warm-up.",
)
@click.option(
    "--open-loop",
    "rate",
    type=click.FloatRange(min=1),
    metavar="RATE",
    help="Send this many requests per second regardless of answers; latency counts from when each "
    "was due.",
)
@click.option(
    "--stalls",
    is_flag=True,
    help="With --open-loop: list each stall above 20 ms, and what the nodes report about it.",
)
@click.option(
    "--keys",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="How many different keys are used.",
)
@click.option(
    "--value-bytes",
    type=click.IntRange(0, 1_000_000),
    default=100,
    show_default=True,
    help="Size of each value that is written.",
)
@target_option
@timeout_option("30s")
@json_option
@interrupted_politely()
def bench(
    *,
    workload: str,
    clients: int,
    pipeline: int,
    seconds: float,
    rate: float | None,
    stalls: bool,
    keys: int,
    value_bytes: int,
    target: list[str],
    timeout: float,
) -> Exit:
    """Put load on the leader and measure. It writes to a space called `bench`.

    Ctrl-C ends the measurement: what was measured until then is printed, and the exit code is 130.
    The same if no leader is left until its end, with the exit code of that error.
    """
    if stalls and rate is None:
        raise click.UsageError(
            "--stalls needs --open-loop: a closed loop waits with whatever stalls"
        )
    from admin.workload import bench as benches  # noqa: PLC0415 - only here, slow to import

    plan = benches.BenchPlan(
        workload=workload,
        clients=clients,
        pipeline=pipeline,
        seconds=seconds,
        rate=rate,
        stalls=stalls,
        keys=keys,
        value_bytes=value_bytes,
    )
    result = benches.run(plan, target, timeout=timeout, progress=say)
    if style().as_json:
        document(
            "bench",
            workload=workload,
            clients=clients,
            pipeline=pipeline,
            open_loop=rate,
            seconds=result.seconds,
            operations=result.operations,
            ops_per_second=round(result.ops_per_second, 1),
            latency_us=result.latency_us,
            errors=result.errors,
            unknown=result.unknown,
            overloaded=result.overloaded,
            first_error=result.first_error,
            leader_changes=result.leader_changes,
            cpu_us_per_op=result.cpu_us_per_op,
            forms=result.forms,
            stalls=[each.describe() for each in result.stalls],
            interrupted=result.interrupted,
            ended_by=None if result.ended_by is None else str(result.ended_by),
        )
    else:
        _tell(result)
    if result.ended_by is not None:
        say(f"there was no leader at the end of {result.seconds:.1f} s: this is what was measured")
        raise result.ended_by
    if not result.interrupted:
        return Exit.DONE
    say(f"interrupted after {result.seconds:.1f} s of {seconds:g}: this is what was measured")
    return Exit.INTERRUPTED


def _tell(result: "BenchResult") -> None:
    plan = result.plan
    latency = "  ".join(f"{name} {us / 1000:.2f} ms" for name, us in result.latency_us.items())
    cpu = "  ".join(f"{who} {us:.1f} us" for who, us in result.cpu_us_per_op.items())
    rate = f"{result.ops_per_second:,.0f} /s"
    text(f"{plan.workload}, {plan.clients} connections x {plan.pipeline}: {rate}")
    text(f"latency  {latency}")
    text(f"cpu/op   {cpu}")
    text(f"form     {'  '.join(f'{who} {form}' for who, form in result.forms.items())}")
    for stall in result.stalls:
        text(str(stall))
    if plan.stalls:
        longest = max((each.seconds for each in result.stalls), default=0.0)
        text(f"{len(result.stalls)} stalls above 20 ms, the longest {longest * 1e3:.0f} ms")
    if result.leader_changes:
        say(f"the load followed to another leader {result.leader_changes} times")
    if result.overloaded:
        say(f"the leader was too busy for a request {result.overloaded:,} times; all were repeated")
    if result.errors or result.unknown:
        say(f"{result.errors} errors, {result.unknown} unknown; first: {result.first_error}")
