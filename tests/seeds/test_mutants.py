"""No broken rule goes unnoticed, and the page that says what notices each of them is true."""

import pytest

from qsync.sim.mutants.catalogue import CATALOGUE
from qsync.sim.mutants.generations import IN_A_LIFE
from qsync.sim.mutants.rules import UNBROKEN, by_rule
from tests.bench import mutants
from tests.bench.unfailed import WHY

TABLE = mutants.read()
EARLY = 12
"""Runs up to this first seed are tried with every change."""
AFTER = 3
"""The repertoire of seeds changes: so many times the first seed is the budget."""


def test_the_page_has_every_mutant_and_says_of_it_what_the_code_says() -> None:
    assert list(TABLE.rows) == list(CATALOGUE)
    assert mutants.render(TABLE) == mutants.PAGE.read_text(encoding="utf-8")


def test_every_numbered_rule_has_a_mutant_or_a_reason_why_not() -> None:
    named = by_rule({name: mutant.rule for name, mutant in CATALOGUE.items()})
    assert sum(map(len, named.values())) == len(CATALOGUE), (
        "a mutant breaks a rule that is not listed"
    )
    assert {rule for rule, mutants in named.items() if not mutants} == UNBROKEN.keys()


@pytest.mark.parametrize("name", CATALOGUE)
def test_seeds_scopes_or_lives_notice_every_broken_rule_that_breaks_a_promise(name: str) -> None:
    row = TABLE.rows[name]
    assert row.seed or row.scope or name in IN_A_LIFE or CATALOGUE[name].harmless


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


def test_transcripts_that_no_mutant_fails_are_there_for_a_reason() -> None:
    assert set(TABLE.unfailed) == WHY.keys()
    assert not set(TABLE.unfailed) - set(mutants.texts())
    assert not set(TABLE.unfailed) & {row.transcript for row in TABLE.rows.values()}
