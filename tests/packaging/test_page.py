"""The page of `winnow inspect` as it is built from its sources: the same everywhere, small, and in the wheel."""

import gzip
import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.packaging.test_wheel import wheel as built_wheel
from winnow.runners.inspect.serving.page_build import SOURCES, WEB, build_page, built_of, sources_digest
from winnow.runners.inspect.serving.page_files import BUILT, page_files

FIRST_LOAD = 600 << 10

wheel = built_wheel  # a fixture is found by the name that it has here


def test_no_address_of_a_registry_is_in_the_sources() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text("utf-8"))
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
    assert [
        name for name, package in lock["packages"].items() if name and not package["integrity"].startswith("sha512-")
    ] == []
    named = json.loads((WEB / "package.json").read_text("utf-8"))
    versions = [*named["dependencies"].values(), *named.get("devDependencies", {}).values()]
    assert [version for version in versions if not re.fullmatch(r"\d+\.\d+\.\d+", version)] == []


def test_what_was_built_is_known_by_its_sources(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.ts").write_text("1")
    before = sources_digest(tmp_path)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.js").write_text("1")
    (tmp_path / "src" / "main.test.ts").write_text("1")
    assert sources_digest(tmp_path) == before
    (tmp_path / "src" / "main.ts").write_text("2")
    assert sources_digest(tmp_path) != before
    assert built_of(tmp_path) is None


@pytest.mark.page
def test_the_page_is_the_same_wherever_it_is_built(tmp_path: Path) -> None:
    shutil.copytree(WEB, tmp_path / "elsewhere" / "web", ignore=shutil.ignore_patterns("node_modules"))
    build_page(tmp_path / "elsewhere" / "web", tmp_path / "built")
    assert built_of(BUILT) == sources_digest(WEB), "run: make web"
    assert {name: file.content for name, file in page_files(BUILT).items()} == {
        name: file.content for name, file in page_files(tmp_path / "built").items()
    }


@pytest.mark.page
def test_the_page_loads_little_and_nothing_inline() -> None:
    files = page_files(BUILT)
    html = files["index.html"].content.decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=", html) == []
    assert re.findall(r"(?:src|href)=\"(?!\./)", html) == []
    first = [name.removeprefix("./") for name in re.findall(r"(?:src|href)=\"([^\"]+)\"", html)]
    assert sum(len(gzip.compress(files[name].content)) for name in ("index.html", *first)) < FIRST_LOAD
    assert sum(len(file.compressed) for file in files.values()) < FIRST_LOAD
    assert "## svelte - " in (BUILT / "licences.md").read_text("utf-8")


@pytest.mark.page
def test_the_wheel_holds_the_page_and_no_sources_of_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name.removeprefix("winnow/runners/inspect/") for name in archive.namelist() if "/inspect/" in name}
    assert {f"built/{name}" for name in page_files(BUILT)} | {f"built/{SOURCES}"} <= names
    assert [name for name in names if name.startswith("web/") or "node_modules" in name] == []
