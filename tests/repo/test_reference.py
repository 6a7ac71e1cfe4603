"""What the reference says of options, errors, commands and types is what the code says."""

from pathlib import Path

import pytest

from tests.repo import reference


@pytest.mark.parametrize("page", reference.places(), ids=lambda page: page.name)
def test_the_tables_of_a_page_are_those_of_the_code(page: Path) -> None:
    wanted = reference.pages()[page]
    assert page.read_text(encoding="utf-8") == wanted, "`python -m tests.repo.reference` mends it"


def test_every_table_stands_on_a_page() -> None:
    text = "".join(reference.pages().values())
    assert all(f"<!-- from the code: {name} -->" in text for name in reference.BLOCKS)
