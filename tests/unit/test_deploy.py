"""The files that run nodes elsewhere: whole, of our own words, and as their readers want them."""

import configparser
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.shell_completion import BashComplete, FishComplete, ZshComplete
from click.testing import CliRunner

from admin.certs import looking
from admin.deploy.catalogue import FILES, hidden_from_units
from admin.metrics.health import CHECKS
from cli.main import COMMANDS, group
from qsync.config import NodeConfig
from tests.repo import tree

PLACE = tree.ROOT / "admin" / "deploy" / "files"
UNIT = FILES["systemd"].text()
PROBED = {"/status", "/metrics", *CHECKS}


def written(name: str) -> list[dict[str, Any]]:
    """The documents of a file in YAML."""
    return list(yaml.safe_load_all(FILES[name].text()))


@dataclass(frozen=True, slots=True)
class Founded:
    """What the `qsync init` in the comment of a file makes."""

    place: Path
    nodes: tuple[NodeConfig, ...]


def founded(name: str, into: Path) -> Founded:
    """As the comment has it, but for the place, which is another one in a container."""
    comment = re.sub(r"(?m)^# ?", "", FILES[name].text().partition("\n\n")[0])
    words = re.search(r"init (--cluster (?:[^\n\\]|\\\n)*)", comment)
    assert words is not None
    asked = shlex.split(words[1].replace("\\\n", ""))
    done = CliRunner().invoke(group, ["init", "--cluster", str(into), *asked[2:]])
    assert done.exit_code == 0, done.output
    nodes = (NodeConfig.load(path, {}) for path in sorted(into.glob("n?/node.yaml")))
    return Founded(into, tuple(nodes))


@pytest.fixture(scope="module")
def in_pods(tmp_path_factory: pytest.TempPathFactory) -> Founded:
    return founded("kubernetes", tmp_path_factory.mktemp("kubernetes") / "c")


# ------------------------------------------------------------------------------------- systemd


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "qsync@n1.service"
    unit.write_text(re.sub("ExecStart=.*", "ExecStart=/bin/true", UNIT), "utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "qsync" in line]
    assert not ours, done.stderr


def test_the_unit_waits_until_a_node_serves_and_watches_it() -> None:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment]  # names of settings keep their letters
    parser.read_string(UNIT)
    service = parser["Service"]
    assert service["Type"] == "notify"
    assert service["KillSignal"] == "SIGTERM"
    assert int(service["WatchdogSec"].removesuffix("s")) >= 30
    assert re.fullmatch(r"/\S+/qsync start /var/lib/qsync/%i", service["ExecStart"])
    for hardened in ("NoNewPrivileges", "ProtectHome", "PrivateDevices", "RestrictNamespaces"):
        assert service[hardened] == "yes"
    assert service["ProtectSystem"] == "strict"


def test_variables_that_are_named_for_a_node_count(in_pods: Founded) -> None:
    """One underscore too few, and a node starts as if there were none."""
    page = (tree.ROOT / "docs" / "how-to" / "run-nodes.md").read_text("utf-8")
    file = in_pods.place / "n1" / "node.yaml"
    for text in (UNIT, page):
        named = re.findall(r"\b(QSYNC_\w+)=(\w+)", text)
        assert named
        for name, value in named:
            assert NodeConfig.load(file, {name: value}) != NodeConfig.load(file, {}), name


def test_who_has_qsync_in_a_home_is_told_that_the_unit_cannot_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\nProtectHome=yes\n" in UNIT
    assert hidden_from_units(["/opt/qsync", "/usr", "/rootless", "/home2"]) is None
    for home in ("/root/.pyenv/versions/3.13", "/home/ann/.local", "/run/user/1000/qsync"):
        assert hidden_from_units(["/opt/qsync", home]) == Path(home)
    for prefix, told in (("/usr", False), ("/home/ann", True)):
        for name in ("prefix", "base_prefix"):
            monkeypatch.setattr(sys, name, prefix)
        done = CliRunner().invoke(group, ["deploy", "systemd"])
        assert done.exit_code == 0
        assert done.stdout == UNIT
        assert ("install both elsewhere" in done.stderr) == told


# ---------------------------------------------------------------------------------- containers


def test_the_image_has_everything_that_a_wheel_is_built_from() -> None:
    text = FILES["container"].text()
    copied = {words.split()[0] for words in re.findall(r"(?m)^COPY (.*) \S+$", text)}
    copied |= set(re.findall(r"(?m)^COPY (?:(\S+) )+\./$", text))
    for source in copied:
        assert (tree.ROOT / source).exists(), source
    project = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert copied >= {".build", *wheel["packages"], *wheel["force-include"]}
    assert 'ENTRYPOINT ["qsync"]' in text
    assert re.search(r"(?m)^USER 10001", text)
    assert not re.search(r":latest|(?m:^FROM \S+/[a-z]+$)", text)


def test_the_nodes_of_compose_are_those_that_are_founded(tmp_path: Path) -> None:
    (document,) = written("compose")
    services = document["services"]
    nodes = {name: each for name, each in services.items() if name != "tools"}
    made = founded("compose", tmp_path / "cluster")
    assert sorted(nodes) == [each.address.host for each in made.nodes]
    for config in made.nodes:
        service = nodes[config.address.host]
        there = f"/var/lib/qsync/{config.node.name}"
        assert service["command"] == ["start", there]
        assert service["volumes"] == [f"./cluster/{config.node.name}:{there}"]
        assert service["hostname"] == config.address.host
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"] is True
        url = re.search(r"'http://(127\.0\.0\.1:\d+)(/\w+)'", service["healthcheck"]["test"][-1])
        assert url is not None
        assert (url[1], url[2] in PROBED) == (str(config.metrics.listen), True)
        assert not config.tls.metrics
        assert "ports" not in service, "members tell clients addresses of the network inside"
    mounted = services["tools"]["environment"]
    assert mounted["QSYNC_TARGET"].split(",") == sorted(nodes)
    for variable in ("QSYNC_CA", "QSYNC_CERTIFICATE", "QSYNC_KEY"):
        assert (made.place / mounted[variable].lstrip("/")).is_file()


# ---------------------------------------------------------------------------------- kubernetes


def test_the_pods_are_the_members_that_are_founded(in_pods: Founded) -> None:
    service, budget, pods = written("kubernetes")
    name, spec = pods["metadata"]["name"], pods["spec"]
    assert spec["serviceName"] == service["metadata"]["name"]
    hosts = [f"{name}-{pod}.{spec['serviceName']}" for pod in range(spec["replicas"])]
    assert [each.address.host for each in in_pods.nodes] == hosts
    for config in in_pods.nodes:
        (shown,) = looking.look(in_pods.place / config.node.name / "tls" / "node.crt")
        assert config.address.host in shown.hosts
    labels = spec["template"]["metadata"]["labels"]
    selected = (spec["selector"], budget["spec"]["selector"])
    assert [each["matchLabels"] for each in selected] == [labels, labels]
    assert service["spec"]["selector"] == labels
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True


def test_probes_ask_what_a_node_answers_where_it_listens(in_pods: Founded) -> None:
    *_, pods = written("kubernetes")
    first, *_ = in_pods.nodes
    pod = pods["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert first.metrics.listen is not None
    assert ports == {"qsync": first.address.port, "metrics": first.metrics.listen.port}
    asked = {
        name: container[name]["httpGet"]["path"] for name in container if name.endswith("Probe")
    }
    assert asked == {
        "startupProbe": "/liveness",
        "livenessProbe": "/liveness",
        "readinessProbe": "/readiness",
    }
    assert set(asked.values()) <= set(CHECKS)
    for name in asked:
        assert container[name]["httpGet"] | {"path": ""} == {
            "path": "",
            "port": "metrics",
            "scheme": "HTTPS",
        }
    # The kubelet comes from outside of the pod; it shows no token, and trusts any certificate.
    for config in in_pods.nodes:
        assert config.metrics.listen is not None
        assert config.metrics.listen.everywhere
        assert (config.tls.on, config.tls.metrics, config.metrics.open_health) == (True, True, True)
        file = config.metrics.token_file
        assert file is not None
        (mounted,) = (m for m in container["volumeMounts"] if m["mountPath"] == str(file.parent))
        (volume,) = (v for v in pod["volumes"] if v["name"] == mounted["name"])
        made = f"{volume['secret']['secretName']} --from-file {file.name}"
        assert f"kubectl create secret generic {made}" in FILES["kubernetes"].text()
    volumes = {each["name"] for each in pod["volumes"]}
    volumes |= {each["metadata"]["name"] for each in pods["spec"]["volumeClaimTemplates"]}
    for each in (*pod["initContainers"], container):
        assert {mount["name"] for mount in each["volumeMounts"]} <= volumes
        assert each["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_a_pod_takes_its_directory_once_and_never_founds_again(
    in_pods: Founded, tmp_path: Path
) -> None:
    """The script of the example, with the paths of this machine."""
    *_, pods = written("kubernetes")
    (found,) = pods["spec"]["template"]["spec"]["initContainers"]
    founding, data = tmp_path / "founding", tmp_path / "data"
    founding.mkdir()
    data.mkdir()
    script = found["args"][0]
    script = script.replace("/var/lib/qsync", str(data)).replace("/founding/", f"{founding}/")

    def begin() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*found["command"], script],
            env={"HOSTNAME": "qsync-1", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )

    assert begin().returncode == 1, "there is no secret"
    pack: list[str | Path] = [
        "tar",
        "--create",
        "--gzip",
        "--sparse",
        "--file",
        founding / "n2.tar.gz",
    ]
    subprocess.run([*pack, "--directory", in_pods.place, "n2"], check=True)
    assert (founding / "n2.tar.gz").stat().st_size < 1 << 19, "a secret holds a MiB"
    assert begin().returncode == 0
    config = NodeConfig.load(data / "n2" / "node.yaml", {})
    assert config.node.id == 2
    (founding / "n2.tar.gz").unlink()
    assert begin().returncode == 0, "what is there is kept"
    shutil.rmtree(data / "n2")
    empty = begin()
    assert empty.returncode == 1
    assert "replace the member n2" in empty.stderr


# ------------------------------------------------------------------------- the manual, and shells


@pytest.mark.parametrize(
    ("name", "shell"), [("bash", BashComplete), ("zsh", ZshComplete), ("fish", FishComplete)]
)
def test_completions_are_those_that_click_makes(
    name: str, shell: type[BashComplete | ZshComplete | FishComplete]
) -> None:
    made = shell(group, {}, "qsync", "_QSYNC_COMPLETE")
    wanted = made.source_template % made.source_vars()
    assert FILES[name].text() == f"{wanted.strip()}\n"


def test_commands_are_completed_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.shell_completion import ShellComplete  # noqa: PLC0415 - beside what it is compared with

    complete = ShellComplete(group, {}, "qsync", "_QSYNC_COMPLETE")
    found = {each.value: each.help for each in complete.get_completions([], "de")}
    assert found == {name: COMMANDS[name][1] for name in ("demo", "demote", "deploy", "delete")}
    assert "--nodes" in {each.value for each in complete.get_completions(["demo"], "--no")}


def manual() -> dict[str, str]:
    """The pages, by the tool that the wheel is built with."""
    where = importlib.util.spec_from_file_location("man", tree.ROOT / ".build" / "man.py")
    assert where is not None
    assert where.loader is not None
    module = importlib.util.module_from_spec(where)
    where.loader.exec_module(module)
    text = module.PAGE.read_text(encoding="utf-8")
    made: dict[str, str] = module.pages(text, "1.2.3")
    return made


def test_the_manual_has_a_page_for_each_command() -> None:
    made = manual()
    assert set(made) == {"qsync.1", *(f"qsync-{name}.1" for name in COMMANDS)}
    assert r"\fBqsync\-init\fR(1)" in made["qsync.1"]
    assert r"\fB\-\-secure\fR" in made["qsync-init.1"]
    assert '.SS "qsync lab add [OPTIONS]"' in made["qsync-lab.1"]


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
def test_troff_warns_of_nothing_in_the_manual(tmp_path: Path) -> None:
    """All pages at once: every macro and every escape is known."""
    for name, text in manual().items():
        (tmp_path / name).write_text(text, "utf-8")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", *sorted(tmp_path.glob("*.1"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    assert "qsync-init" in done.stdout


# ------------------------------------------------------------------------------------ the command


def test_every_file_is_printed_and_listed() -> None:
    assert {each.file for each in FILES.values()} == {path.name for path in PLACE.iterdir()}
    listed = CliRunner().invoke(group, ["deploy"])
    assert listed.exit_code == 0
    for name, each in FILES.items():
        assert each.goes in listed.output
        printed = CliRunner().invoke(group, ["deploy", name])
        assert printed.stdout.rstrip("\n") == each.text().rstrip("\n")
        assert "@QSYNC@" not in printed.output
