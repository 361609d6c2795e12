"""`winnow inspect` as a process: it prints one address, answers there, and an interrupt ends it without a trace."""

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.runners.inspect.asking import Asker
from winnow.pipelines.store import layout
from winnow.pipelines.store.integrity.sealed import put_record
from winnow.pipelines.store.local import LocalStore
from winnow.runners.commands.main import main
from winnow.runners.inspect.serving.page_build import WEB, built_of, sources_digest
from winnow.runners.inspect.serving.page_files import BUILT
from winnow.schemas.records import FORMAT_VERSION, StoreRecord

pytestmark = [
    pytest.mark.page,
    pytest.mark.skipif(built_of(BUILT) != sources_digest(WEB), reason="the page is not built: make web"),
]


@contextmanager
def inspecting(folder: Path, *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", Asker, str]]:
    command = [sys.executable, "-m", "winnow", "inspect", *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            address = next(
                found for line in lines if (found := re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", line))
            )
            asker = Asker(int(address[1]))
            asker.headers["Cookie"] = f"winnow-{address[1]}={address[2]}"
            yield process, asker, address[2]
        finally:
            if process.poll() is None:
                process.kill()


def test_an_interrupt_ends_it_at_once_and_leaves_nothing(books: Path) -> None:
    with inspecting(books, "recipe.yaml") as (process, page, _):
        assert page.view("store")["ok"]
        children = psutil.Process(process.pid).children(recursive=True)
        # a query that would go on for ever is no reason to wait
        connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=30)
        headers = {**page.headers, "Content-Type": "application/json"}
        connection.request(
            "POST", "/api/sql", b'{"query": "SELECT count(*) FROM range(10000000000) a, range(1000000) b"}', headers
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
        connection.close()
        assert [child for child in children if child.is_running()] == []
        with pytest.raises(OSError, match=r"."):
            page.view("store")


def test_a_port_can_be_chosen_and_is_refused_if_it_is_taken(books: Path) -> None:
    with inspecting(books, "store", "--port", "0") as (_, page, _token):
        done = subprocess.run(
            [sys.executable, "-m", "winnow", "inspect", "store", "--port", str(page.port)],
            cwd=books, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert re.fullmatch(r"winnow: port \d+ of 127\.0\.0\.1: .+; choose another --port\n", done.stderr)


def test_the_token_differs_at_each_start(books: Path) -> None:
    tokens = set()
    for _ in range(2):
        with inspecting(books, "store", "--no-browser") as (process, _page, token):
            tokens.add(token)
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 143
    assert len(tokens) == 2


@pytest.mark.parametrize("port", ["-1", "65536", "http", "8 0", "١"])
def test_a_port_that_is_none_is_refused(books: Path, capsys: pytest.CaptureFixture[str], port: str) -> None:
    assert main(["inspect", str(books / "store"), f"--port={port}"]) == 1
    assert "expected a number from 0 to 65535" in capsys.readouterr().err


def test_a_store_of_a_newer_format_says_to_update(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put_record(LocalStore(tmp_path), layout.STORE_RECORD, StoreRecord("x", 1, 1, 1, 1, 1, None, FORMAT_VERSION + 1))
    assert main(["inspect", str(tmp_path)]) == 1
    assert "update winnow" in capsys.readouterr().err
