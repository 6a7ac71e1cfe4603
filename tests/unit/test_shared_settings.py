"""Settings of the whole cluster: which there are, what they may be, and how they reach a core."""

from collections.abc import Mapping
from dataclasses import fields, replace

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admin.cluster import shared_settings
from election.fencing import Fencing
from election.messages import Index, Replica
from election.quorum import Quorum
from qsync import settings
from qsync.config import NodeConfig
from qsync.config.checks import inconsistencies
from qsync.core.config import CoreConfig
from qsync.core.settings import misfits, overlaid
from qsync.data.operation_kinds import Op
from qsync.data.request import Request
from qsync.data.state import DataState
from qsync.errors import ConfigError, ProtocolError, WrongSchema
from qsync.node.assembly import core_config
from qsync.node.options import effective
from qsync.status import decode
from qsync.store.memory import MemorySpaces

OWN = CoreConfig(
    me=Replica(1),
    voters=(Replica(1), Replica(2), Replica(3)),
    synchro_quorum=Quorum("N / 2 + 1"),
)
TIMES = ["1s", "250ms", "5ms", "1us", "2h", "25h"]
NUMBERS = ["1", "3", "0", "-1", "N", "N / 2 + 1", "N - 1", "1KiB", "64GiB", "1TiB", "5B"]
WORDS = ["", "soft", "strict", "off", "hard", "rollback", "detach"]
TEXTS = st.sampled_from([*TIMES, *NUMBERS, *WORDS])


def config_of(values: Mapping[str, str]) -> NodeConfig:
    return NodeConfig.load(None, {}, values)


# ------------------------------------------------------------------------- as the files have them


@given(st.sampled_from(list(settings.SETTINGS)), TEXTS)
def test_a_text_is_taken_exactly_when_a_file_may_say_it(key: str, text: str) -> None:
    """The two readers are apart, since the pure core may not know files; they must agree."""
    section, _, name = key.partition(".")
    option = next(
        each for each in fields(getattr(NodeConfig(), section)) if each.name == name
    ).metadata["option"]
    try:
        option.kind.parse(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            settings.parse(key, text)
    else:
        settings.parse(key, text)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("election.timeout", "3s"),
        ("election.fencing", "strict"),
        ("replication.timeout", "300ms"),
        ("replication.synchro_quorum", "N"),
        ("replication.synchro_timeout", "9s"),
        ("replication.synchro_policy", "detach"),
        ("replication.queue_entries_max", "7"),
        ("replication.queue_bytes_max", "2MiB"),
    ],
)
def test_a_shared_setting_is_as_good_as_the_same_line_in_the_file(key: str, text: str) -> None:
    own = config_of({})
    shared = {key: text}
    assert core_config(effective(own, shared)) == overlaid(core_config(own), shared)
    assert core_config(config_of(shared)) == overlaid(core_config(own), shared)
    assert overlaid(core_config(own), shared) != core_config(own)


def test_every_shared_setting_is_tried_above_and_goes_before_the_own_one() -> None:
    assert set(settings.SETTINGS) <= set(config_of({}).values())
    own = replace(OWN, synchro_timeout=1.0)
    assert overlaid(own, {"replication.synchro_timeout": "9s"}).synchro_timeout == 9.0
    assert overlaid(own, {}) is own


def test_a_row_that_nobody_here_understands_is_left_alone() -> None:
    strange = {"replication.warp": "9", "election.timeout": "soon", "election.fencing": "strict"}
    assert overlaid(OWN, strange) == replace(OWN, fencing=Fencing.STRICT)
    assert effective(config_of({}), {"election.timeout": "soon"}) == config_of({})


def test_what_cannot_work_together_is_said() -> None:
    assert list(misfits(OWN)) == []
    assert "asks 4 of 3 voters" in next(misfits(replace(OWN, synchro_quorum=Quorum("4"))))
    assert "is 1 of 3 voters, below" in next(misfits(replace(OWN, synchro_quorum=Quorum("1"))))
    grown = replace(OWN, synchro_quorum=Quorum("1"))
    assert list(misfits(grown, changed={"replication.synchro_timeout"})) == []
    calm = replace(OWN, election_timeout=1.0, replication_timeout=0.8)
    assert "less than two heartbeats" in next(misfits(calm))
    # As a file is checked, too.
    values = {"election.timeout": "1s", "replication.timeout": "500ms"}
    assert not inconsistencies(config_of(values), {})
    assert not list(misfits(overlaid(OWN, values)))


# ------------------------------------------------------------------------------------ in the spaces


def state() -> DataState:
    return DataState(MemorySpaces(), folded=Index(0))


def share(into: DataState, index: int, given: object) -> None:
    executed = into.execute(Request(ops=[[int(Op.CHANGE_SETTINGS), given]]))
    assert executed.sync
    into.applied(index, 1, executed)


def test_rows_are_set_replaced_and_taken_back() -> None:
    data = state()
    share(data, 1, {"election.timeout": "2s", "replication.synchro_quorum": "N"})
    share(data, 2, {"election.timeout": "3s"})
    assert data.schemas.head.settings == {
        "election.timeout": "3s",
        "replication.synchro_quorum": "N",
    }
    assert data.schemas.shown.settings == {}
    data.see(Index(2))
    row = data.get("_settings", None, ["election.timeout"])
    assert row is not None
    assert cbor2.loads(row) == ["election.timeout", "3s"]
    share(data, 3, {"election.timeout": None})
    share(data, 4, {"election.timeout": None})
    assert data.schemas.head.settings == {"replication.synchro_quorum": "N"}


def test_what_is_rolled_back_or_cut_counts_no_more() -> None:
    data = state()
    share(data, 1, {"election.timeout": "2s"})
    share(data, 2, {"election.timeout": "3s"})
    data.roll_back(Index(2), Index(2))
    assert data.schemas.head.settings == {"election.timeout": "2s"}
    data.restore(Index(2), Index(2))
    assert data.schemas.head.settings == {"election.timeout": "3s"}
    data.cut(Index(0))
    assert data.schemas.head.settings == {}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"election.timeout": "2s", "nonsense": "1"}, "nonsense = '1': is no setting"),
        ({"election.timeout": "2s", "election.fencing": "hard"}, "is not one of"),
        ({"election.timeout": 2}, "is not a text"),
        ({"election.timeout": "2" * 999}, "at most 200 characters"),
        ({"nonsense": None}, "is no setting"),
        ({1: "2s"}, "1 = '2s': is no setting"),
    ],
)
def test_one_wrong_text_refuses_all_of_them(given: dict[object, object], words: str) -> None:
    data = state()
    with pytest.raises(ConfigError) as caught:
        share(data, 1, given)
    assert words in caught.value.message
    assert data.schemas.head.settings == {}


def test_settings_are_changed_by_their_own_operation_only() -> None:
    data = state()
    row = cbor2.dumps(["election.timeout", "1us"])
    for op in (Op.INSERT, Op.REPLACE):
        with pytest.raises(WrongSchema, match="operations of its own"):
            data.execute(Request(ops=[[int(op), "_settings", row]]))
    with pytest.raises(ProtocolError, match="a map of names to texts"):
        share(data, 1, ["election.timeout"])


# ----------------------------------------------------------------------------- what is planned


def test_a_preferred_leader_that_is_no_member_is_refused_with_those_there_are() -> None:
    key = "election.preferred"
    nodes = [[n, f"n{n}", f"127.0.0.1:330{n}"] for n in (1, 2, 3)]
    leader = decode.status({"id": 1, "name": "n1", "nodes": nodes})
    found = shared_settings.SharedSettings(leader=leader, values={key: ""}, shared={key: "n9"})
    for fine in ("n2, 3", "", None):
        (change,) = shared_settings.plan(found, {key: fine})
        assert change.then == fine
    with pytest.raises(ConfigError, match=r"no member is called n9, n8; there are n1, n2, n3"):
        shared_settings.plan(found, {key: "n9, n2, n8"})
    with pytest.raises(ConfigError, match=r"^CONFIG: nothing: is no setting"):
        shared_settings.plan(found, {"nothing": None})
