"""Moments, recordings, rates, the past, and the lines for where there is no terminal."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from admin.cluster import documents, remarks, short
from admin.cluster.moment import SCHEMA, Moment, MomentWriter, read
from admin.cluster.past import leaderships, merged
from admin.cluster.picture import ClusterPicture, PictureModel
from admin.cluster.short import seconds
from cli.top import draw, nodes, panels, run
from cli.top.sources import Tape
from qsync.core.generation import first_term_of
from qsync.errors import ConfigError
from tests.terminal import cast


def counted(at: float, **counters: int) -> Moment:
    """The leader alone, having counted so much by then."""
    answers = {1: cast.node(1, leads=True) | {"counters": counters}}
    return replace(cast.moment(answers), time=cast.NOON + at)


# ------------------------------------------------------------------------------------- recordings


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
def test_a_recording_reads_back_as_it_was(tmp_path: Path, name: str) -> None:
    moments = [
        replace(make(), time=cast.NOON + at) for at, make in enumerate(cast.CLUSTERS.values())
    ]
    writer = MomentWriter(tmp_path / name)
    for moment in moments:
        writer.write(moment)
    writer.close()
    found = read(tmp_path / name)
    assert writer.count == len(found) == 3
    for one, other in zip(found, moments, strict=True):
        assert one.survey == other.survey
        assert one.time == other.time
        assert [list(e) for e in one.events.values()] == [list(e) for e in other.events.values()]


def test_events_are_written_only_when_there_are_new_ones(tmp_path: Path) -> None:
    writer = MomentWriter(tmp_path / "run")
    for _ in range(3):
        writer.write(cast.healthy())
    writer.close()
    lines = [json.loads(line) for line in (tmp_path / "run").read_text().splitlines()]
    assert ["events" in line for line in lines] == [True, False, False]
    assert [len(moment.events) for moment in read(tmp_path / "run")] == [2, 2, 2]


def test_a_torn_last_line_is_left_out_and_another_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    writer = MomentWriter(path)
    for _ in range(2):
        writer.write(cast.healthy())
    writer.close()
    whole = path.read_text()
    path.write_text(whole[:-40])
    assert len(read(path)) == 1
    path.write_text("nonsense\n" + whole)
    with pytest.raises(ConfigError, match=r"run:1: is no recorded moment"):
        read(path)
    path.write_text('{"schema": "qsync/moment/99"}\n' + whole)
    with pytest.raises(ConfigError, match=f"not '{SCHEMA}'"):
        read(path)


def test_a_recording_is_never_written_over_another_file(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="exists already"):
        MomentWriter(path)
    with pytest.raises(ConfigError, match="No such file"):
        MomentWriter(tmp_path / "nowhere" / "run")
    path.write_text("")
    with pytest.raises(ConfigError, match="holds no moment"):
        read(path)
    (tmp_path / "half.gz").write_bytes(gzip.compress(b"x" * 100)[:20])
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path / "half.gz")


def test_a_replay_goes_at_its_own_pace_and_jumps(tmp_path: Path) -> None:
    path = tmp_path / "run"
    writer = MomentWriter(path)
    for second in range(10):
        writer.write(counted(float(second), writes=100 * second))
    writer.close()
    tape = Tape(path)
    assert (tape.picture(0.0).moment.time, tape.words) == (cast.NOON, "replay 1/10")
    assert tape.picture(0.9).moment.time == cast.NOON
    assert tape.picture(1.0).moment.time == cast.NOON + 1
    tape.seek(5)
    shown = tape.picture(1.1)
    assert (shown.moment.time, tape.words) == (cast.NOON + 6, "replay 7/10")
    assert shown.rates.writes == pytest.approx(100.0)
    tape.seek(-100)
    assert tape.picture(1.2).moment.time == cast.NOON
    assert not tape.over
    tape.seek(100)
    assert tape.picture(1.3).moment.time == cast.NOON + 9
    assert tape.over
    assert tape.picture(9.9).moment.time == cast.NOON + 9


# ------------------------------------------------------------------------------------------ rates


def test_rates_are_per_second_over_the_last_two() -> None:
    model = PictureModel()
    model.show(counted(0.0, writes=0, reads=10))
    model.show(counted(1.0, writes=100, reads=10))
    shown = model.show(counted(3.0, writes=700, reads=30, unknown=2, lost_async=1))
    assert shown.rates.writes == pytest.approx(300.0)
    assert shown.rates.reads == pytest.approx(10.0)
    assert (shown.rates.unknown, shown.rates.lost_async) == (2, 1)


def test_a_node_that_comes_back_makes_no_peak() -> None:
    model = PictureModel()
    model.show(counted(0.0, writes=1000))
    assert model.show(replace(cast.moment({}), time=cast.NOON + 2)).rates.writes == 0
    assert model.show(counted(4.0, writes=1100)).rates.writes == 0
    assert model.show(counted(6.0, writes=5)).rates.writes == 0  # restarted
    assert model.show(counted(8.0, writes=25)).rates.writes == pytest.approx(10.0)


def test_latency_is_of_the_last_minute_only() -> None:
    def at(second: float, latency: dict[str, object]) -> Moment:
        answers = {1: cast.node(1, leads=True) | {"latency": latency}}
        return replace(cast.moment(answers), time=cast.NOON + second)

    model = PictureModel()
    model.show(at(0.0, cast.times()))
    slow = model.show(at(10.0, cast.times(us900000=5)))
    assert (slow.commit.count, seconds(slow.commit.quantile(1.0) or 0)) == (5, "900ms")
    shown = [
        model.show(at(float(second), cast.times(us900000=5, us1000=second)))
        for second in range(20, 200, 10)
    ]
    calm = shown[-1]
    assert calm.commit.count == 60
    assert (calm.commit.quantile(0.99) or 1) < 0.002


def test_sparks_are_one_a_second_whatever_the_frame_rate() -> None:
    model = PictureModel()
    shown = [model.show(counted(step / 4, writes=step * 25)) for step in range(40)]
    assert len(shown[-1].sparks) == 10


# --------------------------------------------------------------------------------------- the past


def test_events_of_all_nodes_are_in_order_and_name_names() -> None:
    found = merged(cast.EVENTS, cast.NAMES)
    assert [each.time for each in found] == sorted(each.time for each in found)
    silent = next(each for each in found if each.name == "leader_silent")
    assert (silent.node, silent.level, silent.words) == ("n1", "W", "term=6 leader=n2")
    assert silent.sentence == "has not heard n2, leader of term 6, for too long"
    torn = merged({1: ({"time": "no time", "event": "cut"},)}, {})
    assert (torn[0].time, torn[0].node, torn[0].level) == (0.0, "1", "E")


def test_an_event_that_says_less_or_is_unknown_is_shown_with_its_fields() -> None:
    told: list[dict[str, object]] = [{"event": "follows", "term": 7}, {"event": "new", "x": 1}]
    found = merged({1: told}, {})
    assert [each.sentence for each in found] == ["follows term=7", "new x=1"]


def test_who_led_when_and_why() -> None:
    found = leaderships(cast.EVENTS, cast.NAMES)
    assert [(each.term, each.leader, each.reason) for each in found] == [
        (7, "n1", "the leader was silent"),
        (6, "n2", "promoted by an operator"),
    ]
    assert found[0].took == pytest.approx(0.4)


def test_a_dead_leader_is_known_from_those_that_followed_it() -> None:
    told = (
        cast.event(90.0, "follows", term=4, leader=3),
        cast.event(60.0, "follows", term=5, leader=1),
        cast.event(50.0, "leader_silent", term=5, leader=1),
        cast.event(49.0, "follows", term=5, leader=1),
        cast.event(20.0, "leader_gone", term=5, leader=1),
    )
    found = leaderships({2: told, 4: (cast.event(61.0, "follows", term=5, leader=1),)}, cast.NAMES)
    assert [(each.term, each.leader, each.took) for each in found] == [
        (5, "n1", None),
        (4, "n3", None),
    ]
    assert found[0].since == cast.NOON - 61.0
    assert (found[0].ended, found[1].ended) == (cast.NOON - 20.0, None)


@pytest.mark.parametrize(
    ("signs", "reason"),
    [
        (["started"], "after a start"),
        (["follows", "leader_gone", "campaign"], "the leader's process was gone"),
        (["follows", "handed"], "the leader handed over"),
        (["follows", "leader_resigned", "campaign"], "the leader resigned"),
        (["elected", "stepped_down", "campaign"], "it had stepped down: too few voters answered"),
        (["follows", "campaign"], "no leader was known"),
    ],
)
def test_the_reason_is_what_the_node_noted_before(signs: list[str], reason: str) -> None:
    told = [
        cast.event(9.0 - at, "campaign", promoted=True)
        if sign == "handed"
        else cast.event(9.0 - at, sign, promoted=False, why="quorum_lost")
        for at, sign in enumerate(signs)
    ]
    found = leaderships({1: (*told, cast.event(1.0, "elected", term=3))}, cast.NAMES)
    assert found[0].reason == reason


# ------------------------------------------------------------------------------- without a terminal


def test_a_line_has_a_value_under_every_title() -> None:
    head, row = run.header(), run.row(cast.picture("degraded"))
    assert len(head) == len(row)
    found = dict(zip(head.split(), row.split(), strict=True))
    assert found["health"] == "degraded"
    assert (found["leader"], found["margin"], found["up"]) == ("n1", "1", "4/5")
    assert (found["limbo"], found["oldest"], found["lag"]) == ("4", "2.7s", "21k")
    assert run.row(cast.picture("leaderless")).split()[1:4] == ["down", "-", "9"]


def test_json_has_all_that_the_screen_has() -> None:
    found = json.loads(json.dumps(documents.picture_members(cast.picture("degraded")), default=str))
    assert found["rates"]["writes"] > 0
    assert found["commit_s"]["p50"] < found["commit_s"]["max"]
    assert found["findings"][0]["subject"] == "n3"
    assert found["leaderships"][0]["term"] == 7


# ------------------------------------------------------------------------------------ small words


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.25, "0.2"),
        (7, "7"),
        (812.4, "812"),
        (1900, "1.9k"),
        (48e6, "48M"),
        (3e9, "3.0G"),
    ],
)
def test_amounts_are_short(number: float, text: str) -> None:
    assert short.amount(number) == text


@pytest.mark.parametrize(
    ("value", "text"), [(412, "412B"), (1536, "1.5K"), (16 << 20, "16M"), (3 << 40, "3.0T")]
)
def test_sizes_are_short(value: int, text: str) -> None:
    assert short.size(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(45, "45s"), (684, "11m24s"), (14940, "4h09m"), (792000, "9d4h")]
)
def test_long_times_have_two_units(value: float, text: str) -> None:
    assert short.lasting(value) == text


def test_prose_is_wrapped_at_words_and_cut_at_the_end() -> None:
    lines = draw.wrapped("one two three four five", 9, 2)
    assert [line.plain for line in lines] == ["one two  ", "three fo…"]


# --------------------------------------------------------------------- nodes that are no part of it


def removed(standing: str) -> ClusterPicture:
    """The configuration of the others has no n5, which hears nothing of them."""
    stay = [[id, name, f"127.0.0.1:330{id}"] for id, name in cast.NAMES.items() if id != 5]
    answers = {id: cast.node(id, leads=id == 1, nodes=stay) for id in cast.NAMES}
    answers[5] = cast.node(5, standing=standing, leader=None, written=800, nodes=stay)
    return PictureModel().show(cast.moment(answers))


def lag_of_n5(picture: ClusterPicture) -> str:
    shown = [line.plain for line in nodes.table(picture, 200, nodes.size(picture), 1)]
    row = next(line for line in shown if "n5" in line)
    return row[: shown[0].index("lag") + len("lag")].split()[-1]


def test_a_removed_node_keeps_its_name_has_no_lag_and_disagrees_with_nobody() -> None:
    picture = removed("removed")
    assert picture.name(5) == "n5"
    assert "all agree" in panels.leader(picture, 200)[0].plain
    assert lag_of_n5(picture) == "-"
    picture = removed("learner")
    assert "n5 follows nobody" in panels.leader(picture, 200)[0].plain
    assert lag_of_n5(picture) == "88k"


def superseded(id: int) -> dict[str, object]:
    """A node of the former cluster, which has the id of a member of this one."""
    why = "this node is superseded: its history goes on in cluster c"
    other = {"status": "superseded", "replicaset": {"uuid": "former"}, "ro": True}
    return cast.node(id) | other | {"ro_reasons": [{"why": "superseded", "text": why}]}


@pytest.mark.parametrize("width", [50, 80, 200])
def test_superseded_nodes_stand_under_the_table_and_are_no_members(
    tmp_path: Path, width: int
) -> None:
    moment = replace(cast.healthy(), apart=tuple(superseded(id) for id in (2, 3, 4, 5)))
    writer = MomentWriter(tmp_path / "run")
    writer.write(moment)
    writer.close()
    (found,) = read(tmp_path / "run")
    assert found.survey == moment.survey
    picture = PictureModel().show(found)
    assert picture.rows() == PictureModel().show(cast.healthy()).rows()
    shown = [line.plain for line in nodes.table(picture, width, nodes.size(picture), 1)]
    under = [line for line in shown if "superseded" in line or "no part" in line]
    assert under == shown[-nodes.APART_MAX :], "so many lines at the most"
    assert under[0].startswith("! n2 (127.0.0.1:3302) is superseded")
    assert under[-1].startswith("! 2 more are no part of it")


def test_a_term_of_a_history_that_was_begun_anew_fits_its_column() -> None:
    leader = cast.node(1, leads=True, term=first_term_of(1) + 3)
    picture = PictureModel().show(cast.moment({1: leader}))
    head, row = (line.plain for line in nodes.table(picture, 80, 2, 0)[:2])
    assert row[: head.index("term") + len("term")].endswith(" 1:3")


def reading(*shares: float) -> dict[str, object]:
    """A follower from which backups are taken."""
    readers = [
        {
            "signature": 500,
            "address": "10.0.0.9",
            "bytes": int(share * 8e6),
            "bytes_in_all": 8_000_000,
        }
        for share in shares
    ]
    return cast.node(2) | {"gc": {"readers": readers}}


@pytest.mark.parametrize("width", [50, 80, 200])
def test_backups_under_way_have_a_bar_each_but_not_many(width: int) -> None:
    answers = {1: cast.node(1, leads=True), 2: reading(0.5, 1.0, 0.1, 0.2)}
    picture = PictureModel().show(cast.moment(answers))
    shown = [line.plain for line in nodes.table(picture, width, nodes.size(picture), 1)]
    first, second, more = shown[-nodes.BACKUPS_MAX :]
    assert first.startswith("  n2 gives its snapshot at 500 to 10.0.0.9 [###")
    if width >= 80:
        assert "[#####-----] of " in first
        assert "[##########] of " in second
    assert more.rstrip() == "  2 more read snapshots"


def test_the_status_says_who_takes_a_backup_of_which_node() -> None:
    answers = {1: cast.node(1, leads=True), 2: reading(0.25)}
    (line,) = [each for each in remarks.details(cast.moment(answers).survey) if "backup" in each]
    assert line == "n2 gives its snapshot at 500 to a backup on 10.0.0.9: 25% of 7.6 MiB"


def test_no_column_of_the_nodes_is_cut_at_any_width() -> None:
    picture = PictureModel().show(cast.healthy())
    for width in range(60, 201):
        columns = [each for each in nodes.COLUMNS if width >= each.from_width]
        head = nodes.table(picture, width, 2, 0)[0].plain
        assert [each for each in columns if each.title not in head] == []
        assert sum(each.width + 1 for each in columns) + 1 <= width
