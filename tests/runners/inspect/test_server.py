"""The server answers its own page alone, always in one line, and gives up what the page no longer needs."""

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runners.inspect.asking import TOKEN, Asker, opened, served, wait_until
from winnow.pipelines.processes.cancelling import cancelled_flag, check_cancelled
from winnow.pipelines.query.generation import require_latest_for
from winnow.pipelines.rules.pinning import PinnedProgram
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.local import LocalStore
from winnow.runners.inspect import frame as frame_module
from winnow.runners.inspect import opened as opened_module
from winnow.runners.inspect import view as view_module
from winnow.runners.inspect.frame import Frame, Progress, frame_of, progress_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.parts import Packs
from winnow.runners.inspect.serving import server as server_module
from winnow.runners.inspect.serving.guards import HEADERS, MAX_BODY_BYTES
from winnow.runners.inspect.view import Answer, Asked, AskedError, UnavailableError, View, views
from winnow.schemas.errors import StoreError
from winnow.schemas.records import Generation

JSON = {"Content-Type": "application/json"}


def test_the_token_is_exchanged_for_a_cookie_that_scripts_cannot_read(page: Asker) -> None:
    said = page.ask("GET", f"/?token={TOKEN}", headers={"Cookie": None})
    assert (said.status, said.headers["location"]) == (303, "/")
    assert said.headers["set-cookie"] == f"winnow-{page.port}={TOKEN}; HttpOnly; Path=/; SameSite=strict"
    assert page.ask("GET", "/").status == 200


def test_a_link_from_another_site_leads_on_by_a_page_as_strict_cookies_do_not_follow_redirects(page: Asker) -> None:
    said = page.ask("GET", f"/?token={TOKEN}", headers={"Cookie": None, "Sec-Fetch-Site": "cross-site"})
    assert said.status == 200
    assert b'content="0; url=/"' in said.body
    assert TOKEN.encode() not in said.body


@pytest.mark.parametrize(
    ("headers", "status", "why"),
    [
        ({"Cookie": None}, 403, "open the whole address"),
        ({"Cookie": "winnow-1=a-token"}, 403, "open the whole address"),
        ({"Cookie": "\"';,=%%"}, 403, "open the whole address"),
        ({"Host": "evil.example"}, 403, "another name"),
        ({"Host": "127.0.0.1"}, 403, "another name"),
        ({"Host": "127.0.0.1.evil.example:{port}"}, 403, "another name"),
        ({"Host": "[::1]:{port}"}, 403, "another name"),
        ({"Origin": "http://evil.example"}, 403, "another site"),
        ({"Origin": "null"}, 403, "another site"),
        ({"Origin": "https://127.0.0.1:{port}"}, 403, "another site"),
        ({"Origin": "http://127.0.0.1:1"}, 403, "another site"),
        ({"Sec-Fetch-Site": "cross-site"}, 403, "another site"),
        ({"Sec-Fetch-Site": "same-site"}, 403, "another site"),
        ({"Content-Type": "text/plain"}, 415, "application/json"),
        ({"Content-Type": None}, 415, "application/json"),
    ],
)
def test_a_request_that_is_not_of_the_page_is_refused(
    page: Asker, headers: dict[str, str | None], status: int, why: str
) -> None:
    filled = {name: value and value.replace("{port}", str(page.port)) for name, value in headers.items()}
    said = page.ask("POST", "/api/store", b"{}", {**JSON, **filled})
    assert (said.status, why in said.body.decode()) == (status, True)
    assert said.headers.items() >= {name.lower(): value for name, value in HEADERS.items()}.items()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_both_names_of_loopback_are_answered(page: Asker, name: str) -> None:
    own = {"Host": f"{name}:{page.port}", "Origin": f"http://{name}:{page.port}", "Sec-Fetch-Site": "same-origin"}
    assert page.ask("POST", "/api/store", b"{}", {**JSON, **own}).json["ok"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/../../../../etc/passwd", 404),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET", "//etc/passwd", 404),
        ("GET", "/api/store", 404),
        ("GET", "/index.html%00.js", 404),
        ("GET", "/picture/../../etc/passwd", 404),
        ("POST", "/index.html", 405),
        ("PUT", "/api/store", 405),
        ("DELETE", "/api/store", 405),
        ("TRACE", "/", 405),
        ("POST", "/api/..%2fview", 405),
    ],
)
def test_there_are_no_other_paths(page: Asker, method: str, path: str, status: int) -> None:
    said = page.ask(method, path, None if method == "GET" else b"{}", JSON)
    assert said.status == status
    assert b"root:" not in said.body
    assert said.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[]", 400),
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b"\xff", 400),
        (b'"' + b"a" * MAX_BODY_BYTES + b'"', 413),
        (b'{"lane": 1}', 400),
        (b'{"turn": "1"}', 400),
        (b"", 200),
    ],
)
def test_a_body_is_one_object_of_at_most_a_mebibyte(page: Asker, body: bytes, status: int) -> None:
    assert page.ask("POST", "/api/store", body, JSON).status == status


@pytest.mark.parametrize("name", ["__init__", "nothing", "os", "constructor", "%00", "store%2f..%2fstore"])
def test_a_view_that_is_not_there_is_said(page: Asker, name: str) -> None:
    said = page.ask("POST", f"/api/{name}", b"{}", JSON)
    assert said.status == 405 if "%2f" in name else said.json["kind"] == "unavailable"


def test_files_are_sent_compressed_to_those_who_take_that(page: Asker) -> None:
    assert page.ask("GET", "/", headers={"Accept-Encoding": "gzip"}).headers["content-encoding"] == "gzip"
    assert "content-encoding" not in page.ask("GET", "/").headers


def test_an_unfinished_store_is_said_in_the_views_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Exception] = [
        UnavailableError("no layer yet; run: winnow annotate"),
        AskedError("page: expected a number"),
        ValueError("a bug\nof two lines"),
    ]

    def failing(_opened: Opened, asked: Asked) -> Answer:
        raise raised[asked["which"]]

    monkeypatch.setattr(server_module, "views", lambda: {"failing": View(failing)})
    with served(opened_nothing()) as page:
        assert page.view("failing", which=0) == {
            "ok": False,
            "kind": "unavailable",
            "why": "no layer yet; run: winnow annotate",
        }
        assert page.view("failing", which=1)["kind"] == "asked"
        assert page.view("failing", which=2) == {
            "ok": False,
            "kind": "error",
            "why": "ValueError: a bug of two lines; run winnow --debug inspect to see where",
        }


def opened_nothing() -> Opened:
    """What no view of a test reads."""
    nothing = LocalStore(Path("/nonexistent/store"))
    return Opened(Store(nothing, None), None)  # type: ignore[arg-type]


def test_an_error_is_short_however_long_what_was_asked(page: Asker) -> None:
    long = "x" * 500_000
    for asked in ({"filter": long}, {"filter": {long: 1}}, {"filter": {"map": {long: 1}}}, {"order": long}):
        said = page.view("samples", **asked)
        assert (said["kind"], len(said["why"]) < 2_100) == ("asked", True)


def test_a_newer_turn_ends_the_older_of_its_lane_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, answers = [], {}

    def waiting(_opened: Opened, asked: Asked) -> Answer:
        begun.append(asked["name"])
        if asked["name"] in ("older", "elsewhere"):
            for _ in range(1000):
                check_cancelled()
                threading.Event().wait(0.01)
                if asked["name"] == "elsewhere" and "newer" in answers:
                    break
        return {"name": asked["name"]}

    monkeypatch.setattr(server_module, "views", lambda: {"waiting": View(waiting)})
    with served(opened_nothing()) as page:

        def ask(name: str, lane: str, turn: int) -> None:
            answers[name] = page.view("waiting", name=name, lane=lane, turn=turn)

        threads = [threading.Thread(target=ask, args=one) for one in (("older", "a", 1), ("elsewhere", "b", 1))]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(begun) == 2)
        ask("newer", "a", 2)
        for thread in threads:
            thread.join(20)
    assert answers["older"] == {"ok": False, "kind": "cancelled", "why": "the page asks for something newer"}
    assert answers["newer"] == {"ok": True, "answer": {"name": "newer"}}
    assert answers["elsewhere"]["ok"]


def test_work_ends_with_its_budget_even_if_it_looks_at_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def stuck(_opened: Opened, _asked: Asked) -> Answer:
        release.wait(30)
        return {}

    monkeypatch.setattr(server_module, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(server_module, "views", lambda: {"stuck": View(stuck, seconds=0.2)})
    with served(opened_nothing()) as page:
        said = page.view("stuck")
        release.set()
    assert (said["kind"], "0.2 s" in said["why"]) == ("stopped", True)


def test_what_many_shards_are_still_read_for_is_told_and_is_there_later(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    fill = frame_module.fill_frame

    def slow(pinned: PinnedProgram, progress: Progress, packs: Packs) -> Frame:
        progress.begin(9)
        progress.add(4)
        assert go_on.wait(60)
        return fill(pinned, progress, packs)

    monkeypatch.setattr(frame_module, "fill_frame", slow)
    monkeypatch.setattr(server_module, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(server_module, "views", lambda: {"rules": View(views()["rules"].answer, seconds=0.5)})
    with served(opened(books / "recipe.yaml")) as page:
        said = page.view("rules")
        assert (said["kind"], "4 of 9 shards" in said["why"]) == ("reading", True)
        go_on.set()
        until = time.monotonic() + 60
        while not (said := page.view("rules"))["ok"]:
            assert said["kind"] == "reading"
            assert time.monotonic() < until


def test_work_ends_when_the_page_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    begun = threading.Event()

    def waiting(_opened: Opened, _asked: Asked) -> Answer:
        begun.set()
        wait_until(cancelled_flag())
        ended.set()
        return {}

    monkeypatch.setattr(server_module, "views", lambda: {"waiting": View(waiting)})
    with served(opened_nothing()) as page:
        with socket.create_connection(("127.0.0.1", page.port)) as connection:
            cookie = f"Cookie: winnow-{page.port}={TOKEN}\r\n"
            connection.sendall(
                f"POST /api/waiting HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n{cookie}"
                "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".encode()
            )
            assert begun.wait(20)
        assert ended.wait(20)


def test_each_view_is_found_by_its_file() -> None:
    folder = Path(view_module.__file__).parent / "views"
    assert set(view_module.views()) == {file.stem for file in folder.glob("[!_]*.py")}
    assert all(json.dumps(name) and isinstance(one, View) for name, one in view_module.views().items())


def test_a_store_alone_is_opened_too(books: Path) -> None:
    with served(opened(books / "store")) as page:
        assert page.view("store")["ok"]


def test_a_store_that_cannot_be_decided_says_so_instead_of_counting_on(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = opened(books / "recipe.yaml")
    before = ask_store(shown)
    assert before["done"] < before["of"]
    assert before["failed"] is None

    def failing(*_: object) -> None:
        raise StoreError("an object\nis damaged")

    with monkeypatch.context() as patched:
        patched.setattr(frame_module, "fill_frame", failing)
        with served(shown) as page:
            page.view("store")  # begins
            wait_until(lambda: ask_store(shown)["failed"] is not None)
            assert ask_store(shown)["failed"] == "an object is damaged"
    progress = progress_of(shown)
    progress.done = progress.of = 3  # the last shard is decided, and the frame is not there yet
    assert ask_store(shown)["done"] == 2
    frame_of(shown)
    assert ask_store(shown) == {"done": 3, "of": 3, "failed": None}


def ask_store(shown: Opened) -> dict[str, Any]:
    found: dict[str, Any] = view_module.views()["store"].answer(shown, {})["progress"]["frame"]
    return found


def test_pictures_hold_up_no_view(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = [], threading.Event()

    def slow(*_args: object, **_options: object) -> bytes:
        begun.append(1)
        go.wait(30)
        return b"JPEG"

    monkeypatch.setattr(server_module, "picture", slow)
    monkeypatch.setattr(server_module, "views", lambda: {"quick": View(lambda _opened, _asked: {"said": 1})})
    with served(opened_nothing()) as page:
        asking = [threading.Thread(target=page.ask, args=("GET", f"/picture/{'0' * 32}/{at}")) for at in range(12)]
        for thread in asking:
            thread.start()
        wait_until(lambda: len(begun) == server_module.PICTURE_THREADS)
        assert page.view("quick") == {"ok": True, "answer": {"said": 1}}
        assert len(begun) == server_module.PICTURE_THREADS
        go.set()
        for thread in asking:
            thread.join(30)


def test_all_views_and_tables_are_of_one_generation(books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, looked_up, both = opened(books / "recipe.yaml"), [], threading.Barrier(2)

    def look_up(*of: Any) -> Generation:
        looked_up.append(1)
        threading.Event().wait(0.2)
        return require_latest_for(*of)

    monkeypatch.setattr(opened_module, "require_latest_for", look_up)
    found: list[Generation] = []

    def read(*, tables: bool) -> None:
        both.wait(20)
        found.append(shown.tables.generation if tables else shown.generation)

    threads = [threading.Thread(target=read, kwargs={"tables": tables}) for tables in (False, True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found[0] is found[1] is shown.again().generation
    assert looked_up == [1]
