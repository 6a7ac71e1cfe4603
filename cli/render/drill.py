"""The output of a running drill, and of the demo: screen frames, and the summary."""

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from admin.cluster.short import seconds
from admin.drills.demo import DemoPicture, DemoResult
from admin.drills.runner import DrillObserver
from cli.output import say
from qsync.form import checkout, form


class Lines(DrillObserver):
    """A line for each step, beside the output."""

    @override
    def tell(self, what: str) -> None:
        say(what)


_BAR = 30
_MARKS = {"leader": "*", "candidate": "?"}
_STUCK_S = 0.5


def picture(now: DemoPicture) -> RenderableType:
    """Everything at one moment, for a terminal."""
    return Panel(
        Group(
            _head(now), _nodes(now), _clients(now), Text(now.sentence, style="bold"), _events(now)
        ),
        title=f"qsync demo: {now.phase}",
        box=box.ROUNDED,
    )


def line(now: DemoPicture) -> str:
    """One line a second, where there is no terminal."""
    nodes = " ".join(f"{each.name}:{each.role or each.state}" for each in now.nodes)
    term = max((each.term for each in now.nodes), default=0)
    return (
        f"{now.elapsed:5.1f}s {now.phase:<12} term {term} {nodes}  acked {now.acked} "
        f"({now.rate:.0f}/s) unknown {now.unknown} longest gap {seconds(now.gap)}"
    )


def verdict(result: DemoResult) -> list[str]:
    """The verdict, a fact a line."""
    proof = result.proof
    linearity = proof.linearity.result.value
    facts = [
        (f"{result.acked} acknowledged writes, {result.lost} lost", result.lost == 0),
        (
            f"{result.rolled_back_visible} rolled-back writes visible",
            result.rolled_back_visible == 0,
        ),
        (
            f"{result.unknown} unknown outcomes, {result.unknown_resolved} resolved",
            True,
        ),
        (
            f"history of {proof.linearity.facts} operations: linearizable {linearity}",
            linearity == "pass",
        ),
        (
            f"the bank holds {sum(proof.balances.values())}, every transfer made exactly once",
            proof.total_conserved,
        ),
        (f"{len(proof.digests)} replicas have identical data", proof.replicas_identical),
        (f"longest gap without an acknowledged write: {result.gap_seconds:.2f} s", True),
        (f"terms that acknowledged writes: {', '.join(map(str, result.terms)) or 'none'}", True),
    ]
    lines = [f"{'ok  ' if good else 'FAIL'}  {fact}" for fact, good in facts]
    lines += [f"      {each}" for each in proof.complaints()]
    lines.append("PASSED" if result.passed else "FAILED")
    if result.keep is not None:
        lines.append(f"everything is kept in {result.keep}")
    if result.passed:
        lines.append("next: `qsync lab up` makes a cluster that stays; `qsync top` shows it, and")
        lines.append("`qsync drill run leader-kill` breaks one and writes a report")
        if form() == "pure" and checkout() is not None:
            lines.append("(this was pure Python; `make compiled` makes nodes faster, in a minute)")
    return lines


def _head(now: DemoPicture) -> Text:
    done = min(1.0, now.elapsed / now.seconds) if now.seconds else 1.0
    filled = round(done * _BAR)
    return Text(f"[{'#' * filled}{'.' * (_BAR - filled)}] {now.elapsed:.1f} s")


def _nodes(now: DemoPicture) -> Table:
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("", "node", "state", "role", "term", "confirmed", "lag"):
        made.add_column(title, justify="right" if title in {"term", "confirmed", "lag"} else "left")
    for each in now.nodes:
        gone = each.state in {"dead", "silent"}
        mark = "x" if gone else _MARKS.get(each.role, " ")
        numbers = ["-"] * 3 if gone else [str(each.term), str(each.confirmed), str(each.lag)]
        made.add_row(mark, each.name, each.state, each.role or "-", *numbers)
    return made


def _clients(now: DemoPicture) -> Text:
    text = Text(
        f"acked {now.acked} ({now.rate:.0f}/s)  reads {now.reads}  conflicts {now.conflicts}  "
        f"rolled back {now.undone}  unknown {now.unknown}  longest gap {seconds(now.gap)}"
    )
    if now.waiting > _STUCK_S:
        text.append(f"  no write for {seconds(now.waiting)}", style="red")
    return text


def _events(now: DemoPicture) -> Text:
    return Text("\n".join(now.events), style="dim")
