"""Lists that are made of datatrove's package: what is read of an archive, and what is refused."""

import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.filters.web.url_lists.addresses import matched
from winnow.filters.web.url_lists.index import open_index
from winnow.filters.web.url_lists.published_lists import ADULT_SITES, ASSETS, WORDS, make_adult_sites, make_fineweb_urls
from winnow.schemas.errors import RecipeError


def archive(path: Path, members: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> dict[str, Path]:
    with tarfile.open(path, "w:gz") as packed:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.type = len(content), kind
            packed.addfile(member, BytesIO(content))
    return {ADULT_SITES: path}


SITES = {"./README": b"no entry here", "domains": b"listed.com\nxxx\nsa.com\n192.0.2.1\n", "urls": b"a.com/~b/c\n"}


def test_sites_are_made_of_domains_and_urls_the_same_each_time(tmp_path: Path) -> None:
    sources = archive(tmp_path / "sites.tar.gz", SITES)
    make_adult_sites(sources, tmp_path / "one")
    make_adult_sites(sources, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    index = open_index(tmp_path / "one")
    assert index.summary.entries == {"domain": 2, "host": 2, "path": 1}
    assert matched(index, ["http://a.xxx", "http://b.sa.com", "http://sa.com", "http://a.com/~b/c/d"]) == [
        ("domain", "*.xxx"),
        None,
        ("host", "=sa.com"),
        ("path", "a.com/~b/c"),
    ]


def test_words_are_spelt_as_datatrove_spells_them(tmp_path: Path) -> None:
    sources = archive(tmp_path / "sites.tar.gz", SITES)
    for name, content in zip(WORDS, ("casino\n#free\n", "hot-pics\nspins\n", "free pics\n🙂\n"), strict=True):
        sources[name] = tmp_path / name
        sources[name].write_text(content, encoding="utf-8")
    make_fineweb_urls(sources, tmp_path / "list")
    index = open_index(tmp_path / "list")
    assert index.summary.entries == {"domain": 2, "host": 2, "path": 1, "word": 1, "soft": 2, "part": 1}
    assert matched(index, ["http://a.b/free", "http://a.b/hotpics?spins", "http://a.b/free/pics"]) == [
        None,
        ("word", "soft:hotpics soft:spins"),
        ("word", "part:freepics"),
    ]


def test_an_archive_that_is_not_that_is_refused(tmp_path: Path) -> None:
    for members, kind, why in (
        ({"domains": b"a.com\n"}, tarfile.REGTYPE, "lacks urls"),
        ({"../domains": b"a.com\n", "urls": b"a.com/b\n"}, tarfile.REGTYPE, "lacks domains"),
        ({"domains": b"", "urls": b""}, tarfile.SYMTYPE, "lacks domains and urls"),
    ):
        with pytest.raises(RecipeError, match=why):
            make_adult_sites(archive(tmp_path / "sites.tar.gz", members, kind), tmp_path / "list")
    whole = archive(tmp_path / "sites.tar.gz", SITES)[ADULT_SITES]
    for damage in (b"no archive", whole.read_bytes()[:60], b"\x1f\x8b" + b"\xff" * 99):
        whole.write_bytes(damage)
        with pytest.raises(RecipeError, match="cannot be unpacked"):
            make_adult_sites({ADULT_SITES: whole}, tmp_path / "list")


def test_the_assets_are_made_of_what_their_makers_take() -> None:
    made = {asset.name: asset for asset in ASSETS}
    assert [source.name for source in made["ut1-adult"].of] == [ADULT_SITES]
    assert [source.name for source in made["fineweb-urls"].of] == [ADULT_SITES, *WORDS]
