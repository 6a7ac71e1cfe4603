"""Files of hooks are refused with the place of what is wrong; commands run as they were meant."""

import sys
from pathlib import Path

import pytest

from admin.cluster import settling
from admin.cluster.surveys import ClusterSurvey
from admin.drills import preflight, session, targets
from admin.drills.failures import DrillNotHealed, DrillStopped
from admin.drills.hooks import reader, running, templates
from admin.drills.hooks.cluster import HookedCluster
from admin.drills.hooks.running import HookFailed
from admin.drills.hooks.scopes import HOOKABLE, WITHOUT_HOOK
from admin.drills.model import Drill, Guards, Step
from admin.drills.runner import DrillObserver
from admin.drills.undo_log import UndoLog, UndoStep
from admin.drills.verbs.catalogue import VERBS, commands, undo_pending
from admin.drills.verbs.verb import Remedy, Takes
from qsync.errors import ConfigError
from qsync.status.members import ElectionStatus
from qsync.status.record import ClusterName, NodeStatus

GOOD = """\
hooks: 1
cluster: shop
timeout: 5s
nodes:
  n1: {address: "10.0.0.1:3301", unit: q1}
  n2: {address: "10.0.0.2:3301", unit: q2}
  n3: {address: "10.0.0.3:3301", unit: q3}
actions:
  kill: ssh {host} systemctl kill --signal={signal} {unit}
  start: {run: [ssh, "{host}", systemctl, start, "{unit}"], timeout: 9s}
  cut: {run: "ssh {to.host} drop {from.address} > log", shell: true}
  mend: ssh {host} whole {cluster}
"""


def written(folder: Path, text: str = GOOD) -> Path:
    path = folder / "hooks.yaml"
    path.write_text(text)
    return path


def cluster(folder: Path, text: str = GOOD) -> HookedCluster:
    return HookedCluster(file=reader.load(written(folder, text)))


def drill(*method: Step, guards: Guards | None = None) -> Drill:
    return Drill(
        name="d", title="D", hypothesis="H", method=method, guards=guards or Guards(healthy=False)
    )


def answers(*, name: str = "shop", tag: str = "drills-allowed", nodes: int = 3) -> ClusterSurvey:
    made = [
        NodeStatus(
            id=number,
            name=f"n{number}",
            listen=f"10.0.0.{number}:3301",
            cluster=ClusterName(name=name, tag=tag),
            election=ElectionStatus(state="leader" if number == 1 else "follower"),
        )
        for number in range(1, nodes + 1)
    ]
    return ClusterSurvey(samples=tuple(made))


def stopped(place: HookedCluster, wanted: Drill, found: ClusterSurvey) -> str:
    names = targets.resolve(wanted, [node.name for node in place.nodes], "n1")
    with pytest.raises(DrillStopped) as caught:
        preflight.allow(wanted, place, names, found)
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("hooks: 1", "hooks: 2", "hooks.yaml:1:8: hooks = '2': is not 1"),
        ("cluster: shop\n", "", "cluster: is missing"),
        ("  kill:", "  kil:", "hooks.yaml:9:3: kil: is not an action for hooks"),
        ("  kill:", "  kil:", "did you mean 'kill'?"),
        ("  kill:", "  ring:", "ring: is performed by the hook of `cut`"),
        ("  kill:", "  promote:", "promote: needs no hook"),
        ("{unit}\n  start", "{unix}\n  start", "has the field {unix}; there are"),
        ("{unit}\n  start", "{unix}\n  start", "did you mean 'unit'?"),
        ("{from.address}", "{address}", "did you mean 'to.address'?"),
        ("{signal}", "{signal!r}", "only {name} is known"),
        ("{signal}", "{}", "has a field without a name"),
        ("{signal}", "'", "No closing quotation"),
        (", unit: q2", "", "hooks.yaml:6:7: n2: has no `unit`, which the hook `kill` uses"),
        ("q2", '"q 2"', "may hold letters, digits"),
        ("q2", "-q2", "does not begin with -"),
        ("10.0.0.2:3301", "10.0.0.2", "needs `address: HOST:PORT`"),
        ("10.0.0.2:3301", "[-oProxyCommand=x]:3301", "does not begin with -"),
        ("10.0.0.2:3301", "[]:3301", "needs `address: HOST:PORT`"),
        ("timeout: 9s", "timeout: 0s", "is not longer than 0"),
        ("  mend: ssh {host} whole {cluster}\n", "", "is undone by `mend`, and no hook does that"),
        ("run: [", "walk: [", "there is no such part of a hook"),
        ("shell: true", "shell: maybe", "is neither true nor false"),
        ('"{unit}"], ', '"{unit}"], shell: true, ', "is run by a shell, so it must be a string"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        reader.load(written(tmp_path, GOOD.replace(old, new, 1)))
    assert complaint in caught.value.message


def test_every_preset_is_a_good_file() -> None:
    assert reader.presets() == ["kubernetes", "systemd"]
    for name in reader.presets():
        found = reader.load(reader.preset(name))
        assert {"kill", "start", "pause", "resume"} <= found.hooks.keys()
    with pytest.raises(ConfigError, match="there are kubernetes, systemd"):
        reader.preset("upstart")


def test_the_table_of_hooks_agrees_with_the_verbs() -> None:
    assert VERBS.keys() >= HOOKABLE.keys() | WITHOUT_HOOK
    for name, action in HOOKABLE.items():
        verb = VERBS[name].spec
        assert (name, action.undone_by) == (name, verb.undone_by)
        assert action.defaults.keys() <= verb.options.keys()
        if action.undone_by:
            assert isinstance(VERBS[action.undone_by], Remedy)
            assert verb.takes in {Takes.NODES, Takes.NOTHING}


def test_fields_stay_in_their_word_and_a_shell_is_given_them_quoted() -> None:
    plain = templates.parse("echo '{a} b' {{x}} {a}{c}", shell=False)
    assert plain.filled({"a": "one two", "c": "$HOME"}) == [
        "echo",
        "one two b",
        "{x}",
        "one two$HOME",
    ]
    shell = templates.parse("echo {a} | cat", shell=True)
    assert shell.filled({"a": "$(id)"}) == ["/bin/sh", "-c", "echo '$(id)' | cat"]
    with pytest.raises(ValueError, match="at most 200"):
        templates.parse("x " * (templates.WORDS_MAX + 1), shell=False)


def test_the_commands_of_a_step_are_shown_before_they_are_run(tmp_path: Path) -> None:
    wanted = drill(
        Step(verb="kill", on=("leader",), options={"signal": "TERM"}),
        Step(verb="ring"),
        Step(verb="cut", on=("leader",), options={"way": "out"}),
        Step(verb="wait", options={"for": 1.0}),
    )
    place = cluster(tmp_path)
    names = targets.resolve(wanted, [node.name for node in place.nodes], "n1")
    kill, ring, cut, wait = commands(wanted, place, names, "n1")
    assert [each.strip() for each in kill] == [
        "ssh 10.0.0.1 systemctl kill --signal=TERM q1",
        "undone by: ssh 10.0.0.1 systemctl start q1",
    ]
    assert [each.strip() for each in cut[:2]] == [
        "/bin/sh -c 'ssh 10.0.0.2 drop 10.0.0.1:3301 > log'",
        "/bin/sh -c 'ssh 10.0.0.3 drop 10.0.0.1:3301 > log'",
    ]
    assert [each.strip() for each in cut[2:]] == [
        f"undone by: ssh 10.0.0.{number} whole shop" for number in (1, 2, 3)
    ]
    assert "drop" in ring[0], "a ring is made by the hook of `cut`"
    assert wait == []


def test_a_drill_whose_hooks_are_not_all_there_does_not_begin(tmp_path: Path) -> None:
    wanted = drill(
        Step(verb="pause", on=("all",)),
        Step(verb="upgrade", on=("all",)),
        Step(verb="start", on=("all",), options={"crash": "all"}),
    )
    said = stopped(cluster(tmp_path), wanted, answers())
    assert "step 1 (`pause all`) needs the hook `pause`, and there is none" in said
    assert "no hook can do `upgrade`" in said
    assert "no hook can do its option `crash`" in said


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        (
            answers(name="other"),
            "is for the cluster 'shop', and the nodes that answer are of 'other'",
        ),
        (answers(tag="production"), "the cluster.tag of shop is 'production'"),
        (answers(nodes=2), "differ in n3"),
        (answers(nodes=4), "differ in n4"),
        (ClusterSurvey(samples=()), "not known: no node answers"),
    ],
)
def test_another_cluster_than_that_of_the_file_is_left_alone(
    tmp_path: Path, found: ClusterSurvey, complaint: str
) -> None:
    assert complaint in stopped(cluster(tmp_path), drill(Step(verb="mend")), found)


def test_a_file_that_gives_a_node_the_address_of_another_is_refused(tmp_path: Path) -> None:
    text = GOOD.replace("10.0.0.1:3301", "x").replace("10.0.0.2:3301", "10.0.0.1:3301")
    place = cluster(tmp_path, text.replace('"x"', '"10.0.0.2:3301"'))
    said = stopped(place, drill(Step(verb="mend")), answers())
    assert "10.0.0.2:3301 is the address of n2, and the file has it for n1" in said
    elsewhere = cluster(tmp_path, GOOD.replace("10.0.0.1:3301", "db1:3301").replace("ssh", "true"))
    names = targets.resolve(drill(), ["n1", "n2", "n3"], "n1")
    preflight.allow(drill(Step(verb="mend")), elsewhere, names, answers())


def test_a_minority_may_be_down_and_lose_data_unless_the_drill_says_more(tmp_path: Path) -> None:
    here = GOOD.replace("ssh", "true") + "  wipe: 'true'\n"
    place = cluster(tmp_path, here)
    two = drill(Step(verb="kill", on=("all",)))
    assert "3 nodes would be down at once; max_nodes_down is 1" in stopped(place, two, answers())
    turns = [Step(verb=verb, on=("all",)) for verb in ("wipe",)]
    assert "3 nodes would lose data" in stopped(place, drill(*turns), answers())
    more = drill(*two.method, *turns, guards=Guards(healthy=False, max_nodes_down=3))
    names = targets.resolve(more, [node.name for node in place.nodes], "n1")
    preflight.allow(more, place, names, answers())


def test_a_command_that_is_not_there_is_found_before_anything_is_done(tmp_path: Path) -> None:
    text = GOOD.replace("kill: ssh", "kill: ./nowhere")
    said = stopped(cluster(tmp_path, text), drill(Step(verb="kill", on=("leader",))), answers())
    assert "begins with './nowhere', and there is no such command" in said


def test_a_command_that_fails_hangs_or_cannot_be_run_is_kept_with_what_it_said(
    tmp_path: Path,
) -> None:
    def run(*words: str, timeout: float = 60.0) -> running.HookRun:
        return running.run_command("kill", words, timeout=timeout, folder=tmp_path)

    failed = run("/bin/sh", "-c", "echo one; echo two >&2; exit 3")
    assert (failed.code, failed.output, failed.error) == (3, "one\ntwo\n", "ended with 3")
    assert "the hook of kill ended with 3: two" in running.failure(failed).message
    loud = run(sys.executable, "-c", "print('x' * 100_000)")
    assert (loud.code, loud.error, len(loud.output)) == (0, None, running.OUTPUT_BYTES_MAX)
    hung = run("/bin/sh", "-c", "sleep 600 & wait", timeout=0.05)
    assert (hung.code, hung.error) == (None, "was ended after 0.05 s")
    assert run("./nowhere").error == "cannot be run: No such file or directory"
    left = run("/bin/sh", "-c", "sleep 600 & echo $!")
    assert left.error is None, "what goes on in the background is not waited for"
    assert run("/bin/sh", "-c", f"kill {left.output.strip()}").error is None


def test_a_fault_whose_hook_left_the_file_is_not_healed_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    log = UndoLog.create(tmp_path, "d")
    log.owe(UndoStep(undo="resume", node="n1"))
    with pytest.raises(DrillNotHealed, match=r"resume n1: .* has no hook `resume`"):
        undo_pending(cluster(tmp_path), log)
    assert log.pending == [UndoStep(undo="resume", node="n1")]


@pytest.mark.parametrize(
    ("action", "tables", "code"),
    [
        ("mend", "-S) echo -P INPUT ACCEPT ;; *) exit 1", 0),
        ("mend", "-S) echo -N qsync-drill", 1),
        ("mend", "-S) echo another app holds the lock >&2; exit 4", 4),
        ("cut", "-C) exit 1", 0),
        ("cut", "-C|-I) exit 4", 4),
        ("cut", "-A) exit 4", 4),
    ],
)
def test_the_preset_cuts_and_mends_links_only_if_the_rules_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, tables: str, code: int
) -> None:
    for name, text in {
        "ssh": 'for last; do :; done; exec /bin/sh -c "$last"',
        "sudo": 'exec "$@"',
        "iptables": f'case "$1" in {tables} ;; esac',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    file = reader.load(reader.preset("systemd"))
    one, two, _ = file.nodes
    fields = file.of_link(one, two) if action == "cut" else file.of_node(one)
    command = file.hooks[action].command.filled(fields)
    run = running.run_command(action, command, timeout=60, folder=tmp_path)
    assert run.code == code, run.output


def test_what_is_undone_everywhere_is_tried_at_every_node(tmp_path: Path) -> None:
    text = GOOD.replace("mend: ssh {host} whole {cluster}", "mend: sh -c 'echo {node}; exit 1'")
    place = cluster(tmp_path, text)
    with pytest.raises(HookFailed):
        place.undo(UndoStep(undo="mend"))
    assert [each.output for each in place.runs] == ["n1\n", "n2\n", "n3\n"]


def test_a_drill_that_is_refused_leaves_no_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "wait_writable", lambda *_, **__: answers(name="another"))
    place, out = cluster(tmp_path), tmp_path / "run"
    with pytest.raises(DrillStopped, match="is for the cluster 'shop'"):
        session.run(
            drill(Step(verb="kill", on=("n1",))),
            session.DrillSetup(out=out, target=place),
            DrillObserver(),
        )
    assert list(tmp_path.iterdir()) == [place.file.path]
