"""The section `tls`: its valid values, and its errors with a place and a fix."""

from pathlib import Path

import pytest
import trio

from cli.main import run
from qsync import connect, connect_async
from qsync.client import security, targets, tls_files
from qsync.client.security import ClientTls
from qsync.config import NodeConfig
from qsync.errors import ConfigError
from qsync.node import tls
from tests.certificates import AGO, CLUSTER, Authority

NOW = AGO.timestamp() + 201 * 86400
"""A day after the tests were collected: certificates that they make while they run are good."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certs"))


def load(authority: Authority, text: str) -> NodeConfig:
    path = authority.path / "node.yaml"
    path.write_text(text, "utf-8")
    return NodeConfig.load(path, {})


def yaml(certificate: str, *, more: str = "") -> str:
    return (
        f"node: {{id: 1, name: n1}}\ncluster: {{id: {CLUSTER}}}\ntls:\n"
        f"  certificate: {certificate}.crt\n  key: {certificate}.key\n  ca: ca.crt\n{more}"
    )


def test_paths_are_relative_to_the_file_and_all_fits(authority: Authority) -> None:
    authority.node("n1")
    config = load(authority, yaml("n1"))
    assert config.tls.on
    assert config.tls.certificate == authority.path / "n1.crt"
    found = tls.check(config, NOW)
    assert str(found.name) == "node n1"


def test_without_it_nothing_is_on() -> None:
    config = NodeConfig.load(None, {})
    assert not config.tls.on
    assert tls.opened(config, lambda: NOW) is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"tls.certificate": "a.crt"}, "tls.key = '': is missing"),
        ({"tls.key": "a.key", "tls.ca": "ca.crt"}, "tls.certificate = '': is missing"),
        ({"tls.clients": "optional"}, "tls.certificate names none"),
        ({"tls.clients": "some", "tls.ca": "c"}, "did you mean|is not one of required, optional"),
        ({"listen": "0.0.0.0:1", "advertise": "h:1"}, "section `tls`"),
        ({"metrics.listen": "0.0.0.0:9301"}, "section `tls`"),
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        NodeConfig.load(None, {}, given)


def test_with_certificates_it_may_listen_to_the_world() -> None:
    files = {"tls.certificate": "a", "tls.key": "b", "tls.ca": "c", "cluster.id": CLUSTER}
    figures = {"metrics.listen": "10.0.0.1:9301", "metrics.token_file": "token"}
    public = {"listen": "10.0.0.1:3301", **figures}
    assert not NodeConfig.load(None, {}, files | public).insecure
    with pytest.raises(ConfigError, match="listen"):
        NodeConfig.load(None, {}, files | public | {"tls.clients": "optional"})
    with pytest.raises(ConfigError, match=r"metrics\.listen"):
        NodeConfig.load(None, {}, files | public | {"tls.metrics": "false"})
    with pytest.raises(ConfigError, match=r"metrics\.token_file"):
        NodeConfig.load(None, {}, files | public | {"metrics.token_file": ""})
    with pytest.raises(ConfigError, match=r"metrics\.listen, which is not set"):
        NodeConfig.load(None, {}, files | public | {"metrics.listen": ""})


def test_a_certificate_that_is_not_ours_is_refused_with_its_place(
    authority: Authority, tmp_path: Path
) -> None:
    authority.node("n2")
    authority.user("ann")
    authority.node("n1", file="foreign", cluster="00000000-0000-0000-0000-000000000007")
    authority.node("n1", file="late", now=AGO)
    other = Authority(tmp_path)
    theirs = other.node("n1")
    (authority.path / "other.crt").write_bytes(theirs.certificate.read_bytes())
    (authority.path / "other.key").write_bytes(theirs.key.read_bytes())
    cases = {
        "n2": "is of node n2, and this is node n1",
        "ann": "certificate is not for its end",
        "foreign": "is of cluster 00000000",
        "late": "has expired on",
        "other": "no authority that is trusted here signed",
        "none": "cannot be read",
    }
    for name, why in cases.items():
        with pytest.raises(ConfigError, match=why) as caught:
            tls.check(load(authority, yaml(name)), NOW)
        assert "node.yaml:4:" in str(caught.value), name
    with pytest.raises(ConfigError, match=r"tls\.key.*cannot be read"):
        tls.check(load(authority, yaml("n2").replace("n2.key", "none.key")), NOW)


def test_files_that_change_are_read_again_and_bad_ones_are_not_used(
    authority: Authority,
) -> None:
    authority.node("n1")
    held = tls.NodeTls(load(authority, yaml("n1")), wall=lambda: NOW)
    first = held.facts.serial
    assert held.look() is None
    (authority.path / "n1.key").write_text("half a file")
    news = held.look()
    assert news is not None
    assert "error" in news
    assert held.error is not None
    assert held.facts.serial == first
    assert held.look() is None, "what is bad is told once"
    authority.node("n1")
    assert held.look() == {"serial": held.facts.serial, "expires": held.facts.expires}
    assert held.error is None
    assert held.facts.serial != first


# ------------------------------------------------------------------------------ for a client


def test_a_url_names_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in security.VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    found = targets.parse("qsyncs://ann@h1,h2:5/?ca=ca.crt&certificate=a.crt&key=a.key&host=any")
    assert found.addresses == ("h1:3301", "h2:5")
    assert found.user == "ann"
    assert found.tls == ClientTls(ca="ca.crt", certificate="a.crt", key="a.key", check_host=False)
    assert targets.parse("qsync://h1/").tls is None
    for wrong in ("qsyncs://h1", "qsyncs://h1/?ca=c&hots=any", "qsyncs://h1/?ca=c&host=none"):
        with pytest.raises(ConfigError):
            targets.parse(wrong)


def test_the_environment_stands_in_for_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QSYNC_CA", "/c/ca.crt")
    monkeypatch.setenv("QSYNC_CERTIFICATE", "/c/ann.crt")
    monkeypatch.delenv("QSYNC_KEY", raising=False)
    monkeypatch.delenv("QSYNC_HOST", raising=False)
    found = targets.parse("h1").tls
    assert found == ClientTls(ca="/c/ca.crt", certificate="/c/ann.crt")
    assert targets.parse("qsyncs://h1/?ca=other.crt").tls == ClientTls(
        ca="other.crt", certificate="/c/ann.crt"
    )
    mine = ClientTls(ca="mine.crt")
    assert targets.parse(["h1"], tls=mine).tls == mine


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"QSYNC_CA": "none.crt"}, "none.crt cannot be read: No such file"),
        ({"QSYNC_CERTIFICATE": "n1.crt"}, "n1.crt is no certificate with its key"),
        ({"QSYNC_CERTIFICATE": "n1.crt", "QSYNC_KEY": "ca.key"}, "are no certificate and its key"),
    ],
)
@pytest.mark.parametrize("words", [["status"], ["select", "pets", "--target"]])
def test_a_command_says_that_its_own_files_are_wrong_before_it_asks_a_node(
    variables: dict[str, str],
    why: str,
    words: list[str],
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    authority.node("n1")
    for name in security.VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    for name, file in ({"QSYNC_CA": "ca.crt"} | variables).items():
        monkeypatch.setenv(name, str(authority.path / file))
    with security.assumed(security.of_environment()):
        assert run([*words, "127.0.0.1:1"]) == 2
    said = capsys.readouterr().err
    assert "qsync: CONFIG: " in said
    assert why in said
    assert "QSYNC_CA, QSYNC_CERTIFICATE and QSYNC_KEY name the files" in said


def test_a_client_says_that_its_own_files_are_wrong_before_it_dials() -> None:
    target = "qsyncs://127.0.0.1:1/?ca=none.crt"
    with pytest.raises(ConfigError, match=r"none.crt cannot be read: No such file"):
        connect(target)

    async def begin() -> None:
        async with connect_async(target):
            pass

    with pytest.raises(ConfigError, match=r"none.crt cannot be read: No such file"):
        trio.run(begin)


def test_a_client_of_a_socket_needs_no_files() -> None:
    tls_files.check(targets.parse("unix:n1", tls=ClientTls(ca="none.crt")))
