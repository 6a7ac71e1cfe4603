"""Drill files: errors have a line and column, and valid files become plain objects."""

import json
from pathlib import Path

import pytest

from admin.cluster.surveys import ClusterSurvey
from admin.drills import preflight, reader, targets
from admin.drills.failures import DrillStopped
from admin.drills.model import Condition, Drill, DrillTarget, Pick, Step, TargetRole
from admin.drills.schema import schema
from admin.drills.verbs.catalogue import VERBS
from admin.lab import lab
from cli.main import run
from qsync.config import NodeConfig
from qsync.errors import ConfigError

GOOD = """\
drill: mine
title: Mine
hypothesis: It holds.
targets:
  victim: {role: leader}
method:
  - {wait: 1s}
  - {kill: "{{victim}}", signal: TERM, as: fault}
  - {until: {probe: writable, not: victim}, within: 5s, as: back}
  - heal
expect:
  rto: {below: 3s}
  back: {below: 2s}
  unknown: 4
"""


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        reader.parse(text, where="mine.yaml")
    return caught.value.message


def test_a_file_becomes_the_objects_that_python_would_make() -> None:
    drill = reader.parse(GOOD, where="mine.yaml")
    assert drill == Drill(
        name="mine",
        title="Mine",
        hypothesis="It holds.",
        targets={"victim": DrillTarget(role=TargetRole.LEADER)},
        method=(
            Step(verb="wait", options={"for": 1.0}),
            Step(verb="kill", on=("victim",), options={"signal": "TERM"}, label="fault"),
            Step(
                verb="until",
                options={"within": 5.0},
                condition=Condition(probe="writable", other="victim"),
                label="back",
            ),
            Step(verb="heal"),
        ),
        expect=drill.expect,
    )
    assert drill.expect.limits == {"rto": 3.0, "back": 2.0, "unknown": 4.0}


@pytest.mark.parametrize(
    ("before", "after", "place", "words"),
    [
        ("title:", "titel:", "2:1", "did you mean 'title'?"),
        ("role: leader", "roll: leader", "5:12", "did you mean 'role'?"),
        ("role: leader", "role: leeder", "5:18", "did you mean 'leader'?"),
        ("kill:", "kil:", "8:5", "did you mean 'kill'?"),
        ("signal: TERM", "signal: HUP", "8:34", "is not one of KILL, TERM, INT"),
        ('"{{victim}}"', "victm", "8:12", "did you mean 'victim'?"),
        ("within: 5s", "within: 5", "9:53", "has no unit"),
        ("probe: writable", "probe: writeable", "9:21", "did you mean 'writable'?"),
        ("  unknown: 4", "  unknwon: 4", "14:3", "did you mean 'unknown'?"),
        ("rto: {below: 3s}", "rto: 3", "12:8", "needs a limit"),
        ("- heal", "- mend now", "10:5", "is no step without a value"),
        ("wait: 1s}", "wait: 1s, kill: victim}", "7:5", "has two verbs"),
        ("as: back", "as: fault", "7:3", "two steps `as: fault`"),
        ("drill: mine", "drill: mine\nseed: x", "2:7", "is not a whole number"),
        ("drill: mine\n", "", "1:1", "is missing"),
        ("{wait: 1s}", "{wait: 1s", "8:5", "is not YAML"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_column(
    before: str, after: str, place: str, words: str
) -> None:
    assert before in GOOD
    said = refused(GOOD.replace(before, after, 1))
    assert any(
        line.startswith(f"mine.yaml:{place}:") and words in line for line in said.split("\n")
    )


def test_all_mistakes_are_told_at_once() -> None:
    assert refused(GOOD.replace("title:", "titel:").replace("wait: 1s", "wait: 1")).count("\n") >= 2


@pytest.mark.parametrize("name", reader.names())
def test_every_drill_of_the_catalogue_is_fine_on_three_and_on_five_nodes(name: str) -> None:
    drill = reader.load(reader.find(name))
    assert drill.name == name
    assert preflight.complaints(drill) == []
    for nodes in (3, 5):
        names = preflight.preview(drill, None, nodes, None)
        assert all(names[target] for target in drill.targets)
        most = preflight.most_down(drill.method, names)
        assert most <= (drill.guards.max_nodes_down or nodes)
        assert len(preflight.timeline(drill, names)) == len(drill.method)


def test_who_dies_meanwhile_and_who_is_restarted_in_turn_counts_as_down_once() -> None:
    text = "drill: d\ntitle: t\nhypothesis: h\ntargets: {one: {role: leader}, other: {role: any}}\n"
    drill = reader.parse(text + "method:\n  - {restart: all}\n", where="d.yaml")
    names = preflight.preview(drill, None, 3, None)
    assert preflight.most_down(drill.method, names) == 1
    drill = reader.parse(text + "method:\n  - {remove: one, crash: other}\n", where="d.yaml")
    assert preflight.most_down(drill.method, names) == 2
    assert "target 'other' is not used" not in preflight.complaints(drill)


def test_whoever_leads_after_a_leader_is_down_is_another_node() -> None:
    def most(*method: str) -> int:
        text = "drill: d\ntitle: t\nhypothesis: h\nmethod:\n"
        drill = reader.parse(text + "".join(f"  - {each}\n" for each in method), where="d.yaml")
        return preflight.most_down(drill.method, preflight.preview(drill, None, 3, None))

    assert most("{kill: leader}") == 1
    assert most("{kill: leader}", "{kill: leader}") == 2
    assert most("{kill: leader}", "{start: leader}", "{kill: leader}") == 2, "it starts no other"
    assert most("{kill: leader}", "heal", "{kill: leader}") == 1
    assert most("{kill: leader}", "{start: all}", "{kill: leader}") == 1
    assert most("{kill: leader}", "{kill: all}") == 3


def test_lint_finds_what_can_be_read_and_means_nothing() -> None:
    idle = reader.parse(
        "drill: idle\ntitle: t\nhypothesis: h\ntargets: {a: {role: any}}\nmethod: [{wait: 1s}]",
        where="idle.yaml",
    )
    assert len(preflight.complaints(idle)) == 3


def test_no_node_is_in_two_targets_and_the_leader_is_given_away_first() -> None:
    drill = Drill(
        name="d",
        title="t",
        hypothesis="h",
        method=(),
        targets={
            "rest": DrillTarget(role=TargetRole.ANY, pick=Pick.ALL),
            "one": DrillTarget(role=TargetRole.FOLLOWER),
            "head": DrillTarget(role=TargetRole.LEADER),
        },
    )
    found = targets.resolve(drill, ["n1", "n2", "n3", "n4"], "n3")
    assert found["head"] == ("n3",)
    assert found["one"] == ("n1",)
    assert found["rest"] == ("n2", "n4")
    with pytest.raises(ConfigError, match="finds no node"):
        targets.resolve(drill, ["n1", "n2"], None)


def test_the_schema_knows_every_verb_and_is_json() -> None:
    found = json.dumps(schema())
    assert all(f'"{verb}"' in found for verb in VERBS)


def test_an_unknown_name_is_no_drill_and_a_path_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="there is no drill"):
        reader.find("leader-kil")
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    assert reader.load(reader.find(str(path))).name == "mine"
    with pytest.raises(ConfigError, match="cannot be read"):
        reader.load(tmp_path / "none.yaml")
    monkeypatch.chdir(tmp_path)
    Path("mine").touch()
    assert reader.find("mine") == Path("mine"), "also without a suffix"
    Path("leader-kill").touch()
    assert reader.find("leader-kill").parent == reader.CATALOGUE


def test_single_values_may_be_given_otherwise_for_a_run() -> None:
    given = {
        "expect.rto.below": "7s",
        "expect.gap.below": "9s",
        "method.2.signal": "INT",
        "method.1": "{wait: 4s}",
        "options.election.timeout": "2s",
        "seed": "5",
    }
    drill = reader.parse(GOOD, where="mine.yaml", given=given)
    assert drill.expect.limits == {"rto": 7.0, "gap": 9.0, "back": 2.0, "unknown": 4.0}
    assert [step.options for step in drill.method[:2]] == [{"for": 4.0}, {"signal": "INT"}]
    assert (drill.options, drill.seed) == ({"election.timeout": "2s"}, 5)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("method.9.signal", "INT", "--set 9.signal: there are 4, named by number from 1"),
        ("title.x", "1", "--set x: a single value has no members"),
        ("guards.max", "1", "there is no such guard"),
        ("method.2.signal", "HUP", "is not one of KILL, TERM, INT"),
        ("seed", "{", "--set:1:2: the file: is not YAML"),
    ],
)
def test_what_cannot_be_given_is_refused(key: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        reader.parse(GOOD, where="mine.yaml", given={key: value})
    assert words in caught.value.message


def test_plugins_bring_drills_and_replace_none_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    (tmp_path / "leader-kill.yaml").write_text(GOOD)
    folders: list[object] = [tmp_path]

    class Plugin:
        name = "theirs"

        def load(self) -> object:
            return folders[0]

    monkeypatch.setattr(reader, "entry_points", lambda group: [Plugin()])
    assert set(reader.names()) - set(reader.own_names()) == {"mine"}
    assert reader.find("mine") == tmp_path / "mine.yaml"
    assert reader.find("leader-kill").parent == reader.CATALOGUE
    folders[0] = "text"
    with pytest.raises(ConfigError, match="does not name a folder"):
        reader.names()
    assert reader.find("leader-kill").parent == reader.CATALOGUE


def test_nodes_that_may_not_be_broken_at_their_fault_points_are_left_alone(tmp_path: Path) -> None:
    tagged = lab.create(tmp_path / "a", name="a", nodes=3, options={"cluster.tag": "lab"})
    options = {"cluster.tag": "lab", "node.faults": "false"}
    forbidden = lab.create(tmp_path / "b", name="b", nodes=3, options=options)
    plain = lab.create(tmp_path / "c", name="c", nodes=3)
    allowed = [NodeConfig.load(each.nodes[0].config, {}).node.faults for each in (tagged, plain)]
    assert allowed == [True, False]
    drill = reader.load(reader.find("fsync-fails"))
    assert "fault points" in preflight.needs(drill)
    names = targets.resolve(drill, ["n1", "n2", "n3"], "n1")
    with pytest.raises(DrillStopped, match="does not allow arming its fault points"):
        preflight.allow(drill, forbidden, names, ClusterSurvey(samples=()))
    with pytest.raises(DrillStopped, match="healthy"):
        preflight.allow(drill, tagged, names, ClusterSurvey(samples=()))


def test_steps_are_limited_in_number() -> None:
    assert "at most 200" in refused(GOOD.replace("  - {wait: 1s}\n", "  - {wait: 1s}\n" * 200))


def test_a_stopped_drill_is_an_error_of_the_tree() -> None:
    assert DrillStopped("x").code == "DRILL_STOPPED"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("workload: {clients: 0}", "clients = '0': is not a whole number from 1 to 100"),
        ("workload: {clients: 101}", "clients = '101': is not a whole number from 1 to 100"),
        ("workload: {clients: three}", "clients = 'three': is not a whole number"),
        ("guards: {max_nodes_down: -1}", "max_nodes_down = '-1': is not a whole number from 0"),
        ("guards: {require: {min_voters: 0}}", "min_voters = '0': is not a whole number from 1"),
        ("guards: {time_limit: 0s}", "time_limit = '0s': is not longer than 0"),
        ("seed: x", "seed = 'x': is not a whole number"),
    ],
)
def test_a_number_that_cannot_be_meant_is_refused_and_not_replaced(line: str, why: str) -> None:
    assert why in refused(f"{GOOD}{line}\n")


@pytest.mark.parametrize("name", ["a/b", '""'])
def test_a_drill_has_a_name_that_a_folder_can_bear(name: str) -> None:
    assert "is not a name" in refused(GOOD.replace("drill: mine", f"drill: {name}"))


def test_a_limit_or_pause_of_nothing_that_can_be_meant_is_taken_at_its_word() -> None:
    lines = "guards: {max_nodes_down: 0}\nworkload: {think: 0s}\n"
    drill = reader.parse(GOOD + lines, where="mine.yaml")
    assert (drill.guards.max_nodes_down, drill.load.think) == (0, 0.0)


def test_steps_are_described_in_words() -> None:
    drill = reader.load(reader.find("leader-kill"))
    assert [step.describe() for step in drill.method[:4]] == [
        "wait 2 s",
        "kill victim signal KILL",
        "wait until writable on a node other than victim (up to 10 s)",
        "wait until acked_again (up to 20 s)",
    ]


@pytest.mark.parametrize("option", [["--out", "run"], ["--junit", "a.xml"], ["--dry-run"]])
def test_options_of_real_runs_are_refused_by_the_simulator(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["drill", "run", "leader-kill", "--simulate", *option]) == 2
    assert "--simulate leaves no files" in capsys.readouterr().err
