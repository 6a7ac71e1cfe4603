"""No broken rule goes unnoticed, and the page that says what notices each of them is true."""

import pytest

from qsync.sim.mutants.catalogue import CATALOGUE
from tests.bench import mutants

TABLE = mutants.read()
EARLY = 12
"""Runs up to this first seed are tried with every change."""
AFTER = 3
"""The repertoire of seeds changes: so many times the first seed is the budget."""

NOT_YET = {
    "lost_for_cut",
    "refuses_by_head",
    "records_alone",
    "records_nothing",
    "operation_never_ends",
    "sessions_survive_a_cut",
    "sessions_not_folded",
}
"""Of these the page says that only transcripts, or rarer seeds, notice them. None may join them."""


def test_the_page_has_every_mutant_and_says_of_it_what_the_code_says() -> None:
    assert list(TABLE.rows) == list(CATALOGUE)
    assert mutants.render(TABLE) == mutants.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CATALOGUE)
def test_seeds_or_scopes_notice_every_broken_rule_that_breaks_a_promise(name: str) -> None:
    row = TABLE.rows[name]
    noticed = bool(row.seed or row.scope)
    assert noticed or CATALOGUE[name].harmless or name in NOT_YET
    assert not noticed or name not in NOT_YET


@pytest.mark.parametrize("name", [name for name, row in TABLE.rows.items() if row.transcript])
def test_the_transcript_of_a_rule_is_another_one_without_it(name: str) -> None:
    text = mutants.texts()[TABLE.rows[name].transcript]
    assert mutants.fails(text, CATALOGUE[name])


@pytest.mark.parametrize(
    "name", [name for name, row in TABLE.rows.items() if 0 < row.seed <= EARLY]
)
def test_seeds_notice_a_broken_rule_as_early_as_the_page_says(name: str) -> None:
    seeds = range(1, AFTER * TABLE.rows[name].seed + AFTER)
    assert any(mutants.noticed_by_seed(name, seed) for seed in seeds)


def test_transcripts_that_no_mutant_fails_are_there() -> None:
    assert not set(TABLE.unfailed) - set(mutants.texts())
    assert not set(TABLE.unfailed) & {row.transcript for row in TABLE.rows.values()}
