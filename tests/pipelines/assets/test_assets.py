"""Assets: one pinned file out of one pinned package, checked, put whole or not at all."""

import dataclasses
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.messages import assert_refused
from winnow.pipelines.assets import (
    AssetError,
    AssetFiles,
    AssetUnavailableError,
    all_assets,
    asset_digest,
    catalogue,
    fetch,
    fetched,
    lookup,
    size_of,
    state_of,
)
from winnow.schemas.assets import AnyAsset, Asset, BuiltAsset

CONTENT = b"weights " * 1000
MEMBER = "small_list/words.txt"
LIST = Asset(
    name="small.list",
    summary="a list",
    registry="pip",
    package="small-list==1.2.0",
    member=MEMBER,
    size_bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="MIT",
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, one package on a local shelf that real pip reads, and no network."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    write_wheel(shelf / "small_list-1.2.0-py3-none-any.whl", CONTENT)
    monkeypatch.setenv("WINNOW_ASSETS", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    declare(monkeypatch, LIST)


def declare(monkeypatch: pytest.MonkeyPatch, *assets: AnyAsset) -> None:
    """Assets of an operator beside winnow's own."""
    own = [("operator text.own", asset) for asset in assets]
    others = catalogue._declared
    monkeypatch.setattr(catalogue, "_declared", lambda: iter([*own, *others()]))


def write_wheel(
    path: Path, content: bytes, metadata: str = "Metadata-Version: 2.1\nName: small-list\nVersion: 1.2.0\n"
) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("small_list/__init__.py", "raise SystemExit('a fetched package must never run')")
        wheel.writestr("small_list/words.txt", content)
        wheel.writestr("small_list-1.2.0.dist-info/METADATA", metadata)
        wheel.writestr("small_list-1.2.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("small_list-1.2.0.dist-info/RECORD", "")


def test_a_missing_asset_says_what_to_run() -> None:
    with assert_refused(AssetError, "'small.list'", "winnow assets", "small.list"):
        lookup("small.list")


def test_the_pinned_file_is_taken_out_of_the_package_and_nothing_else_and_once(tmp_path: Path) -> None:
    assert fetch(LIST)
    assert not fetch(LIST)
    assert Path(lookup("small.list")).read_bytes() == CONTENT
    assert AssetFiles().path("small.list") == lookup("small.list")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [LIST.file_name]


@pytest.mark.processes
def test_processes_that_fetch_at_once_all_end_with_the_same_file(tmp_path: Path) -> None:
    code = (
        "from winnow.pipelines.assets import fetch\nfrom winnow.schemas.assets import Asset\n"
        f"fetch(Asset(**{ {field: getattr(LIST, field) for field in LIST.__slots__}!r}))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [LIST.file_name]
    assert state_of(LIST) == "present"


def test_a_damaged_file_is_reported_and_replaced_by_the_next_fetch() -> None:
    fetch(LIST)
    path = Path(lookup("small.list"))
    path.write_bytes(CONTENT[:-1] + b"X")
    os.utime(path, ns=(1, 1))
    with assert_refused(AssetError, "winnow assets", "small.list"):
        lookup("small.list")
    assert fetch(LIST)
    assert Path(lookup("small.list")).read_bytes() == CONTENT


OTHER = r"is not the pinned file: expected 8,000 bytes with sha256 .* nothing was kept"


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"x", CONTENT[:-1] + b"X", b"", bytes(50_000_000)])
def test_other_content_is_refused_and_no_more_of_it_is_read_than_is_expected(tmp_path: Path, content: bytes) -> None:
    write_wheel(tmp_path / "other.whl", content)
    target = io.BytesIO()
    with pytest.raises(AssetError, match=OTHER):
        fetched._unpack(LIST, tmp_path / "other.whl", target)
    assert len(target.getvalue()) <= len(content[: len(CONTENT)])


def test_a_package_with_other_content_leaves_nothing_behind(tmp_path: Path) -> None:
    write_wheel(tmp_path / "shelf" / "small_list-1.2.0-py3-none-any.whl", CONTENT[:-1] + b"X")
    with pytest.raises(AssetError, match=OTHER):
        fetch(LIST)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_package_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssetError, match=r"small-list==1.2.0 has no file small_list/other.txt"):
        unpacked(dataclasses.replace(LIST, member="small_list/other.txt"), next((tmp_path / "shelf").iterdir()))


def test_a_package_that_cannot_be_had_is_one_line() -> None:
    with pytest.raises(AssetError, match=r"^asset 'small.list': cannot download small-list==9: .*") as raised:
        fetch(dataclasses.replace(LIST, package="small-list==9"))
    assert "\n" not in str(raised.value)


def tarball(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def unpacked(asset: Asset, archive: Path) -> bytes:
    target = io.BytesIO()
    fetched._unpack(asset, archive, target)
    return target.getvalue()


def test_npm_tarballs_are_read_as_a_stream(tmp_path: Path) -> None:
    entries = [(tarfile.TarInfo("package/a.js"), b"x" * 3_000_000), (tarfile.TarInfo(MEMBER), CONTENT)]
    assert unpacked(LIST, tarball(tmp_path / "p.tgz", *entries)) == CONTENT


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_only_a_regular_file_counts(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo(MEMBER)
    info.type, info.linkname = kind, "/etc/passwd"
    with pytest.raises(AssetError, match="has no file"):
        unpacked(LIST, tarball(tmp_path / "p.tgz", (info, b"")))


def test_an_archive_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetched, "MAX_UNPACKED_BYTES", 1_000_000)
    path = tarball(tmp_path / "p.tgz", (tarfile.TarInfo("zeros"), bytes(20_000_000)))
    with pytest.raises(AssetError, match="unpacks to more than 1,000,000 bytes"):
        unpacked(LIST, path)


@pytest.mark.parametrize(
    "damage", [b"", b"PK\x03\x04 no zip", gzip.compress(b"no tar", mtime=0)[:-9], b"\x1f\x8b\x08" * 9]
)
def test_a_damaged_archive_is_one_line(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "p.tgz").write_bytes(damage)
    with pytest.raises(AssetError):
        unpacked(LIST, tmp_path / "p.tgz")


def test_the_path_of_a_file_stands_for_itself_and_its_digest_follows_its_content(tmp_path: Path) -> None:
    model = tmp_path / "own.bin"
    model.write_bytes(b"one")
    assert lookup(str(model)) == str(model)
    first = asset_digest(str(model))
    model.write_bytes(b"other")
    assert first == hashlib.sha256(b"one").hexdigest()
    assert asset_digest(str(model)) == hashlib.sha256(b"other").hexdigest()


def test_the_digest_of_a_named_asset_needs_no_file() -> None:
    assert asset_digest("small.list") == LIST.sha256


def test_a_path_to_nothing_and_an_unknown_name_are_told_apart(tmp_path: Path) -> None:
    with assert_refused(AssetError, "expected a file"):
        lookup(str(tmp_path / "gone.bin"))
    with assert_refused(AssetError, "'lid.167'", "'lid.176'"):
        lookup("lid.167")


def test_every_asset_is_pinned_in_full() -> None:
    for asset in (one for known in all_assets() for one in ([known] if isinstance(known, Asset) else known.of)):
        mark = "==" if asset.registry == "pip" else "@"
        assert mark in asset.package
        assert len(bytes.fromhex(asset.sha256)) == 32
        assert asset.size_bytes > 0
        assert asset.licence


def count_words(sources: Mapping[str, Path], target: Path) -> None:
    words = sources["small.list"].read_text().split()
    target.write_text(json.dumps({word: words.count(word) for word in sorted(set(words))}))


COUNTED = BuiltAsset(
    name="counted",
    summary="how often each word of the list occurs",
    of=(LIST,),
    make=count_words,
    version=1,
    file="counts.json",
    licence="MIT",
)


def need_a_package(sources: Mapping[str, Path], target: Path) -> None:
    raise ModuleNotFoundError("No module named 'h6py'", name="h6py")


def fail(sources: Mapping[str, Path], target: Path) -> None:
    target.write_text("half of it")
    raise AssetError("the list is no list")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> BuiltAsset:
    declare(monkeypatch, COUNTED)
    return COUNTED


def test_a_made_asset_is_made_once_of_what_is_fetched_for_it(made: BuiltAsset, tmp_path: Path) -> None:
    assert size_of(made) is None
    assert fetch(made)
    assert json.loads(Path(lookup("counted")).read_text()) == {"weights": 1000}
    assert not fetch(made)
    assert size_of(made) == len('{"weights": 1000}')
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [
        made.file_name,
        f"{made.file_name}.sha256",
    ]


def test_a_made_asset_that_has_changed_since_is_damaged_and_made_again(made: BuiltAsset) -> None:
    fetch(made)
    Path(lookup("counted")).write_text('{"weights": 1001}')
    with assert_refused(AssetError, "'counted'", "run:", "winnow assets"):
        lookup("counted")
    assert fetch(made)
    assert json.loads(Path(lookup("counted")).read_text()) == {"weights": 1000}


def test_a_made_assets_digest_stays_when_its_function_is_another(made: BuiltAsset) -> None:
    assert dataclasses.replace(made, make=fail).value_digest == made.value_digest


@pytest.mark.parametrize(
    "change", [{"version": 2}, {"maker_id": "another"}, {"of": (dataclasses.replace(LIST, sha256="0" * 64),)}]
)
def test_what_a_made_asset_is_made_of_and_how_is_part_of_its_digest(made: BuiltAsset, change: dict[str, Any]) -> None:
    other = dataclasses.replace(made, **change)
    assert other.value_digest != made.value_digest
    assert other.file_name != made.file_name


def test_a_missing_package_is_told_with_the_line_that_installs_it(made: BuiltAsset, tmp_path: Path) -> None:
    wanting = dataclasses.replace(made, make=need_a_package, extra="toxicity")
    with assert_refused(AssetUnavailableError, "h6py", "'winnow[toxicity]'"):
        fetch(wanting)
    assert not list((tmp_path / "cache").iterdir())


def test_a_maker_that_fails_leaves_nothing(made: BuiltAsset, tmp_path: Path) -> None:
    with pytest.raises(AssetError, match="the list is no list"):
        fetch(dataclasses.replace(made, make=fail))
    assert not list((tmp_path / "cache").iterdir())


def test_an_archive_can_be_an_asset_as_it_is(tmp_path: Path) -> None:
    archive = tmp_path / "shelf" / "small_list-1.2.0-py3-none-any.whl"
    content = archive.read_bytes()
    whole = dataclasses.replace(
        LIST,
        name="small.whl",
        member=None,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    assert fetch(whole)
    assert state_of(whole) == "present"


DIGESTS = {
    "efficientnet-lite0.features": "c2f39f3394cc6351",
    "centerface": "4a0395997f1f809c",
    "nsfwjs.inception-v3": "315c44f0cbbc8076",
    "toxicity.en": "36f1f9bbae89427f",
    "transnet-v2": "de133f88fab89a14",
    "ut1-adult": "0314910fc232f139",
    "fineweb-urls": "7a8078671611fac3",
    "wordlists.core": "4b0e9894e3b267ec",
    "wordlists.ldnoobw": "7db8edd574ffb9a8",
    "wordlists.ldnoobw2": "fb50b6311cd9f83b",
    "wordlists.safetext": "8dc06e0141c89e1f",
}
"""Of the made assets; they are part of the keys of layers in users' stores, so they change with a version alone."""


def test_digests_of_made_assets_stay_wherever_their_code_lies() -> None:
    made = {asset.name: asset.value_digest[:16] for asset in all_assets() if isinstance(asset, BuiltAsset)}
    assert made == DIGESTS


def test_assets_come_in_the_order_of_the_operators_that_declare_them_and_no_name_is_a_path() -> None:
    names = [asset.name for asset in all_assets()]
    assert names == [
        "small.list",
        "lid.176",
        "brisque",
        "efficientnet-lite0.features",
        "sscd.distilled",
        "centerface",
        "nsfwjs.inception-v3",
        "open-nsfw",
        "pp-ocrv6-det",
        "wordllama",
        "wordllama.tokenizer",
        "toxicity.en",
        "wordlists.core",
        "wordlists.ldnoobw",
        "wordlists.ldnoobw2",
        "wordlists.safetext",
        "ut1-adult",
        "fineweb-urls",
        "transnet-v2",
        "efficientnet-lite0",
        "imagenet-names",
        "minilm-l6",
        "minilm-l6.tokenizer",
        "clip.pairs",
    ]
    assert not any("/" in name for name in names)


def test_two_assets_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    declare(monkeypatch, dataclasses.replace(LIST, sha256="0" * 64))
    with assert_refused(AssetError, "'small.list'", "text.own"):
        all_assets()
