"""A small store, and a server over it that is asked as a browser asks."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from winnow.runners.commands.main import main
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.serving.loopback import listening, settings
from winnow.runners.inspect.serving.page_files import PageFile
from winnow.runners.inspect.serving.server import Server
from winnow.runners.stages.opening import open_place

TOKEN = "a-token"

RECIPE = """\
version: 1
store: {path: store, shard_rows: 7}
sources:
  books: {root: books, files: ["*.jsonl"], class: public, key: id}
annotate: [text.length, text.gopher]
keep: [{drop: text.length.characters < 40, reason: short, when_null: drop}]
mix: {unit: samples}
"""


def write_books(folder: Path, rows: int = 20) -> None:
    """A source of texts of two lengths, with one line that is no JSON, and a recipe."""
    (folder / "books").mkdir()
    texts = [
        {"id": f"b{at}", "text": "short" if at % 3 else f"A text long enough to be kept, number {at}."}
        for at in range(rows)
    ]
    (folder / "books" / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts) + "no JSON\n")
    (folder / "recipe.yaml").write_text(RECIPE)


def make_books(folder: Path) -> None:
    """A store of them."""
    write_books(folder)
    assert main(["run", str(folder / "recipe.yaml"), "--workers", "1", "--quiet"]) == 0


def opened(place: Path) -> Opened:
    """A recipe's store, or a store alone."""
    return opened_at(str(place))


def opened_at(place: str) -> Opened:
    """The same by its address."""
    recipe, store = open_place(place)
    return Opened(store, recipe)


@dataclass(frozen=True)
class Said:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """What it says as JSON."""
        return json.loads(self.body)


@dataclass
class Asker:
    """A client; without other headers it asks as the page does."""

    port: int
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.headers = {"Cookie": f"winnow-{self.port}={TOKEN}", **self.headers}

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str | None] | None = None
    ) -> Said:
        """One request; a header that is None is not sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {**self.headers, **(headers or {})}
        connection.request(method, path, body, {name: value for name, value in sent.items() if value is not None})
        answer = connection.getresponse()
        said = Said(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        connection.close()
        return said

    def view(self, name: str, /, **asked: Any) -> Any:
        """What a view answers."""
        return self.ask("POST", f"/api/{name}", json.dumps(asked).encode(), {"Content-Type": "application/json"}).json


@contextmanager
def served(of: Opened, files: Mapping[str, PageFile] | None = None) -> Iterator[Asker]:
    """A server in a thread of this process."""
    server = Server(of, files or {"index.html": PageFile(b"<!doctype html>", "text/html")})
    with listening(0) as listener:
        port = listener.getsockname()[1]
        running = uvicorn.Server(uvicorn.Config(server.app(port, TOKEN), **settings()))
        thread = threading.Thread(target=running.run, args=([listener],))
        thread.start()
        try:
            yield Asker(port)
        finally:
            server.close()
            running.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


def wait_until(found: Callable[[], bool], seconds: float = 20) -> None:
    """Waits for something that another thread does."""
    arrived = threading.Event()
    for _ in range(int(seconds * 50)):
        if found():
            return
        arrived.wait(0.02)
    raise AssertionError("it did not come")
