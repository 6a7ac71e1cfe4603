"""Recorded histories of other projects: our verdict on each is the published one."""

import csv
import shutil
from collections import Counter
from pathlib import Path

import pytest

from admin.checker.labels import LabelComparison, LabelLine, compare, load

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
LIST = CORPORA / "labels.csv"

corpora = pytest.mark.skipif(not LIST.exists(), reason="the labelled histories are not here")


def compared(folder: Path, label: str, text: str, format: str = "") -> LabelComparison:
    path = folder / "some history"
    path.write_text(text, encoding="utf-8")
    return compare(LabelLine(file=path, format=format, label=label))


@corpora
def test_every_published_verdict_is_reproduced() -> None:
    listed = load(LIST)
    assert len(listed) > 90
    differing = [found for each in listed if not (found := compare(each)).agrees]
    assert not differing


@corpora
def test_the_opposite_of_a_published_verdict_is_not_agreed_to() -> None:
    opposite = {"linearizable": "not-linearizable", "not-linearizable": "linearizable"}
    counts: Counter[str] = Counter()
    for each in load(LIST):
        if each.label in opposite:
            wrong = LabelLine(file=each.file, format=each.format, label=opposite[each.label])
            assert not compare(wrong).agrees, each
            counts[each.label] += 1
    assert min(counts.values()) > 10


@corpora
def test_neither_names_nor_the_words_of_the_list_decide(tmp_path: Path) -> None:
    for number, each in enumerate(load(LIST)):
        copy = tmp_path / str(number)
        shutil.copyfile(each.file, copy)
        assert compare(LabelLine(file=copy, format="", label=each.label)).agrees, each


# ------------------------------------------------------------------------------------ labels

READ_OF_ONE = (
    "{:process 0 :type :invoke :f :write :value 1}{:process 0 :type :ok :f :write :value 1}"
    "{:process 0 :type :invoke :f :read :value nil}{:process 0 :type :ok :f :read :value 1}"
)
SKEW = (
    "{:type :invoke :process 1 :f :txn :value [[:append :x 1] [:r :y nil]]}"
    "{:type :invoke :process 2 :f :txn :value [[:append :y 1] [:r :x nil]]}"
    "{:type :ok :process 1 :f :txn :value [[:append :x 1] [:r :y []]]}"
    "{:type :ok :process 2 :f :txn :value [[:append :y 1] [:r :x []]]}"
)
LATE = (
    "{:type :invoke :process 1 :f :txn :value [[:append :x 1]]}"
    "{:type :ok :process 1 :f :txn :value [[:append :x 1]]}"
    "{:type :invoke :process 2 :f :txn :value [[:r :x nil]]}"
    "{:type :ok :process 2 :f :txn :value [[:r :x nil]]}"
)


@pytest.mark.parametrize(
    ("text", "label", "agrees"),
    [
        (READ_OF_ONE, "linearizable", True),
        (READ_OF_ONE, "not-linearizable", False),
        (READ_OF_ONE, "valid", True),
        (READ_OF_ONE, "G2-item", False),
        (READ_OF_ONE, "as good as new", False),
        (SKEW, "G2-item without G-single", True),
        (SKEW, "G2", True),
        (SKEW, "G2-item (T1 -rw-> T2 -rw-> T1)", True),
        (SKEW, "G2-item (T1 -ww-> T2 -rw-> T1)", False),
        (SKEW, "G2-item (T1 -rw-> T9 -rw-> T1)", False),
        (SKEW, "G-single", False),
        (SKEW, "G2-item, G0", False),
        (SKEW, "G2-item without G2", False),
        (SKEW, "not-serializable", True),
        (SKEW, "serializable", False),
        (SKEW, "snapshot-isolation", True),
        (SKEW, "violates serializable only", True),
        (SKEW, "invalid", True),
        (SKEW, "linearizable", False),
        (SKEW, "G7", False),
        (LATE, "violates strong-snapshot-isolation only", True),
        (LATE, "violates serializable", False),
        (LATE, "serializable", True),
        (LATE, "strict-serializable", False),
        (LATE, "G-single-realtime", True),
    ],
)
def test_a_label_is_taken_at_its_word(
    tmp_path: Path, text: str, label: str, *, agrees: bool
) -> None:
    found = compared(tmp_path, label, text)
    assert found.agrees == agrees, found


def test_a_file_that_cannot_be_read_agrees_with_nothing(tmp_path: Path) -> None:
    assert compared(tmp_path, "not-linearizable", "hello").found == "unreadable"
    missing = LabelLine(file=tmp_path / "missing", format="", label="not-linearizable")
    assert not compare(missing).agrees


def test_a_history_without_effects_has_an_order_but_no_anomaly(tmp_path: Path) -> None:
    failed = (
        "{:process 0 :type :invoke :f :write :value 1}{:process 0 :type :fail :f :write :value 1}"
    )
    assert compared(tmp_path, "linearizable", failed).agrees
    assert not compared(tmp_path, "not-linearizable", failed).agrees
    assert not compared(tmp_path, "linearizable", "[]").agrees, "nothing at all says nothing"


def test_a_list_names_files_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    (folder / "a.edn").write_text(READ_OF_ONE, encoding="utf-8")
    listed = tmp_path / "labels.csv"
    with listed.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [("file", "format", "label", "source"), ("deep/a.edn", "EDN, a", "linearizable", "us")]
        )
    (one,) = load(listed)
    assert compare(one).agrees
    listed.write_text("file,label\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no column format"):
        load(listed)


@pytest.mark.parametrize("content", [b"\xeb\x00\xff", b'file,format,label\n"' + b"x" * 200_000])
def test_what_is_no_list_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path} is no CSV: "):
        load(path)
