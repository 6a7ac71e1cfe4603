"""The pages of the drills are in step with the catalogue and the runs they were made of."""

import json
from pathlib import Path

import pytest

from admin.drills import gallery, reader, reference, report
from admin.drills.reference import MeasuredDrill

ROOT = Path(__file__).parents[2]
AGAIN = "run `python -m admin.drills.reference`"


def test_every_page_says_what_the_catalogue_and_the_numbers_say() -> None:
    if not reference.PAGES.exists():
        pytest.skip("installed without its documents")
    wanted = reference.pages_of(
        reference.read_results(reference.PAGES), gallery.pictured(reference.PAGES)
    )
    there = {path.name: path.read_text("utf-8") for path in reference.PAGES.glob("*.md")}
    assert there.keys() == wanted.keys(), AGAIN
    assert [name for name, text in wanted.items() if there[name] != text] == [], AGAIN


def test_the_gallery_has_every_drill_once_and_the_pictures_that_there_are() -> None:
    page = gallery.gallery({"chaos"})
    for name in reader.own_names():
        assert page.count(f"### [{name}]({name}.md)") == 1
    assert page.count(".svg)") == 1
    assert "](pictures/chaos.svg)" in page
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings[:3] == ["## Processes", "## Links", "## Disks"]


def test_a_drill_is_drawn_by_the_run_with_the_median_rto_on_the_fewest_nodes(
    tmp_path: Path,
) -> None:
    for number, (nodes, rto) in enumerate(((3, 0.1), (3, 0.4), (3, 0.7), (5, 0.4))):
        place = tmp_path / str(number)
        run(place, nodes=nodes, verdict="passed", rto=rto, began="2026-01-01T00:00")
        drawn = {
            "seconds": rto,
            "steps": [],
            "leaders": [],
            "sentence": f"{nodes} nodes, {rto}",
            "writes": {"bucket": 0.1, "counts": [1]},
        }
        file = place / report.FILE
        file.write_text(json.dumps(json.loads(file.read_text()) | drawn))
    reference.draw(tmp_path / "pages", tmp_path)
    (drawing,) = (tmp_path / "pages").rglob("*.svg")
    assert drawing.name == "leader-kill.svg"
    assert "3 nodes, 0.4" in drawing.read_text()
    assert gallery.pictured(tmp_path / "pages") == {"leader-kill"}


def run(directory: Path, *, nodes: int, verdict: str, rto: float | None, began: str) -> None:
    """What a run leaves, as far as it matters here."""
    directory.mkdir(parents=True)
    found = {
        "schema": report.SCHEMA,
        "drill": "leader-kill",
        "verdict": verdict,
        "nodes": [f"n{number}" for number in range(1, nodes + 1)],
        "measures": {"rto": rto, "gap": 2.5},
        "began_at": began,
        "version": "1.2",
    }
    (directory / "report.json").write_text(json.dumps(found))


def test_runs_and_series_of_runs_become_one_row_for_each_number_of_nodes(tmp_path: Path) -> None:
    run(tmp_path / "a-3" / "001", nodes=3, verdict="passed", rto=0.2, began="2026-01-02T00:00")
    run(tmp_path / "a-3" / "002", nodes=3, verdict="passed", rto=0.4, began="2026-01-03T00:00")
    run(tmp_path / "a-3" / "003", nodes=3, verdict="failed", rto=None, began="2026-01-01T00:00")
    run(tmp_path / "a-5", nodes=5, verdict="passed", rto=0.3, began="2026-01-01T00:00")
    three, five = reference.collect(tmp_path)
    assert three == MeasuredDrill(
        drill="leader-kill",
        nodes=3,
        date="2026-01-03",
        version="1.2",
        runs=3,
        passed=2,
        rto_median=0.2,
        rto_max=0.4,
        gap_max=2.5,
    )
    assert (five.nodes, five.runs) == (5, 1)
    pages = tmp_path / "pages"
    reference.write(pages, reference.merged([five], [three]))
    assert reference.read_results(pages) == [three, five]
    page = (pages / "leader-kill.md").read_text()
    assert "| 3 | 3 | 2 | 0.200 s | 0.400 s | 2.500 s | 2026-01-03 | 1.2 |" in page
    assert "Not yet." in (pages / "chaos.md").read_text()
