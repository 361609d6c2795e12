"""The sites of a store, against a count row by row in plain Python."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.faults.winnow import ended, run_here
from tests.runners.inspect.views.sites_store import ask, opened, rows_of
from winnow.runners.inspect.view import AskedError


def counted(rows: list[dict[str, Any]], kind: str = "near") -> dict[str | None, dict[str, Any]]:
    """Each site as a person would count it."""
    clusters: dict[str, list[str | None]] = {}
    for row in rows:
        if (row[f"dedupe.{kind}.size"] or 0) > 1:
            clusters.setdefault(row[f"dedupe.{kind}.cluster"], []).append(row["domain"])
    found: dict[str | None, dict[str, Any]] = {}
    for row in rows:
        one = found.setdefault(row["domain"], dict.fromkeys(("rows", "kept", "bytes", "within", "across"), 0))
        one["rows"] += 1
        one["kept"] += row["kept"]
        one["bytes"] += row["text.length.bytes"] or 0
        sites = clusters.get(row[f"dedupe.{kind}.cluster"] or "", [])
        one["within"] += sites.count(row["domain"]) > 1
        one["across"] += len(set(sites)) > 1
    return found


def listed(answer: dict[str, Any]) -> dict[str | None, dict[str, Any]]:
    names = ("rows", "kept", "bytes", "within", "across")
    return {row["domain"]: {name: row[name] for name in names} for row in answer["rows"]}


@pytest.mark.parametrize("kind", ["exact", "near"])
def test_sites_are_counted_as_row_by_row(sites: Path, kind: str) -> None:
    shown = opened(sites / "recipe.yaml")
    rows = rows_of(shown)
    answer = ask(shown, "domains", kind=kind)
    expected = counted(rows, kind)
    assert len(expected) == 7
    assert listed(answer) == expected
    assert any(one["within"] for one in expected.values()) == (kind == "near")
    assert any(one["across"] for one in expected.values())
    assert answer["whole"] == {
        "sites": 7,
        "rows": len(rows),
        "kept": sum(row["kept"] for row in rows),
        "bytes": sum(row["text.length.bytes"] for row in rows),
    }
    for row in answer["rows"]:
        drops = Counter(one["reason"] for one in rows if one["domain"] == row["domain"] and not one["kept"])
        assert [one["rows"] for one in row["reasons"]] == sorted(drops.values(), reverse=True)[:3]
        assert all(drops[one["reason"]] == one["rows"] for one in row["reasons"])


def test_a_filter_an_order_and_a_part_of_a_name_choose_among_them(sites: Path) -> None:
    shown = opened(sites / "recipe.yaml")
    rows = rows_of(shown)
    for chosen, meets in (
        ({"language": "deu_Latn"}, lambda row: row["text.language.code"] == "deu_Latn"),
        ({"source": "web", "kept": False}, lambda row: row["source.name"] == "web" and not row["kept"]),
        ({"first": "long"}, lambda row: row["reason"] == "long"),
        (
            {"ranges": {"text.length.bytes": [200, 600]}},
            lambda row: 200 <= row["text.length.bytes"] <= 600,
        ),
        ({"domain": [None]}, lambda row: row["domain"] is None),
        ({"domain": "site3.example"}, lambda row: row["domain"] == "site3.example"),
    ):
        some = [row for row in rows if meets(row)]
        assert some
        answer = ask(shown, "domains", filter=chosen)
        assert {name: one["rows"] for name, one in listed(answer).items()} == Counter(row["domain"] for row in some)
    found = ask(shown, "domains", find="SITE", order="share", descending=False)["rows"]
    assert len(found) == 6
    shares = [row["kept"] / row["rows"] for row in found]
    assert shares == sorted(shares)
    assert [row["domain"] for row in ask(shown, "domains", order="domain")["rows"]][:6] == sorted(
        {row["domain"] for row in rows if row["domain"]}
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"order": "size"},
        {"page": -1},
        {"page": True},
        {"kind": 3},
        {"filter": {"rows": 3}},
        {"descending": 1},
        {"find": ["a"]},
        {"filter": 3},
    ],
)
def test_what_no_page_asks_is_refused(sites: Path, asked: dict[str, Any]) -> None:
    with pytest.raises(AskedError):
        ask(opened(sites / "recipe.yaml"), "domains", **asked)


def test_without_a_recipe_or_with_rules_that_are_not_measured_the_sites_are_there(sites: Path, tmp_path: Path) -> None:
    with_rules = ask(opened(sites / "recipe.yaml"), "domains")
    folder = tmp_path / "copy"
    shutil.copytree(sites, folder)
    more = (folder / "recipe.yaml").read_text() + "  - {drop: text.c4.sentences < 3, reason: few}\n"
    (folder / "more.yaml").write_text(more.replace("text.length]", "text.length, text.c4]"))
    (folder / "wrong.yaml").write_text(more)
    for place in (folder / "store", folder / "more.yaml", folder / "wrong.yaml"):
        answer = ask(opened(place), "domains")
        assert answer["undecided"]
        assert "\n" not in answer["undecided"]
        assert {row["domain"]: (row["rows"], row["within"], row["across"]) for row in answer["rows"]} == {
            row["domain"]: (row["rows"], row["within"], row["across"]) for row in with_rules["rows"]
        }
        assert all(row["kept"] is None and row["reasons"] == [] for row in answer["rows"])


def test_forgotten_samples_are_counted_nowhere(sites: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(sites, folder)
    ended(run_here(folder, "forget", "recipe.yaml", "--domain", "site2.example"))
    shown = opened(folder / "recipe.yaml")
    rows = rows_of(shown)
    assert "site2.example" not in {row["domain"] for row in rows}
    assert listed(ask(shown, "domains")) == counted(rows)
