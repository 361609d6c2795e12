"""Lines that repeat across a store, from the command line: measured over all shards, and removed at export."""

import json
from functools import partial
from pathlib import Path

import pytest

from tests.faults.winnow import assert_clean, ended, run_here
from tests.runners.text_stores import exported, rows_of_layer, run_again, write_texts
from winnow.runners.stages import meetings
from winnow.runners.stages.running.engine_jobs import EngineJobs

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 3, row_group_rows: 2}
sources:
  pages: {root: pages, files: ["*.jsonl"], class: public, key: id}
annotate:
  - {text.repeated_lines: {where: "samples.text not like 'Draft%'", min_chars: 12}}
edits: [{text.repeated_lines: {when_null: keep}}]
mix: {unit: samples}
export: [{jsonl: {path: out, compression: none}}]
"""
MENU, FOOTER = "Home | About | Contact", "All rights reserved, example.org"
TEXTS = [f"{MENU}\n\nPage {number} says something of its own.\r\n{FOOTER}\n" for number in range(8)]
TEXTS += ["", "One line.", "Draft of a page\n" + FOOTER, MENU.upper(), "Seen twice here.\nSeen twice here.\nShort"]


def write(folder: Path, name: str, texts: list[str]) -> None:
    write_texts(folder, name, texts, RECIPE)


measured = partial(rows_of_layer, layer="text.repeated_lines")


@pytest.mark.processes
def test_lines_that_other_shards_have_are_removed_at_export_whatever_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, again, grown = (tmp_path / name for name in ("one", "two", "grown"))
    for place in (folder, again):
        write(place, "a", TEXTS)
        write(place, "b", TEXTS[:2])
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    rows = measured(folder)
    footers = [text.count(FOOTER) for text in exported(folder)]
    assert (sum(footers), sum(text.lower().count(MENU.lower()) for text in exported(folder))) == (
        2,
        1,
    )  # with the draft
    assert "Seen twice here.\nShort" in exported(folder)
    first = min(one for one, (text, _) in rows.items() if FOOTER in text and not text.startswith("Draft"))
    assert FOOTER.encode() in without(*rows[first])
    by_text = dict(rows.values())
    assert by_text["Draft of a page\n" + FOOTER]["status"] == "not_selected"
    assert by_text["One line."] == {"status": "ok", "lines": 1, "repeated": 0, "removed_ratio": 0, "removed": []}
    assert_clean(folder)
    run_again(folder, again, monkeypatch)
    assert measured(again) == rows

    write(grown, "a", TEXTS)
    ended(run_here(grown, "run", "recipe.yaml", "--workers", "1"))
    assert measured(grown) != rows
    write(grown, "b", TEXTS[:2])
    ended(run_here(grown, "run", "recipe.yaml", "--workers", "1"))
    assert measured(grown) == rows


TEMPLATES = RECIPE.replace("key: id", "key: id, columns: {url: url}").replace(
    """  - {text.repeated_lines: {where: "samples.text not like 'Draft%'", min_chars: 12}}""",
    """  - text.length
  - text.repeated_lines:
      {within: [samples.domain, text.length.lines], min_share: 0.6, min_documents: 3, keep: none,
       where: text.length.lines < 9}""",
)


@pytest.mark.processes
def test_the_template_of_a_site_is_cut_out_whatever_the_workers_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [
        (f"https://{host}/{at}", f"{MENU}\nThe page {at} of {host}.\n{FOOTER}") for host in "abc" for at in range(5)
    ]
    pages = [(url.replace("//", "//www.").replace("/www.c", "/c"), text) for url, text in pages]
    pages[2] = pages[2][0], f"Another menu\n{pages[2][1].partition(chr(10))[2]}"  # 4 of 5 pages have the menu
    pages[5:8] = [(url, f"Menu of {url}\n{text.partition(chr(10))[2]}") for url, text in pages[5:8]]  # 2 of 5
    pages.append(("https://alone.org/", pages[0][1]))
    found = {}
    for name, order, workers in (("one", 1, "1"), ("two", -1, "2")):
        folder = tmp_path / name
        (folder / "pages").mkdir(parents=True)
        (folder / "recipe.yaml").write_text(TEMPLATES)
        for part, some in zip("ba"[::order], (pages[:7], pages[7:]), strict=True):
            rows = [json.dumps({"id": url, "url": url, "text": text}) for url, text in some[::order]]
            (folder / "pages" / f"{part}.jsonl").write_text("\n".join(rows) + "\n")
        ended(run_here(folder, "run", "recipe.yaml", "--workers", workers))
        found[name] = sorted(exported(folder))
        monkeypatch.setattr(meetings, "EngineJobs", partial(EngineJobs, here_bytes=-1))
    assert found["one"] == found["two"]
    kept = [text.replace(f"\n{FOOTER}", "").replace(f"{MENU}\n", "") for _, text in pages[:5]]
    kept += [text.replace(f"\n{FOOTER}", "") for _, text in pages[5:10]]
    kept += [text.replace(f"\n{FOOTER}", "").replace(f"{MENU}\n", "") for _, text in pages[10:15]]
    assert found["one"] == sorted([*kept, pages[15][1]])


def without(text: str, row: dict[str, object]) -> bytes:
    """A text without its removed lines."""
    spans = row["removed"]
    assert isinstance(spans, list)
    raw = text.encode()
    for span in reversed(spans):
        raw = raw[: span["start"]] + raw[span["end"] :]
    return raw
