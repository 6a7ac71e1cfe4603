"""Results as text, in every format, for people and for machines."""

import csv
import io
import json

import pytest
import yaml

from cli.shell.formats import OutputFormat, OutputStyle, one_line, render
from cli.shell.values import Double, NamedRow

COLUMNS = ("id", "owner", "balance")
ROWS = [NamedRow([1, "ann", 100], COLUMNS), NamedRow([2, "bob", None], COLUMNS)]
TREE: dict[str, object] = {
    "quorum": 2,
    "queue": {"len": 0, "age": 0.1234567890123},
    "vclock": {1: 7},
}


def shown(
    value: object, format: OutputFormat, *, people: bool = False, rows_max: int = 1000
) -> str:
    return "\n".join(render([value], OutputStyle(format, people, rows_max)))


def test_people_see_tuples_as_a_table_and_trees_as_yaml() -> None:
    assert shown(ROWS, OutputFormat.AUTO, people=True).splitlines() == [
        "id  owner  balance",
        "--  -----  -------",
        " 1  ann        100",
        " 2  bob       null",
        "(2 rows)",
    ]
    assert shown(TREE, OutputFormat.AUTO, people=True).splitlines() == [
        "quorum: 2",
        "queue: {len: 0, age: 0.123457}",
        "vclock: {1: 7}",
    ]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (True, "true"),
        (None, "null"),
        ("text", "text"),
        (5, "5"),
        ([1, "a"], '[1, "a"]'),
        (ROWS, '[[1, "ann", 100], [2, "bob", null]]'),
        (TREE, '{"quorum": 2, "queue": {"len": 0, "age": 0.1234567890123}, "vclock": {"1": 7}}'),
        (b"\xff", '"ff"'),
        (Double(5.0), "5.0"),
    ],
)
def test_elsewhere_a_value_is_a_line(value: object, line: str) -> None:
    assert shown(value, OutputFormat.AUTO) == line


def test_machine_formats_read_back() -> None:
    assert json.loads(shown(TREE, OutputFormat.JSON))["queue"]["len"] == 0
    assert yaml.safe_load(shown(TREE, OutputFormat.YAML)) == TREE
    lines = shown(ROWS, OutputFormat.JSONL).splitlines()
    assert [json.loads(line) for line in lines][1] == {"id": 2, "owner": "bob", "balance": None}
    table = list(csv.reader(io.StringIO(shown([NamedRow([1, 'a "b", c\nd'])], OutputFormat.CSV))))
    assert table == [["1", "2"], ["1", 'a "b", c\nd']]
    assert (
        shown({"a b": [1, None], "x": b"\0"}, OutputFormat.LUA)
        == '{["a b"] = {1, nil}, x = "\\x00"}'
    )


def test_one_tuple_may_take_a_line_for_each_field() -> None:
    assert shown(ROWS[0], OutputFormat.VERTICAL).splitlines() == [
        "-[ row 1 ]---",
        "id      | 1",
        "owner   | ann",
        "balance | 100",
        "(1 row)",
    ]


def test_maps_with_the_same_keys_make_a_table_too() -> None:
    found = shown([{"a": 1}, {"a": 2, "b": "x"}], OutputFormat.TABLE)
    assert found.splitlines()[0].split() == ["a", "b"]
    assert found.splitlines()[2:4] == ["1  null", "2  x"]


def test_long_results_are_shown_in_part_and_say_so() -> None:
    rows = [NamedRow([at]) for at in range(50)]
    found = shown(rows, OutputFormat.TABLE, people=True, rows_max=10).splitlines()
    assert len(found) == 13
    assert found[-1] == "(50 rows; 10 shown, \\set rows 50 shows all)"
    assert len(shown(rows, OutputFormat.JSONL, rows_max=10).splitlines()) == 50


def test_tables_line_up_whatever_the_letters() -> None:
    rows = [
        NamedRow(["日本", 1]),
        NamedRow(["e\u0301", 2]),
        NamedRow(["x" * 80, 3]),
        NamedRow(["a\nb", 4]),
    ]
    lines = shown(rows, OutputFormat.TABLE).splitlines()
    assert lines[2].startswith("日本" + " " * 56)
    assert lines[4].split()[0].endswith("…")
    assert "a\\nb" in lines[5]


def test_several_values_are_told_apart() -> None:
    assert list(render([1, "x"], OutputStyle(OutputFormat.YAML))) == ["1", "---", "x"]


def test_print_writes_lua_but_bare_text() -> None:
    assert one_line("text") == "text"
    assert one_line({"a": [1, "b", None]}) == '{a = {1, "b", nil}}'
    assert one_line(None) == "nil"


@pytest.mark.parametrize("width", [40, 60, 70])
def test_what_has_no_room_on_a_line_takes_more_of_them_and_is_the_same(width: int) -> None:
    peer = {"status": "disconnected", "message": "it has no connection to this node"}
    tree: dict[str, object] = {
        "far": {"peer": peer},
        "counts": {"x": 1, "y": 2},
        "many": {"numbers": list(range(60))},
    }
    lines = list(render([tree], OutputStyle(OutputFormat.YAML, people=True, width=width)))
    assert yaml.safe_load("\n".join(lines)) == tree
    assert max(len(line) for line in lines) <= width
    assert "counts: {x: 1, y: 2}" in lines
    assert "    status: disconnected" in lines
