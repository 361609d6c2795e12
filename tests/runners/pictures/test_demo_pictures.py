"""The demo's pictures: the same on every machine, and each ends as what is planted in it says."""

import io
import json
import re
import sys
import tarfile
from collections import Counter
from hashlib import blake2b, sha256
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tests.faults.winnow import assert_clean, ended, run_here
from tests.messages import assert_told
from tests.runners.test_annotate import table
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.rules.chosen_items import dropped_items, item_cuts, items_near, random_items
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.store.location import open_store_at
from winnow.runners.commands.core.demo import PICTURE_RECIPE, PICTURES, _draw_pictures
from winnow.runners.demo.photos import make_photos
from winnow.runners.demo.photos.drawing import SCENERIES, landscape
from winnow.runners.demo.photos.planted import CAPTIONS, FILES, HARM, KINDS
from winnow.runners.stages.opening import bound_recipe

pytestmark = pytest.mark.processes

pytest.importorskip("PIL.Image", reason="needs the extra `image`")

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "tutorial" / "demo.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    make_photos(folder / PICTURES)
    (folder / PICTURE_RECIPE).write_bytes(resources.files("winnow.recipes").joinpath(PICTURE_RECIPE).read_bytes())
    return folder


@pytest.fixture(scope="module")
def truth(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / PICTURES / "truth.jsonl").read_text("utf-8").splitlines()]


def test_every_machine_draws_the_same() -> None:
    found = blake2b(digest_size=8)
    for scenery in SCENERIES:
        found.update(landscape(scenery, f"{scenery} of the test").tobytes())

    assert found.hexdigest() == "0feb9186bb4edf74"


def test_they_are_few_and_small_and_counted_in_the_documentation(folder: Path, truth: list[dict[str, Any]]) -> None:
    sizes = [file.stat().st_size for file in (folder / PICTURES).rglob("*") if file.is_file()]
    table = dict(re.findall(r"^\| `(\w+)` \| (\d+) pictures? \|", DOCUMENTATION.read_text("utf-8"), re.MULTILINE))

    assert sum(sizes) < 600_000
    assert max(sizes) < 200_000
    assert {kind: int(count) for kind, count in table.items()} == Counter(one["kind"] for one in truth)
    assert list(table) == list(KINDS)
    assert len({language for _, language, _ in CAPTIONS}) == 10


@pytest.fixture(scope="module")
def said(folder: Path) -> str:
    """What the run of their recipe printed."""
    return ended(run_here(folder, "run", PICTURE_RECIPE, "--workers", "1"))


def test_each_ends_as_planted(folder: Path, truth: list[dict[str, Any]], said: str) -> None:
    dropped = dict(re.findall(r"^(?:dedupe|keep) +(\w+) +(\d+) +[\d.]+ %", said, re.MULTILINE))
    with tarfile.open(next((folder / PICTURES / "mixture" / "webdataset").glob("*.tar"))) as tar:
        exported = [json.load(tar.extractfile(one)) for one in tar if one.name.endswith(".json")]  # type: ignore[arg-type]
    paths = {json.loads(one["metadata"])["media"][0]["ref"]["path"] for one in exported}
    originals = {one["of"] or one["file"] for one in truth if one["kind"] in ("picture", "copy")}
    of = {one["file"]: one["of"] or one["file"] for one in truth}

    assert dropped == {
        "duplicate_image_bytes": "1",
        "duplicate_pdq": "9",
        "undecodable": "3",
        "flat": "1",
        "small": "1",
        "caption_missing": "1",
        "caption_short": "1",
        "caption_few_letters": "0",
        "caption_file_name": "0",
    }
    assert {of[path] for path in paths} == originals | {"waving.gif"}
    assert len(paths) == len(originals) + 1
    quarantined = {
        row["path"]: row["reason"]
        for file in (folder / PICTURES / "store" / "quarantine").rglob("*.parquet")
        for row in pq.read_table(file).to_pylist()
    }
    assert len(quarantined) == 2
    assert quarantined.pop("listed.jpg") == "known_harm"
    assert list(quarantined.values()) == ["missing_media"]  # the page named like a picture
    assert all(max(one["width"], one["height"]) <= 256 for one in exported)
    assert {one["language"] for one in exported} >= {"eng_Latn", "jpn_Jpan", "hin_Deva", "arb_Arab", "ell_Grek"}
    assert_clean(folder, PICTURE_RECIPE)


def id_of(folder: Path, name: str) -> str:
    (id_,) = (
        row["id"].hex() for row in table(folder / PICTURES, "samples").to_pylist() if row["source"]["path"] == name
    )
    return str(id_)


def test_show_prints_the_facts_of_a_picture(folder: Path, said: str) -> None:
    name = "village-sv-turned.jpg"
    raw = (folder / PICTURES / FILES / name).read_bytes()
    shown = ended(run_here(folder, "show", PICTURE_RECIPE, id_of(folder, name)))

    assert f"medium   image/jpeg, 240 × 320, {len(raw):,} bytes, sha256 {sha256(raw).hexdigest()}\n" in shown
    assert_told(shown, "orientation 6", "frames 1", str(name), "0")
    assert_told(shown, "kulle en sommardag")
    assert re.search(
        r"^image\.geometry\n  status ok · items \[ok\] · width \[320\] · height \[240\]", shown, re.MULTILINE
    )
    assert f"matched [{id_of(folder, 'village-sv.jpg')}]" in shown
    assert re.search(r"^rules    (kept|dropped: duplicate_pdq)$", shown, re.MULTILINE)
    cut = json.loads(ended(run_here(folder, "show", PICTURE_RECIPE, id_of(folder, "cut.jpg"), "--json")))
    assert cut["layers"]["image.quality"]["items"] == ["truncated"]
    assert cut["captions"] == [{"text": "A sea of which half arrived", "origin": "txt", "language": None}]


def test_the_pictures_nearest_to_a_threshold_are_chosen_on_both_sides(folder: Path, said: str) -> None:
    pinned, paths = pinned_recipe(folder)
    contrasts = {
        paths[row]: values[0]
        for row, values in enumerate(table(folder / PICTURES, "image.quality")["contrast"].to_pylist())
        if values
    }
    ordered = sorted((abs(value - 5), name) for name, value in contrasts.items() if value is not None and value >= 5)
    (cut,) = item_cuts(pinned, "flat")
    near = items_near(pinned, cut, 6)

    assert [paths[one.place.row] for one in near.met] == ["grey.png"]
    assert [paths[one.place.row] for one in near.unmet] == [name for _, name in ordered[:6]]
    assert [one.value for one in near.unmet] == [contrasts[name] for _, name in ordered[:6]]


def test_pictures_are_sampled_of_all_or_of_those_that_a_rule_drops(folder: Path, said: str) -> None:
    pinned, paths = pinned_recipe(folder)
    sizes = range(1, 50, 7)
    samples = [[paths[one.place.row] for one in random_items(pinned, 7, most)] for most in sizes]
    broken = {paths[one.place.row] for one in dropped_items(pinned, "undecodable", 7, 50)}

    assert all(few == more[: len(few)] for few, more in pairwise(samples))
    assert set(samples[-1]) == {name for name in paths if name != "page.jpg"}  # which is no picture
    assert "listed.jpg" not in paths
    assert broken == {"cut.jpg", "bomb.png", "lie.png"}


def test_a_report_shows_contact_sheets(folder: Path, said: str) -> None:
    wishes = ["--contact-sheet", "random", "--contact-sheet", "near:flat", "--contact-sheet", "reason:undecodable"]
    ended(run_here(folder, "report", PICTURE_RECIPE, *wishes, "--pictures", "50", "--output", "sheets.html"))
    page = (folder / "sheets.html").read_text("utf-8")
    sheets = page[page.index('<section id="contact-sheets"') :].partition("</section>")[0]

    assert sheets.count("<figure>") == 42 + (1 + 25) + 3
    assert sheets.count("too_many_pixels") == 4
    assert "緑の丘のふもとの静かな湖に浮かぶ白いヨット (ja)" in sheets
    assert "The moon over a valley" not in page  # the caption of the picture on the list
    assert len(page) < 2_000_000
    told = ended(run_here(folder, "report", PICTURE_RECIPE, "--contact-sheet", "reason:flatt"), 1)
    assert_told(told, "--contact-sheet", "reason:flatt", "'flat'")
    told = ended(run_here(folder, "report", PICTURE_RECIPE, "--contact-sheet", "near:undecodable"), 1)
    assert_told(told, "compares no measurement")
    told = ended(run_here(folder, "report", f"{PICTURES}/store", "--contact-sheet", "random"), 1)
    assert "--contact-sheet needs the recipe" in told


def test_no_picture_is_shown_before_it_was_compared_with_the_lists_of_today(folder: Path, said: str) -> None:
    harm = folder / PICTURES / HARM
    before = harm.read_text()
    harm.write_text(before + f"sha256 {'0' * 64}\n")
    told = ended(run_here(folder, "report", PICTURE_RECIPE, "--contact-sheet", "random"), 1)
    harm.write_text(before)

    assert_told(told, "holds media", "known_harm")


def pinned_recipe(folder: Path) -> tuple[PinnedProgram, list[str]]:
    """The rules on the store, and the path of each row's file."""
    recipe = bound_recipe(folder / PICTURE_RECIPE)
    store = open_store_at(folder / PICTURES / "store")
    pinned = pinned_rules(recipe, store, store.require_latest())
    assert pinned is not None
    return pinned, [row["path"] for row in table(folder / PICTURES, "samples")["source"].to_pylist()]


def test_without_decoders_the_demo_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    out = io.StringIO()

    assert not _draw_pictures(tmp_path, Console(markup=False, soft_wrap=True, file=out, width=200))
    assert_told(out.getvalue(), "decoding pictures", "'winnow[image]'", whole=True)
    assert list(tmp_path.iterdir()) == []
