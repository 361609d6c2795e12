"""Pictures inside tables: ingested from real files, read again by reference, proved by the audit."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.messages import assert_told, assert_told_each
from tests.pipelines.export.test_media import png
from tests.pipelines.ingest.tables.test_named_media import ingested, recipe_of, rows
from winnow.filters.image.decode.stills import DecodeLimits
from winnow.pipelines.audit.generation import audit_generation
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.media.pictures import Pictures, PictureSource
from winnow.pipelines.media.references import HELD_TOO_LARGE, NOT_FOUND, MediaFinder, Unavailable, media_sources
from winnow.schemas.recipe import Recipe
from winnow.schemas.rows.samples import SAMPLES

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  set: {root: set, files: ["*"], class: web, columns: {media: image, captions: says, language: lang}}
"""
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])  # Hugging Face's feature `Image`
MEDIA_TYPE = SAMPLES.field("media").type
PICTURES = [png(number) for number in range(6)]


def write(folder: Path, table: pa.Table, **options: object) -> Path:
    (folder / "set").mkdir(exist_ok=True)
    pq.write_table(table, folder / "set/a.parquet", **options)
    return folder / "set/a.parquet"


def quarantined(outcome: object) -> list[tuple[str, str]]:
    (commit,) = outcome.store.tasks(outcome.generation)  # type: ignore[attr-defined]
    if commit.quarantine is None:
        return []
    table = pq.read_table(Path(outcome.store.root) / commit.quarantine.path)  # type: ignore[attr-defined]
    return list(zip(table["reason"].to_pylist(), table["detail"].to_pylist(), strict=True))


def assert_found(recipe: Recipe, media: list[dict[str, object]], expected: list[bytes]) -> None:
    finder = MediaFinder(media_sources(recipe), "set")
    found = [finder.find(one) for one in media]
    assert [one["bytes"] if isinstance(one, dict) else one for one in found] == expected


@pytest.mark.parametrize("kind", [IMAGE, pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.binary())])
def test_bytes_in_a_column_are_items_that_are_read_again_by_row_and_column(tmp_path: Path, kind: pa.DataType) -> None:
    values: list[object] = [{"bytes": raw, "path": "x.png"} for raw in PICTURES] if kind == IMAGE else [*PICTURES]
    image = pa.array(values, IMAGE if kind == IMAGE else pa.binary()).cast(kind)
    table = pa.table(
        {"image": image, "says": [f"Picture {n}" for n in range(6)], "lang": ["en"] * 6, "label": range(6)}
    )
    write(tmp_path, table, row_group_size=4)
    recipe = recipe_of(tmp_path, RECIPE)
    outcome = ingested(recipe)
    found = rows(outcome)
    assert [row["modality"] for row in found] == ["image"] * 6
    assert found[5]["captions"] == [{"text": "Picture 5", "origin": "source", "language": "en"}]
    metadata = json.loads(str(found[5]["metadata"]))
    assert metadata == ({"image": {"path": "x.png"}, "label": 5} if kind == IMAGE else {"label": 5})
    media = [row["media"][0] for row in found]  # type: ignore[index]
    reference = media[5]["ref"]
    assert (reference["container"], reference["offset"], reference["member"]) == ("parquet", 5, "image")
    assert (media[5]["width"], media[5]["bytes"], media[5]["mime"]) == (1, len(PICTURES[5]), "image/png")
    assert_found(recipe, media, PICTURES)
    assert_found(recipe, media[::-1], PICTURES[::-1])
    findings = audit_generation(outcome.store, outcome.generation, bind(recipe).ingest(outcome.store))
    assert findings.problems == []


def test_a_list_gives_several_items_and_names_and_bytes_mix(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set/b.png").write_bytes(PICTURES[1])
    absolute = {"bytes": None, "path": str((tmp_path / "set/b.png").resolve())}
    inside = {"bytes": PICTURES[0], "path": None}
    lists = [[inside, None, {"bytes": None, "path": "b.png"}, absolute], [], None]
    table = pa.table({"image": pa.array(lists, pa.list_(IMAGE)), "text": ["a", "b", "c"]})
    write(tmp_path, table)
    recipe = recipe_of(tmp_path, RECIPE.replace('"*"', '"*.parquet"').replace("root: set", f"root: {tmp_path}/set"))
    first, second, third = rows(outcome := ingested(recipe))
    assert [(row["modality"], row["text"]) for row in (first, second, third)] == [
        ("image", "a"), ("text", "b"), ("text", "c"),
    ]  # fmt: skip
    assert json.loads(str(first["metadata"])) == {"absent_media": 1}
    media: list[dict[str, object]] = first["media"]  # type: ignore[assignment]
    assert [one["ref"]["member"] for one in media] == ["image[0]", None, None]  # type: ignore[index]
    assert {one["ref"]["path"] for one in media[1:]} == {"b.png"}  # type: ignore[index]
    assert_found(recipe, media, [PICTURES[0], PICTURES[1], PICTURES[1]])
    assert quarantined(outcome) == []


def test_rows_without_a_usable_medium_are_quarantined_alone(tmp_path: Path) -> None:
    values = [
        {"bytes": PICTURES[0], "path": None},
        {"bytes": None, "path": None},
        {"bytes": b"", "path": None},
        {"bytes": b"<html><body>Not found", "path": "x.png"},
        {"bytes": None, "path": "../recipe.yaml"},
        {"bytes": None, "path": "/etc/passwd"},
        {"bytes": None, "path": "gone.png"},
        {"bytes": PICTURES[0][:20], "path": None},
    ]
    write(tmp_path, pa.table({"image": pa.array(values, IMAGE)}))
    recipe = recipe_of(tmp_path, RECIPE)
    outcome = ingested(recipe)
    assert len(rows(outcome)) == 2  # a picture that was cut short is one, of which operators say so
    assert {reason for reason, _ in quarantined(outcome)} == {"missing_media"}
    assert_told_each(
        [detail for _, detail in quarantined(outcome)],
        ("'image'", "'text'"),
        ("image", "empty"),
        ("image", "text/html"),
        ("'image'", "'../recipe.yaml'"),
        "/etc/passwd",
        "gone.png",
    )
    findings = audit_generation(outcome.store, outcome.generation, bind(recipe).ingest(outcome.store))
    assert findings.problems == []


def test_a_row_keeps_its_good_media_or_its_text_and_says_what_is_wrong_with_the_others(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set/words.png").write_text("No picture, but words.")
    names = ["gone.png", "words.png", "../recipe.yaml"]
    inside = [{"bytes": raw, "path": None} for raw in (PICTURES[0], b"", b"<html><body>Not found", PICTURES[1])]
    lists = [[*inside, *({"bytes": None, "path": name} for name in names)], [inside[1]], [inside[2]]]
    table = pa.table({"image": pa.array(lists, pa.list_(IMAGE)), "text": [None, "A text.", None]})
    write(tmp_path, table)
    recipe = recipe_of(tmp_path, RECIPE.replace('"*"', '"*.parquet"'))
    outcome = ingested(recipe)
    mixed, text = rows(outcome)
    media: list[dict[str, object]] = mixed["media"]  # type: ignore[assignment]
    empty, missing = "application/x-empty", "application/x-missing"
    assert [one["mime"] for one in media] == [
        "image/png", empty, "text/html", "image/png", missing, "text/plain", missing,
    ]  # fmt: skip
    unread = json.loads(str(mixed["metadata"]))["unread"]
    assert list(unread) == ["image[1]", "image[2]", "image[4]", "image[5]", "image[6]"]
    assert_told_each(
        unread.values(),
        "image[1]: empty",
        "image[2] is text/html",
        "gone.png",
        "words.png is text/plain",
        ("'image'", "'../recipe.yaml'"),
    )
    assert (mixed["modality"], text["modality"], text["text"], text["mime"]) == (
        "image", "text", "A text.", "text/plain",
    )  # fmt: skip
    assert quarantined(outcome) == [("missing_media", "image[0] is text/html")]
    batches = Pictures(PictureSource(media_sources(recipe), DecodeLimits()), "set", pa.array([media], MEDIA_TYPE))
    ((items, pictures),) = batches.batches(np.arange(len(media)), None)
    assert (items.tolist(), len(pictures)) == ([0, 3], 2)
    other = "not_an_image"
    assert [*batches.statuses] == ["ok", other, other, "ok", "unavailable", other, "unavailable"]
    findings = audit_generation(outcome.store, outcome.generation, bind(recipe).ingest(outcome.store))
    assert findings.problems == []


def test_a_page_named_as_a_picture_of_a_folder_is_quarantined_with_its_caption(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for name, content in (("a.png", PICTURES[0]), ("b.jpg", b"<html><body>Not found"), ("b.txt", b"A cat")):
        (tmp_path / "set" / name).write_bytes(content)
    folder = RECIPE.replace("columns: {media: image, captions: says, language: lang}", "format: image_folder")
    outcome = ingested(recipe_of(tmp_path, folder))
    assert [row["mime"] for row in rows(outcome)] == ["image/png"]
    assert quarantined(outcome) == [("missing_media", "the file is text/html")]


def test_a_medium_larger_than_the_limit_is_measured_but_not_given(tmp_path: Path) -> None:
    large = png(1) + bytes(5000)
    write(tmp_path, pa.table({"image": [large, PICTURES[0]]}))
    recipe = recipe_of(tmp_path, RECIPE + "limits: {max_body_bytes: 4096}\n")
    media = [row["media"][0] for row in rows(ingested(recipe))]  # type: ignore[index]
    assert [one["bytes"] for one in media] == [len(large), len(PICTURES[0])]
    finder = MediaFinder(media_sources(recipe), "set")
    assert finder.find(media[0]) == Unavailable("a.parquet", HELD_TOO_LARGE, "too_large")
    assert isinstance(finder.find(media[1]), dict)


def test_a_reference_to_no_row_or_no_column_says_so(tmp_path: Path) -> None:
    write(tmp_path, pa.table({"image": PICTURES}))
    recipe = recipe_of(tmp_path, RECIPE)
    medium = rows(ingested(recipe))[0]["media"][0]  # type: ignore[index]
    finder = MediaFinder(media_sources(recipe), "set")
    for wrong in ({"offset": 6}, {"offset": -1}, {"member": "other"}, {"member": "image[0]"}):
        assert finder.find({**medium, "ref": medium["ref"] | wrong}) == Unavailable("a.parquet", NOT_FOUND)


def test_pictures_of_an_arrow_stream_are_ingested_and_proved(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    table = pa.table({"image": pa.array([{"bytes": raw, "path": None} for raw in PICTURES], IMAGE)})
    with pa.ipc.new_stream(tmp_path / "set/a.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    recipe = recipe_of(tmp_path, RECIPE)
    outcome = ingested(recipe)
    media = [row["media"][0] for row in rows(outcome)]  # type: ignore[index]
    assert {(one["ref"]["container"], one["ref"]["member"]) for one in media} == {("arrow", "image")}
    assert_found(recipe, media, PICTURES)
    findings = audit_generation(outcome.store, outcome.generation, bind(recipe).ingest(outcome.store))
    assert findings.problems == []


def test_captions_of_a_folder_are_read_from_csv(tmp_path: Path) -> None:
    (tmp_path / "set/train").mkdir(parents=True)
    (tmp_path / "set/train/a.png").write_bytes(PICTURES[0])
    lines = ["file_name,says,lang", 'a.png,"A ""red"" dot,\nalone",en', "gone.png,Nothing,en", "a.png,Ein Punkt,de"]
    (tmp_path / "set/train/metadata.csv").write_text("\n".join(lines))
    csv = RECIPE.replace('"*"', '"**/metadata.csv"').replace("media: image", "media: file_name")
    recipe = recipe_of(tmp_path, csv)
    outcome = ingested(recipe)
    assert [row["captions"] for row in rows(outcome)] == [
        [{"text": 'A "red" dot,\nalone', "origin": "source", "language": "en"}],
        [{"text": "Ein Punkt", "origin": "source", "language": "de"}],
    ]
    assert quarantined(outcome) == [("missing_media", "train/gone.png: No such file or directory")]
    findings = audit_generation(outcome.store, outcome.generation, bind(recipe).ingest(outcome.store))
    assert findings.problems == []
    keyed = recipe_of(
        tmp_path, csv.replace("path: store", "path: other").replace("class: web", "key: file_name, class: web")
    )
    assert [reason for reason, _ in quarantined(ingested(keyed))] == ["missing_media", "duplicate_id"]


def test_a_key_of_a_tar_that_repeats_says_where_a_key_ends(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    with tarfile.open(tmp_path / "set/a.tar", "w") as archive:
        for name, content in zip(("v1.2.3-60.png", "b.png", "v1.2.4-61.png"), PICTURES, strict=False):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    outcome = ingested(
        recipe_of(tmp_path, RECIPE.replace(", columns: {media: image, captions: says, language: lang}", ""))
    )
    ((reason, detail),) = quarantined(outcome)
    assert reason == "duplicate_id"
    assert_told(detail, "'v1'", "appears before", whole=True)
