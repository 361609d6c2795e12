"""Clusters of duplicates on the page: what `winnow duplicates` and `winnow plan` say, and which row stays."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.faults.winnow import ended, run_here
from tests.runners.inspect.views.sites_store import ask, opened, rows_of
from winnow.runners.inspect import clusters_shown
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.schemas.errors import WinnowError


def told(folder: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ended(run_here(folder, "duplicates", *arguments, "--json")))
    return found


@pytest.mark.parametrize("kind", ["exact", "near"])
def test_the_clusters_are_those_that_the_command_lists(sites: Path, kind: str) -> None:
    shown = opened(sites / "recipe.yaml")
    expected = told(sites, "recipe.yaml", "--kind", kind, "--limit", "100")["kinds"][kind]
    found = ask(shown, "clusters", kind=kind)
    listed = [row for page in range(found["pages"]) for row in ask(shown, "clusters", kind=kind, page=page)["rows"]]
    assert len(listed) == found["total"] == expected["clusters"] > 20
    for row in listed:
        for example in row["examples"]:
            assert (example.pop("row"), example.pop("item")) == (example["id"], None)
    assert [{name: row[name] for name in expected["largest"][0]} for row in listed] == expected["largest"]
    assert found["sizes"] == expected["sizes"]
    assert found["summary"]["surplus"] == expected["surplus"]
    assert found["summary"]["stale"] is expected["stale"] is False


@pytest.mark.parametrize("most", [10_000, 3])
def test_a_size_that_is_chosen_lists_its_clusters_alone(
    sites: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = opened(sites / "recipe.yaml")
    monkeypatch.setattr(clusters_shown, "MOST", most)  # with few of all kept, those of a size are counted anew
    sizes = ask(shown, "clusters", kind="near")["sizes"]
    bounds = {"2": (2, 2), "3-4": (3, 4), "5-9": (5, 9)}
    assert sum(count > 0 for name, count in sizes.items() if name in bounds) > 1
    for name, (low, high) in bounds.items():
        found = ask(shown, "clusters", kind="near", size=name)
        assert (found["total"], found["sizes"]) == (sizes[name], sizes)
        assert len(found["rows"]) == min(most, 20, sizes[name])
        assert all(low <= row["rows"] <= high for row in found["rows"])
    assert ask(shown, "clusters", kind="near", size="1000+")["rows"] == []
    with pytest.raises(AskedError, match=r"there is no '1' \(known: 1"):
        ask(shown, "clusters", kind="near", size="1")


def test_the_row_that_stays_is_the_one_for_which_the_plan_drops_the_others(sites: Path, tmp_path: Path) -> None:
    shown = opened(sites / "recipe.yaml")
    ended(run_here(sites, "plan", "recipe.yaml", "--decisions", str(tmp_path / "d.parquet")))
    dropped = {row["id"].hex(): row for row in pq.read_table(tmp_path / "d.parquet").to_pylist()}
    rows = {row["id"]: row for row in rows_of(shown)}
    seen = 0
    for row in ask(shown, "clusters", kind="near")["rows"]:
        one = ask(shown, "cluster", kind="near", id=row["cluster"], most=200)
        members = {member["id"]: member for member in one["members"]}
        assert members.keys() == {
            name for name, of in rows.items() if of["dedupe.near.cluster"] == one["id"] and of["dedupe.near.size"] > 1
        }
        assert row["kept"] in (one["kept"], None)
        eligible = [name for name in members if dropped.get(name, {}).get("reason") != "short"]
        assert (one["kept"] is None) == (not eligible)
        for name, member in members.items():
            of = dropped.get(name, {})
            assert (member["kept"], member["first"]) == (name not in dropped, of.get("reason"))
            as_duplicate = str(of.get("reason", "")).startswith("duplicate")
            assert (member["goes"], member["duplicate_of"]) == (
                (of["reason"], of["duplicate_of"].hex()) if as_duplicate else (None, None)
            )
            if as_duplicate:
                seen += 1
                end = of["duplicate_of"].hex()
                while end in dropped and dropped[end]["duplicate_of"] is not None:
                    end = dropped[end]["duplicate_of"].hex()
                assert one["kept"] == end
                assert one["why"]
    assert seen > 20


def test_the_words_of_a_member_are_those_of_its_text_and_of_the_row_that_stays(sites: Path) -> None:
    shown = opened(sites / "recipe.yaml")
    texts = {row["id"]: row["text"] for row in rows_of(shown)}
    differing = 0
    for row in ask(shown, "clusters", kind="near")["rows"]:
        one = ask(shown, "cluster", kind="near", id=row["cluster"])
        for member in one["members"]:
            pieces = member["pieces"]
            if any("folded" in piece for piece in pieces):
                continue
            left = "".join(piece.get("same", piece.get("left", "")) for piece in pieces)
            assert one["beside"] == one["kept"] or one["kept"] is None
            right = "".join(piece.get("same", piece.get("right", "")) for piece in pieces)
            assert right.split() == texts[member["id"]].split()
            assert left.split() == texts[one["beside"]].split()
            assert member["equal"] == (right.split() == left.split())
            differing += not member["equal"]
    assert differing


def test_a_cluster_is_found_by_the_id_or_url_of_any_row(sites: Path) -> None:
    shown = opened(sites / "recipe.yaml")
    row = next(row for row in rows_of(shown) if row["url"] and row["dedupe.near.size"] > 1)
    for find in (row["id"], row["url"], row["dedupe.near.cluster"][:20]):
        answer = ask(shown, "clusters", kind="near", find=find)
        assert [one["cluster"] for one in answer["rows"]] == [row["dedupe.near.cluster"]]
    assert ask(shown, "cluster", kind="near", id=row["id"])["id"] == row["dedupe.near.cluster"]
    alone = next(row for row in rows_of(shown) if row["dedupe.near.size"] == 1)
    for wrong in (alone["id"], "https://nowhere.example/", "ff" * 16):
        with pytest.raises(WinnowError):
            ask(shown, "cluster", kind="near", id=wrong)


def test_without_a_recipe_the_clusters_are_there_and_which_row_stays_is_not_known(sites: Path) -> None:
    shown = opened(sites / "store")
    (first, *_) = ask(shown, "clusters", kind="near")["rows"]
    one = ask(shown, "cluster", kind="near", id=first["cluster"])
    assert first["kept"] is None
    assert "winnow inspect RECIPE" in first["undecided"]
    assert one["undecided"] == first["undecided"]
    assert all(member["goes"] is None for member in one["members"])
    assert {(member["kept"], member["first"]) for member in one["members"]} == {(None, None)}


def test_a_store_without_a_search_says_what_to_run(sites: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(sites, folder, ignore=shutil.ignore_patterns("store"))
    ended(run_here(folder, "ingest", "recipe.yaml"))
    with pytest.raises(UnavailableError, match="run: winnow dedupe RECIPE"):
        ask(opened(folder / "recipe.yaml"), "clusters")


def test_a_forgotten_row_is_in_no_cluster(sites: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(sites, folder)
    ended(run_here(folder, "forget", "recipe.yaml", "--domain", "site2.example"))
    shown = opened(folder / "recipe.yaml")
    there = {row["id"] for row in rows_of(shown)}
    pages = ask(shown, "clusters", kind="near")["pages"]
    listed = [row for page in range(pages) for row in ask(shown, "clusters", kind="near", page=page)["rows"]]
    assert any(row["forgotten"] for row in listed)
    for row in listed:
        one = ask(shown, "cluster", kind="near", id=row["cluster"])
        assert {row["cluster"], *(example["id"] for example in row["examples"])} <= there
        for said in (row, one):
            ids = set(re.findall("[0-9a-f]{32}", json.dumps(said)))
            assert ids <= there
            assert "site2.example" not in json.dumps(said)
