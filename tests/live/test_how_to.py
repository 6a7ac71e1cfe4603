"""The tutorial and the pages of docs/how-to: their commands are run as they stand."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pyarrow.parquet as pq
import pytest
import yaml

import qsync
from admin.lab import lab as labs
from admin.lab import names as lab_names
from admin.lab.playground import Playground
from admin.lab.ports import free_ports
from cli.commands.lab import TAGGED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DOCS = Path(__file__).parents[2] / "docs"
HOW_TO = DOCS / "how-to"
BLOCK = re.compile(r"(?ms)^```sh\n(.*?)^```$")
ADDRESS = re.compile(r"127\.0\.0\.1:(330[1-3])\b")
REAL_DRILL = re.compile(
    r"(?m)^qsync drill run (leader-kill|leader-pause|mine\.yaml)(?!.* --(simulate|dry-run))"
)
UNHURRIED = " --set expect.rto.below=30s --set expect.writable.below=30s"
PROGRAM = re.compile(r'(?ms)^```python title="([a-z_]+\.py)"\n(.*?)^```$')

README_PROGRAM = re.compile(r"(?ms)^```python\n(.*?)^```$")


def shell(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run by bash, where the first failing command ends it."""
    beside = Path(sys.executable).parent
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=os.environ | {"PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"} | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )


def ended(
    script: str, folder: Path, by: str = "kill $(jobs -p)"
) -> subprocess.CompletedProcess[str]:
    """Run by bash, which ends what it started; nothing left to end is no failure of the script."""
    return shell(f"trap 'set +e; {by}; wait' EXIT\n{script}", folder)


def told(
    page: str, folder: Path, *, ports: int, more: str = ""
) -> subprocess.CompletedProcess[str]:
    """All of a page as one script, whose nodes end with it; on other ports than the page has."""
    script = on_free_ports("".join(commands(page)), ports)
    return ended(f"{script}\n{more}", folder)


def told_of_a_lab(
    page: str, folder: Path, *, before: str = "pass"
) -> subprocess.CompletedProcess[str]:
    """A page that begins with `qsync lab up`, on ports that nobody else asks for.

    `before`: a program that ran in the same lab.
    """
    home, lab = folder / "state", folder / "state" / "qsync" / "labs" / "lab"
    blocks = commands(page)
    assert blocks[0].startswith("qsync lab up\n")
    addresses = labs.create(lab, name="lab", nodes=3, options=TAGGED, links=True).addresses
    blocks[0] = blocks[0].replace("\n", "\npython before.py\n", 1)
    programs = PROGRAM.findall((DOCS / page).read_text("utf-8"))
    for name, program in [*programs, ("before.py", before)]:
        here = ADDRESS.sub(lambda found: addresses[int(found[1]) - 3301], program)
        (folder / name).write_text(here, "utf-8")
    try:
        return shell("\n".join(blocks), folder, XDG_STATE_HOME=str(home))
    finally:
        if lab_names.exists(lab):
            labs.load(lab).stop_all()


def on_free_ports(script: str, ports: int) -> str:
    """A page's script, whose `ports` ports from 3301 on are free ones: all changed in one pass."""
    free = dict(zip(range(3301, 3301 + ports), free_ports(ports), strict=True))
    return re.sub(r"\b33\d\d\b", lambda found: str(free[int(found[0])]), script)


def commands(page: str) -> list[str]:
    """The blocks of a page, without the `$ ` that marks what is typed.

    A drill of real processes gets limits that any machine keeps, as how-to/drills-in-ci.md says.
    """
    blocks = BLOCK.findall((DOCS / page).read_text("utf-8"))
    typed = (re.sub(r"(?m)^\$ ", "", block) for block in blocks)
    return [REAL_DRILL.sub(rf"\g<0>{UNHURRIED}", block) for block in typed]


@pytest.mark.pure
def test_the_tutorial_goes_as_it_is_told(tmp_path: Path) -> None:
    readme = README_PROGRAM.search((DOCS.parent / "README.md").read_text("utf-8"))
    assert readme is not None
    done = told_of_a_lab("tutorial/first-failover.md", tmp_path, before=readme[1])
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "[1, 'ann', 100]\n" in done.stdout, "as README.md says"
    assert "[[1, 'ann', 9990], [2, 'bob', 10]]" in done.stdout
    assert "[[1, 'ann', 7990], [2, 'bob', 2010]]" in done.stdout, "each transfer was done once"
    assert "Degraded: " in done.stdout
    assert "leader-kill passed" in done.stderr
    assert "confirm_older_term: failed" in done.stdout, "a rule that is switched off is noticed"
    assert (tmp_path / "run" / "report.html").exists()
    assert "invariants that could be examined hold" in done.stdout
    assert list((tmp_path / "state/qsync/labs").iterdir()) == []


def test_who_comes_from_tarantool_is_told_what_works(tmp_path: Path) -> None:
    done = told_of_a_lab("how-to/come-from-tarantool.md", tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert '[[1, "Ada"]]' in done.stdout.replace("\n", "")
    assert "0\nleader\n" in done.stdout
    assert "NOT_SUPPORTED" in done.stderr


def test_who_comes_from_etcd_is_told_what_works(tmp_path: Path) -> None:
    done = told_of_a_lab("how-to/come-from-etcd.md", tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.count('["/app/colour", "blue"]') == 4
    assert "True True False" in done.stdout


def test_timeouts_are_rehearsed_as_it_is_told(tmp_path: Path) -> None:
    """The drill runs with the election timeout of the page, and not with that of labs."""
    done = told_of_a_lab("how-to/tune-timeouts.md", tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    (stopped,) = re.findall(r"leader-pause passed: writes were back after ([\d.]+) s", done.stderr)
    assert float(stopped) > 1.4, "a follower waits for 2 s since the last heartbeat"


def test_drills_run_in_ci_as_it_is_told(tmp_path: Path) -> None:
    script = "\n".join(commands("how-to/drills-in-ci.md"))
    done = shell(script, tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.count("mine, seed") + done.stdout.count("leader-kill, seed") == 20
    assert len(ET.parse(tmp_path / "tonight.xml").getroot()) == 2
    page = (HOW_TO / "drills-in-ci.md").read_text("utf-8")
    (workflow,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", page)
    steps = yaml.safe_load(workflow)["jobs"]["drills"]["steps"]
    for step in steps:
        for option in re.findall(r"qsync drill run .*", step.get("run", "")):
            words = [word for word in option.split() if word.startswith("--")]
            assert words
            assert all(word in done.stdout + script for word in words)


def test_from_a_drill_to_a_report_goes_as_it_is_told(tmp_path: Path) -> None:
    said = ""
    blocks = commands("how-to/drill-to-report.md")
    assert len(blocks) == 6
    for block in blocks:
        done = shell(block, tmp_path)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        said += done.stdout
    assert "invariants that could be examined hold" in said
    assert "['pass', 'fail']" in said
    rows = pq.read_table(tmp_path / "violations").to_pylist()
    assert "log-dense" in {row["invariant"] for row in rows}
    page = (tmp_path / "run/check.html").read_text()
    assert "kill victim" in page, "the fault is drawn"


def test_a_real_cluster_is_drilled_as_it_is_told(tmp_path: Path) -> None:
    script = on_free_ports("".join(commands("how-to/drills-on-a-real-cluster.md")), 3)
    done = ended(script, tmp_path, by="kill -9 $(cat c/n?/lock) $(jobs -p)")  # hooks start nodes
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "./machine c/n" in done.stdout, "the dry run shows the commands"
    assert "leader-kill passed" in done.stderr
    assert "shop: resume n" in done.stderr
    commands_run = json.loads((tmp_path / "run/report.json").read_text())["commands"]
    assert [each["action"] for each in commands_run] == ["kill", "start"]
    assert list((tmp_path / "hooks.drill").iterdir()) == []


def test_histories_of_ones_own_are_checked_as_it_is_told(tmp_path: Path) -> None:
    done = shell("".join(commands("how-to/check-your-own-histories.md")), tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "register.edn: pass" in done.stdout
    assert "appends.edn: pass" in done.stdout
    assert "appends.edn: fail" in done.stdout
    assert "1 of 2 runs break an invariant" in done.stdout
    assert pq.read_table(tmp_path / "violations").num_rows > 0
    (violation,) = [line for line in done.stdout.splitlines() if "tuesday" in line]
    assert '"cart"|1 came and went while None must have been there' in violation
    assert "monday" not in done.stdout
    assert "tuesday" in (tmp_path / "mine.html").read_text()


def test_a_cluster_grows_and_moves_as_it_is_told(tmp_path: Path) -> None:
    done = told("how-to/grow-and-move.md", tmp_path, ports=5)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "n5 is a voter; the voters are n1, n3, n4, n5" in done.stderr
    members = [line.split() for line in done.stdout.splitlines() if line[:3].strip().isdigit()]
    assert [row[1] for row in members[-3:]] == ["n3", "n4", "n5"]
    assert {row[4].strip(",") for row in members[-3:]} == {"voter"}
    assert "Ada" in done.stdout


def test_a_cluster_is_secured_as_it_is_told(tmp_path: Path) -> None:
    done = told("how-to/secure-a-cluster.md", tmp_path, ports=3)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.count("Ada") == 3
    assert "is valid" in done.stderr
    assert "user ann of cluster" in done.stdout


def test_all_is_lost_and_restored_as_it_is_told(tmp_path: Path) -> None:
    done = told("how-to/back-up-and-restore.md", tmp_path, ports=3)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    restored = done.stdout[done.stdout.index("restores to") :]
    assert [line for line in restored.splitlines() if line.startswith("[")] == [
        '[1, "Ada"]',
        '[2, "Grace"]',
        '[1, "Ada"]',
    ]
    assert "would restore index" in done.stderr
    assert not (tmp_path / "n1").exists()


def test_backups_are_sealed_as_it_is_told(tmp_path: Path) -> None:
    done = told("how-to/seal-backups.md", tmp_path, ports=3)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert '[1, "Ada"]' in done.stdout
    assert (tmp_path / "backup.key").read_bytes() == (tmp_path / "elsewhere.key").read_bytes()


def test_a_lost_majority_is_recovered_from_as_it_is_told(tmp_path: Path) -> None:
    done = told(
        "how-to/recover-from-a-lost-majority.md", tmp_path, ports=3, more="qsync start c/n3"
    )
    assert done.returncode == 2, f"{done.stdout}\n{done.stderr}"
    assert "qsync: SUPERSEDED" in done.stderr
    assert "let an empty directory join that cluster" in done.stdout
    shown = done.stdout.replace("\n", " ")
    assert "is superseded: its history continues in cluster" in shown
    assert "Healthy: n3 leads term" in shown, "the verdict is of the cluster that goes on"
    assert "nothing known is lost; what only n1, n2 had is not known" in done.stdout
    assert done.stdout.count("Ada") == 3
    members = [line.split() for line in done.stdout.splitlines() if line[:3].strip().isdigit()]
    assert [row[1] for row in members] == ["n3", "n4", "n5"]


def test_replicas_that_only_read_are_added_as_it_is_told(tmp_path: Path) -> None:
    done = told("how-to/add-read-replicas.md", tmp_path, ports=4)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "anonymous" in done.stdout
    last = [line.split() for line in done.stdout.splitlines() if line[:3].strip().isdigit()][-1]
    assert (last[1], last[4]) == ("a31", "learner")


def test_a_cluster_is_upgraded_as_it_is_told(tmp_path: Path) -> None:
    script = on_free_ports("".join(commands("how-to/upgrade.md")), 3)
    done = ended(script, tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "Ada" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    members = [row for row in rows if row[1:2] in (["n1"], ["n2"], ["n3"]) and row[0].isdigit()]
    assert [row[1] for row in members] == ["n1", "n2", "n3"] * 2
    assert {row[3] for row in members} == {qsync.__version__}


def test_the_scheduled_check_exits_with_what_happened(
    qsync_cluster: Playground, tmp_path: Path
) -> None:
    with qsync_cluster.connect() as db:
        db.schema.create_space("numbers", is_sync=True)
        for number in range(20):
            db.space("numbers").replace([number])
    script = f"{HOW_TO / 'scheduled-check.sh'} {{}} kept --quick"
    for _ in range(2):  # the second time the dump is continued
        done = shell(script.format(",".join(qsync_cluster.addresses)), tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "kept/latest.html").exists()
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "evidence",
        "latest.html",
        "latest.json",
    ]
    unreachable = shell(script.format("127.0.0.1:1"), tmp_path)
    assert unreachable.returncode == 3, unreachable.stderr
    assert shell(str(HOW_TO / "scheduled-check.sh"), tmp_path).returncode != 0


def test_the_scheduled_check_keeps_what_it_found(tmp_path: Path) -> None:
    """`qsync` here is a stand-in that says that something is broken."""
    stand_in = tmp_path / "bin" / "qsync"
    stand_in.parent.mkdir()
    stand_in.write_text(
        '#!/bin/sh\n[ "$1" = dump ] && { mkdir -p kept/evidence; exit 0; }\n'
        "echo page > kept/latest.html; exit 6\n"
    )
    stand_in.chmod(0o700)
    script = f"PATH={stand_in.parent}:$PATH {HOW_TO / 'scheduled-check.sh'} cluster kept"
    done = shell(script, tmp_path)
    assert done.returncode == 6
    kept = {path.name.partition("-")[0] for path in (tmp_path / "kept").glob("*-*Z*")}
    assert kept == {"evidence", "report"}
    assert "qsync check ended with 6" in done.stderr


def test_the_scheduled_check_keeps_no_report_of_another_time(tmp_path: Path) -> None:
    """`qsync check` here cannot be done, and leaves no page."""
    stand_in = tmp_path / "bin" / "qsync"
    stand_in.parent.mkdir()
    stand_in.write_text(
        '#!/bin/sh\n[ "$1" = dump ] && { mkdir -p kept/evidence; exit 0; }\nexit 2\n'
    )
    stand_in.chmod(0o700)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "latest.html").write_text("all was well")
    script = f"PATH={stand_in.parent}:$PATH {HOW_TO / 'scheduled-check.sh'} cluster kept"
    done = shell(script, tmp_path)
    assert done.returncode == 2
    assert list((tmp_path / "kept").rglob("*.html")) == []
    assert "qsync check ended with 2: kept/evidence-" in done.stderr


def test_a_token_is_kept_before_the_answer_as_it_is_told(
    qsync_cluster: Playground, tmp_path: Path
) -> None:
    """Both programs of the page, in one process with what they leave to the reader."""
    page = (HOW_TO / "resolve-an-unknown-write.md").read_text("utf-8")
    resolving, keeping = re.findall(r"(?ms)^```python\n(.*?)^```$", page)
    (tmp_path / "program.py").write_text(
        "import threading\n\nimport qsync\n\n"
        f"db = qsync.connect({list(qsync_cluster.addresses)!r})\n"
        "db.schema.create_space(\n"
        "    'accounts', format=[('id', 'unsigned'), ('balance', 'integer')], is_sync=True\n"
        ")\naccounts = db.space('accounts')\naccounts.replace([1, 100])\nkeep = print\n"
        f"{resolving}{keeping}committing.join()\n"
        "print(db.resolve(tx.token, again=False).duplicate, accounts.get(1))\ndb.close()\n",
        "utf-8",
    )
    done = shell("python program.py", tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert re.fullmatch(r"[0-9a-f]+:\d+\nTrue \[1, 80\]\n", done.stdout)


def test_a_cluster_serves_the_tests_of_a_project_as_it_is_told(tmp_path: Path) -> None:
    page = (HOW_TO / "use-it-in-tests.md").read_text("utf-8")
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```$", page)
    (tmp_path / "test_mine.py").write_text(code, "utf-8")
    done = shell("python -m pytest -q test_mine.py", tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "2 passed" in done.stdout
