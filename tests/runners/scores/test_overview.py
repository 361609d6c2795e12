"""What reports and `winnow stats` show of scores, counted again by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.messages import assert_told
from tests.runners.scores.stores import BROKEN, CLEAN, TRAINED, make_store, scored, write
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.score.overview import ScoreOverview
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.location import open_location
from winnow.runners.commands.main import main
from winnow.runners.stages.reports.score_overviews import overviews, scores_if_bound
from winnow.runners.stages.reports.summarise import summarise
from winnow.runners.stages.reports.writing import write_report
from winnow.runners.stages.rule_decisions import decisions_if_any
from winnow.schemas.recipe import Recipe, load_recipe

WHERE = "    where: samples.source.name = 'web'\n"
OTHER = """
  strict:
    task: next_byte
    buckets: 1024
    reference: {train_on: "samples.source.name = 'books'", training: {epochs: 1, batch: 8}}
    trajectory: {checkpoints: 1, training: {epochs: 1, batch: 8}}
    filter: {binarise: top, top: 0.2}
"""
RULES = """
eligible:
  - {drop: text.length.characters < 150, reason: short, when_null: keep}
keep:
  - {drop: score.mimic.keep < 0.5, reason: mimic, when_null: keep}
  - {drop: samples.source.name = 'books', reason: trusted, when_null: keep}
"""
SCORES = TRAINED + WHERE + OTHER


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two scores."""
    folder = tmp_path_factory.mktemp("whole")
    make_store(folder)
    scored(write(folder, SCORES, RULES))
    return folder


def opened(recipe: Recipe) -> Store:
    return open_store(open_location(recipe.located(recipe.store.path)))


def found(recipe: Recipe) -> tuple[ScoreOverview, ...]:
    store = opened(recipe)
    generation = store.require_latest()
    read = scores_if_bound(bind(recipe), store, generation, summarise(store, generation))
    return overviews(read, bind(recipe), decisions_if_any(bind(recipe), store, generation))


def column(recipe: Recipe, layer: str, name: str) -> list[object]:
    store = opened(recipe)
    shards = sorted(store.manifest(store.require_latest(), layer), key=lambda row: row.shard)
    return [value for row in shards for batch in store.batches(row, [name]) for value in batch[name].to_pylist()]


def test_every_row_is_counted_and_the_quality_is_the_share_that_is_kept(folder: Path) -> None:
    recipe = load_recipe("recipe.yaml")
    mimic, strict = found(recipe)
    assert (mimic.name, mimic.task, mimic.rows, mimic.scored) == ("mimic", "next_byte", 130, CLEAN + BROKEN)
    assert mimic.statuses == {"ok": CLEAN + BROKEN, "not_selected": 40}
    for one in (mimic, strict):
        keep = [value for value in column(recipe, f"score.{one.name}", "keep") if isinstance(value, float)]
        (fit,) = one.fits
        assert fit.quality.kept == sum(value >= 0.5 for value in keep) / len(keep)
        assert fit.quality.rows == len(keep)
        assert fit.quality.method == ("overlap" if one is mimic else "kept")  # bounds need groups that are well apart
        assert one.dropped == sum(value < 0.5 for value in keep)
    assert strict.fits[0].quality.kept == pytest.approx(0.2)


def test_distributions_hold_every_score_of_every_checkpoint(folder: Path) -> None:
    recipe = load_recipe("recipe.yaml")
    mimic, _ = found(recipe)
    assert [one.name for one in mimic.checkpoints] == ["m1", "m2"]
    for one in (*mimic.checkpoints, mimic.score, mimic.keep):
        layer = "trace.mimic" if one.name.startswith("m") else "score.mimic"
        values = [value for value in column(recipe, layer, one.name) if isinstance(value, float)]
        assert one.summary.scored == len(values) == sum(one.bars.counts) + one.bars.below + one.bars.above
        assert (one.summary.least, one.summary.greatest) == (min(values), max(values))
    for step, name in zip(mimic.fits[0].steps, ("m1", "m2"), strict=True):
        values = [value for value in column(recipe, "trace.mimic", name) if isinstance(value, float)]
        assert step.scored == len(values)
        assert step.kept == sum(step.lowest_kept is not None and value >= step.lowest_kept for value in values)


def test_the_ten_highest_and_lowest_are_shown_with_the_beginning_of_their_texts(folder: Path) -> None:
    recipe = load_recipe("recipe.yaml")
    mimic, _ = found(recipe)
    columns = (column(recipe, "score.mimic", name) for name in ("score", "keep"))
    samples = zip(*(column(recipe, "samples", name) for name in ("id", "text")), *columns, strict=True)
    rows = sorted((row for row in samples if row[2] is not None), key=lambda row: float(str(row[2])))
    for shown, expected in ((mimic.highest, rows[::-1][:10]), (mimic.lowest, rows[:10])):
        assert [(bytes.fromhex(one.id), one.text, one.score, one.keep) for one in shown] == [
            (identity, str(text)[:300], score, keep) for identity, text, score, keep in expected
        ]
    assert {one.source for one in mimic.highest} == {"web"}


def test_overlaps_with_the_other_score_and_with_every_rule(folder: Path) -> None:
    recipe = load_recipe("recipe.yaml")
    mimic, _ = found(recipe)
    names = [(one.kind, one.name) for one in mimic.overlaps]
    assert names == [("score", "strict"), ("eligible", "short"), ("keep", "mimic"), ("keep", "trusted")]
    assert not mimic.undecided
    keep, strict = (np.array(column(recipe, f"score.{name}", "keep"), float) for name in ("mimic", "strict"))
    with_score, with_short, with_itself, with_trusted = (one.pair for one in mimic.overlaps)
    said = np.isfinite(keep)
    assert with_score.neither == ((keep < 0.5) & (strict < 0.5)).sum()
    assert with_score.one_abstains == (~said & np.isfinite(strict)).sum() == 40
    characters = np.array(column(recipe, "text.length", "characters"), float)
    assert with_short.neither == ((keep < 0.5) & (characters < 150)).sum()
    assert with_short.only_other == ((keep < 0.5) & ~(characters < 150)).sum()
    assert (with_itself.kappa, with_itself.decided) == (1.0, CLEAN + BROKEN)
    assert (with_trusted.neither, with_trusted.only_one, with_trusted.one_abstains) == (0, 0, 40)


def test_what_is_forgotten_is_never_shown(folder: Path) -> None:
    recipe = load_recipe("recipe.yaml")
    best = found(recipe)[0].highest[0]
    assert main(["forget", "recipe.yaml", "--id", best.id]) == 0
    mimic, _ = found(recipe)
    assert best.id not in {one.id for one in (*mimic.highest, *mimic.lowest)}
    assert (mimic.scored, len(mimic.highest)) == (CLEAN + BROKEN - 1, 10)
    assert mimic.statuses["forgotten"] == 1
    rules = {one.name: one.pair for one in mimic.overlaps}
    assert rules["short"].both_abstain == 1


def test_scores_of_other_settings_are_not_shown_and_rules_that_cannot_be_decided_are_said(folder: Path) -> None:
    changed = write(folder, SCORES.replace("top: 0.2", "top: 0.3"), RULES)
    assert [one.name for one in found(changed)] == ["mimic"]
    unmeasured = write(folder, SCORES, RULES + "  - {drop: text.c4.lorem_ipsum, reason: lorem, when_null: keep}\n")
    file = folder / "recipe.yaml"
    file.write_text(file.read_text().replace("annotate: [text.length]", "annotate: [text.length, text.c4]"))
    unmeasured = load_recipe(file)
    mimic, _ = found(unmeasured)
    assert mimic.undecided
    assert [one.kind for one in mimic.overlaps] == ["score"]
    store = opened(unmeasured)
    other, first = bind(write(folder, TRAINED.replace("mimic", "m"))), store.generation(1)
    read = scores_if_bound(other, store, first, summarise(store, first))
    assert read is not None
    assert not read.overviews(())


def test_the_report_has_them_and_is_the_same_file_each_time(folder: Path) -> None:
    recipe = load_recipe("recipe.yaml")
    store = opened(recipe)
    pages = []
    for name in ("a.html", "b.html"):
        write_report(store, folder / name, bind(recipe))
        pages.append((folder / name).read_bytes())
    assert pages[0] == pages[1]
    assert b'<section id="scores"' in pages[0]
    write_report(store, folder / "c.html", None)
    assert b'<section id="scores"' not in (folder / "c.html").read_bytes()


def test_stats_has_a_line_for_each_score(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "recipe.yaml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("Scores")
    assert lines[start + 1].split() == [
        "score",
        "task",
        "filter",
        "samples",
        "scored",
        "share",
        "median",
        "would",
        "be",
        "dropped",
    ]
    mimic, strict = (line.split() for line in lines[start + 3 : start + 5])
    assert mimic[-6:-2] == ["130", "90", "69.2", "%"]
    assert strict[-6:-2] == ["130", "130", "100.0", "%"]
    quality = lines.index("Quality of the data by strict")
    assert lines[quality + 1].split() == [
        "samples",
        "votes",
        "by",
        "decided",
        "passed",
        "quality",
        "from",
        "to",
        "note",
    ]
    assert {"130", "20.0%"} < set(lines[quality + 3].split())
    assert main(["stats", "recipe.yaml", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["scored"]) for one in said["scores"]] == [("mimic", 90), ("strict", 130)]
    assert main(["stats", "store", "--json"]) == 0
    assert "scores" not in json.loads(capsys.readouterr().out)


def test_values_that_are_fitted_by_have_a_quality_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = write(folder, TRAINED + "    filter: {binarise: top, top: 0.25, by: samples.source.name}\n")
    scored(recipe)
    (mimic,) = found(recipe)
    fits = {fit.name: (fit.quality.kept, fit.quality.rows) for fit in mimic.fits}
    assert set(fits) == {"books", "web"}
    assert {name: rows for name, (_, rows) in fits.items()} == {"books": 40, "web": CLEAN + BROKEN}
    assert mimic.by == "samples.source.name"
    capsys.readouterr()
    assert main(["stats", "recipe.yaml"]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    start = lines.index("Quality of the data by mimic")
    assert lines[start + 1].startswith("samples.source.name  votes by")
    assert sorted((line.split()[0], line.split()[2]) for line in lines[start + 3 : start + 5]) == [
        ("books", "40"),
        ("web", str(CLEAN + BROKEN)),
    ]


def test_a_score_that_no_row_has_is_an_empty_one(folder: Path) -> None:
    nobody = TRAINED.replace("{checkpoints: 2,", "{checkpoints: 2, train_on: \"samples.source.name = 'books'\",")
    recipe = write(folder, nobody + "    where: samples.source.name = 'nobody'\n")
    scored(recipe)
    (mimic,) = found(recipe)
    assert (mimic.rows, mimic.scored, mimic.dropped, mimic.highest, mimic.lowest) == (130, 0, 0, (), ())
    assert [step.note for step in mimic.fits[0].steps] == ["unscored", "unscored"]
    write_report(opened(recipe), folder / "a.html", bind(recipe))
    page = (folder / "a.html").read_text()
    assert_told(page, "checkpoint 1")
    assert "no votes" in page
