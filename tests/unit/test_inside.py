"""From what nodes wrote down to rows of `events`: one order, whole at both of its ends."""

import shutil
import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from admin.checker.kernels.columns import Events
from admin.checker.kernels.configurations import steps
from admin.checker.kernels.kernel import Evidence
from admin.evidence.counting import counted_by
from admin.evidence.inside import Inside, gather
from admin.evidence.manifest import Manifest, NodeFacts
from admin.evidence.tables import Row
from qsync.store.birth import born_at
from qsync.store.eventfile import FORMAT, EventFile, clock, note_wiped
from qsync.store.eventpack import What
from qsync.store.lives import LivesFile

CRCS = (11, 12, 13, 14, 15)
Ballot = tuple[int, int | None]


class Book:
    """What one of three nodes writes down, life by life."""

    def __init__(self, path: Path, me: int) -> None:
        self.path = path / f"n{me}"
        self.path.mkdir()
        self.me = me
        self.file: EventFile | None = None

    def starts(
        self,
        at: int,
        *,
        last: int = 0,
        first: int = 1,
        ballot: Ballot = (0, None),
        where: str = "",
        instance: str = "a",
        voters: Sequence[int] = (1, 2, 3),
    ) -> None:
        if self.file is not None:
            self.file.close()
        self.file = EventFile(self.path, bytes_max=1 << 20)
        about = {"format": FORMAT, "clock": where or clock(), "me": self.me}
        about |= {"voters": list(voters)}
        about |= {"instance": instance, "first": first}
        crcs = CRCS[first - 1 : last]
        runs = [[len(crcs), 1]] if crcs else []
        self.writes([What.STARTED, at, about, list(ballot), runs, packed(crcs)])

    def commits(
        self,
        at: int,
        first: int,
        upto: int,
        *,
        ballot: Ballot | None = None,
        cut: int | None = None,
    ) -> None:
        crcs = packed(CRCS[first - 1 : upto])
        news = None if ballot is None else list(ballot)
        self.writes([What.WROTE, at, news, cut, first, [[upto - first + 1, 1]], crcs])

    def counts_by(self, at: int, *voters: int, index: int = 0) -> None:
        pairs = [[each, zlib.crc32(b"a")] for each in voters]
        self.writes([What.CONFIGURED, at, index, 1 if index else 0, pairs])

    def confirms(self, at: int, index: int, *, quorum: int = 2) -> None:
        self.writes([What.CONFIRMED, at, index, 1, CRCS[index - 1], quorum])

    def writes(self, record: Sequence[object]) -> None:
        assert self.file is not None
        self.file.write([record])


def packed(crcs: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(crcs)}I", *crcs)


def three(path: Path) -> list[Book]:
    return [Book(path, me) for me in (1, 2, 3)]


def begun(path: Path) -> list[Book]:
    books = three(path)
    for book in books:
        book.starts(book.me)
    return books


def gathered(path: Path) -> Inside:
    return gather({me: path / f"n{me}" for me in (1, 2, 3)})


def said(rows: Sequence[Row], *names: str) -> list[tuple[object, ...]]:
    return [
        (each["node"], each["name"], each.get("index")) for each in rows if each["name"] in names
    ]


def test_events_of_all_nodes_are_in_the_order_of_time(tmp_path: Path) -> None:
    one, two, three_ = begun(tmp_path)
    one.commits(10, 1, 2)
    three_.commits(14, 1, 2)
    two.commits(12, 1, 1)
    two.commits(16, 2, 2)
    one.confirms(20, 2)
    inside = gathered(tmp_path)
    rows = list(inside.rows())
    durable = [(1, "durable", 1), (1, "durable", 2), (2, "durable", 1), (3, "durable", 1)]
    durable += [(3, "durable", 2), (2, "durable", 2)]
    assert said(rows, "durable", "confirmed") == [*durable, (1, "confirmed", 2)]
    assert [each["number"] for each in rows] == list(range(1, len(rows) + 1))
    assert (inside.why, inside.quorum) == ("", 2)


def test_what_was_committed_as_its_process_was_killed_is_told_by_the_next_life(
    tmp_path: Path,
) -> None:
    one, *_ = begun(tmp_path)
    one.commits(10, 1, 2, ballot=(1, 1))
    one.starts(20, last=4, ballot=(2, 3))
    one.commits(30, 5, 5)
    rows = [each for each in gathered(tmp_path).rows() if each["node"] == 1]
    wanted = [(1, "started", 0), (1, "durable", 1), (1, "durable", 2), (1, "started", 4)]
    wanted += [(1, "durable", 3), (1, "durable", 4), (1, "durable", 5)]
    assert said(rows, "started", "durable") == wanted
    ballots = [(each["term"], each["peer"]) for each in rows if each["name"] == "ballot"]
    assert ballots == [(1, 1), (2, 3)]


def test_what_is_cut_and_written_again_is_told_again(tmp_path: Path) -> None:
    one, *_ = begun(tmp_path)
    one.commits(10, 1, 4)
    one.commits(11, 3, 4, cut=2)
    one.starts(20, last=3)
    rows = said(list(gathered(tmp_path).rows()), "durable", "cut", "started")
    mine = [each for each in rows if each[0] == 1]
    again = [(1, "cut", 2), (1, "durable", 3), (1, "durable", 4), (1, "started", 3)]
    assert mine == [(1, "started", 0), *((1, "durable", at) for at in range(1, 5)), *again]


def test_a_read_has_to_show_what_was_told_before_it_was_asked_and_no_more(tmp_path: Path) -> None:
    one, two, _ = begun(tmp_path)
    one.writes([What.ANSWERED, 10, 4])
    one.writes([What.ANSWERED, 20, 7])
    two.writes([What.SERVED, 25, 9, 15, 9])
    one.writes([What.SERVED, 30, 9, 26, 8])
    two.writes([What.SERVED, 31, 9, 5, 8])
    rows = [each for each in gathered(tmp_path).rows() if each["name"] == "served"]
    assert [(each["index"], each["floor"]) for each in rows] == [(9, 4), (9, 9), (9, 0)]


def test_everything_ends_where_the_first_node_wrote_down_no_more(tmp_path: Path) -> None:
    one, two, _ = begun(tmp_path)
    one.commits(10, 1, 1)
    two.writes([What.STOPPED, 15, "it was told to"])
    two.commits(16, 1, 1)
    one.confirms(20, 1)
    inside = gathered(tmp_path)
    assert said(list(inside.rows()), "durable", "confirmed") == [(1, "durable", 1)]
    assert inside.why == "events of node 2 end early: it was told to"


def test_nothing_is_said_of_decisions_in_which_somebody_took_part_unseen(tmp_path: Path) -> None:
    one, two, three_ = three(tmp_path)
    one.starts(1, last=1, ballot=(3, 1))
    one.writes([What.LEADS, 5, 4])
    one.confirms(6, 1)
    two.starts(10, last=1, ballot=(4, 1))
    three_.starts(20, last=2, ballot=(3, 1))
    one.commits(30, 2, 2, ballot=(5, 1))
    one.writes([What.LEADS, 31, 5])
    one.confirms(32, 2)
    rows = list(gathered(tmp_path).rows())
    assert [(e["time_mono"], e["term"]) for e in rows if e["name"] == "leads"] == [(31, 5)]
    assert said(rows, "confirmed") == [(1, "confirmed", 2)]


def test_the_smallest_quorum_that_was_ever_in_force_is_what_is_asked_for(tmp_path: Path) -> None:
    one, *_ = begun(tmp_path)
    one.commits(10, 1, 3)
    for index, quorum in ((1, 3), (2, 1), (3, 3)):
        one.confirms(20 + index, index, quorum=quorum)
    inside = gathered(tmp_path)
    assert list(inside.rows())
    assert inside.quorum == 2  # one below a majority of three may not be


def test_a_trimmed_log_is_told_from_the_entry_before_it_on(tmp_path: Path) -> None:
    """What was written down before stays known; of what was not, the entry stands for all."""
    one, two, three_ = three(tmp_path)
    one.starts(1)
    two.starts(2, first=3, last=5)
    three_.starts(3)
    one.commits(10, 1, 5)
    one.starts(20, first=4, last=5)
    rows = said(list(gathered(tmp_path).rows()), "started", "begins", "durable")
    mine = [each for each in rows if each[0] == 1]
    written = [(1, "durable", at) for at in range(1, 6)]
    assert mine == [(1, "started", 0), *written, (1, "started", 5), (1, "begins", 4)]
    theirs = [each[1:] for each in rows if each[0] == 2]
    assert theirs == [("started", 5), ("begins", 3), ("durable", 4), ("durable", 5)]


def test_a_log_that_begins_at_a_snapshot_goes_on_behind_it(tmp_path: Path) -> None:
    one, *_ = begun(tmp_path)
    one.commits(10, 1, 2)
    one.writes([What.BEGAN, 11, 4, 1, CRCS[3]])
    one.commits(12, 5, 5)
    one.starts(20, first=4, last=5)
    rows = [each for each in gathered(tmp_path).rows() if each["node"] == 1]
    (snapshot, again) = [each for each in rows if each["name"] == "begins"]
    assert (snapshot["index"], snapshot["term"], snapshot["crc"]) == (4, 1, CRCS[3])
    assert again["time_mono"] == 20
    durable = [each["index"] for each in rows if each["name"] == "durable"]
    assert durable == [1, 2, 5]


def test_who_joins_later_takes_no_evidence_away(tmp_path: Path) -> None:
    """Nobody counted by the third node before it was there."""
    one, two, three_ = three(tmp_path)
    one.starts(1)
    two.starts(2)
    for book in (one, two):
        book.counts_by(3, 1, 2)
    one.writes([What.LEADS, 5, 4])
    one.confirms(6, 1)
    three_.starts(10)
    one.counts_by(11, 1, 2, 3)
    one.confirms(12, 2)
    inside = gathered(tmp_path)
    rows = list(inside.rows())
    assert said(rows, "leads", "confirmed") == [
        (1, "leads", None),
        (1, "confirmed", 1),
        (1, "confirmed", 2),
    ]
    assert ({node for node, _ in inside.latest}, inside.quorum) == ({1, 2, 3}, 2)


def test_what_is_counted_by_who_has_not_begun_is_no_evidence(tmp_path: Path) -> None:
    one, two, three_ = three(tmp_path)
    one.starts(1)
    two.starts(2)
    one.counts_by(3, 1, 2, 3)
    one.confirms(6, 1)
    three_.starts(10)
    one.confirms(12, 2)
    rows = list(gathered(tmp_path).rows())
    wanted = [(1, "confirmed-unseen", 1), (1, "confirmed", 2)]
    assert said(rows, "confirmed", "confirmed-unseen") == wanted


def test_another_directory_of_a_voter_says_nothing_of_it(tmp_path: Path) -> None:
    """The third one's directory was replaced, and only the former one is here."""
    one, *_ = begun(tmp_path)
    one.counts_by(5, 1, 2, 3)
    one.writes([What.LEADS, 6, 4])
    one.confirms(7, 1)
    pairs = [[1, zlib.crc32(b"a")], [2, zlib.crc32(b"a")], [3, zlib.crc32(b"b")]]
    one.writes([What.CONFIGURED, 8, 2, 4, pairs])
    one.confirms(9, 2)
    one.writes([What.LEADS, 10, 5])
    rows = list(gathered(tmp_path).rows())
    wanted = [(1, "leads", None), (1, "confirmed", 1), (1, "confirmed-unseen", 2)]
    assert said(rows, "leads", "confirmed", "confirmed-unseen") == wanted


def test_another_directory_of_a_voter_is_no_voter(tmp_path: Path) -> None:
    one, *_ = begun(tmp_path)
    one.commits(4, 1, 2)
    pairs = [[1, zlib.crc32(b"a")], [2, 0], [3, zlib.crc32(b"b")]]
    one.writes([What.CONFIGURED, 8, 2, 4, pairs])
    one.confirms(9, 2)
    inside = gathered(tmp_path)
    assert list(inside.rows())
    nodes = (*(NodeFacts(node=me, uuid="a") for me in (1, 2, 3)), NodeFacts(node=4, uuid="a"))
    known = counted_by(Manifest(run_id="r", source="directories", nodes=nodes), inside.latest)
    assert [each.voter for each in known.nodes] == [True, True, False, False]
    assert known.voters == 3
    copies = tuple(replace(each, uuid="") for each in nodes)
    known = counted_by(replace(known, nodes=copies), inside.latest)
    assert [each.voter for each in known.nodes] == [True, True, True, False]


def test_changes_that_were_decided_by_a_node_without_events_accuse_nobody(tmp_path: Path) -> None:
    """A fourth member came and went, and its directory is not here."""
    one, *_ = begun(tmp_path)
    one.counts_by(4, 1, 2, 3)
    one.writes([What.LEADS, 5, 1])
    one.counts_by(6, 1, 2, 3, 4, index=2)
    one.confirms(7, 2, quorum=3)
    one.counts_by(8, 1, 2, 3, index=3)
    one.confirms(9, 3)
    events = Events.of_rows(gathered(tmp_path).rows())
    found = steps(Evidence(manifest=Manifest(run_id="r", source="directories"), events=events))
    assert (found.facts, found.breaches) == (2, [])


def test_a_removed_member_without_events_takes_only_what_it_counted_for(tmp_path: Path) -> None:
    one, two, three_ = three(tmp_path)
    for book in (one, two, three_):
        book.starts(book.me, voters=(1, 2, 3, 4))
        book.counts_by(4, 1, 2, 3, 4)
    one.writes([What.LEADS, 5, 1])
    one.confirms(6, 1, quorum=3)
    for book in (one, two):
        book.counts_by(8, 1, 2, 3, index=2)
    one.confirms(9, 2)
    inside = gathered(tmp_path)
    assert inside.why == (
        "there are no events of node 4, by which node 3 counted to the end: what is in that "
        "directory is needed, too"
    )
    assert not list(inside.rows())
    three_.counts_by(10, 1, 2, 3, index=2)
    two.writes([What.LEADS, 12, 2])
    two.confirms(13, 3)
    inside = gathered(tmp_path)
    rows = list(inside.rows())
    assert (inside.why, inside.removed) == ("", (4,))
    assert inside.left_out.startswith("there are no events of node 4, by which no node counts")
    assert said(rows, "leads", "confirmed", "confirmed-unseen") == [
        (1, "confirmed-unseen", 1),
        (1, "confirmed", 2),
        (2, "leads", None),
        (2, "confirmed", 3),
    ]


def test_while_it_is_unknown_whether_a_removed_member_counted_it_did(tmp_path: Path) -> None:
    one, two, three_ = three(tmp_path)
    for book in (one, two, three_):
        book.starts(book.me, voters=(1, 2, 3, 4))
    one.writes([What.LEADS, 4, 1])
    one.confirms(5, 1)
    for book in (one, two, three_):
        book.counts_by(5 + book.me, 1, 2, 3, index=2)
    rows = list(gathered(tmp_path).rows())
    assert said(rows, "leads", "confirmed", "confirmed-unseen") == [(1, "confirmed-unseen", 1)]


def test_a_wiped_node_goes_on_in_another_generation(tmp_path: Path) -> None:
    one, *_ = begun(tmp_path)
    one.commits(10, 1, 2)
    note_wiped(one.path)
    one.starts(20)
    one.commits(30, 1, 2)
    inside = gathered(tmp_path)
    assert inside.generations == {1: 2, 2: 1, 3: 1}
    mine = [each for each in inside.rows() if each["node"] == 1 and each["name"] == "durable"]
    assert [(each["generation"], each["index"]) for each in mine] == [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]


def test_another_instance_is_another_generation_also_if_nobody_noted_it(tmp_path: Path) -> None:
    """Directories were exchanged by hand, and one of them came back: it is another one again."""
    one, *_ = begun(tmp_path)
    one.commits(10, 1, 2, ballot=(4, 1))
    one.starts(20, instance="b")
    one.commits(25, 1, 1, ballot=(4, 2))
    one.starts(30, last=1, ballot=(4, 2), instance="b")
    note_wiped(one.path)
    one.starts(40, last=2, ballot=(4, 1))
    inside = gathered(tmp_path)
    mine = [each for each in inside.rows() if each["node"] == 1]
    lives_ = {each["life"]: each["generation"] for each in mine}
    assert lives_ == {1: 1, 2: 2, 3: 2, 5: 3}
    assert inside.generations[1] == 3
    ballots = [(e["generation"], e["peer"]) for e in mine if e["name"] == "ballot"]
    assert ballots == [(1, 1), (2, 2), (3, 1)]


def test_events_by_several_clocks_have_no_order(tmp_path: Path) -> None:
    one, two, three_ = three(tmp_path)
    one.starts(1)
    two.starts(2)
    three_.starts(3, where="another machine")
    inside = gathered(tmp_path)
    assert list(inside.rows()) == []
    assert inside.why == "the nodes' events are of several machines, or of several boots of one"


def test_events_in_the_directory_of_another_node_are_named(tmp_path: Path) -> None:
    """Somebody swapped the folders: each would be taken for what the other one did."""
    begun(tmp_path)
    one, two, kept = (tmp_path / name for name in ("n1/events", "n2/events", "kept"))
    one.rename(kept)
    two.rename(one)
    kept.rename(two)
    inside = gathered(tmp_path)
    assert list(inside.rows()) == []
    assert inside.why == (
        "events in the directory of node 1 are of node 2; "
        "events in the directory of node 2 are of node 1"
    )


def test_a_directory_that_was_put_back_beside_others_takes_the_evidence_away(
    tmp_path: Path,
) -> None:
    """What its node did since is in no event; evidence that is copied as a whole is whole."""
    begun(tmp_path)
    for me in (1, 2, 3):
        LivesFile(tmp_path / f"n{me}").begin_life(1)
    assert gathered(tmp_path).why == ""
    shutil.copytree(tmp_path, tmp_path / "all")
    if born_at(tmp_path / "n1") is None:
        pytest.skip("this file system does not say when a file was made")
    assert gathered(tmp_path / "all").why == ""
    shutil.rmtree(tmp_path / "n2")
    shutil.copytree(tmp_path / "all" / "n2", tmp_path / "n2")
    inside = gathered(tmp_path)
    assert inside.why == "the directory of node 2 is a copy, and may be an old one"
    assert list(inside.rows()) == []


def test_a_life_of_which_nothing_is_whole_has_said_nothing(tmp_path: Path) -> None:
    one, *_ = begun(tmp_path)
    one.starts(20, last=1)
    assert one.file is not None
    one.file.path.write_bytes(one.file.path.read_bytes()[:-1])
    rows = [each for each in gathered(tmp_path).rows() if each["node"] == 1]
    assert said(rows, "started", "durable") == [(1, "started", 0)]


def test_nodes_without_files_make_no_table_and_no_gap(tmp_path: Path) -> None:
    three(tmp_path)
    inside = gathered(tmp_path)
    assert list(inside.rows()) == []
    assert inside.why == ""
