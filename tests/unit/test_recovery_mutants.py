"""`qsync recover` and `qsync backup restore` without one of their rules (membership.md M8)."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from admin.backup import catalogue, new_cluster, restoring
from admin.backup.new_cluster import NewNode
from admin.backup.places import Folder
from admin.backup.points import WantedPoint
from admin.recovery import forcing
from qsync.core.configuration import configuration_of
from qsync.core.logstart import LogStart
from qsync.data import schema
from qsync.data.ancestors import Ancestor
from qsync.data.founding import FoundingRows, RewrittenRows, found_anew
from qsync.data.members import CODEC
from qsync.decided import Batches, DecidedLog
from qsync.member import Member
from qsync.node.assembly import open_storage
from qsync.record import Entry, instance_text
from tests.unit import test_backup_points, test_recovery

PAGE = Path(__file__).parents[2] / "docs/reference/mutants.md"
Break = Callable[[pytest.MonkeyPatch], None]


def test_a_restored_directory_begins_with_one_voter_and_no_session(tmp_path: Path) -> None:
    history, place = test_backup_points.lived(3), Folder(tmp_path / "place")
    test_backup_points.kept(place, history)
    node = NewNode(directory=tmp_path / "new", options={"listen": "127.0.0.1:1"})
    found = catalogue.load(place)
    _, config = restoring.restore(found, WantedPoint(), node, lambda *_: None)
    storage = open_storage(config)
    try:
        first = configuration_of(storage.recovered.start.configuration, CODEC)
        voters = [] if first is None else [instance_text(each) for _, each in first.voters]
        assert voters == [storage.directory.identity.instance]
        assert not list(storage.spaces.scan(*schema.keys_of(schema.SESSION)))
    finally:
        storage.close()


def _at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(forcing, "_promise", lambda *_: 0.0)


def _with_former_voters(patch: pytest.MonkeyPatch) -> None:
    def founded_by(start: LogStart, *_: object) -> LogStart:
        return start

    patch.setattr(new_cluster, "founded_by", founded_by)


def _with_sessions(patch: pytest.MonkeyPatch) -> None:
    def found(rows: FoundingRows, member: Member, ancestor: Ancestor | None) -> tuple[str, ...]:
        sessions = list(rows.scan(*schema.keys_of(schema.SESSION)))
        dropped = found_anew(rows, member, ancestor)
        rows.fold(RewrittenRows(folded=rows.folded, puts=sessions, deletes=[]))
        rows.sync()
        return dropped

    patch.setattr(new_cluster, "found_anew", found)


def _beyond_the_point(patch: pytest.MonkeyPatch) -> None:
    def decided(start: LogStart, batches: Batches, *, upto: int, index: int) -> DecidedLog:
        del index
        return DecidedLog(start, batches, upto=upto, index=upto)

    patch.setattr(restoring, "DecidedLog", decided)


def _inside_a_stretch(patch: pytest.MonkeyPatch) -> None:
    def decided(start: LogStart, batches: Batches, *, upto: int, index: int) -> DecidedLog:
        del upto

        def before() -> list[list[Entry]]:
            return [[each for each in batch if each.index <= index] for batch in batches()]

        return DecidedLog(start, before, upto=index, index=index)

    patch.setattr(restoring, "DecidedLog", decided)


LEASES = test_recovery.test_what_was_interrupted_while_leases_may_be_alive_cannot_be_started
BEGINNING = test_a_restored_directory_begins_with_one_voter_and_no_session
STRETCH = (
    test_backup_points.test_a_point_in_a_rolled_back_stretch_is_moved_before_it_and_that_is_said
)
MUTANTS: Final[dict[str, tuple[Break, Callable[[Path], None]]]] = {
    "recovers_at_once": (_at_once, LEASES),
    "restored_with_former_voters": (_with_former_voters, BEGINNING),
    "restored_with_sessions": (_with_sessions, BEGINNING),
    "restored_beyond_the_point": (_beyond_the_point, STRETCH),
    "restored_inside_a_stretch": (_inside_a_stretch, STRETCH),
}
"""By name: how the rule is broken, and the test that notices."""


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_rule_is_noticed(
    mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, notices = MUTANTS[mutant]
    (tmp_path / "whole").mkdir()
    notices(tmp_path / "whole")
    broken(monkeypatch)
    (tmp_path / "broken").mkdir()
    with pytest.raises(AssertionError):
        notices(tmp_path / "broken")


def test_the_page_names_each_and_the_test_that_notices_it() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    for mutant, (_, notices) in MUTANTS.items():
        (line,) = [each for each in lines if each.startswith(f"| `{mutant}` |")]
        assert f"#{notices.__name__})" in line
