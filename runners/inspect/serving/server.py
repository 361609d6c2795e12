"""The server of the page: views by POST, pictures and the page's own files by GET.

    POST /api/<view>   {"lane": "rules", "turn": 3, …}  →  {"ok": true, "answer": {…}}
                                                         or {"ok": false, "kind": "unavailable", "why": "…"}

Kinds: `asked`, `unavailable`, `error`, `cancelled` (nobody waits for the answer), `stopped` (its budget is spent) and
`reading` (so it is, but the work goes on, and the page asks again).

Views run in threads; a newer turn of a lane ends the older (`turns.py`).
"""

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeVar

import orjson
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from winnow.pipelines.processes.cancelling import CancelledError, StoppedError, cancellable, check_cancelled
from winnow.runners.inspect.frame import frame_of, read_so_far, reading
from winnow.runners.inspect.opened import Opened, Showing
from winnow.runners.inspect.pictures import picture
from winnow.runners.inspect.serving.guards import Guard, parsed_object, refused, whole_body
from winnow.runners.inspect.serving.page_files import PageFile
from winnow.runners.inspect.serving.tables import TABLES, write_table
from winnow.runners.inspect.serving.turns import Lanes, Turn
from winnow.runners.inspect.units import units_of
from winnow.runners.inspect.view import AskedError, ReadingError, UnavailableError, views
from winnow.schemas.errors import WinnowError, is_interrupted_query

FIRST_VIEW: Final = "store"
THREADS: Final = 8
PICTURE_THREADS: Final = 3  # of their own, so that pictures that nobody waits for hold up no view
MOST_SAID: Final = 2_000  # characters of an error
GRACE_SECONDS: Final = 2.0  # from the end of a turn until its thread is no longer waited for
PICTURE_SECONDS: Final = 20.0
TABLE_SECONDS: Final = 600.0

Value = TypeVar("Value")


@dataclass(frozen=True)
class Server:
    """What answers requests about one store."""

    opened: Opened
    files: Mapping[str, PageFile]  # of the page, by path
    debug: bool = False  # prints tracebacks of errors on the terminal
    lanes: Lanes = field(default_factory=Lanes)
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS, "inspect"))
    picture_pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(PICTURE_THREADS, "inspect-picture")
    )
    _begun: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        """Begin to show it."""
        _ = self.showing

    @cached_property
    def showing(self) -> Showing:
        """What requests are answered from."""
        return Showing(self.opened)

    def app(self, port: int, token: str) -> ASGIApp:
        """As ASGI, for those who bring the token."""
        routes = [
            Route("/api/{view}", self._view, methods=["POST"]),
            Route("/picture/{id}/{item}", self._picture, methods=["GET"]),
            Route("/table.{ending}", self._table, methods=["GET"]),
            Route("/{path:path}", self._file, methods=["GET"]),
        ]
        return Guard(Starlette(routes=routes), port, token)

    def begin(self) -> None:
        """Decide all rows, which most views count: the page has its first view, and asks for these next."""
        if not self._begun.is_set():
            self._begun.set()
            threading.Thread(target=self._decide, daemon=True).start()

    def _decide(self) -> None:
        with suppress(WinnowError):  # the views that count rows say why it cannot be done
            shown = self.showing.now()
            units_of(shown, frame_of(shown))  # of many shards it takes longer than a view may

    def close(self) -> None:
        """Give all work up."""
        self.lanes.end_all("the server ends")
        self.showing.last.kept.end_all()
        for pool in (self.pool, self.picture_pool):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _view(self, request: Request) -> Response:
        body = await whole_body(request.receive)
        if body is None:
            return _answered(AskedError("a request may have 1 MiB"), 413)
        asked = parsed_object(body)
        if asked is None:
            return _answered(AskedError("expected a JSON object"))
        name = request.path_params["view"]
        view = views().get(name)
        if view is None:
            return _answered(UnavailableError(f"this version has no such view; it has: {', '.join(views())}"))
        lane, number = asked.pop("lane", None), asked.pop("turn", 0)
        if not (lane is None or isinstance(lane, str)) or not isinstance(number, int | float):
            return _answered(AskedError("expected a text as 'lane' and a number as 'turn'"))
        if lane is not None and "tab" in asked:
            lane = f"{lane} of {asked.pop('tab')}"  # tabs of a browser do not end each other's work
        before = read_so_far(self.showing.last)
        found = await self._in_turn(
            request,
            lane,
            number,
            view.seconds,
            lambda: orjson.dumps(view.answer(self.showing.now(), asked), option=_JSON),
        )
        if isinstance(found, StoppedError) and (line := reading(self.showing.last, before)) is not None:
            found = ReadingError(line)
        if isinstance(found, Exception):
            return self._failed(found)
        answer = b'{"ok":true,"answer":%b}' % found
        then = BackgroundTask(self.begin) if name == FIRST_VIEW else None
        return Response(answer, media_type="application/json", background=then)

    async def _picture(self, request: Request) -> Response:
        given, wanted = request.path_params, request.query_params
        found = await self._in_turn(
            request,
            None,
            0,
            PICTURE_SECONDS,
            lambda: picture(
                self.showing.now(),
                given["id"],
                given["item"],
                wanted.get("size"),
                wanted.get("row"),
                unblurred=wanted.get("unblurred") == "1",
            ),
            self.picture_pool,
        )
        if isinstance(found, WinnowError):
            return refused(404, str(found))
        if isinstance(found, Exception):
            return self._failed(found)
        return Response(found, media_type="image/jpeg")

    async def _table(self, request: Request) -> Response:
        query, ending = request.query_params.get("query", ""), request.path_params["ending"]
        found = await self._in_turn(
            request, None, 0, TABLE_SECONDS, lambda: write_table(self.showing.now(), query, ending)
        )
        if isinstance(found, WinnowError):
            return refused(400, str(found))
        if isinstance(found, Exception):
            return self._failed(found)
        return FileResponse(
            found,
            media_type=TABLES[ending],
            filename=f"table.{ending}",
            background=BackgroundTask(found.unlink, missing_ok=True),
        )

    async def _file(self, request: Request) -> Response:
        file = self.files.get(request.path_params["path"] or "index.html")
        if file is None:
            return refused(404, "no such page")
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            return Response(file.compressed, media_type=file.media_type, headers=headers)
        return Response(file.content, media_type=file.media_type)

    async def _in_turn(
        self,
        request: Request,
        lane: str | None,
        number: float,
        seconds: float,
        work: Callable[[], Value],
        pool: ThreadPoolExecutor | None = None,
    ) -> Value | Exception:
        """The result of some work in a thread, or the error in which it ended; of a turn that is over, why."""
        with self.lanes.turn(lane, number, seconds) as turn:
            running = asyncio.get_running_loop().run_in_executor(
                pool or self.pool, copy_context().run, _worked, turn, work
            )
            gone = asyncio.ensure_future(_gone(request))
            first: list[asyncio.Future[Any]] = [running, gone]
            try:
                await asyncio.wait(first, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    return running.result()
                if gone.done():
                    turn.end("the page was closed")
                else:
                    turn.exceed()
                await asyncio.wait([running], timeout=GRACE_SECONDS)
                return running.result() if running.done() else turn.over()
            finally:
                gone.cancel()

    def _failed(self, error: Exception) -> Response:
        if self.debug:
            traceback.print_exception(error, file=sys.stderr)
        return _answered(error)


async def _gone(request: Request) -> None:
    """Returns when the page that asked has been closed, or asks no longer."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _worked(turn: Turn, work: Callable[[], Value]) -> Value | Exception:
    with cancellable(turn.is_over):
        try:
            check_cancelled()
            return work()
        except Exception as error:  # noqa: BLE001 - a view's error is an answer, and the server goes on
            return turn.over() if turn.is_over() else error


_JSON: Final = orjson.OPT_SERIALIZE_NUMPY
_STATUS: Final[tuple[tuple[type[Exception], str, int], ...]] = (
    (StoppedError, "stopped", 200),
    (ReadingError, "reading", 200),
    (CancelledError, "cancelled", 200),
    (UnavailableError, "unavailable", 200),
    (AskedError, "asked", 400),
    (WinnowError, "error", 200),
)


def _answered(error: Exception, as_status: int | None = None) -> Response:
    """An error in one line."""
    kind, status = next(((kind, status) for of, kind, status in _STATUS if isinstance(error, of)), ("error", 500))
    said: Any = " ".join(str(error).split()) or type(error).__name__
    said = said if len(said) <= MOST_SAID else f"{said[:MOST_SAID]}…"  # what was asked may be as long as a request
    if kind == "error" and status == 500:
        said = f"{type(error).__name__}: {said[:300]}; run winnow --debug inspect to see where"
    if is_interrupted_query(error):
        kind, status, said = "stopped", 200, "the query was interrupted"
    content = orjson.dumps({"ok": False, "kind": kind, "why": said.encode("utf-8", "replace").decode()})
    return Response(content, as_status or status, media_type="application/json")
