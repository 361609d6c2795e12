"""Parts that most pages of a site have, from the command line: found over all shards, and removed at export."""

from functools import partial
from pathlib import Path

import pytest

from tests.faults.winnow import assert_clean, ended, run_here
from tests.pipelines.ingest.made_archives import Capture, write_warc
from tests.runners.text_stores import exported, rows_of_layer
from winnow.runners.stages import meetings
from winnow.runners.stages.running.engine_jobs import EngineJobs

pytestmark = pytest.mark.processes

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 3, row_group_rows: 2}
sources:
  crawl: {root: pages, files: ["*.warc.gz"], class: web}
extract: {main: {probabilities: true}}
text: extract.main.text
annotate: [page.repeated_parts]
edits: [page.repeated_parts]
mix: {unit: samples}
export: [{jsonl: {path: out, compression: none}}]
"""
HABITS = {
    "Heron": "The heron stands in shallow water for hours and waits until a fish comes near enough to be caught.",
    "Kingfisher": "A kingfisher digs a tunnel into the river bank, and its nest lies at the end, a metre inside.",
    "Swallow": "Swallows build cups of mud under roofs, and one pair carries more than a thousand beaks full.",
    "Owl": "The owl hears a mouse under the snow, and its feathers are so soft that no mouse hears the owl.",
    "Stork": "Storks return to the same nest each spring and add sticks to it, until it weighs more than a car.",
}
RAFFLE = "Tell a friend about this page and win one of three pairs of binoculars until the end of May."


def page(name: str, host: str = "birds.example", habits: str | None = None) -> Capture:
    html = (
        f"<html lang=en><title>{name}</title><nav><a href=/>Home</a> <a href=/all>All birds</a></nav><div class=page>"
        f"<h1>{name}</h1><p>{habits or HABITS[name]}</p><p>It is seen from March to October, say those who watch the "
        f"{name.lower()}, and a little earlier where winters are mild.</p></div><div class=promo><p>{RAFFLE}</p></div>"
    )
    return Capture(f"https://{host}/{name.lower()}", html.encode())


PAGES = [*map(page, HABITS), page("Heron", "alone.example")]
PAGES += [Capture(f"https://copies.example/{number}", page("Owl").body) for number in range(4)]


def made(folder: Path, order: int, workers: str) -> list[str]:
    (folder / "pages").mkdir(parents=True)
    (folder / "recipe.yaml").write_text(RECIPE)
    for name, some in zip("ba"[::order], (PAGES[:4], PAGES[4:]), strict=True):
        write_warc(folder / "pages" / f"{name}.warc.gz", some[::order])
    ended(run_here(folder, "run", "recipe.yaml", "--workers", workers))
    return sorted(exported(folder))


def test_what_the_pages_of_a_site_share_is_cut_out_whatever_the_workers_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = made(tmp_path / "one", 1, "1")
    assert sum(RAFFLE in text for text in one) == 5  # a site of one page, and one whose pages are all the same
    assert all(any(habits in text for text in one) for habits in HABITS.values())
    assert_clean(tmp_path / "one")
    monkeypatch.setattr(meetings, "EngineJobs", partial(EngineJobs, here_bytes=-1))
    assert made(tmp_path / "two", -1, "2") == one
    found = [
        sorted(map(str, rows_of_layer(tmp_path / name, "page.repeated_parts").values())) for name in ("one", "two")
    ]
    assert found[0] == found[1]
