"""One sample on the page: what `winnow show` tells of it, its spans, and why it stays or goes."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.runners.inspect.opened_stores import ask, opened, write_store
from winnow.runners.commands.main import main
from winnow.runners.inspect.frame import frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import UnavailableError


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("inspected") / "made")


def first_row(of: Opened, **filters: Any) -> dict[str, Any]:
    row: dict[str, Any] = ask(of, "samples", filter=filters)["rows"][0]
    return row


def test_a_sample_is_told_as_show_tells_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = opened(file)
    for reason in ("short", "duplicate_exact", "long", "lines", None):
        row = first_row(shown, reason=reason) if reason else first_row(shown, kept=True)
        capsys.readouterr()
        assert main(["show", str(file), row["id"], "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        found = ask(shown, "sample", id=row["id"])
        assert found == ask(shown, "sample", id=row["id"], row=row["row"])
        assert found["decision"]["kept"] == told["kept"]
        assert found["decision"]["reasons"] == told["reasons"]
        assert found["text"]["exported"] == told["text"]
        assert found["layers"]["text.length"] == told["layers"]["text.length"]
        compared = [
            {"column": one["column"], "op": one["op"], "value": one["value"], "limit": one["limit"]}
            for rule in found["decision"]["rules"]
            for one in rule["compared"]
        ]
        expected = [
            {"column": one["column"], "op": one["operator"], "value": one["value"], "limit": one["threshold"]}
            for one in told["compared"]
        ]
        assert compared == expected
        assert {one["reason"] for one in found["decision"]["rules"] if one["fires"]} == set(told["reasons"])


def test_the_words_say_why(file: Path) -> None:
    shown = opened(file)
    short = ask(shown, "sample", id=first_row(shown, first="short")["id"])["decision"]
    length = next(one for one in short["rules"] if one["reason"] == "short")["values"]["text.length.characters"]
    assert short["words"][0] == (
        f"Dropped by short (eligible): text.length.characters is {length} and the rule drops < 12."
    )
    lost = ask(shown, "sample", id=first_row(shown, first="duplicate_exact")["id"])["decision"]
    stays = lost["representative"]
    assert lost["words"][0].endswith(f"stands for its cluster of exact duplicates; {stays} is kept in its place.")
    other = ask(shown, "sample", id=stays)
    (mine,), (its,) = lost["clusters"], other["decision"]["clusters"]
    assert mine == its
    assert mine["kind"] == "exact"
    assert "duplicate_exact" not in other["decision"]["reasons"]
    kept = ask(shown, "sample", id=first_row(shown, kept=True)["id"])["decision"]
    assert kept["words"][0] == "Kept: none of 5 rules drops it."


def test_spans_are_places_in_the_page_s_own_text(file: Path) -> None:
    shown = opened(file)
    found = ask(shown, "samples", filter={"text": "ann@lists"}, size=100)["rows"]
    with_smile = [one for one in found if "😀" in one["preview"].partition("ann@lists")[0]]
    assert with_smile
    for row in with_smile:
        sample = ask(shown, "sample", id=row["id"])
        units = sample["text"]["raw"].encode("utf-16-le")
        spans = [one for one in sample["spans"] if one["layer"] == "text.pii"]
        assert {units[2 * one["from"] : 2 * one["to"]].decode("utf-16-le") for one in spans} == {"ann@lists.org"}
        assert {one["kind"] for one in spans} == {"email"}
        assert "ann@lists.org" not in sample["text"]["exported"]
        assert len(sample["edits"]) == len(spans)


def test_a_sample_of_a_store_alone_has_its_text_and_layers(file: Path) -> None:
    shown = opened(file.parent / "store")
    row = first_row(shown, source="pages")
    found = ask(shown, "sample", id=row["id"])
    assert found["text"]["raw"][:300] == row["preview"]
    assert found["layers"]["text.length"]["characters"] == len(found["text"]["raw"])
    assert found["decision"]["words"] == [
        "Not decided: there is no recipe: open the page with one (winnow inspect RECIPE)."
    ]


def test_a_layer_that_is_not_measured_leaves_rules_undecided(file: Path) -> None:
    newer = file.with_name("newer.yaml")
    newer.write_text(
        file.read_text()
        .replace("  - text.gopher\n", "  - text.gopher\n  - text.c4\n")
        .replace("keep:\n", "keep:\n  - {drop: text.c4.lines < 1, reason: no_lines, when_null: keep}\n")
    )
    shown = opened(newer)
    with pytest.raises(Exception, match=r"has no layer text\.c4; run: winnow annotate") as error:
        ask(shown, "rules")
    assert "\n" not in str(error.value)
    assert ask(shown, "samples", filter={"source": "pages"})["total"] == 120
    assert ask(shown, "linked", dimensions=[{"column": "source"}])["rows"] == 240


def test_where_nothing_is_decided_no_sample_is_called_kept(file: Path) -> None:
    shown = opened(file.parent / "store")
    why = "there is no recipe: open the page with one (winnow inspect RECIPE)"
    listed = ask(shown, "samples", filter={"source": "pages"})
    assert (listed["undecided"], {row["kept"] for row in listed["rows"]}) == (why, {None})
    found = ask(shown, "sample", id=listed["rows"][0]["id"])
    assert (found["undecided"], found["why_undecided"], found["decision"]["kept"]) == (why, why, None)
    charts = ask(shown, "linked", dimensions=[{"column": name} for name in ("source", "kept", "reason")])
    assert (charts["undecided"], charts["kept"]) == (why, None)
    groups = {one["column"]: one["groups"] for one in charts["dimensions"]}
    assert [(one["label"], one["rows"], one["kept"]) for one in groups["kept"]] == [(None, 240, None)]
    assert [one["label"] for one in groups["reason"]] == [None]
    spread = ask(shown, "histogram", column="text.length.characters")
    assert (spread["undecided"], spread["kept"], sum(spread["counts"])) == (why, None, 240)
    shards = ask(shown, "shards")
    assert (shards["undecided"], {row["dropped"] for row in shards["rows"]}) == (why, {None})
    assert {one["kept"] for one in ask(shown, "store")["languages"]} == {None}
    with pytest.raises(UnavailableError, match="there is no recipe"):
        ask(shown, "samples", filter={"kept": True})
    decided = ask(opened(file), "samples")
    assert decided["undecided"] is None


def test_a_key_that_is_not_here_leaves_the_decision(file: Path) -> None:
    newer = file.with_name("pseudonyms.yaml")
    edit = "{kinds: [email], replace: pseudonym, key_file: absent.key}"
    newer.write_text(file.read_text().replace("{replace: placeholder}", edit))
    shown = opened(newer)
    row = first_row(shown, kept=True)
    found = ask(shown, "sample", id=row["id"])
    assert (found["why_undecided"], found["decision"]["kept"]) == (None, True)
    assert found["decision"]["words"][0].startswith("Kept: none of 5 rules")
    assert "absent.key" in found["why_not_exported"]
    assert found["text"]["exported"] is None


def test_shards_count_no_forgotten_rows_as_dropped(tmp_path: Path) -> None:
    recipe = write_store(tmp_path / "made")
    assert main(["forget", str(recipe), "--domain", "site2.example", "--reason", "asked"]) == 0
    shown = opened(recipe)
    kept = ask(shown, "rules")["kept"]
    rows = {row["shard"]: row["dropped"] for row in ask(shown, "shards")["rows"]}
    frame = frame_of(shown)
    seen = [int(frame.seen[slice(*span)].sum()) for span in pairwise(frame.starts.tolist())]
    there = sum((1 - rows[shard.shard]) * count for shard, count in zip(frame.shards, seen, strict=True))
    assert round(there) == kept
