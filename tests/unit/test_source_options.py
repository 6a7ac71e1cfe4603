"""The options of the Spark data source: what is wrong is refused in a sentence."""

import pytest

from admin.checker.spark import options
from qsync.errors import ConfigError


def test_what_is_given_is_understood() -> None:
    found = options.read(
        {"table": "status", "Nodes": "a:1, b:2,", "align": "TRUE", "span": "5", "begin": "0"}
    )
    assert found.table == "status"
    assert found.nodes == ("a:1", "b:2")
    assert (found.aligned, found.span, found.begin, found.run) == (True, 5, 0, "live")
    assert options.read({"paths": '["a", "b"]'}).placed().paths == ("a", "b")
    assert options.read({"path": "a"}).placed().table == "wal"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"algin": "true"}, "option algin .* no such option .*known are table, path"),
        ({"table": "wol"}, "no table 'wol' .*known are wal"),
        ({"path": "a", "nodes": "b:1"}, "option path .* goes without nodes"),
        ({"path": "a", "paths": '["b"]'}, "option path .* goes without paths"),
        ({"paths": "a,b"}, "option paths .* no JSON list"),
        ({"paths": "[]"}, "option paths .* no JSON list"),
        ({"paths": "[1]"}, "option paths .* no JSON list"),
        ({"align": "maybe"}, "option align .* neither true nor false: 'maybe'"),
        ({"span": "0"}, "option span .* from 1 on: '0'"),
        ({"begin": "-1"}, "option begin .* from 0 on: '-1'"),
        ({"span": "x"}, "option span .* from 1 on: 'x'"),
    ],
)
def test_a_wrong_option_is_refused_by_name(given: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        options.read(given)


def test_who_says_not_where_to_read_is_told_how() -> None:
    with pytest.raises(ConfigError, match=r"no path and no nodes .*give the option path"):
        options.read({"table": "wal"}).placed()


def test_a_bundle_is_no_stream() -> None:
    pytest.importorskip("pyspark", reason="needs the [spark] extra")
    from pyspark.sql.types import StructType  # noqa: PLC0415 - needs the extra

    from admin.checker.spark.source import QsyncSource  # noqa: PLC0415 - the same

    with pytest.raises(ConfigError, match="streams the tables wal and status of running nodes"):
        QsyncSource({"path": "a"}).simpleStreamReader(StructType())
