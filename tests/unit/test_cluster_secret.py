"""The cluster's secret: read, checked, and never shown."""

from pathlib import Path

import pytest

from qsync.config import NodeConfig
from qsync.config.secret import SECRETS_MAX, SHOWN, fresh
from qsync.errors import ConfigError
from qsync.node.handshake import keys_of
from qsync.wire.proofs import SecretKeys

TEXT = "only-the-members-know"


def test_a_secret_is_used_and_never_shown() -> None:
    config = NodeConfig.loads(f"cluster: {{secret: {TEXT}}}\n")
    assert config.secret.keys == (TEXT.encode(),)
    assert config.values()["cluster.secret"] == SHOWN
    assert TEXT not in f"{config!r} {config.secret} {config.cluster} {config.values()}"
    assert TEXT not in f"{keys_of(config)!r} {keys_of(config)}", "in no traceback either"


def test_a_written_file_reads_back_with_its_secret() -> None:
    config = NodeConfig.load(None, {}, {"cluster.secret": TEXT})
    assert NodeConfig.loads(config.to_yaml()).secret == config.secret


def test_a_secret_may_stand_in_a_file_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{TEXT}\n", "utf-8")
    (tmp_path / "node.yaml").write_text("cluster: {secret_file: secret}\n", "utf-8")
    config = NodeConfig.load(tmp_path / "node.yaml", {})
    assert config.secret.keys == (TEXT.encode(),)
    assert config.values()["cluster.secret_file"] == "secret"


def test_a_node_proves_the_first_of_several_secrets_and_accepts_each(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{TEXT}\n\n the-former-secret \n", "utf-8")
    (tmp_path / "node.yaml").write_text("cluster: {secret_file: secret}\n", "utf-8")
    config = NodeConfig.load(tmp_path / "node.yaml", {})
    assert keys_of(config) == SecretKeys(TEXT.encode(), (b"the-former-secret",))
    optional = NodeConfig.load(tmp_path / "node.yaml", {}, {"cluster.secret_optional": "true"})
    assert keys_of(optional) == SecretKeys(TEXT.encode(), (b"the-former-secret", b""))
    assert keys_of(NodeConfig.load(None, {})) == SecretKeys()


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("secret: easy", "has 4 characters; wanted 16"),
        ("secret_file: nowhere", "cannot be read"),
        ("secret_file: empty", "holds no secret"),
        ("secret_file: easy", "has 9 characters"),
        (f"secret: {TEXT}, secret_file: good", "is given beside cluster.secret"),
        ("secret_file: second", "has 4 characters in line 2"),
        ("secret_file: twice", "the same secret twice"),
        ("secret_file: many", "has 5 secrets, one a line; wanted at most 4"),
        ("secret_optional: true", "is for a node with a secret"),
    ],
)
def test_what_is_no_secret_is_refused(tmp_path: Path, written: str, why: str) -> None:
    many = "".join(f"{number}-{TEXT}\n" for number in range(SECRETS_MAX + 1))
    several = {"second": f"{TEXT}\neasy\n", "twice": f"{TEXT}\n{TEXT}\n", "many": many}
    for name, text in ({"empty": "\n", "easy": "not-quite", "good": TEXT} | several).items():
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "node.yaml").write_text(f"cluster: {{{written}}}\n", "utf-8")
    with pytest.raises(ConfigError, match=why):
        NodeConfig.load(tmp_path / "node.yaml", {})


@pytest.mark.parametrize("written", ["secret: easy-to-g\0uess", "secrt: my-own-secret-word"])
def test_a_refusal_does_not_show_it_either(written: str) -> None:
    with pytest.raises(ConfigError) as caught:
        NodeConfig.load(None, {}, {"cluster.secret": "easy-to-guess"})
    assert "easy" not in f"{caught.value} {caught.value.details}"
    with pytest.raises(ConfigError) as caught:
        NodeConfig.loads(f"cluster: {{{written}}}\n")
    assert "easy" not in f"{caught.value} {caught.value.details}"
    assert "my-own" not in f"{caught.value} {caught.value.details}"


def test_a_fresh_secret_is_good_and_never_the_same() -> None:
    assert NodeConfig.load(None, {}, {"cluster.secret": fresh().text}).secret
    assert fresh() != fresh()


def test_of_two_ways_to_name_it_the_later_source_counts(tmp_path: Path) -> None:
    """A variable or a flag replaces what a file says, as of every other option."""
    (tmp_path / "secret").write_text("of-the-directory\n", "utf-8")
    path = tmp_path / "node.yaml"
    path.write_text("cluster: {secret_file: secret}\n", "utf-8")
    env = {"QSYNC_CLUSTER__SECRET": TEXT}
    assert NodeConfig.load(path, env).secret.text == TEXT
    assert NodeConfig.load(path, {}, {"cluster.secret": TEXT}).secret.text == TEXT
    assert NodeConfig.load(path, {"QSYNC_CLUSTER__SECRET": ""}).secret.text == "of-the-directory"
    path.write_text(f"cluster: {{secret: {TEXT}}}\n", "utf-8")
    env = {"QSYNC_CLUSTER__SECRET_FILE": str(tmp_path / "secret")}
    assert NodeConfig.load(path, env).secret.text == "of-the-directory"
    both = {"cluster.secret": TEXT, "cluster.secret_file": str(tmp_path / "secret")}
    with pytest.raises(ConfigError, match=r"given beside cluster\.secret"):
        NodeConfig.load(None, {}, both)


def test_a_draft_names_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    draft = NodeConfig.draft({"cluster.secret_file": "secret"})
    (tmp_path / "node.yaml").write_text(draft.to_yaml(), "utf-8")
    with pytest.raises(ConfigError, match="cannot be read"):
        NodeConfig.load(tmp_path / "node.yaml", {})
    (tmp_path / "secret").write_text(TEXT, "utf-8")
    assert NodeConfig.load(tmp_path / "node.yaml", {}).secret.text == TEXT
