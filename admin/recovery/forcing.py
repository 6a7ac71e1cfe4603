"""One survivor becomes a new cluster of one node, in a directory of its own (membership.md M8).

A generation is a cluster id of its own here, so nodes of different generations exchange nothing but
that the older one is superseded (M8 b, d, e): the new cluster's rows name its ancestor. A node that
joins has no configuration until it has the new cluster's own, with which the log begins (M8 c). The
generation's number is the high part of its terms (M8 f).
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from admin.backup.new_cluster import AuditNote, NewNode, found_cluster
from admin.certs import laying
from admin.lab import cluster_secret
from admin.recovery.failures import RecoveryRefused
from admin.recovery.survey import RecoverySurvey
from admin.recovery.survivor import Survivor
from election.roles import ElectionMode
from qsync.core.generation import first_term_of, generation_of
from qsync.core.settings import overlaid
from qsync.data import schema
from qsync.data.ancestors import Ancestor
from qsync.data.founding import confirms_nothing_alone, shared_settings
from qsync.decided import DecidedLog, copy_rows, start_of_rows
from qsync.node.assembly import core_config
from qsync.store.contract import Spaces
from qsync.store.spaces import SpaceStore
from qsync.store.superseded import supersede
from qsync.units import how_many

_OF_THE_OLD = ("peers", "cluster.id", "node.dir", "cluster.secret")
_MODE: Final = "election.mode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The new cluster. `dropped`: settings that do not fit one member.

    `is_uncertified`: the certificate that its file names is still one of the old cluster.
    """

    cluster: str
    directory: Path
    generation: int
    term: int
    index: int
    rows: int
    dropped: tuple[str, ...]
    is_uncertified: bool


def check(found: RecoverySurvey, *, lose: int, others_are_stopped: bool) -> None:
    """Raises RecoveryRefused unless the operator has agreed to everything that is known."""
    if found.running:
        names = ", ".join(found.running)
        raise RecoveryRefused(
            f"{names} runs: as long as a majority lives there would be two clusters",
            hint=f"stop {names} for good, or let the majority go on and wipe this one",
        )
    if found.lost > lose:
        better, furthest = found.better, found.furthest
        assert furthest is not None
        instead = "" if better is None else f"go on from {better.name}, or "
        raise RecoveryRefused(
            f"{furthest.name} has {how_many(found.lost, 'entry')} that {found.name} lacks, and "
            f"--lose allows {lose}",
            hint=f"{instead}say --lose {found.lost}",
        )
    if not others_are_stopped and found.others:
        raise RecoveryRefused(
            "whether the others are stopped cannot be seen from here: no node answers",
            hint="make sure of it, and say --others-are-stopped",
        )


def force(
    left: Survivor,
    directory: Path,
    options: Mapping[str, str],
    authority: Path | None = None,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Recovered:
    """Make the new cluster's one node of what is left, and let the survivor start no more.

    It waits until no lease of the old cluster can be alive (M8 h); what is interrupted before that
    cannot be started. `authority`: the directory of the one that signs certificates of the new
    cluster. Raises ConfigError when something is in `directory`, StoreError.
    """
    if authority is not None:
        options = laying.certified_options(authority, options)
    begun = time.monotonic()

    def wait(rows: Spaces) -> None:
        promise = max(_promise(left, each) for each in (left.storage.spaces, rows))
        sleep(max(0.0, begun + promise - time.monotonic()))

    generation = generation_of(left.term) + 1
    own = _own_options(left)
    unfit = [each for each in _misfits(own) if each not in options]
    if cluster_secret.taken(options)[1]:
        own.pop("cluster.secret", None)  # it is named again, perhaps by its file
    kept = {name: text for name, text in own.items() if name not in unfit}
    where = str(directory.absolute())
    noted = AuditNote(
        "forced_recovery",
        {"cluster": left.cluster, "from": str(left.path), "to": where, "index": left.last},
    )
    made = found_cluster(
        NewNode(directory=directory, options={**kept, **options}),
        _all_of(left),
        first_term_of(generation),
        lambda fresh: _copy(left, fresh),
        ancestor=Ancestor(
            generation=generation - 1,
            cluster=left.cluster,
            index=left.last,
            term=left.last_term,
        ),
        noted=noted,
        wait=wait,
    )
    if authority is not None:
        laying.certify_alone(authority, directory, made.config)
    supersede(left.path, cluster=made.config.cluster.id, where=where)
    noted.write(left.path)
    return Recovered(
        cluster=made.config.cluster.id,
        directory=directory,
        generation=generation,
        term=first_term_of(generation),
        index=made.index,
        rows=made.rows,
        dropped=(*(f"{each} = {own[each]}" for each in unfit), *made.dropped),
        is_uncertified=authority is None
        and left.config.tls.on
        and "tls.certificate" not in options,
    )


def _promise(left: Survivor, rows: Spaces) -> float:
    """How long a promise lasts by the survivor's file, and by what the cluster shares there."""
    stored = rows.scan(*schema.keys_of(schema.SETTINGS))
    shared = {name: value for _, name, value in shared_settings(stored)}
    return float(overlaid(core_config(left.config), shared).promise)


def _all_of(left: Survivor) -> DecidedLog:
    """Its log behind the stored rows: the whole of it counts as confirmed (M8 a)."""
    folded = left.storage.spaces.folded
    start = start_of_rows(left.replicated_log, folded)
    return DecidedLog(start, lambda: left.batches(folded), upto=left.last, index=left.last)


def _copy(left: Survivor, fresh: SpaceStore) -> None:
    """The survivor's stored rows, as they are."""
    stored = left.storage.spaces
    copy_rows(stored, fresh, start_of_rows(left.replicated_log, stored.folded))


def _misfits(own: Mapping[str, str]) -> list[str]:
    """Options with which one member alone would confirm nothing, or never lead."""
    found = [name for name, value in own.items() if confirms_nothing_alone(name, value)]
    if own.get(_MODE, ElectionMode.CANDIDATE.value) != ElectionMode.CANDIDATE.value:
        found.append(_MODE)
    return found


def _own_options(left: Survivor) -> dict[str, str]:
    """What its file set, but what made it one of several. Paths are whole.

    The secret goes on: by it the new cluster's nodes tell those of this one that they are
    superseded (M8 e).
    """
    config = left.config
    kept = {
        key: text
        for key, text in config.values().items()
        if not key.startswith(_OF_THE_OLD) and config.origin(key) != "default" and text
    }
    if config.secret:
        kept["cluster.secret"] = config.secret.text
    return kept
