"""The render hook: another program asks for addresses, such as a browser in a container, and writes WARC.

It is asked in the place of a request, under the same decisions: only addresses whose site consents, many at a time but
no more of a host or a domain than may be asked at once, each in its turn. What it writes is input like any other: only
responses of the addresses that it was given count, after their redirects, whose sites must consent as well; each is
judged and recorded as if it had been asked here. Machines of private networks are refused, before by the name and
afterwards by the address that the WARC gives.

The command's words may contain `{addresses}`, a file with an address a line; `{folder}`, where it writes its WARC
files and where that file lies, too; `{agent}`, by whose name it should ask.
"""

import asyncio
import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from winnow.filters.web.machines import is_public, machine_of
from winnow.pipelines.fetch.live.client import user_agent
from winnow.pipelines.fetch.live.exchange import Body, Failed, Followed, Hop, Response
from winnow.pipelines.fetch.live.names import Names
from winnow.pipelines.fetch.live.places import Place, place_of
from winnow.pipelines.fetch.live.visits import Errand, Visits
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.ingest.archives.chunks import BrokenOffError, NotCodedError, chunks
from winnow.pipelines.ingest.archives.flows import HeldFlow
from winnow.pipelines.ingest.archives.http import BLANK_LINE, STATUS_LINE, HttpHead, header_fields
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.schemas.recipe.fetch import FetchConfig, Render

AT_ONCE: Final = 64  # addresses of one run of the command
GATHERED_SECONDS: Final = 1.0  # for which a run waits for more addresses

_ENDINGS: Final = (".warc", ".warc.gz")
_SHOWN: Final = 200


@dataclass(slots=True)
class _Asked:
    """An address that waits for its page."""

    place: Place
    found: "asyncio.Future[Followed]"


class Renderer:
    """Gathers addresses, and runs the command for many at a time, once at a time."""

    def __init__(self, command: Render, config: FetchConfig, visits: Visits, names: Names, scratch: Path) -> None:
        self._command, self._config, self._visits = command, config, visits
        self._names, self._scratch = names, scratch
        self._allowed = frozenset(config.allow_hosts)
        self._gathered: list[_Asked] = []
        self._full = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def follow(self, place: Place, errand: Errand) -> Followed:
        """What the command made of an address, in its turn."""
        async with self._visits.gate(errand)(place) as refused:
            if refused is None:
                machines = await self._names.machines(place.host, place.port)
                refused = machines if isinstance(machines, Failed) else None
            if refused is not None:
                return Followed(place, refused)
            asked = _Asked(place, asyncio.get_running_loop().create_future())
            self._gathered.append(asked)
            if len(self._gathered) >= AT_ONCE:
                self._full.set()
            if self._running is None:
                self._running = asyncio.get_running_loop().create_task(self._run_all())
            running = self._running
            await asyncio.wait((asked.found, running), return_when=asyncio.FIRST_COMPLETED)
            if not asked.found.done():
                running.result()  # raises what went wrong
            followed = asked.found.result()
        last = followed.last
        if isinstance(last, Response) and followed.hops:
            refusal = await self._visits.refusal(followed.place)
            if refusal is not None:
                last.close()
                return Followed(followed.place, Failed(refusal.reason, refusal.detail), followed.hops)
        return followed

    async def _run_all(self) -> None:
        """Run the command until nobody waits."""
        try:
            while self._gathered:
                if len(self._gathered) < AT_ONCE:
                    self._full.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(GATHERED_SECONDS):
                            await self._full.wait()
                asked, self._gathered = self._gathered[:AT_ONCE], self._gathered[AT_ONCE:]
                await self._run(asked)
        finally:
            self._running = None

    async def _run(self, asked: list[_Asked]) -> None:
        with temporary_folder("render") as name:
            folder = Path(name)
            addresses = folder / "addresses.txt"
            addresses.write_text("".join(f"{one.place.url}\n" for one in asked), "ascii")
            known = {"{addresses}": str(addresses), "{folder}": str(folder), "{agent}": user_agent(self._config)}
            began = time.monotonic()
            said = await self._ended(_filled(self._command, known), len(asked))
            ms = round(1000 * (time.monotonic() - began))
            try:
                pages = await asyncio.to_thread(self._read, folder)
            except OSError as error:
                pages, said = {}, f"{error}"
            for one in asked:
                if not one.found.done():
                    one.found.set_result(self._followed(one.place, pages, said, ms))
            for page in pages.values():
                if page.is_unused and isinstance(page.last, Response):
                    page.last.close()

    async def _ended(self, words: list[str], count: int) -> str:
        """Run a command to its end; what it said last, if it failed."""
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            return f"{words[0]}: {error.strerror or error}"
        assert process.stderr is not None
        last = b""
        try:
            async with asyncio.timeout(self._config.total_seconds * count):
                while piece := await process.stderr.read(1 << 16):
                    last = (last + piece)[-_SHOWN * 4 :]
                status = await process.wait()
        except TimeoutError:
            return f"{words[0]}: took more than {self._config.total_seconds * count:g} seconds"
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        lines = last.decode("utf-8", "replace").split("\n")
        line = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{words[0]}: no record of it" if not status else f"{words[0]}: status {status}: {line[-_SHOWN:]}"

    def _read(self, folder: Path) -> dict[str, "_Page"]:
        """The responses in all WARC files of a folder, by their addresses; of several the last."""
        pages: dict[str, _Page] = {}
        for file in sorted(path for path in folder.rglob("*") if path.name.endswith(_ENDINGS) and path.is_file()):
            with file.open("rb") as stream:
                try:
                    for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=False):
                        self._add(pages, record)
                except (OSError, ValueError):
                    continue  # what follows what cannot be read is missing, and so are its addresses
        return pages

    def _add(self, pages: dict[str, "_Page"], record: WarcRecord) -> None:
        place = place_of((record.headers.get("WARC-Target-URI") or "").strip("<>"), self._config.ports)
        if isinstance(place, Failed):
            return
        address = record.headers.get("WARC-IP-Address") or ""
        machine = machine_of(address)
        if machine is not None and not is_public(machine) and place.host not in self._allowed:
            pages[place.url] = _Page(Failed(Reason.PRIVATE_ADDRESS, address))
            return
        most = self._config.max_header_bytes + self._config.max_bytes
        content = record.reader.read(most + 1)
        header = BLANK_LINE.search(content, 0, self._config.max_header_bytes)
        status = STATUS_LINE.match(content)
        if header is None or status is None:
            pages[place.url] = _Page(Failed(Reason.PROTOCOL, "the record is no response"))
        elif len(content) - header.end() > self._config.max_bytes:
            pages[place.url] = _Page(Failed(Reason.TOO_LARGE, f"more than {self._config.max_bytes:,} bytes"))
        else:
            head = HttpHead(header.end(), int(status[1]), header_fields(content[: header.end()].partition(b"\n")[2]))
            body = Body(self._scratch)
            body.add(_without_chunks(head, content[header.end() :]))
            moment = record.record_date
            began = int(moment.timestamp() * 1e6) if moment is not None else time.time_ns() // 1000
            request = b"GET %b HTTP/1.1\r\nHost: %b\r\n\r\n" % (place.target.encode(), place.authority.encode())
            pages[place.url] = _Page(Response(place, request, content[: header.end()], head, body, address, began, 0))

    def _followed(self, place: Place, pages: dict[str, "_Page"], said: str, ms: int) -> Followed:
        """The page of an address, or of where it redirects to."""
        hops: list[Hop] = []
        here = place
        while (page := pages.get(here.url)) is not None:
            last = page.last
            if isinstance(last, Failed):
                return Followed(here, last, tuple(hops))
            to = last.redirect()
            if to is None:
                if not page.is_unused:  # another address leads here, too
                    last = _copy(last, self._scratch)
                page.is_unused = False
                last.ms = ms
                return Followed(here, last, tuple(hops))
            following = place_of(to, self._config.ports, here.url)
            hops.append(Hop(here.url, last.status))
            if isinstance(following, Failed):
                return Followed(here, following, tuple(hops))
            if len(hops) > self._config.max_redirects:
                return Followed(here, Failed(Reason.REDIRECTS, f"more than {self._config.max_redirects}"), tuple(hops))
            here = following
        return Followed(here, Failed(Reason.RENDER_FAILED, said, ms), tuple(hops))


@dataclass(slots=True)
class _Page:
    """What a WARC has of an address."""

    last: Response | Failed
    is_unused: bool = True


def _filled(words: Iterable[str], known: dict[str, str]) -> list[str]:
    filled = []
    for word in words:
        for name, value in known.items():
            word = word.replace(name, value)
        filled.append(word)
    return filled


def _copy(response: Response, scratch: Path) -> Response:
    """The same response with a body of its own."""
    body = Body(scratch)
    for piece in response.body.pieces():
        body.add(piece)
    return replace(response, body=body)


def _without_chunks(head: HttpHead, body: bytes) -> bytes:
    """A body without its transfer coding, if it still has one."""
    if "chunked" not in head.codings(b"transfer-encoding"):
        return body
    try:
        return b"".join(body[start:stop] for start, stop in chunks(HeldFlow(body), 0, len(body)))
    except (NotCodedError, BrokenOffError):
        return body
