"""The texts of a store for `winnow law probe`: what a recipe keeps, or everything, each with its family."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.filters.models.training.declarations import paragraphs
from tests.made_once import made_once
from tests.messages import assert_refused
from winnow.runners.commands.main import main
from winnow.runners.stages.law.probe_texts import Texts, texts_at
from winnow.schemas.errors import StoreError

RECIPE = """\
version: 1
store: {path: store, seed: 7, shard_rows: 50}
sources:
  lines: {root: lines, files: ["*.jsonl"], class: public, key: id}
annotate: [text.language]
keep:
  - {drop: "samples.source.path = 'rus.jsonl'", reason: russian}
"""
WRITTEN = {code: paragraphs(code) for code in ("deu", "fra", "rus")}
UNREADABLE = ["12345", "!?"]  # of no language


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of several shards, with a recipe that drops one language."""
    return made_once(tmp_path_factory, "probe_store", filled)


def filled(folder: Path) -> None:
    (folder / "lines").mkdir()
    for name, texts in {**WRITTEN, "none": UNREADABLE}.items():
        rows = [{"id": f"{name}-{number}", "text": text} for number, text in enumerate(texts)]
        (folder / "lines" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "recipe.yaml").write_text(RECIPE)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1"]) == 0


def texts_of(folder: Path, place: str, by: str = "group") -> Texts:
    return texts_at(str(folder / place), (), by)


def test_a_recipe_gives_what_it_keeps_by_family(folder: Path) -> None:
    kept = texts_of(folder, "recipe.yaml")
    found = list(kept.read())
    families = {family for family, _ in found}
    assert {"Germanic", "Romance"} <= families
    assert "Slavic" not in families
    assert {text for family, text in found if family == "Germanic"} <= set(WRITTEN["deu"])
    written = Counter(WRITTEN["deu"] + WRITTEN["fra"] + UNREADABLE)
    assert not Counter(text for _, text in found) - written
    assert kept.lost["dropped"] == len(WRITTEN["rus"])
    assert len(found) + sum(kept.lost.values()) == sum(map(len, WRITTEN.values())) + len(UNREADABLE)
    assert kept.lost["of no family"] >= len(UNREADABLE)
    assert list(kept.read()) == found


def test_a_store_gives_all_of_its_samples(folder: Path) -> None:
    every = texts_of(folder, "store")
    found = list(every.read())
    assert {"Germanic", "Romance", "Slavic"} <= {family for family, _ in found}
    assert every.lost["dropped"] == 0
    assert len(found) + sum(every.lost.values()) == sum(map(len, WRITTEN.values())) + len(UNREADABLE)
    kept = list(texts_of(folder, "recipe.yaml").read())
    russian = set(WRITTEN["rus"])
    assert [one for one in found if one[1] not in russian] == kept


def test_families_are_those_of_the_grouping(folder: Path) -> None:
    found = {text: family for family, text in texts_of(folder, "store", "family").read()}
    for code in WRITTEN:
        assert Counter(found[text] for text in WRITTEN[code] if text in found).most_common(1)[0][0] == "Indo-European"


def test_a_recipe_without_rules_gives_everything(folder: Path) -> None:
    (folder / "plain.yaml").write_text(RECIPE.partition("keep:")[0])
    plain = texts_of(folder, "plain.yaml")
    assert list(plain.read()) == list(texts_of(folder, "store").read())


def test_the_key_is_another_with_other_rules_or_families(folder: Path) -> None:
    (folder / "other.yaml").write_text(RECIPE.replace("rus.jsonl", "fra.jsonl"))
    (folder / "written.yaml").write_text(f"# a comment\n{RECIPE}")
    places = [("recipe.yaml", "group"), ("other.yaml", "group"), ("store", "group"), ("recipe.yaml", "family")]
    assert len({texts_of(folder, *one).key for one in places}) == 4
    assert texts_of(folder, "written.yaml").key == texts_of(folder, "recipe.yaml").key


def test_a_store_without_languages_is_refused_with_what_to_do(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(
        RECIPE.partition("annotate:")[0].replace("root: lines", f"root: {folder}/lines")
    )
    assert main(["run", str(tmp_path / "recipe.yaml"), "--workers", "1"]) == 0
    for place in ("recipe.yaml", "store"):
        with assert_refused(StoreError, "text.language", "winnow annotate"):
            texts_of(tmp_path, place)
