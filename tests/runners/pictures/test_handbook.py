"""A handbook of a distribution as a crawl: its pages become documents, with pictures where its HTML has them."""

import json
import re
from pathlib import Path
from urllib.parse import urljoin

import pyarrow.parquet as pq
import pytest

from benchmarks.inputs.pages import CACHE
from tests.faults.winnow import assert_clean, ended, run_here
from tests.runners.pictures.test_crawled_pictures import write

pytest.importorskip("PIL.Image", reason="needs the extra `image`")

BOOK = CACHE / "books" / "usr" / "share" / "doc" / "debian-handbook" / "html"
pytestmark = [
    pytest.mark.large,
    pytest.mark.skipif(not BOOK.is_dir(), reason="needs: python -m benchmarks.inputs.documents 200"),
]
SITE = "https://debian-handbook.info/browse/"
TYPES = {".html": "text/html; charset=utf-8", ".png": "image/png"}
RECIPE = """
version: 1
store: {path: store, seed: 7}
sources: {handbook: {root: crawl, files: ["*.warc.gz"], class: docs}}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
annotate: [page.interleaved]
items: [{preset: omnicorpus@documents}]
keep: [{drop: "samples.modality <> 'text'", reason: picture, when_null: drop}, {preset: omnicorpus@documents}]
mix: {unit: samples}
export: [{obelics: {path: out}}]
"""


def test_pictures_stand_where_the_pages_have_them(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    for language in ("fr-FR", "ja-JP"):
        files = [path for path in sorted((BOOK / language).rglob("*")) if path.suffix in TYPES]
        records = ((f"{SITE}{path.relative_to(BOOK)}", TYPES[path.suffix], path.read_bytes()) for path in files)
        write(tmp_path / "crawl" / f"{language}.warc.gz", *records)
    ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "2"))
    assert_clean(tmp_path)
    rows = pq.read_table(sorted((tmp_path / "out" / "data").glob("*.parquet"))).to_pylist()
    assert len(rows) > 30
    for row in rows:
        url = json.loads(row["general_metadata"])["url"]
        html = (BOOK / url.removeprefix(SITE)).read_text("utf-8")
        there = iter([urljoin(url, one) for one in re.findall(r'<img[^>]*\ssrc="([^"]*)"', html)])
        shown = [one for one in row["images"] if one is not None]
        assert shown
        assert all(one in there for one in shown)  # in the page's order
        for image, content, text in zip(row["images"], row["pictures"], row["texts"], strict=True):
            assert (image is None) == (content is None) == (text is not None)
            if image is not None:
                assert content == (BOOK / image.removeprefix(SITE)).read_bytes()
