"""Who may ask the server, and what a browser may do with its answers.

Any page that a browser shows can send requests to loopback, and with a name of its own that resolves to 127.0.0.1
(DNS rebinding) it could read the answers. So a request must name this server, come from its page and bring the token
that the command printed. Pages run no script but the server's own files, and nothing is kept in a cache.
"""

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES: Final = 1 << 20
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_ARRIVED: Final = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><a href="/">Go on</a>'
)


@dataclass(frozen=True, slots=True)
class Guard:
    """Answers what is not allowed itself, and hands all else on."""

    app: ASGIApp
    port: int
    token: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._answer(scope)
        if answer is not None:
            await answer(scope, receive, with_headers)
        else:
            await self.app(scope, receive, with_headers)

    def _answer(self, scope: Scope) -> Response | None:
        """What the guard answers itself; None if the request may pass."""
        headers = Headers(scope=scope)
        hosts = (f"127.0.0.1:{self.port}", f"localhost:{self.port}")
        host, origin, fetched = headers.getlist("host"), headers.get("origin"), headers.get("sec-fetch-site")
        if len(host) != 1 or host[0] not in hosts:
            return refused(403, f"open the page at {hosts[0]}; another name, or another port of a tunnel, is refused")
        if origin is not None and origin != f"http://{host[0]}":
            return refused(403, "a request of another site is refused")
        given = parse_qs(scope.get("query_string", b"").decode("ascii", "replace")).get("token")
        if given is not None and scope["method"] == "GET" and scope["path"] == "/":
            return self._arrived(given[-1], from_elsewhere=fetched == "cross-site")
        if not _same(_cookie(headers, self._cookie_name), self.token):
            return refused(403, "open the whole address that winnow inspect printed, with its token")
        if fetched not in (None, "same-origin", "none"):
            return refused(403, "a request of another site is refused")
        if (
            scope["method"] == "POST"
            and headers.get("content-type", "").partition(";")[0].strip() != "application/json"
        ):
            return refused(415, "expected Content-Type: application/json")
        return None

    def _arrived(self, token: str, *, from_elsewhere: bool) -> Response:
        """Exchanges the token for a cookie, and leaves the address without it."""
        if not _same(token, self.token):
            return refused(403, "this token is not the one that winnow inspect printed; it differs at each start")
        # A browser sends no strict cookie along a redirect that another site, such as a terminal in a page, led to.
        answer = HTMLResponse(_ARRIVED) if from_elsewhere else RedirectResponse("/", 303)
        answer.set_cookie(self._cookie_name, self.token, httponly=True, samesite="strict")
        return answer

    @property
    def _cookie_name(self) -> str:
        """With the port, as browsers share cookies among all ports of a host."""
        return f"winnow-{self.port}"


def refused(status: int, why: str) -> Response:
    """A refusal, in one line."""
    return PlainTextResponse(f"{why}\n", status)


async def whole_body(receive: Receive) -> bytes | None:
    """The body of a request; None if it is longer than is allowed, or if the page has gone."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def parsed_object(body: bytes) -> dict[str, object] | None:
    """The JSON object of a body; None if it is none."""
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())


def _cookie(headers: Headers, name: str) -> str:
    cookies = SimpleCookie()
    try:
        cookies.load(headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""
