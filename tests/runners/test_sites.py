"""What sites have in common, from the command line: measured after other layers, over all shards, and read by rules."""

import json
from pathlib import Path

import pytest

from tests.faults.winnow import assert_clean, ended, run_here
from tests.runners.test_annotate import table
from tests.runners.text_stores import exported, run_again

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 3, row_group_rows: 2}
sources:
  pages: {root: pages, files: ["*.jsonl"], class: web, key: id, columns: {url: url}}
annotate:
  - {url.site: {values: [text.digest.status], means: [text.length.characters], where: text.length.bytes > 2}}
  - text.digest
  - text.length
eligible:
  - {drop: url.site.pages < 3, reason: small_site, when_null: keep}
  - {drop: url.site.text_digest_status_own_share < 0.5, reason: other, when_null: keep}
mix: {unit: samples}
export: [{jsonl: {path: out, compression: none}}]
"""
PAGES = [
    ("https://www.a.de/1", "1234"),
    ("http://b.A.de:8080/2", "12345678"),
    ("https://a.de/3", "   "),
    ("https://user@a.de./4", "   "),
    ("https://a.de/5", "x"),  # too short
    ("https://b.com/", "alone"),
    (None, "no address"),
    ("http://192.168.1.9:80/x", "a number"),
    ("https://bücher.de/1", "eins"),
    ("https://xn--bcher-kva.de/2", "zwei"),
    ("https://BÜCHER.de/3", "drei"),
]


def write(folder: Path, name: str, pages: list[tuple[str | None, str]]) -> None:
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    rows = [json.dumps({"id": text + str(url), "url": url, "text": text}) for url, text in pages]
    (folder / "pages" / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "recipe.yaml").write_text(RECIPE)


def measured(folder: Path) -> dict[tuple[str | None, str], tuple[object, ...]]:
    """The layer's row of each page."""
    samples, layer = table(folder, "samples").to_pylist(), table(folder, "url.site").to_pylist()
    return {(row["url"], row["text"]): tuple(found.values()) for row, found in zip(samples, layer, strict=True)}


@pytest.mark.processes
def test_sites_are_counted_over_all_shards_whatever_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, again, sliced = (tmp_path / name for name in ("one", "two", "sliced"))
    for place in (folder, again, sliced):
        write(place, "a", PAGES[:4])
        write(place, "b", PAGES[4:])
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    rows = measured(folder)
    assert [rows[page] for page in PAGES] == [
        ("ok", "a.de", 4, "no_text_left", 0.5, 0.5, 4.5),
        ("ok", "a.de", 4, "no_text_left", 0.5, 0.5, 4.5),
        ("ok", "a.de", 4, "no_text_left", 0.5, 0.5, 4.5),
        ("ok", "a.de", 4, "no_text_left", 0.5, 0.5, 4.5),
        ("not_selected", *[None] * 6),
        ("ok", "b.com", 1, "ok", 1, 1, 5),
        ("no_input", *[None] * 6),
        ("ok", "192.168.1.9", 1, "ok", 1, 1, 8),
        *[("ok", "xn--bcher-kva.de", 3, "ok", 1, 1, 4)] * 3,
    ]
    assert sorted(exported(folder)) == sorted(text for url, text in PAGES if text not in ("alone", "a number"))
    assert_clean(folder)
    run_again(folder, again, monkeypatch)
    assert measured(again) == rows

    ended(run_here(sliced, "ingest", "recipe.yaml"))
    for part in ("2/2", "1/2"):
        said = run_here(sliced, "annotate", "recipe.yaml", "--tasks", part)
        assert "url.site" in ended(said) + said.err
    ended(run_here(sliced, "annotate", "recipe.yaml"))
    assert measured(sliced) == rows

    write(again, "c", [("https://b.com/2", "second"), ("https://b.com/3", "third")])
    ended(run_here(again, "run", "recipe.yaml", "--workers", "1"))
    assert measured(again)["https://b.com/", "alone"] == ("ok", "b.com", 3, "ok", 1, 1, pytest.approx(16 / 3))
