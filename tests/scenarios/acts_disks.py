"""Crashes, and what disks do: slow, broken, torn, lost, damaged; folding of what is decided."""

from dataclasses import replace

from election.messages import Index
from qsync.core.trimming import start_at, trim_log
from qsync.data.fold import Fold, at_once
from qsync.errors import DiskFull, Rebuilding, StoreError, WrongFormat
from qsync.store.memory import MemoryLog
from tests.scenarios import words as said
from tests.scenarios.actor import Actor
from tests.scenarios.acts import act
from tests.scenarios.acts_basic import OPTIONS
from tests.scenarios.stage import Stage

FAULTS: dict[str, StoreError | None] = {
    "broken": StoreError("input/output error"),
    "full": DiskFull("no room left for the log"),
    "well": None,
}


@act
def disk(stage: Stage, words: list[str]) -> None:
    """disk N slow|fast|broken|full|well: writes wait, or complete (the waiting one at once).

    On a broken or a full disk they fail. The node tries again when its timer `disk` comes.
    """
    actor = stage.actor(words[0])
    if words[1] in FAULTS:
        actor.log.fault = FAULTS[words[1]]
        return
    actor.slow = words[1] == "slow"
    if actor.up and not actor.slow:
        actor.flush()
        actor.settle()


@act
def crash(stage: Stage, words: list[str]) -> None:
    """crash N [landed|torn|power]: what was not written is gone, and all that was in memory.

    `landed`: the write under way was durable, though nobody was told. `torn`: half of its first
    entry was. `power`: the machine goes down, and what was folded lately is not trusted.
    """
    actor = stage.actors[int(words[0])]
    how = words[1] if len(words) > 1 else ""
    write, torn = actor.log.in_flight, None
    if how == "torn":
        assert write is not None
        torn = len(write.entries[0].raw) // 2
    actor.up = False
    actor.log.crash(landed=how == "landed", torn=torn)
    actor.spaces.crash(system=how == "power")
    for link in stage.links(words[:1]):
        stage.wires[link].clear()
        if link[1] == actor.me and stage.actors[link[0]].up:
            stage.disconnect(*link, refused=False)


@act
def restart(stage: Stage, words: list[str]) -> None:
    """restart N [option=value ...]: from its disk; connections stand again.

    Unless its release does not know what the log uses: then it stays down.
    """
    actor = stage.actors[int(words[0])]
    for word in words[1:]:
        name, _, value = word.partition("=")
        actor.config = OPTIONS[name](actor.config, value)
    try:
        actor.boot()
    except WrongFormat as error:
        stage.say(f"{actor.me}: does not start: {error.message}")
        return
    actor.up = True
    for link in stage.links(words[:1]):
        if link not in stage.cut and stage.actors[link[0]].up and stage.actors[link[1]].up:
            stage.connect(*link)
    stage.settle()


def down(stage: Stage, word: str) -> Actor:
    """A node that is down: only then may somebody meddle with its directory."""
    actor = stage.actors[int(word)]
    assert not actor.up, f"crash {word} first"
    return actor


@act
def replace_directory(stage: Stage, words: list[str]) -> None:
    """replace-directory N: somebody put an empty directory in place of N's; N is down."""
    actor = down(stage, words[0])
    actor.log = MemoryLog(wall=lambda: stage.now)
    actor.spaces = said.furnished()
    actor.config = replace(actor.config, instance=stage.new_instance())


@act
def lose(stage: Stage, words: list[str]) -> None:
    """lose N ABOVE: the disk of N lied, what is above that index is gone; N is down."""
    down(stage, words[0]).log.lose_tail(above=Index(int(words[1])))


@act
def damage(stage: Stage, words: list[str]) -> None:
    """damage N INDEX: a bit of that entry flips; N is down."""
    down(stage, words[0]).log.damage(Index(int(words[1])), bit=100)


@act
def fold(stage: Stage, words: list[str]) -> None:
    """fold N [ROWS]: the next slice of what is decided goes to the spaces on N's disk."""
    actor = stage.actor(words[0])
    rows = int(words[1]) if len(words) > 1 else 1000
    slice_ = at_once(actor.core.folding(rows))
    if slice_ is None:
        stage.say(f"{actor.me}: nothing to fold")
        return
    actor.spaces.fold(slice_)
    actor.core.folded_to(slice_)
    stage.say(f"{actor.me}: folded up to {slice_.folded}: {_rows(slice_)}".rstrip(": "))


@act
def trim(stage: Stage, words: list[str]) -> None:
    """trim N: N's log, in memory and on its disk, forgets what is in the spaces on its disk."""
    actor = stage.actor(words[0])
    replicated_log = actor.machine.replicated_log
    start = start_at(replicated_log, actor.spaces.folded)
    trim_log(replicated_log, start)
    actor.log.trim(start)
    stage.say(f"{actor.me}: the log begins behind {start.index}")


@act
def memory(stage: Stage, words: list[str]) -> None:
    """memory N BYTES: rows that N has not folded may weigh so much before writers wait for it."""
    overlay = stage.actor(words[0]).core.raw.overlay
    overlay.limits = overlay.limits._replace(unfolded_bytes_max=int(words[1]))


def _rows(slice_: Fold) -> str:
    puts = [said.shown(row) for key, row in slice_.puts if said.is_tuple(key)]
    deletes = [f"delete {said.key_of(key[5:])}" for key in slice_.deletes if said.is_tuple(key)]
    return " ".join(puts + deletes)


@act
def stored(stage: Stage, words: list[str]) -> None:
    """stored N: what the spaces on N's disk hold, and at which index."""
    actor = stage.actors[int(words[0])]
    rows = [row for key, row in actor.spaces.scan(b"", b"\xff") if said.is_tuple(key)]
    tuples_ = " ".join(said.shown(row) for row in rows)
    stage.say(f"{actor.me}: on disk at {actor.spaces.folded}: {tuples_}".rstrip(": "))


@act
def rot(stage: Stage, words: list[str]) -> None:
    """rot N KEY: on N's disk the row of that key is not what was folded any more."""
    actor = stage.actors[int(words[0])]
    for key, row in list(actor.spaces.scan(b"", b"\xff")):
        if said.is_tuple(key) and said.shown(row).startswith(f"{words[1]}="):
            actor.spaces.rot(key)


@act
def scrub(stage: Stage, words: list[str]) -> None:
    """scrub N: N looks at all rows on its disk."""
    actor = stage.actor(words[0])
    try:
        actor.spaces.scrub(1)
    except Rebuilding as error:
        stage.say(f"{actor.me}: {error.message}")
        actor.core.lose(error.message)
        actor.settle()


@act
def rebuild(stage: Stage, words: list[str]) -> None:
    """rebuild N [ENTRIES [PIECES]]: N wipes its spaces and replays its log, so much at a time.

    After so many pieces the rest waits for the next `rebuild`.
    """
    actor = stage.actor(words[0])
    entries = int(words[1]) if len(words) > 1 else 1000
    lost = actor.core.lost
    assert lost is not None, "nothing is lost"
    if lost.at is None:
        actor.spaces.wipe()
    for _ in range(int(words[2]) if len(words) > 2 else 1000):
        whole = actor.core.rebuild(entries)
        while (slice_ := at_once(actor.core.folding(1000))) is not None:
            actor.spaces.fold(slice_)
            actor.core.folded_to(slice_)
        stage.say(f"{actor.me}: replayed and folded up to {actor.spaces.folded}")
        if whole:
            break
    actor.settle()
