"""Media on lists of known harm, from the command line: quarantined before anything else looks at them."""

import hashlib
import tarfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.faults.winnow import assert_clean, ended, run_here
from tests.messages import assert_refused, assert_told
from tests.runners.test_annotate import table
from winnow.filters.duplicates.perceptual.pdq import pdq
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.forgetting.known_harm import CompareTask, MediaComparison
from winnow.pipelines.media.references import media_sources
from winnow.pipelines.store.location import open_store_at
from winnow.schemas.errors import StageError
from winnow.schemas.recipe import load_recipe

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  pictures: {root: pictures, files: ["*.png", "*.jpg"], format: image_folder, class: public}
  tars: {root: tars, files: ["*.tar"], class: web}
known_harm:
  digests: {path: lists/digests.txt, kind: sha256}
  hashes: {path: lists/hashes.csv}
annotate: [image.geometry]
export: [{webdataset: {path: out, media: image}}]
mix: {unit: samples}
"""


def drawn(seed: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    return np.kron(
        np.random.default_rng(seed).integers(0, 256, (12, 16, 3), dtype=np.uint8), np.ones((16, 16, 1), np.uint8)
    )


def sha(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pictures = tmp_path / "pictures"
    for name in (pictures, tmp_path / "tars", tmp_path / "lists"):
        name.mkdir()
    for number in range(5):
        Image.fromarray(drawn(number)).save(pictures / f"{number}.png")
        (pictures / f"{number}.txt").write_text(f"caption {number}")
    Image.fromarray(drawn(1)).resize((200, 150)).save(pictures / "copy.jpg", quality=60)
    with tarfile.open(tmp_path / "tars" / "a.tar", "w") as tar:
        for number in (0, 2):
            tar.add(pictures / f"{number}.png", f"k{number}.png")
    (tmp_path / "lists" / "digests.txt").write_text(f"# of last week\n{sha(pictures / '0.png')}\n")
    md5 = hashlib.md5((pictures / "3.png").read_bytes(), usedforsecurity=False).hexdigest()
    bits = pdq(drawn(1)).bits.hex()
    (tmp_path / "lists" / "hashes.csv").write_text(f"type,signal\npdq,{bits}\nmd5,{md5}\ntrend_query,cats\n")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def quarantined(folder: Path) -> dict[str, str]:
    rows = [
        row for file in (folder / "store" / "quarantine").rglob("*.parquet") for row in pq.read_table(file).to_pylist()
    ]
    assert {row["reason"] for row in rows} == {"known_harm"}
    return {f"{row['path']}:{row['record'] or ''}": row["detail"] for row in rows}


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.processes)])
def test_media_on_lists_are_quarantined_and_go_nowhere(folder: Path, workers: str) -> None:
    out = ended(run_here(folder, "run", "recipe.yaml", "--workers", workers))
    found = quarantined(folder)
    assert {path.split(":")[0] for path in found} == {"0.png", "1.png", "3.png", "copy.jpg", "a.tar"}
    assert sorted(found.values())[:3] == ["list digests by sha256", "list digests by sha256", "list hashes by md5"]
    assert_told(sorted(found.values())[3], "list hashes", "0 bits", whole=True)
    assert sorted(found.values())[4].startswith("list hashes by pdq at ")
    assert sorted(row["source"]["path"] for row in table(folder, "samples").to_pylist()) == ["2.png", "4.png", "a.tar"]
    assert "known_harm" in out
    exported = b"".join(file.read_bytes() for file in (folder / "out").rglob("*") if file.is_file())
    for number in (0, 1, 3):
        assert (folder / "pictures" / f"{number}.png").read_bytes() not in exported
        assert f"caption {number}".encode() not in exported
    assert_clean(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense\n", "lists/digests.txt:1 … 'nonsense'"),
        (None, "recipe.yaml:8 … known_harm.digests … lists/digests.txt"),
        ("a" * 5000, "lists/digests.txt:1 … 4,096 characters"),
    ],
)
def test_a_list_that_cannot_be_read_stops_before_anything_is_ingested(
    folder: Path, text: str | None, said: str
) -> None:
    file = folder / "lists" / "digests.txt"
    file.unlink()
    if text is not None:
        file.write_text(text)
    done = run_here(folder, "ingest", "recipe.yaml")
    assert done.status == 1
    assert_told(done.err, said, whole=True)
    assert not (folder / "store" / "samples").exists()


@pytest.mark.processes
def test_rows_that_a_later_list_names_are_hidden_and_every_command_asks_for_it(folder: Path) -> None:
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    added = folder / "lists" / "digests.txt"
    added.write_text(added.read_text() + sha(folder / "pictures" / "4.png") + "\n")
    done = run_here(folder, "annotate", "recipe.yaml")
    assert done.status == 1
    assert done.err == (
        "winnow: store: holds media that were not compared with the lists of known_harm (digests); "
        "run: winnow ingest RECIPE\n"
    )
    assert "digests 1 of what was ingested before; 1 row hidden" in ended(run_here(folder, "ingest", "recipe.yaml"))
    assert "known harm" not in ended(run_here(folder, "ingest", "recipe.yaml"))
    ended(run_here(folder, "export", "recipe.yaml", "--replace"))
    exported = b"".join(file.read_bytes() for file in (folder / "out").rglob("*") if file.is_file())
    assert (folder / "pictures" / "2.png").read_bytes() in exported
    assert (folder / "pictures" / "4.png").read_bytes() not in exported
    assert_clean(folder)


@pytest.mark.processes
def test_pictures_ingested_without_lists_are_compared_by_every_kind_of_hash(folder: Path) -> None:
    without, _, rest = RECIPE.partition("known_harm:")
    (folder / "recipe.yaml").write_text(f"{without}annotate:{rest.partition('annotate:')[2]}")
    ended(run_here(folder, "ingest", "recipe.yaml"))
    (folder / "recipe.yaml").write_text(RECIPE)
    said = ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "2"))
    assert "digests 2, hashes 3 of what was ingested before; 5 rows hidden" in said
    ended(run_here(folder, "run", "recipe.yaml"))
    exported = b"".join(file.read_bytes() for file in (folder / "out").rglob("*") if file.is_file())
    for number in range(5):
        inside = (folder / "pictures" / f"{number}.png").read_bytes() in exported
        assert inside is (number in (2, 4))
    assert_clean(folder)


def test_media_of_a_lost_disk_do_not_count_as_compared(folder: Path) -> None:
    ended(run_here(folder, "ingest", "recipe.yaml", "--workers", "1"))
    recipe, store = load_recipe(folder / "recipe.yaml"), open_store_at(folder / "store")
    harm = bind(recipe).ingest(store).known_harm
    assert harm is not None
    rows = store.manifest(store.require_latest(), "samples")
    task = CompareTask("pictures", tuple(row.object for row in rows if row.source == "pictures"))
    comparison = MediaComparison(store.objects, media_sources(recipe), harm)
    assert comparison.run(task).unread == 0
    (folder / "pictures").rename(folder / "elsewhere")
    with assert_refused(StageError, "missing or empty"):
        comparison.run(task)
