"""Runs of tokens that repeat across a store, from the command line: measured over all shards, and removed at export."""

from functools import partial
from pathlib import Path

import pytest

from tests.faults.winnow import assert_clean, ended, run_here
from tests.filters.text.test_repeated_substrings import measured as expected
from tests.runners.text_stores import exported, rows_of_layer, run_again, write_texts

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 3, row_group_rows: 2}
sources:
  pages: {root: pages, files: ["*.jsonl"], class: public, key: id}
annotate:
  - {text.repeated_substrings: {where: "samples.text not like 'Draft%'", keep: KEEP}}
edits: [{text.repeated_substrings: {when_null: keep}}]
mix: {unit: samples}
export: [{jsonl: {path: out, compression: none}}]
"""
NOTICE = " ".join(f"word{number}," for number in range(40))
TEXTS = [f"Page {number} begins. {NOTICE} And page {number} goes on with {number * 7}." for number in range(8)]
TEXTS += ["", "One line.", f"Draft of a page. {NOTICE}", NOTICE, f"{NOTICE}\n{NOTICE}", "条" * 60 + "。", "条" * 70]


def write(folder: Path, name: str, texts: list[str], keep: str) -> None:
    write_texts(folder, name, texts, RECIPE.replace("KEEP", keep))


layer = partial(rows_of_layer, layer="text.repeated_substrings")


@pytest.mark.processes
@pytest.mark.parametrize("keep", ["first", "none"])
def test_runs_that_other_shards_have_are_removed_at_export_whatever_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: str
) -> None:
    folder, again, grown = (tmp_path / name for name in ("one", "two", "grown"))
    for place in (folder, again):
        write(place, "a", TEXTS, keep)
        write(place, "b", TEXTS[:2], keep)
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    rows = layer(folder)
    drafts = {one for one, (text, _) in rows.items() if text.startswith("Draft")}
    assert {rows[one][1]["status"] for one in drafts} == {"not_selected"}
    compared = sorted(rows.keys() - drafts)
    numbers = [int.from_bytes(one, "big") for one in compared]
    assert [rows[one][1] for one in compared] == [
        {"status": "ok", **row} for row in expected([rows[one][0] for one in compared], numbers, keep=keep)
    ]
    assert sum(text.count(NOTICE) for text in exported(folder)) == (2 if keep == "first" else 1)  # with the draft
    assert_clean(folder)
    run_again(folder, again, monkeypatch)
    assert layer(again) == rows

    write(grown, "a", TEXTS, keep)
    ended(run_here(grown, "run", "recipe.yaml", "--workers", "1"))
    assert layer(grown) != rows
    write(grown, "b", TEXTS[:2], keep)
    ended(run_here(grown, "run", "recipe.yaml", "--workers", "1"))
    assert layer(grown) == rows
