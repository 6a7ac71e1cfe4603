"""Any index and any moment can be restored, and holds what a naive replay of the log gives."""

import errno
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import fsspec
import pytest
from fsspec import AbstractFileSystem

from admin.backup import (
    catalogue,
    names,
    new_cluster,
    places,
    points,
    pruning,
    restoring,
    verifying,
)
from admin.backup.failures import (
    BackupDamaged,
    BackupGap,
    BackupPlaceLost,
    ForeignBackup,
    NoBackup,
)
from admin.backup.log_archive import Progress
from admin.backup.places import BackupPlace, Folder, RemotePlace, open_place
from admin.backup.points import WantedPoint
from election.messages import Index, Replica
from qsync.core.generation import generation_of
from qsync.data import schema
from qsync.data.ancestors import Ancestor, ancestors_of
from qsync.data.founding import found_anew
from qsync.errors import ConfigError, DirectoryLocked, DiskFull, Unavailable
from qsync.member import Member
from qsync.record import Instance
from qsync.store.memory import MemorySpaces
from tests.unit.backups import (
    MadeHistory,
    Rows,
    begin,
    folded,
    keep_log,
    keep_rows,
    shown,
    shown_rows,
)

POINTS = 100


def lived(seed: int, steps: int = 120) -> MadeHistory:
    history = MadeHistory(Random(seed))
    history.live(steps)
    return history


def kept(
    place: BackupPlace, history: MadeHistory, *, bases: tuple[float, ...] = (0.0, 0.6)
) -> None:
    """The whole log, and backups at some points of it."""
    found = begin(place)
    keep_log(found, history, 0, history.last)
    for part in bases:
        keep_rows(found, history, history.clip(int(history.last * part)))


def restored(place: BackupPlace, wanted: WantedPoint) -> tuple[int, Rows]:
    """The index that was restored, and the rows there."""
    plan, log = restoring.plan(catalogue.load(place), wanted)
    spaces = MemorySpaces()
    if plan.point.backup.index:
        restoring.take_rows(catalogue.load(place), plan.point, spaces, lambda *_: None)
    log.fold_into(spaces, lambda _: None)
    assert spaces.folded == plan.index == log.start_behind().index
    return plan.index, shown(spaces)


def test_a_hundred_points_are_what_the_model_says(tmp_path: Path) -> None:
    random = Random(7)
    clipped = 0
    for seed in range(4):
        history, place = lived(seed), Folder(tmp_path / str(seed))
        kept(place, history)
        assert history.stretches
        for _ in range(POINTS // 8):
            index = random.randint(1, history.last)
            clipped += history.clip(index) < index
            assert restored(place, WantedPoint(index=index)) == (
                history.clip(index),
                history.rows(index),
            )
            time = random.uniform(history.log[0].time, history.log[-1].time + 5)
            index = history.at_time(time)
            assert restored(place, WantedPoint(time=time)) == (
                history.clip(index),
                history.rows(index),
            )
    assert clipped > 3, "points inside of rolled-back stretches were among them"


def test_every_index_of_a_history_can_be_restored() -> None:
    """Folded straight from the log, without a place."""
    history = lived(99, steps=60)
    for index in range(1, history.last + 1):
        spaces, start = folded(history, index)
        assert (start.index, shown(spaces)) == (history.clip(index), history.rows(index))


def test_a_point_in_a_rolled_back_stretch_is_moved_before_it_and_that_is_said(
    tmp_path: Path,
) -> None:
    history, place = lived(3), Folder(tmp_path)
    kept(place, history)
    first, back = next(each for each in history.stretches if each[1] - each[0] > 1)
    plan, _ = restoring.plan(catalogue.load(place), WantedPoint(index=back - 1))
    assert plan.index == first - 1
    assert f"{first}..{back}" in plan.clipped
    whole, _ = restoring.plan(catalogue.load(place), WantedPoint(index=back))
    assert (whole.index, whole.clipped) == (back, "")


def test_the_new_cluster_has_terms_that_the_old_one_never_had(tmp_path: Path) -> None:
    """Also those behind the point that is restored: receipts of them are with clients."""
    history, place = lived(5), Folder(tmp_path)
    kept(place, history)
    plan, _ = restoring.plan(catalogue.load(place), WantedPoint(index=2))
    assert plan.term > history.term
    assert (plan.generation, generation_of(history.log[-1].term)) == (1, 0)
    assert plan.left_out == history.last - 2


def test_sessions_members_and_misfit_settings_do_not_come_along() -> None:
    history = MadeHistory(Random(1))
    history.write([[17, {"replication.synchro_quorum": "3"}]], [])
    history.write([[17, {"replication.synchro_timeout": "4s"}]], [])
    history.confirm()
    spaces, _ = folded(history, history.last)
    assert list(spaces.scan(*schema.keys_of(schema.SESSION)))
    member = Member(Replica(1), Instance(77), name="n1", address="127.0.0.1:1")
    dropped = found_anew(spaces, member)
    assert dropped == ("replication.synchro_quorum = 3",)
    assert not list(spaces.scan(*schema.keys_of(schema.SESSION)))
    assert len(list(spaces.scan(*schema.keys_of(schema.CLUSTER)))) == 1
    assert len(list(spaces.scan(*schema.keys_of(schema.SETTINGS)))) == 1
    assert spaces.folded == Index(history.last)


def test_a_dry_run_names_the_settings_that_the_restore_drops(tmp_path: Path) -> None:
    """Of the rows of the backup and of the log behind it, at every point, rolled back or not."""
    history, place = MadeHistory(Random(1)), Folder(tmp_path / "place")
    for value in ("3", None, "4", "1"):
        history.write([[17, {"replication.synchro_quorum": value}]], [])
        history.confirm()
    history.write([[17, {"replication.synchro_quorum": "5"}]], [])
    history.write([[17, {"replication.synchro_timeout": "4s"}]], [])
    history.confirm()
    history.write([[17, {"replication.synchro_quorum": None}]], [])
    history.roll_back()
    history.live(5)
    kept(place, history)
    found, seen = catalogue.load(place), set[tuple[str, ...]]()
    member = Member(Replica(1), Instance(77), name="n1", address="127.0.0.1:1")
    for index in range(1, history.last + 1):
        told = restoring.preview(found, WantedPoint(index=index))
        assert told.dropped == found_anew(folded(history, index)[0], member)
        seen.add(told.dropped)
    assert seen == {(), *((f"replication.synchro_quorum = {each}",) for each in "345")}
    assert found.backups[-1].index, "some were in its rows"
    newest = restoring.preview(found, WantedPoint())
    assert newest.dropped == ("replication.synchro_quorum = 5",)


def test_only_what_goes_on_for_a_cluster_descends_from_it() -> None:
    """A restore may stand beside the cluster that it is of, and is not to stop that."""
    history = MadeHistory(Random(1))
    spaces, _ = folded(history, history.last)
    member = Member(Replica(1), Instance(77), name="n1", address="127.0.0.1:1")
    first = Ancestor(generation=0, cluster="first", index=5, term=2)
    second = Ancestor(generation=1, cluster="second", index=9, term=1 << 24)
    for each in (first, second):
        found_anew(spaces, member, each)
    rows = [row for _, row in spaces.scan(*schema.keys_of(schema.ANCESTORS))]
    assert ancestors_of(rows) == [first, second]
    found_anew(spaces, member)
    assert not list(spaces.scan(*schema.keys_of(schema.ANCESTORS)))


def test_a_point_that_no_backup_reaches_is_refused_in_words(tmp_path: Path) -> None:
    history, place = lived(4), Folder(tmp_path)
    found = begin(place)
    with pytest.raises(NoBackup, match="no finished backup"):
        points.find(found, WantedPoint())
    middle = history.clip(history.last // 2)
    keep_log(found, history, middle, history.last - 1)
    keep_rows(found, history, middle)
    with pytest.raises(BackupGap, match="before the oldest backup"):
        restoring.plan(catalogue.load(place), WantedPoint(index=middle - 1))
    with pytest.raises(BackupGap, match=f"is kept up to {history.last - 1}"):
        restoring.plan(catalogue.load(place), WantedPoint(index=history.last))
    with pytest.raises(NoBackup, match="there is no backup 1 at"):
        restoring.plan(catalogue.load(place), WantedPoint(backup="1"))


def test_a_gap_in_the_log_is_named(tmp_path: Path) -> None:
    history, place = lived(6), Folder(tmp_path)
    found = begin(place)
    early, late = history.clip(20), history.clip(history.last - 20)
    keep_log(found, history, 0, early)
    keep_rows(found, history, 0)
    keep_log(found, history, late, history.last)
    keep_rows(found, history, late)
    result = verifying.verify(catalogue.load(place), lambda *_: None)
    assert result.whole
    assert result.gaps == [(early + 1, late - 1)]
    assert restored(place, WantedPoint(index=early))[1] == history.rows(early)
    with pytest.raises(BackupGap):
        restoring.plan(catalogue.load(place), WantedPoint(index=late - 1))
    loaded, inside = catalogue.load(place), history.log[early + 5].time
    assert history.log[early].time < inside < history.log[late - 1].time
    for wanted in (WantedPoint(time=inside), WantedPoint(time=2e9, backup="0")):
        with pytest.raises(BackupGap, match=rf"no log is kept of {early + 1}\.\.{late}, which"):
            points.find(loaded, wanted)
    before = history.log[early - 4].time
    assert points.find(loaded, WantedPoint(time=before)).index == history.at_time(before) < early
    assert points.find(loaded, WantedPoint(time=2e9)).index == history.last


def jumping(written: int) -> float:
    """A clock that goes back 60 s, then forward, then back again."""
    return 1000.0 + 3 * written - (60 if written > 40 else 0) + (90 if 70 < written < 75 else 0)


@pytest.mark.parametrize("seed", range(3))
def test_a_moment_is_the_same_point_whichever_backups_are_there(tmp_path: Path, seed: int) -> None:
    """Also over clocks that go back; a moment that is not known any more is refused."""
    history = MadeHistory(Random(seed), clock=jumping)
    history.live(100)
    places = [Folder(tmp_path / str(number)) for number in range(4)]
    for place, bases in zip(places, ((0.0,), (0.0, 0.5), (0.0, 0.5, 0.8), (0.5, 0.8)), strict=True):
        kept(place, history, bases=bases)
    pruned = catalogue.load(places[3])
    made = pruning.plan(pruned, pruning.KeptBackups(last=1), now=5.0)
    assert made.log
    pruning.prune(pruned, made, lambda *_: None)
    oldest = pruned.backups[-1].index
    moments, refused, back = sorted({each.time for each in history.log}), 0, 0
    for time in moments:
        wanted, index = WantedPoint(time=time), history.at_time(time)
        for place in places[:3]:
            plan, _ = restoring.plan(catalogue.load(place), wanted)
            assert (plan.point.index, plan.index) == (index, history.clip(index))
            later = [each.index for each in history.log[index:] if each.time <= time]
            assert plan.went_back == min(later, default=None)
            assert plan.short_of == (time if time == moments[-1] else None)
            back += bool(later)
        if index >= oldest:
            assert points.find(catalogue.load(places[3]), wanted).index == index
        else:
            refused += 1
            with pytest.raises(BackupGap, match="is before the oldest backup"):
                points.find(catalogue.load(places[3]), wanted)
    assert 10 < refused < len(moments)
    assert back > 30


def test_what_was_cut_off_before_all_was_decided_is_not_restored(tmp_path: Path) -> None:
    """Part of the log is there, and what behind it decides the fates is not."""
    history, place = lived(8), Folder(tmp_path)
    keep_rows(begin(place), history, 0)
    with pytest.raises(Unavailable):
        keep_log(catalogue.load(place), history, 0, history.last, dies_at=60)
    found = catalogue.load(place)
    assert (len(found.log) > 1, found.reach(found.backups[0])) == (True, 0)
    assert found.log[-1].last < 60
    with pytest.raises(BackupGap, match="is kept up to 0"):
        restoring.plan(found, WantedPoint(index=5))
    keep_log(found, history, 0, history.last)
    assert restored(place, WantedPoint(index=5))[1] == history.rows(5)
    assert {each.follows == "" for each in catalogue.load(place).log[1:]} == {False}


@pytest.mark.parametrize("where", ["a folder", "memory"])
def test_verification_reads_every_byte(tmp_path: Path, where: str) -> None:
    history = lived(9, steps=40)
    place: BackupPlace = Folder(tmp_path)
    if where == "memory":
        place = open_place(f"memory://{tmp_path.name}")
        assert isinstance(place, RemotePlace)
    kept(place, history)
    assert verifying.verify(catalogue.load(place), lambda *_: None).whole
    assert restored(place, WantedPoint(index=20))[1] == history.rows(20)
    files = [
        f"{folder}/{name}"
        for folder in ("log", *(f"base/{each}" for each in place.folders("base")))
        for name in place.names(folder)
    ]
    assert len(files) > 8
    random = Random(1)
    for name in files:
        content = place.read(name)
        spoilt = bytearray(content)
        spoilt[random.randrange(len(spoilt))] ^= 1 << random.randrange(8)
        for wrong in (bytes(spoilt), content[:-5], None):
            if wrong is None:
                place.remove(name)
            else:
                place.write(name, wrong)
            result = verifying.verify(catalogue.load(place), lambda *_: None)
            assert result.problems or name.endswith("backup.json"), name
            if not result.problems:
                assert result.backups == 1, "it counts as unfinished"
        place.write(name, content)
    assert verifying.verify(catalogue.load(place), lambda *_: None).whole


@pytest.mark.parametrize("spoilt", [".json", ".log"])
@pytest.mark.parametrize("gone", [True, False])
@pytest.mark.parametrize("time", [None, 2e9])
def test_a_damaged_part_and_its_damaged_manifest_stop_a_restore_and_say_what_is_left(
    tmp_path: Path, spoilt: str, *, gone: bool, time: float | None
) -> None:
    history, place = lived(12), Folder(tmp_path)
    found = begin(place)
    middle = history.clip(history.last * 2 // 3)
    keep_rows(found, history, history.clip(history.last // 3))
    keep_log(found, history, 0, middle)
    keep_log(found, history, middle, history.last)
    part = next(each for each in catalogue.load(place).log if each.first == middle + 1)
    name = f"{part.part.name.removesuffix('.log')}{spoilt}"
    content = place.read(name)
    place.remove(name)
    if not gone:
        place.write(name, content[:-3])
    damaged = catalogue.load(place)
    for wanted in (WantedPoint(time=time), WantedPoint(index=part.last)):
        with pytest.raises(BackupDamaged, match=re.escape(part.part.name[:-4])) as refused:
            restoring.preview(damaged, wanted)
        assert f"`--to-index {middle}` restores all before it" in refused.value.hint
    assert restored(place, WantedPoint(index=middle)) == (middle, history.rows(middle))
    keep_rows(catalogue.load(place), history, history.clip(part.last + 1))
    plan, _ = restoring.plan(catalogue.load(place), WantedPoint(time=time))
    assert plan.index == history.last, "a backup behind the damage leads to the end"


def test_a_damaged_part_is_not_needed_where_others_have_its_entries(tmp_path: Path) -> None:
    history, place = lived(12), Folder(tmp_path)
    found = begin(place)
    keep_rows(found, history, 0)
    keep_log(found, history, 0, history.last)
    *_, part = sorted(catalogue.load(place).log, key=lambda each: each.last)
    again = begin(Folder(tmp_path / "again"))
    keep_log(again, history, part.first - 3, history.last, part_bytes=1 << 20)
    (longer,) = again.log
    for name in (longer.part.name, names.log_manifest(longer.part.name)):
        place.write(name, again.place.read(name))
    for each in (part, longer):
        content = place.read(each.part.name)
        place.write(each.part.name, content[:-3])
        assert restored(place, WantedPoint())[1] == history.rows(history.last)
        place.write(each.part.name, content)


def test_a_damaged_backup_is_not_restored(tmp_path: Path) -> None:
    history, place = lived(10), Folder(tmp_path)
    kept(place, history)
    found = catalogue.load(place)
    part = found.backups[-1].parts[1].name
    content = place.read(part)
    place.write(part, content[:-1] + b"x")
    node = new_cluster.NewNode(directory=tmp_path / "n1")
    (node.directory / "lost+found").mkdir(parents=True)
    with pytest.raises(BackupDamaged, match=r"000002\.rows is not as it was written") as refused:
        restoring.restore(found, WantedPoint(), node, lambda *_: None)
    assert refused.value.hint == "`--backup 0` begins with an older one, and leads as far"
    assert not (tmp_path / "n1" / "node.yaml").exists(), "nobody can start it"
    place.write(part, content)
    _, config = restoring.restore(found, WantedPoint(), node, lambda *_: None)
    assert (tmp_path / "n1" / "node.yaml").exists(), "what was left half-way is begun anew"
    assert (node.directory / "lost+found").is_dir(), "the file system's own stays"
    with pytest.raises(ConfigError, match="is not empty: it holds"):
        restoring.restore(found, WantedPoint(), node, lambda *_: None)
    assert config.cluster.id != found.cluster


@pytest.mark.parametrize("name", ["peers", "cluster.id", "node.dir"])
def test_what_a_new_cluster_of_one_is_cannot_be_chosen(tmp_path: Path, name: str) -> None:
    history, place = lived(3), Folder(tmp_path / "place")
    kept(place, history)
    node = new_cluster.NewNode(directory=tmp_path / "n1", options={name: str(tmp_path / "other")})
    with pytest.raises(ConfigError, match=f"{name} is not chosen"):
        restoring.restore(catalogue.load(place), WantedPoint(), node, lambda *_: None)
    assert not node.directory.exists()


class Killed(BaseException):
    """The process dies here."""


def test_a_restore_that_was_killed_anywhere_begins_anew(tmp_path: Path) -> None:
    """And until it has come to its end nobody can start what is there."""
    history, place = lived(11), Folder(tmp_path / "place")
    kept(place, history)
    node = new_cluster.NewNode(directory=tmp_path / "n1")
    killed = 0

    def dies_after(calls: int) -> Progress:
        left = [calls]

        def progress(*_: object) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed

        return progress

    while True:
        try:
            restoring.restore(catalogue.load(place), WantedPoint(), node, dies_after(killed))
        except Killed:
            killed += 1
            assert not (tmp_path / "n1" / "node.yaml").exists()
        else:
            break
    assert killed >= 3, "within the rows, and within the log"
    assert {row[0]: row for row in shown_rows(tmp_path / "n1")} == history.rows(history.last)


def test_one_restore_at_a_time_fills_a_directory(tmp_path: Path) -> None:
    """Another one that is begun meanwhile takes nothing away from it."""
    history, place = lived(11), Folder(tmp_path / "place")
    kept(place, history)
    node = new_cluster.NewNode(directory=tmp_path / "n1")
    refused = 0

    def progress(*_: object) -> None:
        nonlocal refused
        with pytest.raises(DirectoryLocked, match="filled by another restore"):
            restoring.restore(catalogue.load(place), WantedPoint(), node, lambda *_: None)
        refused += 1

    restoring.restore(catalogue.load(place), WantedPoint(), node, progress)
    assert refused >= 3, "within the rows, and within the log"
    assert {row[0]: row for row in shown_rows(tmp_path / "n1")} == history.rows(history.last)
    with pytest.raises(ConfigError, match="is not empty"):
        restoring.restore(catalogue.load(place), WantedPoint(), node, lambda *_: None)


def test_what_is_shown_of_a_restore_comes_to_its_end(tmp_path: Path) -> None:
    history, place = lived(11), Folder(tmp_path / "place")
    kept(place, history)
    node = new_cluster.NewNode(directory=tmp_path / "n1")
    told: dict[str, tuple[int, int]] = {}

    def progress(what: str, done: int, all_: int) -> None:
        assert 0 <= done <= all_
        told[what] = done, all_

    plan, _ = restoring.restore(catalogue.load(place), WantedPoint(), node, progress)
    backup = plan.point.backup
    assert backup.index
    entries, size = plan.index - backup.index, sum(each.size for each in backup.parts)
    assert told == {"rows": (size, size), "log": (entries, entries)}


def test_two_who_write_one_file_leave_it_whole(tmp_path: Path) -> None:
    """Two backups at once go on with the same unfinished one, and copy the same parts."""
    place, contents = Folder(tmp_path / "place"), [bytes([each]) * 100_000 for each in (1, 2)]

    def write_often(content: bytes) -> None:
        for _ in range(30):
            place.write("log/one.log", content)

    with ThreadPoolExecutor(len(contents)) as pool:
        for each in [pool.submit(write_often, content) for content in contents]:
            each.result()
    assert place.read("log/one.log") in contents
    assert [each.name for each in (tmp_path / "place" / "log").iterdir()] == ["one.log"]


def test_what_is_of_another_cluster_is_left_alone(tmp_path: Path) -> None:
    begin(Folder(tmp_path / "theirs"))
    with pytest.raises(ForeignBackup, match="holds backups of cluster c-1"):
        catalogue.load_or_begin(Folder(tmp_path / "theirs"), "c-2")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").touch()
    with pytest.raises(NoBackup, match=r"other things: one\.jpg"):
        begin(Folder(tmp_path / "photos"))
    with pytest.raises(NoBackup, match="holds no backups of qsync"):
        catalogue.load(Folder(tmp_path / "nowhere"))


def test_a_place_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="gopher"):
        open_place("gopher://here")


def test_a_password_in_a_url_is_named_to_nobody() -> None:
    """The cluster hears of a place by it, and so does who reads a status."""
    place = open_place("memory://ann:s3cr:et@host:7/shop")
    place.write("log/one.log", b"some")
    assert place.url == "memory://ann:***@host:7/shop"
    assert place.read("log/one.log") == b"some"
    with pytest.raises(NoBackup) as raised:
        place.read("log/none.log")
    assert "s3cr" not in str(raised.value)
    for plain in ("memory://host:7/shop", "memory://ann@host/shop", "memory://shop/a:b@c"):
        assert open_place(plain).url == plain


def test_fsspec_is_the_one_that_is_tested() -> None:
    assert "memory" in fsspec.available_protocols()


class Unreachable(AbstractFileSystem):  # type: ignore[misc]  # it has no types
    """A kind of place whose errors are its own."""

    protocol = "unreachable"

    def cat_file(self, *_: object, **__: object) -> bytes:
        raise RuntimeError("the token has expired")

    def pipe_file(self, *_: object, **__: object) -> None:
        raise FileNotFoundError("The specified bucket does not exist")


def test_what_is_wrong_with_a_place_is_said_with_the_way_out(tmp_path: Path) -> None:
    fsspec.register_implementation("unreachable", Unreachable, clobber=True)
    with pytest.raises(BackupPlaceLost, match="RuntimeError: the token has expired"):
        catalogue.load(open_place("unreachable://here"))
    with pytest.raises(BackupPlaceLost, match=r"here.* cannot be written: The specified bucket"):
        open_place("unreachable://here").write("qsync-backup.json", b"{}")
    (tmp_path / "file").touch()
    file = re.escape(f": {tmp_path / 'file'} is a file")
    for place in (tmp_path / "file", tmp_path / "file" / "shop"):
        for reach in (begin, catalogue.load):
            with pytest.raises(ConfigError, match=file):
                reach(Folder(place))
    for way in ("/proc/shop", "/proc/self/shop"):
        with pytest.raises(BackupPlaceLost, match=f"^BACKUP_PLACE: {way} cannot be written: No "):
            begin(Folder(Path(way)))
    assert places.typed(OSError(errno.EIO, "Input/output error"), "/mnt/shop").retryable
    full = places.typed(OSError(errno.ENOSPC, "No space left on device"), "/mnt/shop/log")
    assert isinstance(full, DiskFull)
    assert "the same command continues" in full.hint
