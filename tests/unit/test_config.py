"""How a node's configuration is read, checked, refused and written out."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from election.fencing import Fencing
from election.roles import ElectionMode
from qsync import units
from qsync.config import NodeConfig
from qsync.config.aliases import ALIASES
from qsync.config.yaml_file import FILE_BYTES_MAX
from qsync.errors import ConfigError

CLUSTER = "8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55"
THREE = {
    "cluster.id": CLUSTER,
    "peers": "1:n1@127.0.0.1:3301,2:n2@127.0.0.1:3302,3:n3@127.0.0.1:3303",
}


def refused(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        NodeConfig.loads(text, where="node.yaml")
    return caught.value


def load(flags: Mapping[str, str]) -> NodeConfig:
    return NodeConfig.load(None, {}, flags)


# ------------------------------------------------------------------------------------- defaults


def test_nothing_given_is_a_node_on_its_own_that_only_this_machine_reaches() -> None:
    config = load({})
    assert config.listen == "127.0.0.1:3301"
    assert config.listen.loopback
    assert config.election.mode is ElectionMode.CANDIDATE
    assert config.election.timeout == 5.0
    assert config.replication.timeout == 1.0
    assert [peer.address for peer in config.peers] == ["127.0.0.1:3301"]


def test_a_file_is_read_section_by_section(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text(
        f"""
node: {{id: 2, name: n2}}
cluster:
  id: {CLUSTER}
election:
  mode: off        # YAML would make a boolean of it; here it is the mode
  timeout: 250ms
  fencing: strict
replication:
  timeout: 50ms
limits:
  tuple_bytes_max: 64KiB
listen: localhost:0
peers:
  - {{id: 1, name: n1, address: 127.0.0.1:3301}}
  - {{id: 2, name: n2, address: "[::1]:3302"}}
"""
    )
    config = NodeConfig.load(path, {}, {})
    assert config.election.mode is ElectionMode.OFF
    assert config.election.fencing is Fencing.STRICT
    assert config.election.timeout == 0.25
    assert config.limits.tuple_bytes_max == 65536
    assert config.node.dir == tmp_path
    assert [peer.name for peer in config.peers] == ["n1", "n2"]
    assert (config.peers[1].dialled.host, config.peers[1].dialled.port) == ("::1", 3302)


def test_the_directory_is_relative_to_the_file_but_not_to_a_flag(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("node: {dir: data}\n")
    assert NodeConfig.load(path, {}, {}).node.dir == tmp_path / "data"
    assert NodeConfig.load(path, {}, {"node.dir": "here"}).node.dir == Path("here")


# ------------------------------------------------------------------------------ who has the say


def test_flags_beat_variables_beat_the_file(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("election:\n  timeout: 1s\nreplication:\n  timeout: 10ms\n")
    env = {"QSYNC_ELECTION__TIMEOUT": "2s", "QSYNC_REPLICATION__TIMEOUT": "20ms", "HOME": "/"}
    config = NodeConfig.load(path, env, {"election.timeout": "3s"})
    assert config.election.timeout == 3.0
    assert config.replication.timeout == 0.02
    assert config.origin("election.timeout") == "flag election.timeout"
    assert config.origin("replication.timeout") == (
        "environment variable QSYNC_REPLICATION__TIMEOUT"
    )
    assert config.origin("store.writer") == "default"


def test_origin_names_line_and_column_and_knows_no_unknown_option(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("election:\n  timeout: 1s\nreplication: {timeout: 10ms}\n")
    config = NodeConfig.load(path, {}, {})
    assert config.origin("election.timeout") == f"{path}:2:12"
    assert config.origin("peers") == "default"
    with pytest.raises(KeyError):
        config.origin("election.timeou")


def test_peers_from_a_variable_replace_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text(f"cluster: {{id: {CLUSTER}}}\npeers: [{{id: 9, name: n9, address: x:1}}]\n")
    config = NodeConfig.load(path, {"QSYNC_PEERS": THREE["peers"]}, {})
    assert [peer.id for peer in config.members] == [1, 2, 3]
    assert config.origin("peers") == "environment variable QSYNC_PEERS"


def test_a_variable_that_is_not_ours_is_left_alone_but_a_misspelt_one_is_refused() -> None:
    NodeConfig.load(None, {"QSYNC_CONTEXT": "lab"}, {})
    with pytest.raises(ConfigError, match="QSYNC_ELECTION__TIMEOUT"):
        NodeConfig.load(None, {"QSYNC_ELECTION__TIMEOT": "1s"}, {})


# ------------------------------------------------------------------------------ other names


@pytest.mark.parametrize("name", ALIASES)
def test_an_option_goes_by_its_name_in_tarantool_too(name: str) -> None:
    given = {
        "election.mode": "voter",
        "election.fencing": "strict",
        "cluster.id": CLUSTER,
        "replication.anon": "true",
        "replication.synchro_quorum": "N",
        "replication.queue_bytes_max": "1MiB",
        "store.checkpoint_wal_threshold": "1MiB",
        "store.checkpoint_count": "3",
        "store.wal_retention_size": "1MiB",
    }
    key = ALIASES[name]
    text = given.get(key, "n1" if key.endswith("name") else "2s")
    section, _, option = name.rpartition(".")
    line = f"{option}: {text}"
    file = NodeConfig.loads(f"{section}:\n  {line}\n" if section else line)
    assert file.values()[key] == load({key: text}).values()[key] == load({name: text}).values()[key]
    assert file.origin(key).startswith("text:")


def test_a_name_of_tarantool_may_be_a_variable() -> None:
    config = NodeConfig.load(None, {"QSYNC_REPLICATION_SYNCHRO_QUORUM": "N"}, {})
    assert str(config.replication.synchro_quorum) == "N"


def test_one_option_under_two_names_is_given_twice() -> None:
    error = refused("election: {timeout: 1s}\nelection_timeout: 2s\n")
    assert "node.yaml:2:1: election_timeout: is election.timeout, which is given" in error.message


def test_a_number_without_a_unit_is_refused_under_either_name() -> None:
    assert "write 5s" in refused("replication_synchro_timeout: 5").message


# ------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "line", "column", "option", "reason"),
    [
        ("election: {timeout: 5}", 1, 21, "election.timeout", "has no unit: write 5s"),
        ("election: {timeout: -1s}", 1, 21, "election.timeout", "is not a duration"),
        ("election: {timeout: 1fortnight}", 1, 21, "election.timeout", "has the unit 'fortnight'"),
        ("election: {timeout: 1us}", 1, 21, "election.timeout", "is not between 10ms and 1h"),
        ("node:\n  id: 32\n", 2, 7, "node.id", "is not between 1 and 31"),
        ("node:\n  id: one\n", 2, 7, "node.id", "is not a whole number"),
        ("node: {name: a b}", 1, 14, "node.name", "is not a name"),
        ("node: {dir: ''}", 1, 13, "node.dir", "is empty"),
        ("cluster: {id: 12}", 1, 15, "cluster.id", "is not a UUID"),
        ("insecure: yes", 1, 11, "insecure", "is neither true nor false"),
        ("listen: 3301", 1, 9, "listen", "is not host:port"),
        ("listen: ::1:3301", 1, 9, "listen", "without brackets"),
        ("listen: localhost:70000", 1, 9, "listen", "has the port '70000'"),
        ("listen: 'a b:1'", 1, 9, "listen", "has the host 'a b'"),
        ("limits: {tuple_bytes_max: 1024}", 1, 27, "limits.tuple_bytes_max", "has no unit"),
        ("limits: {tuple_bytes_max: 99.5B}", 1, 27, "limits.tuple_bytes_max", "whole number"),
        ("election: [1]", 1, 11, "section election", "must hold options"),
        ("[1, 2]", 1, 1, "the file", "must hold options"),
        ("peers: 3", 1, 8, "peers", "must be a list"),
        ("listen: {host: x}", 1, 9, "listen", "must be a single value"),
        ("listen:", 1, 8, "listen", "has no value"),
        ("node: {id: 1, id: 2}", 1, 15, "node.id", "is given twice"),
        ("node: {id: 1", 1, 13, "the file", "is not YAML"),
        ("peers: [{id: 1, name: n1}]", 1, 14, "peers.0.address", "is missing"),
        ("store: {fold_interval: 1s, writer: quick}", 1, 36, "store.writer", "is not one of auto"),
    ],
)
def test_a_wrong_value_is_refused_at_its_line_and_column(
    text: str, line: int, column: int, option: str, reason: str
) -> None:
    error = refused(text)
    assert error.message.startswith(f"node.yaml:{line}:{column}: {option}")
    assert reason in error.message
    assert error.details["option"] == option
    assert (error.details["line"], error.details["column"]) == (line, column)


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("electon: {}", "election"),
        ("election: {time_out: 5s}", "election.timeout"),
        ("synchro_quorum: 2", "replication.synchro_quorum"),
        ("election: {mode: candidat}", "candidate"),
        ("peers: [{id: 1, name: n1, adress: x:1}]", "address"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_one_meant(text: str, suggestion: str) -> None:
    assert f"did you mean {suggestion!r}?" in refused(text).message


def test_a_section_with_all_its_options_commented_out_is_fine() -> None:
    assert NodeConfig.loads("election:\n  # timeout: 5s\n") == load({})


def test_every_problem_is_named_not_only_the_first() -> None:
    error = refused("node: {id: 77}\nelection: {mode: king, timeout: 9}\nwhat: 1\n")
    assert error.details["problems"] == 4
    assert len(error.message.splitlines()) == 4


def test_a_quorum_must_be_arithmetic_over_the_voters() -> None:
    assert load({"replication.synchro_quorum": "N / 2 + 1"}).replication.synchro_quorum.of(3) == 2
    assert (
        "replication.synchro_quorum"
        in refused("replication: {synchro_quorum: '__import__(1)'}").message
    )


TWO = {"cluster.id": CLUSTER, "peers": "1:n1@10.0.0.1:3301,2:n2@10.0.0.2:3302"}
SECOND = {**TWO, "node.id": "2", "node.name": "n2", "insecure": "true"}


def test_a_member_listens_where_the_others_dial_it() -> None:
    config = load(SECOND)
    assert (config.listen, config.address) == ("10.0.0.2:3302", "10.0.0.2:3302")
    assert config.origin("listen") == "flag peers"
    assert NodeConfig.loads(config.to_yaml()) == config


def test_a_member_that_others_would_dial_in_vain_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"listen = '127.0.0.1:3301': is not where the other me"):
        load({**SECOND, "listen": "127.0.0.1:3301"})
    with pytest.raises(ConfigError, match=r"dial this node, 10.0.0.2:3302; leave `listen` out"):
        load({**SECOND, "listen": "10.0.0.2:3301"})
    apart = load({**SECOND, "listen": "127.0.0.1:3301", "advertise": "10.0.0.2:3302"})
    assert (apart.listen, apart.address) == ("127.0.0.1:3301", "10.0.0.2:3302")
    assert load({**SECOND, "listen": "127.0.0.1:0"}).listen.port == 0


def test_a_public_address_among_the_peers_wants_insecure_in_words() -> None:
    open_ = {key: value for key, value in SECOND.items() if key != "insecure"}
    with pytest.raises(ConfigError, match=r"peers\.1\.address = '10.0.0.2:3302'.*insecure: true"):
        load(open_)


MEMBERS = "cluster: {id: 8c2f6b1e-0c5a-4f62-9d0e-3a7d1b9c4e55}\npeers:\n" + "".join(
    f"  - {{id: {n}, name: n{n}, address: 127.0.0.1:330{n}}}\n" for n in (1, 2, 3)
)


@pytest.mark.parametrize(
    ("quorum", "reason"),
    [
        ("4", "asks 4 of 3 voters: nothing could ever be confirmed"),
        ("max(5, N)", "asks 5 of 3 voters"),
        ("1", "is 1 of 3 voters, below the majority 2"),
    ],
)
def test_a_quorum_that_cannot_be_reached_or_would_be_lifted_is_refused(
    quorum: str, reason: str
) -> None:
    text = MEMBERS + f"replication: {{synchro_quorum: '{quorum}'}}\n"
    error = refused(text)
    assert f"node.yaml:6:31: replication.synchro_quorum = '{quorum}': {reason}" in error.message


@pytest.mark.parametrize("quorum", ["2", "3", "N", "N/2+1", "max(2, N/2+1)"])
def test_a_quorum_from_the_majority_to_all_is_taken(quorum: str) -> None:
    text = MEMBERS + f"replication: {{synchro_quorum: '{quorum}'}}\n"
    assert str(NodeConfig.loads(text).replication.synchro_quorum) == quorum


def test_a_file_that_cannot_be_read_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        NodeConfig.load(tmp_path / "nowhere.yaml", {}, {})
    (tmp_path / "latin.yaml").write_bytes(b"node: {name: \xe9}")
    with pytest.raises(ConfigError, match="UTF-8"):
        NodeConfig.load(tmp_path / "latin.yaml", {}, {})


# -------------------------------------------------------------------------- what fits together


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "db.example.org", "[::]"])
def test_a_public_address_needs_the_word_insecure(host: str) -> None:
    with pytest.raises(ConfigError, match="insecure: true"):
        load({"listen": f"{host}:3301"})
    assert load({"listen": f"{host}:3301", "insecure": "true"}).insecure


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ({"cluster.id": ""}, "is needed when there are peers"),
        ({"node.id": "4"}, "must include this node itself"),
        ({"node.rehearsed_features": "later"}, "needs node.faults: true"),
        ({"node.rehearsed_features": "b,a"}, "is not a list of features in order"),
        ({"node.name": "other"}, "is not this node's name"),
        ({"peers": "1:n1@a:1,1:n2@a:2"}, "gives the id 1 to 2 members"),
        ({"peers": "1:n1@a:1,2:n1@a:2"}, "gives the name n1 to 2 members"),
        ({"peers": "1:n1@a:1,2:n2@a:1"}, "gives the address a:1 to 2 members"),
        ({"peers": "1=n1"}, "is not ID:NAME@HOST:PORT"),
        ({"listen": "0.0.0.0:1", "insecure": "true"}, "`advertise` must say"),
        ({"advertise": "0.0.0.0:1"}, "not an address that others can dial"),
        ({"limits.tuple_bytes_max": "9MiB"}, "is more than limits.txn_bytes_max"),
        ({"limits.txn_bytes_max": "17MiB"}, "is more than limits.client_frame_bytes_max"),
        ({"limits.frame_bytes_max": "1MiB"}, "is more than limits.frame_bytes_max"),
        ({"limits.unfinished_bytes_max": "15MiB"}, "is more than limits.unfinished_bytes_max"),
        ({"replication.timeout": "4s"}, "less than two heartbeats"),
        ({"metrics.listen": "0.0.0.0:9301"}, "section `tls`"),
        ({"metrics.listen": "127.0.0.1:3301"}, "is where the node itself listens"),
    ],
)
def test_options_must_fit_together(flags: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load({**THREE, **flags})
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# " + "x" * FILE_BYTES_MAX, f"the file: is longer than {FILE_BYTES_MAX} bytes"),
        ("[" * 20_000, "the file: is nested too deep"),
        ('node: {dir: "a\\0b"}', "node.dir: holds a character that is in no text"),
        ('cluster: {tag: "\\ud800"}', "cluster.tag: holds a character that is in no text"),
        ("peers.².id: 1", "peers.².id = '1': there is no such option"),
        ("peers: [" + "{id: 1}, " * 32 + "]", "peers: has 32 members; at most 31 are possible"),
    ],
)
def test_what_no_file_should_hold_is_refused(text: str, says: str) -> None:
    assert says in refused(text).message


def test_a_file_that_is_too_long_is_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("ж" * FILE_BYTES_MAX, encoding="utf-8")
    with pytest.raises(ConfigError, match="is longer than"):
        NodeConfig.load(path, {}, {})


@pytest.mark.parametrize(
    "tag", ["a\nb", 'say "x"', "back\\slash", "\x7f\x85\u2028\ufeff", "😀", "é"]
)
def test_any_text_is_written_so_that_it_reads_back(tag: str) -> None:
    config = load({"cluster.tag": tag})
    assert NodeConfig.loads(config.to_yaml()).cluster.tag == tag


def test_more_members_than_replica_ids_are_refused() -> None:
    many = ",".join(f"{1 + number % 31}:n{number}@a:{number}" for number in range(32))
    with pytest.raises(ConfigError, match="at most 31"):
        load({**THREE, "node.name": "n0", "peers": many})


# ---------------------------------------------------------------------------------- written out


def test_the_template_reads_back_and_shows_every_default_commented_out() -> None:
    text = NodeConfig.template()
    assert NodeConfig.loads(text) == load({})
    assert "  # timeout: 5s\n" in text
    assert all(f"{key.rpartition('.')[2]}: " in text for key in load({}).values())


def test_a_template_with_values_sets_those_and_only_those() -> None:
    values = {**THREE, "node.id": "2", "node.name": "n2", "listen": "127.0.0.1:3302"}
    text = NodeConfig.template(values)
    config = NodeConfig.loads(text, where="n2.yaml")
    assert config == load(values)
    assert config.origin("listen").startswith("n2.yaml:")
    assert config.origin("election.timeout") == "default"


awkward = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), max_size=20)


@given(
    tag=awkward,
    timeout=st.floats(2.0, 3600.0),
    queue=st.integers(1024, 1 << 36),
    mode=st.sampled_from(list(ElectionMode)),
)
def test_whatever_is_set_survives_being_written_and_read(
    tag: str, timeout: float, queue: int, mode: ElectionMode
) -> None:
    config = load(
        {
            **THREE,
            "cluster.tag": tag,
            "election.timeout": units.show_duration(timeout),
            "replication.queue_bytes_max": units.show_size(queue),
            "election.mode": mode.value,
        }
    )
    assert config.election.timeout == timeout
    assert config.replication.queue_bytes_max == queue
    assert NodeConfig.loads(config.to_yaml()) == config


def test_the_schema_names_every_option_and_allows_no_other() -> None:
    schema = json.loads(json.dumps(NodeConfig.schema()))
    assert schema["additionalProperties"] is False
    for key in load({}).values():
        here = schema
        for part in key.split("."):
            here = here["properties"][part]
        assert here["description"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5.0), ("250ms", 0.25), ("1.5m", 90.0), ("2h", 7200.0), ("10us", 1e-05), ("1d", 86400)],
)
def test_durations_have_units(text: str, seconds: float) -> None:
    assert units.duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [("512B", 512), ("64MiB", 64 << 20), ("1.5KiB", 1536), ("10MB", 10_000_000), ("0B", 0)],
)
def test_sizes_have_units(text: str, bytes_: int) -> None:
    assert units.size(text) == bytes_


@given(st.floats(1e-6, 1e6))
def test_a_shown_duration_reads_back_the_same(seconds: float) -> None:
    assert units.duration(units.show_duration(seconds)) == seconds


@given(st.integers(0, 1 << 50))
def test_a_shown_size_reads_back_the_same(bytes_: int) -> None:
    assert units.size(units.show_size(bytes_)) == bytes_


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [(0, "row", "0 rows"), (1, "entry", "1 entry"), (2, "entry", "2 entries")],
)
def test_one_thing_is_counted_in_the_singular(count: int, noun: str, words: str) -> None:
    assert units.how_many(count, noun) == words


def test_preferred_voters_are_named_once_each_and_by_names() -> None:
    assert load({}).election.preferred == ()
    assert load({"election.preferred": "n2, 3"}).election.preferred == ("n2", "3")
    assert load({"election.preferred": "n2,3"}).values()["election.preferred"] == "n2, 3"
    many = ",".join(f"n{each}" for each in range(32))
    for text, why in (("n2, n2", "twice"), ("n2, , n3", "is not a name"), (many, "at most 31")):
        with pytest.raises(ConfigError, match=why):
            load({"election.preferred": text})
