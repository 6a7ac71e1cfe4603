"""JSON on stdout is JSON for every reader, whatever numbers are stored."""

import json
import math
from collections.abc import Sequence

import pytest

from cli import valid_json
from cli.output import as_document
from cli.shell.formats import OutputFormat, OutputStyle, render


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (
            [1.5, math.nan, [math.inf, {"low": -math.inf}]],
            '[1.5, "NaN", ["Infinity", {"low": "-Infinity"}]]',
        ),
        ((math.inf, b"\xff"), '["Infinity", "ff"]'),
        ({math.inf: 1}, '{"Infinity": 1}'),
        ([1e308, -0.0, "NaN"], '[1e+308, -0.0, "NaN"]'),
    ],
)
def test_numbers_that_json_lacks_are_texts(values: Sequence[object], shown: str) -> None:
    def plain(value: object) -> str:
        assert isinstance(value, bytes)
        return value.hex()

    assert valid_json.dumps(values, plain) == shown
    json.loads(shown, parse_constant=refuse)


def test_documents_and_results_of_the_shell_hold_none_of_them() -> None:
    json.loads(as_document("get", {"row": [math.nan]}), parse_constant=refuse)
    look = OutputStyle(OutputFormat.JSON, people=False)
    assert list(render([math.inf], look)) == ['"Infinity"']
