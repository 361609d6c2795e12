"""Pictures that are fetched from their sites are tied to the pages that show them, and to what these pages refuse."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from tests.filters.video.drawn import encoded, scene
from tests.pipelines.fetch.farm.farm import Answer, Farm, page
from winnow import open_store
from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.fetch.log import read_log
from winnow.pipelines.store.location import open_location
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.fetching import Wanted, fetch
from winnow.runners.stages.store_stages import annotate, ingest
from winnow.runners.terminal.console import TerminalConsole
from winnow.schemas.recipe import load_recipe

pytestmark = pytest.mark.processes

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

QUIET = TerminalConsole(quiet=True)
RECIPE = """\
version: 1
store: {path: store}
sources:
  pages: {addresses: {file: pages.txt}, class: web}
  pictures: {addresses: {file: pictures.txt}, class: web}
fetch: {contact: 'mailto:you@example.org'}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
captions: coalesce(samples.captions, caption.page.captions)
annotate: [page.opt_out, caption.page, image.geometry]
"""
FIGURE = '<figure><img src="{0}" alt="Picture {1}"><figcaption>{1}, seen by us</figcaption></figure>'


def html(*pictures: str, robots: str = "all") -> Answer:
    """A page that shows pictures."""
    figures = "".join(FIGURE.format(one, Path(one).stem) for one in pictures)
    head = f'<html lang="en"><head><meta name="robots" content="{robots}"></head>'
    return page(f"{head}<body><p>What we saw on our way home, and how we liked it.</p>{figures}</body></html>")


def jpeg(width: int, headers: dict[str, str] | None = None) -> Answer:
    out = io.BytesIO()
    Image.new("RGB", (width, 40), (200, 30, width)).save(out, "JPEG")
    return page(out.getvalue(), mime="image/jpeg", headers=headers)


def recipe(folder: Path, farm: Farm) -> BoundRecipe:
    (folder / "r.yaml").write_text(RECIPE)
    return bind(replace(load_recipe(folder / "r.yaml"), fetch=farm.config()))


def test_pictures_know_their_pages_and_what_these_refuse(tmp_path: Path) -> None:
    with Farm() as farm:
        pages = {
            "/robots.txt": page("User-agent: *\nDisallow: /private/\n", mime="text/plain"),
            "/home": html(
                "/cat.jpg", "//cdn.example/dog.jpg?utm_source=feed", "/private/owl.jpg", "/elk.jpg", "/old/hen.jpg"
            ),
            "/art": html("/cow.jpg", "/cat.jpg", robots="noimageai"),
            "/closed": html("/fox.jpg", robots="noai"),
        }
        pictures = {f"/{name}.jpg": jpeg(60 + at) for at, name in enumerate(("cat", "cow", "fox", "private/owl"))}
        moved = {"/old/hen.jpg": page("", 302, headers={"Location": "http://cdn.example/hen.jpg"})}
        farm.site("a.example", pages | pictures | moved | {"/elk.jpg": jpeg(70, {"X-Robots-Tag": "noai"})})
        film = page(encoded([scene(at) for at in range(3)]), mime="video/x-matroska")
        farm.site("cdn.example", {"/dog.jpg": jpeg(80), "/hen.jpg": jpeg(90), "/film.mkv": film})
        bound = recipe(tmp_path, farm)
        (tmp_path / "pages.txt").write_text("".join(f"http://a.example/{one}\n" for one in ("home", "art", "closed")))
        fetch(bound, Engine(), QUIET, Wanted(("pages",), look_up=farm.look_up))
        names = ("cat", "cow", "fox", "private/owl", "elk", "old/hen")
        listed = [f"http://a.example/{name}.jpg" for name in names]
        listed += [f"http://cdn.example/{one}" for one in ("dog.jpg", "film.mkv")]
        (tmp_path / "pictures.txt").write_text("\n".join(listed))
        fetch(bound, Engine(), QUIET, Wanted(("pictures",), look_up=farm.look_up))
    ingest(bound, Engine(workers=1), QUIET)
    annotate(bound, Engine(workers=1), QUIET)

    log = read_log(open_location(str(tmp_path / "store/fetched/pictures"))).to_pylist()
    ends = {row["url"].rpartition("/")[2]: row["reason"] for row in log}
    assert ends == {f"{name}.jpg": "ok" for name in ("cat", "cow", "fox", "dog", "hen")} | {
        "owl.jpg": "robots",
        "elk.jpg": "opt_out",
        "film.mkv": "ok",
    }
    columns = ["samples.url", "samples.modality", "image.geometry.status"]
    columns += [f"caption.page.{name}" for name in ("status", "captions", "urls", "pages", "opted_out")]
    rows = {row["samples.url"]: row for row in open_store(tmp_path / "store").table(columns).to_arrow().to_pylist()}
    assert rows["http://cdn.example/film.mkv"]["samples.modality"] == "video"
    shown = {url.rpartition("/")[2]: row for url, row in rows.items() if row["samples.modality"] == "image"}
    assert {name: row["image.geometry.status"] for name, row in shown.items()} == dict.fromkeys(shown, "ok")
    assert {name: (row["caption.page.pages"], row["caption.page.opted_out"]) for name, row in shown.items()} == {
        "cat.jpg": (2, 1),
        "cow.jpg": (1, 1),
        "dog.jpg": (1, 0),
        "hen.jpg": (1, 0),  # its page names the address that redirects to it
        "fox.jpg": (None, None),  # its page opted out, so it was not kept
    }
    assert shown["fox.jpg"]["caption.page.status"] == "no_page"
    said = [(one["text"], one["origin"]) for one in shown["dog.jpg"]["caption.page.captions"]]
    assert said[:2] == [("Picture dog", "alt"), ("dog, seen by us", "figcaption")]
    assert set(shown["dog.jpg"]["caption.page.urls"]) == {"http://a.example/home"}
