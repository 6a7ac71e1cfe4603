"""What a check leaves behind: a page for people, a story that stays small, proofs with places."""

import dataclasses
import html
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from typing_extensions import override

from admin.checker.bundles import check_bundle
from admin.checker.operation import Operation
from admin.checker.quick import CheckedInvariant, HistoryReport, check_file
from admin.checker.report import page, story, witness
from admin.checker.report.page import Circumstances, render
from admin.checker.report.places import placed, proven
from admin.checker.report.sentence import sentence, summed
from admin.checker.report.story import tell
from admin.checker.report.thin import CountSeries, ThinnedSeries
from admin.checker.rules.rule import KEYS
from admin.checker.verdict import EXAMPLES_MAX, KEPT_MAX, Result, Verdict, Violation, conclude
from admin.evidence.bundle import Bundle, write
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.tables import Row

HOW = Circumstances("quick", 1.5, "1.2.3")
WORDS = re.compile(r'<text class="opword" x="([\d.]+)" y="([\d.]+)">([^<]*)</text>')
VOID = {"meta", "br", "rect", "line"}


class Tree(HTMLParser):
    """Checks that every tag is closed, and keeps the words and the addresses within the page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words = ""
        self.ids: list[str] = []
        self.links: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [given["href"] or ""] if "href" in given else []
        if tag not in VOID or tag == "rect":
            self.open.append(tag)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    @override
    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    @override
    def handle_data(self, data: str) -> None:
        self.words += data


def parsed(text: str) -> Tree:
    tree = Tree()
    tree.feed(text)
    assert tree.open == []
    assert len(set(tree.ids)) == len(tree.ids)
    assert {each.removeprefix("#") for each in tree.links} <= set(tree.ids)
    return tree


def sample(number: int, node: int, at: float, **members: object) -> Row:
    known: Row = {"node": node, "generation": 1, "life": 1, "sample": number, "term": 1}
    known |= {"time_mono": int(at * 1e9), "role": "follower", "ro": True}
    return known | members


def entry(node: int, index: int, term: int = 1, **members: object) -> Row:
    known: Row = {"node": node, "generation": 1, "index": index, "term": term, "kind": "TXN"}
    known |= {"origin": 1, "lsn": index, "flags": 0, "crc": index * 7 + term}
    return known | members


def bundle(folder: Path, source: str = "drill", **tables: list[Row]) -> Bundle:
    nodes = tuple(NodeFacts(node=node, name=f"n{node}", last=3) for node in (1, 2))
    manifest = Manifest(
        run_id=folder.name, source=source, quorum=2, voters=2, nodes=nodes, faults=True
    )
    return write(folder, manifest, dict(tables))


def two_reigns(folder: Path) -> Bundle:
    """n1 leads term 1 for five seconds, is killed, and comes back; n2 leads term 2."""
    status = [
        sample(0, 1, 10.0, role="leader", confirmed=0),
        sample(1, 1, 15.0, role="leader", confirmed=2),
        sample(2, 2, 16.0, role="leader", term=2, confirmed=2),
        sample(3, 1, 18.0, life=2, term=2, confirmed=3),
        sample(4, 2, 20.0, role="leader", term=2, confirmed=3),
    ]
    kill: Row = {"number": 1, "f": "kill", "time_mono": int(15e9)}
    kill["value"] = {"text": "kill <n1>", "nodes": ["n1"], "seconds": 0.02}
    start: Row = {"number": 2, "f": "start", "time_mono": int(17e9)}
    start["value"] = {"text": "start <n1>", "nodes": ["n1"], "seconds": 0.5}
    lines: list[Row] = [
        {"index": at, "time": int((10 + at) * 1e9), "process": 0, "type": type_, "f": "write"}
        for at, type_ in enumerate(("invoke", "ok"))
    ]
    logs = [entry(node, index) for node in (1, 2) for index in (1, 2, 3)]
    return bundle(folder, status=status, nemesis=[kill, start], ops=lines, wal=logs)


def broken(folder: Path) -> HistoryReport:
    """The same, with another entry at 2 on one of the nodes."""
    found = two_reigns(folder)
    logs = [entry(node, index) for node in (1, 2) for index in (1, 2, 3)]
    logs[4]["crc"] = 4711
    write(folder, found.manifest, {"wal": logs})
    return check_bundle(folder)


def test_the_story_has_reigns_faults_restarts_and_answers(tmp_path: Path) -> None:
    found = tell(two_reigns(tmp_path / "run"))
    reigns = [(each.node, each.term, each.begun, each.ended) for each in found.bands]
    assert reigns == [(1, 1, 0.0, 5.0), (2, 2, 6.0, 10.0)]
    assert [(each.text, each.begun, each.ended) for each in found.faults] == [
        ("kill <n1>", 5.0, 7.5)
    ]
    assert found.starts == [(1, 8.0)]
    assert found.curves[1].points == ((0.0, 0), (5.0, 2), (8.0, 3))
    assert sum(count for _, _, count in found.acks.stretches) == 1
    assert (found.reached(3), found.reached(4), found.led(2)) == (8.0, None, 6.0)


def test_a_dump_is_told_by_the_times_in_its_logs(tmp_path: Path) -> None:
    logs = [
        entry(1, 1, kind="PROMOTE", time=100.0),
        entry(1, 2, time=103.0),
        entry(1, 3, 2, kind="PROMOTE", origin=2, time=104.0),
        entry(1, 4, 2, origin=2, time=105.0),
    ]
    status = [sample(0, 1, 50.0, role="leader", term=2), sample(1, 1, 51.0, role="leader", term=2)]
    found = tell(bundle(tmp_path / "dump", "nodes", status=status, wal=logs))
    assert found.walls
    assert [(each.node, each.begun, each.ended) for each in found.bands] == [
        (1, 0.0, 4.0),
        (2, 4.0, 5.0),
    ], "a leader is one until the next, also while nobody writes"


def test_a_long_series_keeps_its_shape_in_few_points() -> None:
    curve, answers = ThinnedSeries(points_max=50), CountSeries(points_max=50)
    for number in range(100_000):
        curve.add(number / 100, number)
        answers.add(number / 100)
    assert len(curve.points) <= 50
    assert curve.points[-1] == (999.99, 99_999)
    assert all(value == pytest.approx(at * 100) for at, value in curve.points)
    assert sum(count for _, _, count in answers.stretches) == 100_000
    assert len(answers.stretches) <= 50


def test_a_page_of_a_very_long_run_is_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story, "BANDS_MAX", 100)
    rows = [
        sample(at, 1 + at // 10 % 2, at * 1.0, role="leader", term=at // 10, confirmed=at)
        for at in range(20_000)
    ]
    found = bundle(tmp_path / "run", status=rows)
    text = render([check_bundle(found.path)], HOW)
    assert len(text) < 120_000
    assert "Some of it is not drawn." in parsed(text).words


def test_violations_are_shown_with_rows_and_at_their_moment(tmp_path: Path) -> None:
    report = broken(tmp_path / "run")
    found = Bundle.open(tmp_path / "run")
    (mark,) = [
        each
        for each in placed(found, tell(found), report)
        if each.violation.invariant == "log-matching"
    ]
    assert mark.at == 5.0
    assert {each.row["crc"] for each in mark.violation.rows} >= {15, 4711}


def test_what_has_no_rows_is_given_those_around_it(tmp_path: Path) -> None:
    found = two_reigns(tmp_path / "run")
    bare = [
        Violation(invariant="log-matching", message="", index=2),
        Violation(invariant="one-writable", message="", term=2),
    ]
    entries, samples = proven(found, bare)
    assert [each.row["index"] for each in entries.rows] == [2, 2, 1, 3, 1, 3]
    assert [each.row["sample"] for each in samples.rows] == [2, 3, 4]


def test_a_feed_that_leaves_something_out_is_marked_when_that_was_confirmed(tmp_path: Path) -> None:
    found = two_reigns(tmp_path / "run")
    answer: Row = {"reader": 1, "number": 77, "after": 0, "upto": 3, "places": [[1, 1], [2, 1]]}
    logs = [entry(node, index, space=600) for node in (1, 2) for index in (1, 2, 3)]
    write(found.path, found.manifest, {"wal": logs, "feeds": [answer]})
    marks = placed(found, tell(found), check_bundle(found.path))
    (mark,) = [each for each in marks if each.violation.invariant == "feed-complete"]
    assert (mark.violation.index, mark.at) == (3, 8.0)
    shown = [(each.table, each.row.get("index")) for each in mark.violation.rows]
    assert shown == [("feeds", None), ("wal", 3)]


@pytest.mark.parametrize(
    ("invariant", "index", "table", "at"),
    [
        ("feed-complete", 3, "wal", 8.0),
        ("rolled-back-hidden", 1, "ops", 1.0),
        ("limbo-replay", 2, "status", 6.0),
        ("status-coherent", 2, "status", 6.0),
        ("reads-fresh", 3, "events", 4.0),
    ],
)
def test_a_violation_is_marked_at_the_row_that_it_is_numbered_by(
    tmp_path: Path, invariant: str, index: int, table: str, at: float
) -> None:
    """Numbers of lines, samples and events are no places in the log."""
    found = two_reigns(tmp_path / "run")
    event: Row = {"node": 1, "generation": 1, "life": 1, "number": 3, "name": "served"}
    write(found.path, found.manifest, {"events": [event | {"time_mono": int(14e9)}]})
    verdict = conclude(
        invariant, facts=1, violations=[Violation(invariant=invariant, message="", index=index)]
    )
    report = check_bundle(found.path)
    report = dataclasses.replace(report, checked=(CheckedInvariant(verdict=verdict, seconds=0.0),))
    (mark,) = placed(found, tell(found), report)
    assert mark.at == at
    assert mark.violation.rows[0].table == table
    assert mark.violation.rows[0].row[KEYS[table]] == index


def test_the_page_has_the_verdict_every_invariant_and_a_section_a_proof(tmp_path: Path) -> None:
    report = broken(tmp_path / "run")
    text = render([report], HOW)
    tree = parsed(text)
    assert sentence(report) in tree.words
    assert all(each.verdict.invariant in tree.words for each in report.checked)
    shown = sum(min(each.verdict.count, EXAMPLES_MAX) for each in report.checked)
    assert sum(bool(re.fullmatch(r"run1-\d+", each)) for each in tree.ids) == shown > 0
    assert "kill <n1>" in tree.words, "what a name holds is text, not HTML"
    assert '<code class="odd">4711</code>' in text


def test_names_in_the_evidence_of_others_stay_text(tmp_path: Path) -> None:
    """A bundle may come from anybody; its page is opened in the browser of who judges it."""
    broken(tmp_path / "run")
    known = Bundle.open(tmp_path / "run").manifest
    odd = "</title></svg><script>alert(1)</script>"
    named = tuple(dataclasses.replace(each, name=odd) for each in known.nodes)
    dataclasses.replace(known, nodes=named).save(tmp_path / "run")
    text = render([check_bundle(tmp_path / "run")], HOW)
    assert "<script" not in text
    assert "is back after a restart" in text
    assert "at the end" in text
    assert text.count(html.escape(odd)) >= 4


def test_what_holds_is_folded_beside_what_does_not(tmp_path: Path) -> None:
    report, holds = broken(tmp_path / "run"), re.compile(r"<summary>\d+ hold<")
    broken_page = render([report], HOW)
    table_, _, folded_ = broken_page.partition("<summary>")
    assert "log-matching" in table_
    assert "log-dense" not in table_
    assert "log-dense" in folded_
    assert holds.search(broken_page)
    good = tuple(each for each in report.checked if each.verdict.result is Result.PASS)
    assert not holds.search(render([dataclasses.replace(report, checked=good)], HOW))


def test_long_lists_are_folded_behind_their_first_lines(tmp_path: Path) -> None:
    report = broken(tmp_path / "run")
    (odd,) = [each for each in report.checked if each.verdict.invariant == "log-matching"]
    operations = [
        Operation(process=1, f="write", value=at, begun=at, ended=at + 1, number=at)
        for at in range(witness.ROWS_OPEN_MAX + 7)
    ]
    one = Violation(invariant="log-matching", message="no", witness=tuple(operations))
    verdict = dataclasses.replace(odd.verdict, violations=(one,) * EXAMPLES_MAX)
    checked = [dataclasses.replace(odd, verdict=verdict)] * 2
    text = render([dataclasses.replace(report, checked=tuple(checked))], HOW)
    assert text.count("<summary>7 more operations</summary>") == 2 * EXAMPLES_MAX
    assert f"<summary>{2 * EXAMPLES_MAX - page.PROOFS_OPEN_MAX} more proofs</summary>" in text
    many = [dataclasses.replace(report, checked=())] * (page.RUNS_MAX + 3)
    assert "<summary>3 more runs</summary>" in render(many, HOW)
    tree = Tree()
    tree.feed(text)
    assert not tree.open


def test_the_page_needs_nothing_from_outside(tmp_path: Path) -> None:
    text = render([broken(tmp_path / "run")], HOW)
    for odd in ("http", "src=", "<link", "<script", "@import", "url("):
        assert odd not in text, odd
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_the_proof_of_a_history_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    lines = [
        "{:process 0 :type :invoke :f :write :value 1}",
        "{:process 0 :type :ok :f :write :value 1}",
        "{:process 1 :type :invoke :f :read :value nil}",
        "{:process 1 :type :ok :f :read :value 2}",
    ]
    path.write_text("\n".join(lines))
    text = render([check_file(path)], HOW)
    assert "no order explains this" in parsed(text).words
    assert 'class="op stuck"' in text


def test_words_in_a_drawing_end_where_the_next_operation_begins(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    long = " ".join(str(each) for each in range(60))
    appended = " ".join(f"[:append :x {each}]" for each in range(60))
    lines = [
        "{:process 0 :type :invoke :f :txn :value [[:append :x 99]]}",
        "{:process 0 :type :ok :f :txn :value [[:append :x 99]]}",
        "{:process 0 :type :invoke :f :txn :value [[:r :x nil]]}",
        f"{{:process 0 :type :ok :f :txn :value [[:r :x [{long}]]]}}",
        f"{{:process 1 :type :invoke :f :txn :value [{appended}]}}",
        f"{{:process 1 :type :ok :f :txn :value [{appended}]}}",
    ]
    path.write_text("\n".join(lines))
    text = render([check_file(path)], HOW)
    parsed(text)
    rows: dict[tuple[int, str], list[tuple[float, str]]] = {}
    for drawing, part in enumerate(text.split("<svg")):
        for left, top, said in WORDS.findall(part):
            rows.setdefault((drawing, top), []).append((float(left), html.unescape(said)))
    assert max(map(len, rows.values())) > 1, "a row with two operations"
    for row in rows.values():
        for (left, said), (right, _) in pairwise(sorted(row)):
            assert left + len(said) * 6 < right


def renamed(report: HistoryReport, number: int) -> HistoryReport:
    return dataclasses.replace(report, file=f"{report.file}-{number}")


def test_of_many_runs_the_broken_come_first_and_the_others_are_listed(tmp_path: Path) -> None:
    bad = broken(tmp_path / "bad")
    holds = [each for each in bad.checked if each.verdict.result is Result.PASS]
    fine = dataclasses.replace(bad, file="fine-run", checked=tuple(holds))
    reports = [*(renamed(fine, number) for number in range(page.RUNS_MAX + 5)), bad]
    text = render(reports, HOW)
    tree = parsed(text)
    assert summed(reports) in tree.words
    assert text.index(bad.file) < text.index(fine.file)
    assert all(each.file in tree.words for each in reports)
    assert f"run{page.RUNS_MAX}" in tree.ids
    assert f"run{page.RUNS_MAX + 1}" not in tree.ids


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: conclude("a", facts=3, violations=[]),
            "The one invariant that could be examined holds",
        ),
        (lambda: conclude("a", facts=0, violations=[]), "Nothing is known to be broken, but a"),
        (
            lambda: conclude("a", facts=1, violations=[Violation(invariant="a", message="")]),
            "1 of 1 invariants does not hold: a.",
        ),
    ],
)
def test_the_sentence_says_what_is_known(
    make: Callable[[], Verdict], said: str, tmp_path: Path
) -> None:
    report = broken(tmp_path / "run")
    (first, *_) = report.checked
    only = dataclasses.replace(first, verdict=make())
    assert sentence(dataclasses.replace(report, checked=(only,))).startswith(said)


def test_violations_are_counted_beyond_those_that_are_kept() -> None:
    each = Violation(invariant="a", message="broken")
    found = conclude("a", facts=1, violations=[each] * (KEPT_MAX + 1))
    assert (found.result, found.count, len(found.violations)) == (
        Result.FAIL,
        KEPT_MAX + 1,
        KEPT_MAX,
    )
    assert len(found.describe()) == 1 + EXAMPLES_MAX
