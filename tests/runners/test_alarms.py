"""A source that duplicates empty: the plan says so, stops, and goes on once the recipe accepts it."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.messages import assert_told
from tests.pipelines.dedupe.search import prose
from winnow.runners.commands.main import main

RECIPE = """\
version: 1
store: {path: store, shard_rows: 64}
sources:
  pages: {root: pages, files: ["*.jsonl"], class: web, key: id}
  mirror: {root: mirror, files: ["*.jsonl"], class: web, key: id}
dedupe: {near: {}, guard: {min_rows: 40}}
"""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty pages, and a mirror of forty-five of them with a word more and a page of its own."""
    folder = tmp_path_factory.mktemp("alarms")
    pages = [{"id": f"p{number}", "text": " ".join(prose(number, 100))} for number in range(50)]
    mirror = [{"id": f"m{number}", "text": f"{page['text']} again"} for number, page in enumerate(pages[:45])]
    mirror.append({"id": "own", "text": " ".join(prose(99, 100))})
    for name, rows in (("pages", pages), ("mirror", mirror)):
        (folder / name).mkdir()
        (folder / name / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "recipe.yaml"
    path.write_text(RECIPE)
    assert main(["run", str(path), "--workers", "1"]) == 0
    return path


def test_the_plan_is_printed_and_refused_until_the_recipe_accepts_the_loss(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(recipe)]) == 1
    printed = capsys.readouterr()
    assert "duplicate_near" in printed.out
    assert_told(printed.out, "ALARM", "45 of 46", "97.8 %")
    said, accept = printed.err.splitlines()
    assert_told(said, "45 of 46", "97.8 %")
    assert_told(accept, "'dedupe'", "{min_rows", "40", "{mirror")
    assert main(["card", str(recipe)]) == 1
    assert main(["plan", str(recipe), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["rules"]
    assert [alarm["name"] for alarm in found["alarms"]] == ["mirror"]

    accepted = recipe.with_name("accepted.yaml")
    accepted.write_text(RECIPE.replace("min_rows: 40", "min_rows: 40, sources: {mirror: {max_loss: 0.979}}"))
    decisions = tmp_path / "decisions.parquet"
    assert main(["plan", str(accepted), "--decisions", str(decisions)]) == 0
    table = pq.read_table(decisions)
    assert table["reason"].to_pylist() == ["duplicate_near"] * 45
    assert set(table["source"].to_pylist()) == {"mirror"}
    assert len(set(table["duplicate_of"].to_pylist()) - {None}) == 45
    assert not set(table["duplicate_of"].to_pylist()) & set(table["id"].to_pylist())
    capsys.readouterr()
    assert main(["card", str(accepted)]) == 0
    assert "| duplicate\\_near | duplicate.near | 45 | 46.9 % |" in capsys.readouterr().out


def test_a_rule_that_makes_addresses_of_different_pages_equal_is_an_alarm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [
        {"url": f"https://e.org/news?story={number}&utm_source=x", "text": " ".join(prose(number, 100))}
        for number in range(30)
    ]
    copies = [{"url": f"https://www.e.org/news/?story={number}", "text": pages[number]["text"]} for number in range(25)]
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (*pages, *copies)))
    recipe = tmp_path / "recipe.yaml"
    written = """\
version: 1
store: {path: store}
sources: {pages: {root: pages, files: ["*.jsonl"], class: web, columns: {url: url}}}
dedupe: {url: {}, exact: {}, guard: {max_loss: 1}}
"""
    recipe.write_text(written)
    assert main(["run", str(recipe), "--workers", "1"]) == 0
    assert main(["plan", str(recipe)]) == 0  # 25 copies at another spelling
    recipe.write_text(written.replace("url: {},", "url: {canonical: {ignore: [story]}},"))
    assert main(["run", str(recipe), "--workers", "1"]) == 0
    capsys.readouterr()
    assert main(["plan", str(recipe)]) == 1
    said, accept = capsys.readouterr().err.splitlines()
    assert_told(said, "53 of 54", "98.1 %")
    assert_told(accept, "'dedupe'", "{max_loss", "1", "max_unequal")
    without_exact = tmp_path / "without_exact.yaml"  # texts are compared for the guard alone
    without_exact.write_text(recipe.read_text().replace(" exact: {},", ""))
    assert main(["run", str(without_exact), "--workers", "1"]) == 0
    capsys.readouterr()
    assert main(["plan", str(without_exact)]) == 1
    assert_told(capsys.readouterr().err, "53 of 54", "98.1 %")
    recipe.write_text(recipe.read_text().replace("max_loss: 1}", "max_loss: 1, max_unequal: 0.982}"))
    assert main(["plan", str(recipe)]) == 0


def test_another_preference_chooses_anew_and_measures_nothing(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = recipe.with_name("other.yaml")
    other.write_text(RECIPE.replace("near: {}", "near: {}, representative: [longest]"))
    before = sorted(path for path in (recipe.parent / "store").rglob("*") if path.is_file())
    decisions = tmp_path / "decisions.parquet"
    assert main(["plan", str(other), "--decisions", str(decisions)]) == 1  # now `pages` is emptied, and has 50 rows
    assert_told(capsys.readouterr().err, "source pages", "45 of 50")
    dropped = pq.read_table(decisions)
    assert set(dropped["source"].to_pylist()) == {"pages"}
    written = {path for path in (recipe.parent / "store").rglob("*") if path.is_file()} - set(before)
    assert all("layers" not in path.parts and "generations" not in path.parts for path in written)
    identity = dropped["id"][0].as_py().hex()
    assert main(["show", str(other), identity, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reasons"] == ["duplicate_near"]
    assert main(["show", str(recipe), identity, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kept"] is True
