"""Reads objects of a web server that answers range requests, such as Common Crawl's; nothing is written or listed.

A proxy that the environment names (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`) is used.
"""

import base64
import http.client
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from winnow.pipelines.store.buckets.bucket_store import Bucket, BucketStore, Clients, Piece
from winnow.pipelines.store.buckets.retries import (
    asked_wait,
    busy_error,
    cut_off_error,
    first_line,
    refused_error,
    unreached_error,
    untrusted_error,
)
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.errors import StoreError

ANSWER_SECONDS: Final = 30  # without receiving a byte
_SERVER: Final = "the server"  # in messages that begin with its address
_BUSY: Final = frozenset((429, 500, 502, 503, 504))

_clients = Clients(("HTTP_", "HTTPS_", "SSL_"))


def proxy_of(address: str) -> SplitResult | None:
    """The proxy that the environment names for an address."""
    parts = urlsplit(address)
    named = getproxies().get(parts.scheme)
    if not named or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return urlsplit(named if "://" in named else f"http://{named}")


@dataclass(frozen=True)
class HttpStore(BucketStore):
    """Objects below an address of a web server. Its `name` is the server: scheme, host and port."""

    @classmethod
    def of(cls, address: str) -> Self:
        """The objects below an address; sends no request yet."""
        parts = urlsplit(address)
        try:
            is_usable = parts.port != 0
        except ValueError:  # no number of a port
            is_usable = False
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or parts.query
            or parts.username
            or not is_usable
        ):
            shown = f"{parts.scheme}://{parts.hostname or ''}{parts.path}"  # without a password
            raise StoreError(f"{shown}: expected http:// or https://, a host and a path, without a user or a query")
        path = parts.path.strip("/")
        return cls(f"{parts.scheme}://{parts.netloc}", f"{path}/" if path else "")

    @property
    def root(self) -> str:
        """The address as a user writes it."""
        return f"{self.name}/{self.prefix}".rstrip("/")

    @property
    def _bucket(self) -> Bucket:
        return _clients.get(self.name, lambda: HttpBucket(self.name))


class HttpBucket(Bucket):
    """One server, through a connection for each thread."""

    whole_bytes = 0

    def __init__(self, server: str) -> None:
        super().__init__(server)
        self._server = server
        self._proxy = proxy_of(server)
        self._held = threading.local()

    def get(self, key: str, start: int, stop: int | None, version: str | None) -> Piece:
        """Sends one GET; the body is read whole, so that a broken connection is detected here."""
        headers = {} if version in (None, "") else {"If-Match": str(version)}
        if start or stop is not None:
            headers["Range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
        status, fields, body = self._ask("GET", key, headers)
        if status == 416:
            info = self.describe(key)[0]
            return Piece(b"", info.size, info.version)
        if status == 412:
            raise StoreError(f"{self._server}: {key} was replaced while it was read; run again")
        if status == 200 and "Range" in headers:
            raise StoreError(f"{self._server}: {key}: the server ignores ranges; use a copy of these files")
        whole = fields.get("Content-Range", "").rpartition("/")[2]
        return Piece(body, int(whole) if whole.isdigit() else len(body), fields.get("ETag", ""))

    def describe(self, key: str) -> tuple[ObjectInfo, str | None]:
        """Sends one HEAD."""
        _, fields, _ = self._ask("HEAD", key, {})
        length = fields.get("Content-Length", "")
        if not length.isdigit():
            raise StoreError(f"{self._server}: {key}: the server does not say how long it is")
        return ObjectInfo(key, int(length), fields.get("ETag", "")), None

    def put_at(self, key: str) -> float:
        """Refused: nothing is written here."""
        raise self._refused(key)

    def page(self, prefix: str, after: str | None) -> tuple[list[ObjectInfo], str | None]:  # noqa: ARG002 - the facade's
        """Refused: a web server has no listing."""
        raise StoreError(f"{self._server}/{prefix}: a web server lists no files; name the file")

    def put(self, key: str, content: bytes) -> None:  # noqa: ARG002 - the facade's
        """Refused: nothing is written here."""
        raise self._refused(key)

    def put_parts(self, key: str, file: Path) -> None:  # noqa: ARG002 - the facade's
        """Refused: nothing is written here."""
        raise self._refused(key)

    def put_new(self, key: str, content: bytes, mark: str) -> bool:  # noqa: ARG002 - the facade's
        """Refused: nothing is written here."""
        raise self._refused(key)

    def delete(self, key: str) -> None:
        """Refused: nothing is written here."""
        raise self._refused(key)

    def _refused(self, key: str) -> StoreError:
        return StoreError(f"{self._server}/{key}: a web server is only read from")

    def _ask(self, method: str, key: str, headers: dict[str, str]) -> tuple[int, http.client.HTTPMessage, bytes]:
        fields = {"User-Agent": "winnow", "Accept-Encoding": "identity", **headers}
        path = f"/{quote(key)}"
        if self._proxy is not None and self._server.startswith("http:"):  # it is asked for the whole address
            path, fields = f"{self._server}{path}", fields | _shown_to(self._proxy)
        try:
            connection = self._connection()
            connection.request(method, path, headers=fields)
            response = connection.getresponse()
            body = response.read()
        except ssl.SSLCertVerificationError as error:
            self._close()
            raise untrusted_error(self._server, _SERVER, first_line(error), "the address") from None
        except (http.client.IncompleteRead, http.client.BadStatusLine, ConnectionResetError, TimeoutError) as error:
            self._close()
            raise cut_off_error(_SERVER, first_line(error)) from None
        except (OSError, http.client.HTTPException):
            self._close()
            raise unreached_error(_SERVER, "the address") from None
        status = response.status
        if status in (404, 410):
            raise FileNotFoundError
        if status in _BUSY:
            asked = asked_wait(response.headers.get("Retry-After"))
            raise busy_error(_SERVER, status, response.reason, asked or 0.0)
        if status not in (200, 206, 412, 416):
            raise refused_error(self._server, _SERVER, status, response.reason)
        return status, response.headers, body

    def _connection(self) -> http.client.HTTPConnection:
        if getattr(self._held, "connection", None) is None:
            parts = urlsplit(self._server)
            secure = parts.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            first = self._proxy or parts
            self._held.connection = kind(first.hostname or "", first.port, timeout=ANSWER_SECONDS)
            if self._proxy is not None and secure:
                self._held.connection.set_tunnel(parts.hostname or "", parts.port, _shown_to(self._proxy))
        found: http.client.HTTPConnection = self._held.connection
        return found

    def _close(self) -> None:
        self._held.connection.close()
        self._held.connection = None


def _shown_to(proxy: SplitResult) -> dict[str, str]:
    """The field by which a proxy knows its user."""
    if proxy.username is None:
        return {}
    known = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {base64.b64encode(known).decode()}"}
