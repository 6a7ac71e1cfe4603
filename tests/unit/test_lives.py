"""Lives of directories: who is later, what is written down, how handshakes tell of them."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import cbor2
import pytest

from election.messages import Index, Position, Replica, Term
from qsync.errors import AccessDenied, ProtocolError, WrongFormat
from qsync.life import KNOWN_MAX, DirectoryCopied, DirectoryLife, KnownLives, OldCopy
from qsync.store.birth import born_at
from qsync.store.lives import FILE, LivesFile
from qsync.wire import lives
from qsync.wire.frames import Frames, frame
from qsync.wire.proofs import SecretKeys
from qsync.wire.session import Acceptor, Dialer, Greeting, Hello, Party

SECRET = b"only the members know"
GREETING = Greeting(cluster="c", instance="i-1", replica=Replica(1), name="n1", nonce=b"g" * 32)
HELLO = Hello(party=Party.PEER, cluster="c", instance="i-2", replica=2, name="n2", nonce=b"h" * 32)


def payload(framed: bytes | None) -> bytes:
    assert framed is not None
    (only,) = Frames().feed(framed)
    return only


def test_an_earlier_life_is_old_and_so_is_the_same_one_of_another_start() -> None:
    known = KnownLives()
    assert known.later("a", DirectoryLife(3, 7)) is None
    assert known.remember("a", DirectoryLife(3, 7))
    assert not known.remember("a", DirectoryLife(3, 7))
    assert known.later("a", DirectoryLife(3, 7)) is None
    assert known.later("a", DirectoryLife(2, 9)) == DirectoryLife(3, 7)
    assert known.later("a", DirectoryLife(3, 8)) == DirectoryLife(3, 7)
    assert known.remember("a", DirectoryLife(4, 1))
    assert known.later("a", DirectoryLife(3, 7)) == DirectoryLife(4, 1)
    assert known.later("b", DirectoryLife(1, 1)) is None


def test_those_that_were_heard_of_last_are_kept() -> None:
    known = KnownLives()
    for number in range(KNOWN_MAX):
        known.remember(f"i-{number}", DirectoryLife(1, 1))
    known.remember("i-0", DirectoryLife(2, 2))
    known.remember("one more", DirectoryLife(1, 1))
    assert len(known) == KNOWN_MAX
    assert known.later("i-0", DirectoryLife(1, 1)) == DirectoryLife(2, 2)
    assert known.later("i-1", DirectoryLife(0, 0)) is None


def test_every_start_is_a_later_life_and_what_was_heard_is_kept(tmp_path: Path) -> None:
    first = LivesFile(tmp_path)
    first.begin_life(5)
    first.heard("i-2", DirectoryLife(9, 9))
    again = LivesFile(tmp_path)
    assert again.own == DirectoryLife(1, 5)
    again.begin_life(6)
    assert LivesFile(tmp_path).own == DirectoryLife(2, 6)
    assert LivesFile(tmp_path).known.later("i-2", DirectoryLife(8, 8)) == DirectoryLife(9, 9)


def test_a_copy_of_the_files_is_refused_until_somebody_says_what_it_is(tmp_path: Path) -> None:
    here, there = tmp_path / "n1", tmp_path / "n2"
    here.mkdir()
    LivesFile(here).begin_life(5)
    if born_at(here / FILE) is None:
        pytest.skip("this file system does not say when a file was made")
    here.rename(tmp_path / "renamed")
    assert LivesFile(tmp_path / "renamed").own == DirectoryLife(1, 5)
    shutil.copytree(tmp_path / "renamed", there)
    with pytest.raises(DirectoryCopied, match="n2 was copied"):
        LivesFile(there)
    moved = LivesFile(there, moved=True)
    assert not moved.is_old("i-2")
    copied = LivesFile(there, renewed="i-2")
    assert copied.is_old("i-2")
    moved.begin_life(6)
    assert LivesFile(there).own == DirectoryLife(2, 6)


def test_that_a_directory_is_an_old_copy_is_written_down(tmp_path: Path) -> None:
    file = LivesFile(tmp_path)
    file.begin_life(5)
    file.withdraw("i-2", "n1 knows better")
    again = LivesFile(tmp_path)
    assert again.is_old("i-2")
    assert not again.is_old("i-3"), "what it becomes is another one"
    assert again.why == "n1 knows better"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"life": [1]}', '{"life": [1, 2], "known": 3}', "\udcff"]
)
def test_a_file_that_is_none_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(WrongFormat, match=FILE):
        LivesFile(tmp_path)


def test_a_file_without_a_birth_is_taken_for_its_own(tmp_path: Path) -> None:
    """Of a file system that cannot say when it made a file."""
    LivesFile(tmp_path).begin_life(5)
    fields = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps({**fields, "born": None}))
    assert LivesFile(tmp_path).own == DirectoryLife(1, 5)


def test_handshakes_tell_of_lives_and_of_the_end_of_the_log() -> None:
    last = Position(Term(3), Index(17))
    words = ("release:1", lives.word_of(DirectoryLife(4, 77)), lives.reach_of(Term(5), last))
    assert lives.life_in(words) == DirectoryLife(4, 77)
    assert lives.reach_in(words) == (5, last)
    assert lives.life_in(("release:1",)) is None
    assert lives.reach_in(()) is None


@pytest.mark.parametrize("word", ["life:", "life:1", "life:1:2:3", "life:-1:2", "life:1:²"])
def test_words_that_are_no_lives_are_refused(word: str) -> None:
    with pytest.raises(ProtocolError):
        lives.life_in((word,))
    with pytest.raises(ProtocolError, match="64 bits"):
        lives.life_in((f"life:{1 << 64}:1",))


def refused(acceptor: Acceptor, dialer: Dialer) -> bytes:
    acceptor.received(payload(dialer.received(payload(acceptor.greet()))))
    return payload(acceptor.refuse(OldCopy("n2 runs on an old copy")))


def test_who_is_an_old_copy_is_proved_so() -> None:
    dialer = Dialer(HELLO, keys=SecretKeys(SECRET))
    with pytest.raises(OldCopy, match="n2 runs"):
        dialer.received(refused(Acceptor(GREETING, keys=SecretKeys(SECRET)), dialer))
    assert dialer.is_old_copy


def test_the_word_alone_and_the_proof_of_another_handshake_withdraw_nobody() -> None:
    dialer = Dialer(HELLO, keys=SecretKeys(SECRET))
    said = refused(Acceptor(GREETING, keys=SecretKeys(SECRET)), dialer)
    again = Dialer(replace(HELLO, nonce=b"i" * 32), keys=SecretKeys(SECRET))
    again.received(payload(Acceptor(GREETING, keys=SecretKeys(SECRET)).greet()))
    with pytest.raises(AccessDenied):
        again.received(said)
    bare = Dialer(HELLO, keys=SecretKeys(SECRET))
    bare.received(payload(Acceptor(GREETING, keys=SecretKeys(SECRET)).greet()))
    with pytest.raises(AccessDenied):
        bare.received(payload(frame(cbor2.dumps(["no", OldCopy.number, "believe me"]))))
    assert not again.is_old_copy
    assert not bare.is_old_copy
