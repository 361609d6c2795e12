"""Pages of a crawl as documents, from the command line: pictures of other rows, rules of items, edits, exports."""

import base64
import io
import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from tests.messages import assert_told
from tests.runners.mixtures.tiny import tree
from tests.runners.pictures.test_crawled_pictures import write
from tests.runners.test_annotate import table
from winnow.pipelines.export.media import fetching
from winnow.runners.stages import meetings
from winnow.runners.stages.running.engine_jobs import EngineJobs

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

pytestmark = pytest.mark.processes

RECIPE = """
version: 1
store: {path: store, seed: 7, shard_rows: 3}
sources:
  pages: {root: pages, files: ["*.warc"], class: web}
  pictures: {root: pictures, files: ["*.warc"], class: web}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
annotate: [text.language, text.pii, image.geometry, {page.interleaved: {facts: [image.geometry.shorter]}}]
items:
  - {drop: image.geometry.shorter < 150, reason: small, when_null: keep}
  - {drop: page.interleaved.pages > 2, reason: repeated, when_null: keep}
no_items_left: keep
keep:
  - {drop: "samples.modality = 'image'", reason: picture, when_null: drop}
  - {drop: items.kept > 2, reason: many, when_null: keep}
edits: [{text.pii: {replace: placeholder}}]
mix: {unit: samples}
export:
  - interleaved: {path: out/tars, energon: true}
  - obelics: {path: out/obelics}
  - mmc4: {path: out/mmc4}
"""
WITHOUT_ITEMS = re.sub(r"(?s)items:.*no_items_left: keep\n|  - {drop: items.kept[^\n]*\n", "", RECIPE)
SIZES = {"cat": (300, 200), "dog": (200, 400), "owl": (160, 160), "logo": (400, 200), "dot": (20, 20)}


def jpeg(name: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", SIZES[name], (len(name), 30, SIZES[name][0] % 255)).save(out, "JPEG")
    return out.getvalue()


def said(page: int, picture: str) -> str:
    return (
        f"On page {page} the {picture} sleeps on the sofa all day long, and wakes up only if there is food; "
        f"write to {picture}{page}@winnow-cats.org if you want to know more."
    )


def page(number: int, *pictures: str) -> tuple[str, str, bytes]:
    body = "".join(f"<p>{said(number, one)}</p><img src='/{one}.jpg' alt='A {one}'>" for one in pictures)
    html = (
        f"<html lang=en><head><title>Page {number}</title></head><body>{body}<p>{said(number, 'end')}</p></body></html>"
    )
    return f"https://e.org/{number}", "text/html; charset=utf-8", html.encode()


PAGES = [
    page(1, "cat", "logo", "dog"),
    page(2, "logo", "cat", "gone", "cat"),
    page(3, "dot", "logo"),
    page(4, "owl", "dog", "gone"),
]


def made(folder: Path, *, backwards: bool = False) -> Path:
    for name in ("pages", "pictures"):
        (folder / name).mkdir(parents=True)
    (folder / "recipe.yaml").write_text(RECIPE)
    for number, one in enumerate(PAGES):
        write(folder / "pages" / f"{9 - number if backwards else number}.warc", one)
    write(folder / "pictures" / "p.warc", *((f"https://e.org/{name}.jpg", "image/jpeg", jpeg(name)) for name in SIZES))
    return folder


def documents(folder: Path) -> dict[str, list[str]]:
    """By address, texts and names of pictures in order, as the MMC4 export has them: a picture is before its text."""
    names = {jpeg(name): f"<{name}>" for name in SIZES}
    found = {}
    for path in (folder / "out" / "mmc4").glob("*.jsonl"):
        for line in map(json.loads, path.read_text().splitlines()):
            pictures = [
                (one["matched_text_index"], base64.b64decode(one["image_base64"])) for one in line["image_info"]
            ]
            parts: list[str] = []
            for number, text in enumerate(line["text_list"]):
                parts += [names[content] for place, content in pictures if place == number]
                parts.append(text)
            found[line["url"].removeprefix("https://e.org/")] = parts
    return found


def words(number: int, *pictures: str) -> str:
    return "\n\n".join(said(number, one).replace(f"{one}{number}@winnow-cats.org", "<EMAIL>") for one in pictures)


def test_documents_lose_pictures_that_rules_of_items_drop_and_what_edits_remove(tmp_path: Path) -> None:
    folder = made(tmp_path)
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    found = dict(
        zip(table(folder, "samples")["url"].to_pylist(), table(folder, "page.interleaved").to_pylist(), strict=True)
    )
    first = found["https://e.org/1"]
    assert first["urls"] == [f"https://e.org/{name}.jpg" for name in ("cat", "logo", "dog")]
    assert (first["pages"], first["shorter"], first["sources"]) == ([2, 3, 2], [200] * 3, ["pictures"] * 3)
    assert [found[f"https://e.org/{number}"]["missing"] for number in (1, 2, 3, 4)] == [0, 1, 0, 1]
    assert documents(folder) == {
        "1": [words(1, "cat"), "<cat>", words(1, "logo", "dog"), "<dog>", words(1, "end")],
        "2": [words(2, "logo", "cat"), "<cat>", words(2, "gone", "cat"), "<cat>", words(2, "end")],
        "3": [words(3, "dot", "logo", "end")],
        "4": [words(4, "owl"), "<owl>", words(4, "dog"), "<dog>", words(4, "gone", "end")],
    }
    for command in ("audit", "stats"):
        ended(run_here(folder, command, "recipe.yaml"))
    ended(run_here(folder, "export", "recipe.yaml", "--check"))


def test_documents_are_the_same_with_two_workers_and_other_orders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = made(tmp_path / "one"), made(tmp_path / "two", backwards=True)
    ended(run_here(one, "run", "recipe.yaml", "--workers", "1"))
    monkeypatch.setattr(meetings, "EngineJobs", partial(EngineJobs, here_bytes=-1))  # on workers, however small
    ended(run_here(two, "run", "recipe.yaml", "--workers", "2"))
    assert sorted(documents(one)) == ["1", "2", "3", "4"]
    assert documents(one) == documents(two)
    by_url = [
        {
            url: row | {"media": None, "samples": None}
            for url, row in zip(
                table(folder, "samples")["url"].to_pylist(), table(folder, "page.interleaved").to_pylist(), strict=True
            )
        }
        for folder in (one, two)
    ]
    assert by_url[0] == by_url[1]
    again = made(tmp_path / "again")
    ended(run_here(again, "run", "recipe.yaml", "--workers", "2"))
    assert tree(one / "out") == tree(again / "out")


def test_a_forgotten_picture_is_in_no_export_even_before_the_pages_are_measured_again(tmp_path: Path) -> None:
    folder = made(tmp_path)
    (folder / "recipe.yaml").write_text(WITHOUT_ITEMS)  # rules that read the layer would refuse first
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert "<cat>" in documents(folder)["1"]
    shutil.rmtree(folder / "out")
    ended(run_here(folder, "forget", "recipe.yaml", "--url", "https://e.org/cat.jpg"))
    told = ended(run_here(folder, "export", "recipe.yaml"), 1)
    assert_told(told, "page.interleaved", "other rows", "winnow annotate")
    assert not (folder / "out").exists()
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert "<dog>" in documents(folder)["1"]
    assert not any("<cat>" in parts for parts in documents(folder).values())
    tars = b"".join(path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file())
    assert jpeg("cat") not in tars


def test_a_document_of_more_pictures_than_fit_in_memory_is_left_out_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path)
    (folder / "recipe.yaml").write_text(WITHOUT_ITEMS)
    monkeypatch.setattr(fetching, "MOST_DOCUMENT_BYTES", sum(len(jpeg(name)) for name in ("cat", "logo", "dog")) - 1)
    told = ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    assert_told(told, "1 sample", "too large")
    assert sorted(documents(folder)) == ["2", "3", "4"]
    (left_out,) = json.loads((folder / "out" / "tars" / "winnow.json").read_text())["left_out"]
    assert (left_out["reason"], left_out["samples"]) == ("document_too_large", 1)
    ended(run_here(folder, "audit", "recipe.yaml"))


def test_an_export_of_documents_without_nodes_names_what_is_missing(tmp_path: Path) -> None:
    folder = made(tmp_path)
    wrong = RECIPE.replace(", {page.interleaved: {facts: [image.geometry.shorter]}}]", "]")
    wrong = wrong.replace("  - {drop: page.interleaved.pages > 2, reason: repeated, when_null: keep}\n", "")
    (folder / "recipe.yaml").write_text(wrong)
    told = ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"), 1)
    assert_told(told, "recipe.yaml:", "export[0].interleaved", "page.interleaved", "`annotate`")
