"""The README's commands work as it says, and a new user's first hour on ten languages ends with all of them."""

import json
import lzma
import re
import shlex
import shutil
import unicodedata
from io import BytesIO
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.faults.winnow import ended, run_here
from winnow.runners.demo import make_crawl

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"^    (winnow .*?)(?: +#.*)?$", README, re.MULTILINE)
LANGUAGES = ("eng", "deu", "fra", "spa", "ita", "rus", "ell", "vie", "tur", "jpn")
PAGES = 10  # of each language; none repeats another


def readme_recipe() -> str:
    block = re.search(r"    # recipe\.yaml\n((?:    .*\n)+)", README)
    assert block is not None
    return re.sub(r"^    ", "", block[1], flags=re.MULTILINE)


def test_the_first_recipe_has_twelve_settings() -> None:
    assert len([line for line in readme_recipe().splitlines() if line.strip()]) <= 13


@pytest.mark.processes
def test_the_commands_of_the_readme_run_in_the_order_of_the_readme(tmp_path: Path) -> None:
    assert [shlex.split(one)[1] for one in COMMANDS] == ["look", "init", "run", "report", "plan"]
    folder = tmp_path / "demo"
    make_crawl(folder)
    init = [shlex.split(one.replace("FOLDER", "books"))[1:] for one in COMMANDS[:2]]
    for arguments in init:
        ended(run_here(folder, *arguments))
    written = folder / "recipe.yaml"
    ended(run_here(folder, "run", written.name))  # as it is
    written.unlink()
    written.write_text(readme_recipe())
    for one in COMMANDS[2:]:
        ended(run_here(folder, *shlex.split(one)[1:]))
    assert (folder / "store-of-readme" / "report.html").is_file()
    assert list((folder / "out" / "parquet").rglob("*.parquet"))
    assert list((folder / "out" / "webdataset").rglob("*.tar"))


def write_crawl(file: Path) -> None:
    """A WARC file with pages of running text in ten languages, each with a menu and a footer."""
    udhr = json.loads(lzma.decompress((ROOT / "runners" / "demo" / "udhr.json.xz").read_bytes()))
    with file.open("wb") as stream:
        writer = WARCWriter(stream, gzip=True)
        for language in LANGUAGES:
            articles = udhr[language]["articles"]
            for page in range(PAGES):
                some = articles[page * 3 : page * 3 + 3]
                body = "".join(f"<p>{line}</p>" for article in some for line in article[1:])
                html = (
                    f"<html><head><title>{some[0][0]}</title></head><body><nav><a href='/'>•</a></nav><article><h1>"
                    f"{some[0][0]}</h1>{body}</article><footer>©</footer></body></html>"
                )
                headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], "HTTP/1.1")
                spelt = unicodedata.normalize("NFD" if page % 2 else "NFC", html)  # as some pages are written
                record = writer.create_warc_record(
                    f"https://{language}.example/{page}", "response", BytesIO(spelt.encode()), http_headers=headers
                )
                writer.write_record(record)


@pytest.mark.processes
def test_a_crawl_of_ten_languages_keeps_at_least_half_of_each(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    write_crawl(tmp_path / "crawl" / "pages.warc.gz")
    ended(run_here(tmp_path, "init", "crawl"))
    ended(run_here(tmp_path, "plan", "recipe.yaml"))
    ended(run_here(tmp_path, "run", "recipe.yaml"))
    ended(run_here(tmp_path, "report", "recipe.yaml"))
    said = json.loads(ended(run_here(tmp_path, "diff", "recipe.yaml", "recipe.yaml", "--json")))
    kept = {cell["language"].partition("_")[0]: (cell["new"], cell["samples"]) for cell in said["cells"]}
    assert {language: kept[language][1] for language in LANGUAGES} == dict.fromkeys(LANGUAGES, PAGES)
    assert {language: kept[language] for language in LANGUAGES if 2 * kept[language][0] < PAGES} == {}
    shutil.rmtree(tmp_path / "winnow-data")
