"""A soak remembers what held, goes on where it ended, and makes what broke small."""

import json
import signal
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from admin.soak import code, ranges
from admin.soak.corpus import Corpus
from admin.soak.judge import JudgedSeed, SeedConclusion, SeedFinding, look
from admin.soak.ledger import RegisterFile, SeedRegister, SeedSetup
from admin.soak.pool import judged
from admin.soak.progress import SoakProgress
from admin.soak.shrink import EVENTS_MIN, shrink
from admin.soak.soak import Soak
from qsync.errors import ConfigError
from qsync.sim.history import RecordedLine
from qsync.sim.plan import EVENTS, Plan
from qsync.sim.run import SeedReport, run

STRIKES = {1: "crash", 2: "pause", 3: "halves", 4: "crash", 5: "ring", 6: "power"}
WAY = SeedSetup(code="abc", how="")


def run_of(
    plan: Plan, *, broken: str | None = None, at: int = 900, idle: bool = False
) -> JudgedSeed:
    """What a run of this plan would look like; `at` is the event at which it broke."""
    strikes = {
        number: kind
        for number, kind in STRIKES.items()
        if kind not in plan.without and (plan.strikes is None or number in plan.strikes)
    }
    names = [name for name in ("write", "read", "append") if name not in plan.without]
    report = SeedReport(
        plan=plan,
        nodes=plan.nodes or 5,
        clients=plan.clients or 6,
        keys=plan.keys or 4,
        events=at if broken else plan.events,
        virtual_seconds=1.0,
        seconds=0.1,
        digest=f"{plan.seed:x}",
        broken=None,
        acked=0 if idle else 9,
        strikes=strikes,
        flaws=tuple(name for name in ("loss", "torn") if name not in plan.without),
        counts={f"{name} asked": 3 for name in names},
    )
    finding = SeedFinding(check=broken, number=None, text=broken, evidence=()) if broken else None
    return JudgedSeed(report=report, finding=finding, facts=5, undecided=())


def held(plan: Plan) -> JudgedSeed:
    return run_of(plan)


def soak_of(
    seeds: Iterable[int],
    judge: Callable[[Plan], JudgedSeed],
    book: RegisterFile,
    *,
    keep_going: bool = False,
) -> Soak:
    plans = [Plan(seed=seed) for seed in seeds]
    known = sum(book.ledger.known(plan.seed) for plan in plans)
    return Soak(
        plans=plans,
        judge=judge,
        book=book,
        progress=SoakProgress(total=len(plans), known=known, now=lambda: 0.0),
        keep_going=keep_going,
    )


# ---------------------------------------------------------------------------------- making small


def stale_read(plan: Plan) -> JudgedSeed:
    """Breaks with strike 4, at least two clients and three nodes, after 300 events, with reads."""
    found = run_of(plan)
    needs = (
        4 in found.report.strikes
        and found.report.clients >= 2
        and found.report.nodes >= 3
        and plan.events >= 300
        and "read" not in plan.without
    )
    return run_of(plan, broken="stale read", at=min(plan.events, 900)) if needs else found


def small_of(
    judge: Callable[[Plan], JudgedSeed], plan: Plan, *, tries_max: int = 300
) -> tuple[JudgedSeed, int]:
    tries = 0

    def counted(plan: Plan) -> JudgedSeed:
        nonlocal tries
        tries += 1
        return judge(plan)

    small = shrink(judge(plan), counted, tries_max=tries_max, told=lambda *_: None)
    return small, tries


def test_a_failure_is_made_as_small_as_it_can_be() -> None:
    small, _ = small_of(stale_read, Plan(seed=7))
    plan = small.report.plan
    assert plan.strikes == (4,) or set(small.report.strikes) == {4}
    assert (plan.nodes, plan.clients, plan.keys) == (3, 2, 1)
    assert 300 <= plan.events < 400
    assert "read" not in plan.without
    assert {"write", "append", "loss", "torn"} <= set(plan.without)


def test_a_smaller_run_that_breaks_something_else_is_not_taken() -> None:
    def judge(plan: Plan) -> JudgedSeed:
        if plan.events < 500:
            return run_of(plan, broken="another thing", at=plan.events)
        return run_of(plan, broken="this", at=600)

    small, _ = small_of(judge, Plan(seed=7))
    assert small.finding is not None
    assert small.finding.check == "this"
    assert small.report.plan.events >= 500


def test_making_small_ends_after_so_many_tries() -> None:
    small, tries = small_of(stale_read, Plan(seed=7), tries_max=3)
    assert tries == 3
    assert small.finding is not None


def test_what_cannot_be_made_smaller_stays_as_it_is_but_names_its_nodes() -> None:
    def judge(plan: Plan) -> JudgedSeed:
        untouched = plan in {Plan(seed=7), Plan(seed=7, nodes=5)}
        return run_of(plan, broken="all of it", at=EVENTS) if untouched else run_of(plan)

    small, _ = small_of(judge, Plan(seed=7))
    assert small.report.plan == Plan(seed=7, nodes=5)


def test_a_run_is_never_shorter_than_the_least() -> None:
    small, _ = small_of(
        lambda plan: run_of(plan, broken="always", at=plan.events), Plan(seed=1, events=400)
    )
    assert EVENTS_MIN <= small.report.plan.events < 2 * EVENTS_MIN


# -------------------------------------------------------------------------------- what is known


def test_seeds_that_held_are_not_run_again(tmp_path: Path) -> None:
    path, ran = tmp_path / "soak.json", list[int]()

    def judge(plan: Plan) -> JudgedSeed:
        ran.append(plan.seed)
        return run_of(plan, idle=plan.seed == 3)

    soak_of(range(1, 6), judge, RegisterFile(path, WAY)).run()
    soak_of(range(1, 9), judge, RegisterFile(path, WAY)).run()
    assert ran == [1, 2, 3, 4, 5, 6, 7, 8]
    ledger = RegisterFile(path, WAY).ledger
    assert ranges.show(ledger.held) == "1-2,4-8"
    assert ranges.show(ledger.inconclusive) == "3"
    assert ledger.facts == 8 * 5


def test_other_code_or_options_begin_anew_and_keep_what_was_known(tmp_path: Path) -> None:
    path, ran = tmp_path / "soak.json", list[int]()

    def judge(plan: Plan) -> JudgedSeed:
        ran.append(plan.seed)
        return run_of(plan)

    soak_of([1, 2], judge, RegisterFile(path, WAY)).run()
    changed = SeedSetup(code="def", how="")
    soak_of([1], judge, RegisterFile(path, changed)).run()
    assert ran == [1, 2, 1]
    again = RegisterFile(path, WAY)
    assert again.ledger.held == {1, 2}
    assert [(each.way, each.held) for each in again.others] == [(changed, {1})]


def test_an_interrupted_soak_has_saved_what_it_knows(tmp_path: Path) -> None:
    path = tmp_path / "soak.json"

    def judge(plan: Plan) -> JudgedSeed:
        if plan.seed == 3:
            raise KeyboardInterrupt
        return run_of(plan)

    with pytest.raises(KeyboardInterrupt):
        soak_of(range(1, 6), judge, RegisterFile(path, WAY)).run()
    assert RegisterFile(path, WAY).ledger.held == {1, 2}


def test_a_seed_that_broke_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "soak.json"
    first = soak_of([1, 2], lambda plan: run_of(plan, broken="x"), RegisterFile(path, WAY)).run()
    assert [each.found.report.seed for each in first] == [1]
    book = RegisterFile(path, WAY)
    assert book.ledger.broken == {1: "x"}
    assert not book.ledger.known(1)
    assert soak_of([1, 2], held, book).run() == []
    assert RegisterFile(path, WAY).ledger.broken == {}
    assert RegisterFile(path, WAY).ledger.held == {1, 2}


def test_a_soak_stops_at_the_first_failure_unless_told_to_go_on() -> None:
    def judge(plan: Plan) -> JudgedSeed:
        return run_of(plan, broken=f"thing {plan.seed % 2}") if plan.seed > 2 else run_of(plan)

    stopped = soak_of(range(1, 8), judge, RegisterFile(None, WAY))
    assert len(stopped.run()) == 1
    assert stopped.progress.done == 3
    gone_on = soak_of(range(1, 8), judge, RegisterFile(None, WAY), keep_going=True)
    failures = gone_on.run()
    assert [each.found.report.seed for each in failures] == [3, 4, 5, 6, 7]
    # The first of each kind is made small.
    small = [each.found.report.seed for each in failures if each.small is not each.found]
    assert small == [3, 4]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema": "qsync/soak/2", "ledgers": []}',
        '{"schema": "qsync/soak/1", "ledgers": 5}',
        '{"schema": "qsync/soak/1", "ledgers": [{"code": "x"}]}',
    ],
)
def test_a_file_that_is_none_of_ours_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match="no file of a soak"):
        RegisterFile(path, WAY)
    assert path.read_text() == text


def test_a_file_that_cannot_be_written_is_named_before_anything_runs(tmp_path: Path) -> None:
    def unwanted(plan: Plan) -> JudgedSeed:
        raise AssertionError(plan)

    for path in (Path("/dev/null/soak.json"), tmp_path / "nowhere" / "soak.json"):
        book = RegisterFile(path, WAY)
        corpus = Corpus(path, "")
        kept = Soak(
            plans=[Plan(seed=1)],
            judge=unwanted,
            book=RegisterFile(None, WAY),
            corpus=corpus,
            progress=SoakProgress(total=1, known=0, now=lambda: 0.0),
        )
        for work in (soak_of([1], unwanted, book).run, kept.run, book.save, corpus.save):
            with pytest.raises(OSError, match=r"such file|directory") as refused:
                work()
            assert refused.value.filename == str(path)
    assert not list(tmp_path.iterdir())


def test_the_file_is_one_json_document(tmp_path: Path) -> None:
    path = tmp_path / "soak.json"
    soak_of([5, 6, 7], held, RegisterFile(path, WAY)).run()
    document = json.loads(path.read_text())
    assert document["schema"] == "qsync/soak/1"
    assert document["ledgers"][0]["held"] == "5-7"
    assert list(tmp_path.iterdir()) == [path]


def test_a_run_in_which_nothing_happened_is_no_proof() -> None:
    ledger = SeedRegister(way=WAY)
    idle = run_of(Plan(seed=1), idle=True)
    calm = run_of(Plan(seed=2, strikes=()))
    assert idle.conclusion is calm.conclusion is SeedConclusion.INCONCLUSIVE
    assert "no write was acknowledged" in idle.describe()
    assert "nothing broke" in calm.describe()
    ledger.add(idle)
    assert not ledger.held


# ------------------------------------------------------------------------------------ small parts


@pytest.mark.parametrize("text", ["1-3,5", "7", "1-400,402,500-501"])
def test_ranges_are_written_as_they_are_read(text: str) -> None:
    assert ranges.show(seed for each in ranges.parse(text) for seed in each) == text


@pytest.mark.parametrize("text", ["a", "3-1", "-4", "1-", "1,,2", "1-2-3"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"range|begins"):
        ranges.parse(text)


def test_progress_says_how_long_the_rest_takes() -> None:
    clock = iter([100.0, 104.0, 104.0])
    progress = SoakProgress(total=1000, known=100, now=lambda: next(clock))
    for seed in range(40):
        progress.add(run_of(Plan(seed=seed), broken="x" if seed == 3 else None))
    line = progress.describe()
    assert line == "140/1000 seeds (100 known before), 10.0/s, 1 broken, 0 inconclusive, 1m26s left"


def test_a_replay_line_says_everything_that_is_not_drawn() -> None:
    plan = Plan(
        seed=5,
        nodes=3,
        events=900,
        clients=2,
        keys=1,
        without=("pause", "torn"),
        strikes=(3, 7),
        mutant="no_fsync",
    )
    assert plan.command() == (
        "qsync sim --replay 5 --nodes 3 --events 900 --clients 2 --keys 1 "
        "--without pause,torn --strikes 3,7 --mutant no_fsync"
    )
    assert Plan(seed=5).command() == "qsync sim --replay 5"
    assert Plan(seed=5, strikes=()).command() == "qsync sim --replay 5 --strikes none"


def test_the_version_of_the_code_is_a_number_over_its_sources() -> None:
    assert code.version() == code.version()
    assert len(code.version()) == 16


def test_processes_leave_interrupts_to_their_parent() -> None:
    found = list(judged([Plan(seed=1), Plan(seed=2)], interruptible, jobs=2))
    assert [each.facts for each in found] == [0, 0]


def interruptible(plan: Plan) -> JudgedSeed:
    """Says in `facts` whether an interrupt would end this process."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return JudgedSeed(
        report=run_of(plan).report, finding=None, facts=int(not ignored), undecided=()
    )


def test_what_was_given_up_and_took_effect_is_noticed() -> None:
    done = run(Plan(seed=7, events=400))
    told = RecordedLine(
        index=len(done.history),
        time=0,
        process=77,
        type="fail",
        name="stranger",
        f="resolve",
        space="",
        key=None,
        value=None,
        error="GIVEN_UP",
        session="5e",
        seq=3,
    )
    begun = replace(told, type="invoke", error=None, session="", seq=0)
    lines = [*done.history, begun, replace(told, index=told.index + 1)]
    assert look(replace(done, history=lines)).finding is None
    both = replace(done, history=lines, applied=done.applied | {("5e", 3): 9})
    finding = look(both).finding
    assert finding is not None
    assert finding.check == "given-up-is-gone"
