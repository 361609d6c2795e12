"""Pictures on the page: written anew and small, blurred where they are not to be seen, and none that is forgotten."""

import json
import shutil
from io import BytesIO
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from tests.faults.winnow import ended, run_here
from tests.runners.inspect.views.sites_store import ask, opened
from winnow.pipelines.processes.cancelling import CancelledError, cancellable
from winnow.pipelines.query.find_sample import Place, Sample
from winnow.runners.inspect.pictures import SIZES, blurred_items, picture
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.runners.inspect.views import sample
from winnow.runners.inspect.views.sample import media_of


def ids_of(folder: Path) -> dict[str, str]:
    """The samples by the files of their pictures."""
    rows = (
        row
        for batch in opened(folder / "recipe.yaml").tables.read_columns(["id", "media"])
        for row in batch.to_pylist()
    )
    return {row["media"][0]["ref"]["path"]: row["id"] for row in rows}


def pixels(content: bytes) -> np.ndarray:
    with Image.open(BytesIO(content)) as image:
        assert image.format == "JPEG"
        return np.asarray(image.convert("RGB"))


def test_a_picture_is_written_anew_at_the_size_that_is_asked_for(photos: Path) -> None:
    shown, own = opened(photos / "recipe.yaml"), ids_of(photos)["a.jpg"]
    for size in ("1", "96", "97", "320", None):
        content = picture(shown, own, "0", size)
        side = next(one for one in SIZES if int(size or 320) <= one)
        assert max(pixels(content).shape[:2]) <= side
        assert b"script" not in content
    assert max(pixels(picture(shown, own, "0", "96")).shape[:2]) == 96


def test_a_picture_that_nobody_waits_for_is_not_decoded(photos: Path) -> None:
    shown, own = opened(photos / "recipe.yaml"), ids_of(photos)["a.jpg"]
    picture(shown, own, "0")
    with cancellable(lambda: True), pytest.raises(CancelledError):
        picture(shown, own, "0")


def test_what_cannot_be_shown_says_why(photos: Path) -> None:
    shown, ids = opened(photos / "recipe.yaml"), ids_of(photos)
    for name, item, why in (("c.jpg", "0", "truncated"), ("a.jpg", "1", "no_such_item")):
        with pytest.raises(UnavailableError, match=why):
            picture(shown, ids[name], item)
    for identity, item, size in (
        (ids["a.jpg"], "-1", "96"),
        (ids["a.jpg"], "../../etc", "96"),
        (ids["a.jpg"], "0", "0x10"),
        (ids["a.jpg"], "0", "4096"),
        (ids["a.jpg"], "٣", "96"),
        ("f" * 32, "0", "96"),
        ("../../x", "0", "96"),
    ):
        with pytest.raises(AskedError):
            picture(shown, identity, item, size)
    with pytest.raises(UnavailableError, match="winnow inspect RECIPE"):
        picture(opened(photos / "store"), ids["a.jpg"], "0")


def test_a_cluster_of_pictures_names_what_the_page_asks_pictures_of(photos: Path) -> None:
    shown = opened(photos / "recipe.yaml")
    (row,) = ask(shown, "clusters")["rows"]
    one = ask(shown, "cluster", id=row["cluster"])
    assert one["of_items"]
    assert {member["reference"] for member in one["members"]} == {"a.jpg", "b.jpg"}
    contents = {picture(shown, member["row"], str(member["item"])) for member in one["members"]}
    assert len(contents) == 1
    assert {picture(shown, example["row"], str(example["item"])) for example in row["examples"]} == contents
    (gone,) = (member for member in one["members"] if member["goes"])
    assert (gone["goes"], gone["duplicate_of"], one["kept"]) == ("duplicate_image_bytes", one["kept"], row["kept"])
    assert one["why"] == [
        "id: 1 row is equal to it in every preference; of equal rows the one with the smallest id stays."
    ]


def test_the_grid_has_the_samples_with_pictures_alone_and_says_what_the_first_is(photos: Path, books: Path) -> None:
    shown, ids = opened(photos / "recipe.yaml"), ids_of(photos)
    found = ask(shown, "samples", pictures=True, size=50)
    assert found["total"] == 3
    assert {row["id"] for row in found["rows"]} == {*ids.values()}
    assert {(row["items"], row["mime"], row["blurred"]) for row in found["rows"]} == {(1, "image/jpeg", False)}
    for row in found["rows"]:
        if row["id"] != ids["c.jpg"]:
            assert picture(shown, row["id"], "0", "96", str(row["row"])) == picture(shown, row["id"], "0", "96")
    wrong = str(1 - found["rows"][0]["row"])  # another sample's number: the id decides
    assert picture(shown, ids["a.jpg"], "0", "96", wrong) == picture(shown, ids["a.jpg"], "0", "96")
    for bad in ("x", "-1", "4294967296"):
        with pytest.raises(AskedError):
            picture(shown, ids["a.jpg"], "0", "96", bad)
    assert ask(shown, "samples", pictures=True, filter={"text": "harbour"})["rows"] == []
    of_texts = opened(books / "recipe.yaml")
    assert ask(of_texts, "samples")["total"] == 20
    assert ask(of_texts, "samples", pictures=True)["total"] == 0


def test_an_item_is_blurred_by_the_layer_that_is_of_its_kind() -> None:
    media = [{"mime": mime} for mime in ("image/png", "video/mp4", "image/png", "video/mp4")]
    samples = pa.RecordBatch.from_pylist([{"media": media}])
    of_pictures = pa.RecordBatch.from_pylist([{"score": [0.1, None, 0.9, None]}])
    of_videos = pa.RecordBatch.from_pylist([{"score_worst": [None, 0.1, None, 0.9]}])
    for layers, blurred in (
        ({}, set()),
        ({"image.nsfw": of_pictures}, {1, 2, 3}),  # what is not measured is never safe
        ({"image.nsfw": of_pictures, "video.nsfw": of_videos}, {2, 3}),
        ({"video.nsfw": of_videos}, {3}),
    ):
        assert blurred_items({"samples": samples, **layers}) == blurred


def test_of_very_many_media_the_first_are_told_and_the_others_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "_MOST_VALUES", 3)
    media = [{"mime": "image/png", "bytes": number} for number in range(5)]
    samples = pa.RecordBatch.from_pylist([{"media": media}])
    told = media_of(Sample(cast(Place, None), {"samples": samples}))
    assert isinstance(told["media"], list)
    assert [cast(dict[str, object], one)["bytes"] for one in told["media"]] == [0, 1, 2]
    assert told["more_media"] == 2


def test_a_forgotten_picture_is_not_shown(photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(photos, folder)
    ids = ids_of(folder)
    ended(run_here(folder, "forget", "recipe.yaml", "--id", ids["a.jpg"]))
    shown = opened(folder / "recipe.yaml")
    with pytest.raises(AskedError):
        picture(shown, ids["a.jpg"], "0")
    assert ids["a.jpg"] not in json.dumps(ask(shown, "clusters"))
