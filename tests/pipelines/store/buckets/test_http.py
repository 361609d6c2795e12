"""Objects of a web server: read by ranges, never written or listed."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.fetch.archives.loopback import Answer, Misbehave, Server
from winnow.pipelines.fetch.archives.downloads import open_ranges
from winnow.pipelines.store.buckets import retries
from winnow.pipelines.store.buckets.http import HttpStore, proxy_of
from winnow.schemas.errors import StoreError
from winnow.schemas.recipe.fetch import FetchConfig

RAW = bytes(range(256)) * 2_000


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT_SECONDS", 0.001)


def served(folder: Path, misbehave: Misbehave | None = None) -> Server:
    (folder / "a folder").mkdir()
    (folder / "a folder" / "a+b %.bin").write_bytes(RAW)
    return Server(folder, misbehave)


def test_an_object_is_read_whole_in_ranges_and_as_a_file(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        objects = HttpStore.of(f"{server.address}a folder/")
        assert objects.root == f"{server.address}a folder"
        assert objects.size("a+b %.bin") == len(RAW)
        assert objects.read("a+b %.bin") == RAW
        assert objects.read("a+b %.bin", 1_000, 50) == RAW[1_000:1_050]
        assert objects.read("a+b %.bin", len(RAW) - 5, 50) == RAW[-5:]
        assert objects.read("a+b %.bin", len(RAW) + 5, 50) == b""
        with objects.open("a+b %.bin") as stream:
            stream.seek(300_000)
            assert stream.read(70_000) == RAW[300_000:370_000]
        assert objects.exists("a+b %.bin")
        assert not objects.exists("none")
        with pytest.raises(FileNotFoundError):
            objects.read("none")


def test_threads_have_connections_of_their_own(tmp_path: Path) -> None:
    found: Counter[bytes] = Counter()
    with served(tmp_path) as server:
        objects = HttpStore.of(f"{server.address}a folder")
        threads = [
            threading.Thread(target=lambda at=at: found.update([objects.read("a+b %.bin", at, 9)])) for at in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {RAW[at : at + 9]: 1 for at in range(8)}


@pytest.mark.parametrize("answer", [Answer(503), Answer(429, {"Retry-After": "0"}), Answer(500), Answer(206, cut=9)])
def test_what_may_pass_is_tried_again(tmp_path: Path, answer: Answer) -> None:
    with served(tmp_path, lambda _, count: answer if count % 3 else None) as server:
        assert HttpStore.of(f"{server.address}a folder").read("a+b %.bin", 5, 90) == RAW[5:95]
        assert server.requests == 3


def test_a_wait_that_the_server_asks_for_is_kept(tmp_path: Path) -> None:
    with served(tmp_path, lambda _, count: Answer(503, {"Retry-After": "1"}) if count == 1 else None) as server:
        assert HttpStore.of(f"{server.address}a folder").read("a+b %.bin", 5, 90) == RAW[5:95]
        assert server.moments[1] - server.moments[0] >= 1


def test_a_server_that_ignores_ranges_or_refuses_is_said(tmp_path: Path) -> None:
    with served(tmp_path, lambda *_: Answer(403)) as server, pytest.raises(StoreError, match="403"):
        HttpStore.of(server.address).read("x")
    (tmp_path / "second").mkdir()
    with (
        served(tmp_path / "second", lambda *_: Answer(200)) as server,
        pytest.raises(StoreError, match="ignores ranges"),
    ):
        HttpStore.of(server.address).read("a folder/a+b %.bin", 5, 6)


def test_nothing_is_written_or_listed() -> None:
    objects = HttpStore.of("http://127.0.0.1:9/x")
    for refused in (
        lambda: objects.put("a", b""),
        lambda: objects.put_if_absent("a", b""),
        lambda: objects.delete("a"),
        lambda: list(objects.list()),
    ):
        with pytest.raises(StoreError):
            refused()
    for address in ("http://", "http://user:word@host/x", "ftp://host/x", "http://host/x?y", "http://host:99999/x"):
        with pytest.raises(StoreError):
            HttpStore.of(address)


@pytest.fixture
def proxied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A proxy, which has what it is asked for under whole addresses."""
    folder = tmp_path / "http:" / "data.example"
    folder.mkdir(parents=True)
    (folder / "a.bin").write_bytes(RAW)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Server(tmp_path) as server:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, server.address.replace("//", "//you:s%40crt@"))
        yield server


def test_the_environments_proxy_is_asked_for_the_whole_address(proxied: Server) -> None:
    objects = HttpStore.of("http://data.example")
    assert objects.read("a.bin", 1_000, 50) == RAW[1_000:1_050]
    assert {path for path, _ in proxied.asked} == {"http://data.example/a.bin"}
    assert proxied.headers[0]["Proxy-Authorization"] == "Basic eW91OnNAY3J0"
    assert proxied.headers[0]["Host"] == "data.example"


def test_ranges_of_archives_are_asked_for_through_it_too(proxied: Server) -> None:
    async def asked() -> bytes:
        reader = open_ranges("http://data.example/", FetchConfig(), 1)
        try:
            return bytes((await reader.read("a.bin", 7, 30)).content)
        finally:
            await reader.close()

    assert asyncio.run(asked()) == RAW[7:30]
    assert {path for path, _ in proxied.asked} == {"http://data.example/a.bin"}


def test_a_secure_server_is_reached_by_a_tunnel(proxied: Server) -> None:
    with pytest.raises(StoreError):
        HttpStore.of("https://data.example").read("a.bin")
    assert {line.partition(" HTTP")[0] for line in proxied.lines} == {"CONNECT data.example:443"}


def test_no_proxy_names_what_is_asked_directly(proxied: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "data.example,127.0.0.1")
    assert proxy_of("http://data.example/x") is None
    assert proxy_of("http://other.example/x") is not None
    assert HttpStore.of(f"{proxied.address}http:/data.example").read("a.bin", 0, 5) == RAW[:5]
