"""Certificates are made for one purpose, stay private, are shown and judged in words."""

import json
import stat
from pathlib import Path

import pytest

from admin.certs import looking, making
from admin.certs.making import KeyPair
from cli.main import run
from qsync.errors import ConfigError
from qsync.tls.names import Bearer, CertifiedName, named_in, parse
from tests.certificates import AGO, AHEAD, CLUSTER, Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certs"))


def judged(authority: Authority, pair: KeyPair, **given: object) -> list[str]:
    wanted, hosts = given.get("wanted"), given.get("hosts", ())
    assert wanted is None or isinstance(wanted, CertifiedName)
    assert isinstance(hosts, tuple)
    found = looking.judge(
        pair.certificate, ca=authority.ca, key=pair.key, wanted=wanted, hosts=hosts
    )
    return [each.what for each in found]


def test_names_are_uris_and_nothing_else_is_a_name() -> None:
    name = CertifiedName(CLUSTER, Bearer.USER, "ann/é")
    assert parse(name.uri) == name
    for text in (
        "qsync://c/node",
        "qsync://c/king/n1",
        "https://c/node/n1",
        "qsync:///node/n1",
        "",
    ):
        assert parse(text) is None
    uri = CertifiedName(CLUSTER, Bearer.NODE, "n1").uri
    assert named_in({"subjectAltName": (("DNS", "n1"), ("URI", uri))}) == parse(uri)
    twice = (("URI", uri), ("URI", name.uri))
    assert named_in({"subjectAltName": twice}) is None, "a certificate of two is of nobody"
    assert named_in({}) is None


def test_what_is_made_is_right(authority: Authority) -> None:
    node, user = authority.node("n1"), authority.user("ann")
    assert judged(authority, node, hosts=("localhost", "127.0.0.1", "[::1]", "[::1%eth0]")) == []
    assert judged(authority, user, wanted=CertifiedName(CLUSTER, Bearer.USER, "ann")) == []
    shown = looking.look(node.certificate)[0]
    assert shown.purposes == ("server", "client")
    assert looking.look(user.certificate)[0].purposes == ("client",)
    assert looking.look(user.certificate)[0].hosts == ()
    assert (shown.expires - shown.begins).days == making.LEAF_DAYS


def test_keys_are_for_their_owner_alone(authority: Authority) -> None:
    pair = authority.node("n1")
    assert stat.S_IMODE(pair.key.stat().st_mode) == 0o600
    assert stat.S_IMODE(authority.pair.key.stat().st_mode) == 0o600
    pair.key.chmod(0o644)
    assert judged(authority, pair) == ["can be read by others on this machine"]


def test_nothing_is_overwritten_unless_it_is_said(authority: Authority, tmp_path: Path) -> None:
    pair = KeyPair.named(tmp_path, "n1")
    made = making.make_node(authority.pair, pair, cluster=CLUSTER, name="n1", hosts=[])
    before = made.key.read_bytes()
    with pytest.raises(ConfigError, match="exists already"):
        making.make_node(authority.pair, pair, cluster=CLUSTER, name="n1", hosts=[])
    with pytest.raises(ConfigError, match="exists already"):
        making.make_authority(authority.path, name="again")
    assert made.key.read_bytes() == before


def test_what_is_wrong_is_said(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    wrong = other.node("n1")
    assert "is signed by tests" in judged(authority, wrong)[0]
    late, early = authority.node("n2", now=AGO), authority.node("n3", now=AHEAD)
    assert "has expired" in judged(authority, late)[0]
    assert "is not good before" in judged(authority, early)[0]
    pair = authority.node("n4")
    wanted = CertifiedName(CLUSTER, Bearer.NODE, "n5")
    assert "not of" in judged(authority, pair, wanted=wanted)[0]
    assert "does not name the host db" in judged(authority, pair, hosts=("db",))[0]
    mixed = KeyPair(certificate=pair.certificate, key=late.key)
    assert "is not the key of" in judged(authority, mixed)[0]


def test_soon_is_told_and_not_grave(authority: Authority, tmp_path: Path) -> None:
    pair = making.make_user(
        authority.pair, KeyPair.named(tmp_path, "u"), cluster=CLUSTER, name="u", days=5
    )
    (found,) = looking.judge(pair.certificate, ca=authority.ca)
    assert not found.grave
    assert "in 4 days" in found.what


# -------------------------------------------------------------------------------- the commands


def test_the_commands_from_an_authority_to_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--dir", str(tmp_path)]
    assert run(["cert", "ca", *where, "--name", "orders"]) == 0
    assert run(["cert", "ca", *where]) == 2
    cluster = ["--cluster", CLUSTER]
    assert run(["cert", "node", "n1", *cluster, *where, "--host", "db.example, 10.0.0.1"]) == 0
    assert run(["cert", "client", "ann", *cluster, *where, "--days", "7"]) == 0
    capsys.readouterr()
    certificate, key = str(tmp_path / "n1.crt"), str(tmp_path / "n1.key")
    assert run(["cert", "show", certificate, str(tmp_path / "ca.crt"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    node, ca = shown["certificates"]
    assert node["names"] == [f"qsync://{CLUSTER}/node/n1"]
    assert {"db.example", "10.0.0.1", "127.0.0.1"} <= set(node["hosts"])
    assert ca["authority"]
    assert ca["subject"].startswith("orders ")
    assert run(["cert", "check", certificate, "--key", key, "--host", "db.example"]) == 0
    assert run(["cert", "check", certificate, "--host", "else.example"]) == 6
    assert run(["cert", "check", certificate, "--user", "ann", *cluster]) == 6
    capsys.readouterr()
    assert run(["cert", "check", str(tmp_path / "ann.crt"), "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["good"]
    assert not verdict["faults"][0]["grave"]


@pytest.mark.parametrize(
    "args",
    [
        ["cert", "node", "../n1", "--cluster", CLUSTER],
        ["cert", "node", "ca", "--cluster", CLUSTER],
        ["cert", "client", "ann", "--cluster", "orders"],
        ["cert", "client", "admin", "--cluster", CLUSTER],
        ["cert", "node", "n1", "--cluster", CLUSTER, "--host", "é.example"],
        ["cert", "show", "missing.crt"],
        ["cert", "check", "ca.key"],
        ["cert", "check", "ca.crt", "--node", "n1"],
    ],
)
def test_what_cannot_be_is_refused_with_two(
    args: list[str], authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(authority.path)
    assert run([*args, *(["--dir", "."] if args[1] in {"node", "client"} else [])]) == 2
