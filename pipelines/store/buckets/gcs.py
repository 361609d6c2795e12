"""Stores objects on Google Cloud Storage through its JSON API and google-auth."""

import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

from winnow.pipelines.store.buckets.bucket_store import MARK, Bucket, BucketStore, Clients, Piece
from winnow.pipelines.store.buckets.gcs_session import endpoint, refused, session, translated_error
from winnow.pipelines.store.buckets.retries import TransientError, no_bucket_error
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.errors import StoreError

if TYPE_CHECKING:
    from requests import Response

PART_BYTES = 32 << 20  # a multiple of 256 KiB, required by the API
UPLOADS = 3  # attempts per file
PAGE = 1_000
CONNECT_SECONDS = 5
ANSWER_SECONDS = 30  # without receiving a byte

_clients = Clients(("GOOGLE_", "STORAGE_", "GS_", "GCE_", "CLOUDSDK_", "HOME"))


@dataclass(frozen=True)
class GcsStore(BucketStore):
    """Objects under a prefix of a bucket of Google Cloud Storage."""

    scheme = "gs"
    names = r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]"
    names_said = "3 to 63 of a-z, 0-9, '-', '_' and '.'"

    @property
    def _bucket(self) -> Bucket:
        return _clients.get(self.name, lambda: GcsBucket(self.name))


class GcsBucket(Bucket):
    """One bucket over HTTP. A version is an object's generation.

    What the service calls a batch is as many requests in one body, each answered and billed alone: none is sent.
    """

    whole_bytes = 8 << 20  # a failed part is repeated alone

    def __init__(self, name: str) -> None:
        self._name = name
        self._place = f"gs://{name}"
        super().__init__(self._place)
        self._endpoint = endpoint()
        self._session = session(self._place)
        self._there = False

    def get(self, key: str, start: int, stop: int | None, version: str | None) -> Piece:
        """Sends one GET; the body is read whole, so that a broken connection is detected here."""
        headers = {"Accept-Encoding": "identity"}  # reads a compressed object as stored
        if stop is not None or start:
            headers["Range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
        condition = {} if version is None else {"ifGenerationMatch": version}
        answer = self._send("GET", self._object(key, "download/"), {"alt": "media", **condition}, headers)
        if answer.status_code == 416:
            info = self.describe(key)[0]
            return Piece(b"", info.size, info.version)
        if answer.status_code == 412:
            raise StoreError(f"{self._place}: an object was replaced while it was read; run again")
        self._check(answer, of_object=True)
        content = answer.content
        whole = answer.headers.get("Content-Range", "").rpartition("/")[2]
        promised = int(answer.headers.get("Content-Length", len(content)))
        if len(content) != promised:
            raise TransientError(f"{len(content)} of {promised} bytes came", answered=True)
        return Piece(content, int(whole or len(content)), answer.headers["X-Goog-Generation"])

    def describe(self, key: str) -> tuple[ObjectInfo, str | None]:
        """Sends one GET for the object's metadata."""
        answer = self._send("GET", self._object(key), {"fields": "name,size,generation,metadata"})
        found = self._json(self._check(answer, of_object=True))
        return _info(found), found.get("metadata", {}).get(MARK)

    def put_at(self, key: str) -> float:
        """Sends one GET for the object's metadata."""
        answer = self._send("GET", self._object(key), {"fields": "updated"})
        return datetime.fromisoformat(self._json(self._check(answer, of_object=True))["updated"]).timestamp()

    def page(self, prefix: str, after: str | None) -> tuple[list[ObjectInfo], str | None]:
        """Reads one page of a listing, in UTF-8 order, which is that of Python's strings."""
        token = {} if after is None else {"pageToken": after}
        fields = {"maxResults": str(PAGE), "fields": "items(name,size,generation),nextPageToken"}
        found = self._json(self._check(self._send("GET", self._objects(), {"prefix": prefix, **fields, **token})))
        return [_info(one) for one in found.get("items", ())], found.get("nextPageToken") or None

    def put(self, key: str, content: bytes) -> None:
        """Sends one POST."""
        self._check(self._post(key, content, {}, {}))

    def put_parts(self, key: str, file: Path) -> None:
        """Uploads in parts; an unfinished upload is never visible and expires within a week."""
        size = file.stat().st_size
        for _ in range(UPLOADS):
            with open(file, "rb") as stream, suppress(_UploadLostError):
                address = self.trying(lambda _: self._begin(key))
                sent = 0
                while sent < size:
                    step = partial(self._continue, address, stream, sent, size)
                    sent = self.trying(step)
                return
        raise StoreError(f"{self._place}: the service dropped the upload of {key} {UPLOADS} times; run again")

    def put_new(self, key: str, content: bytes, mark: str) -> bool:
        """Sends one POST with ifGenerationMatch=0."""
        answer = self._post(key, content, {"ifGenerationMatch": "0"}, {MARK: mark})
        if answer.status_code == 412:
            return False
        self._check(answer)
        return True

    def delete(self, key: str) -> None:
        """Sends one DELETE; a missing object is fine, a missing bucket is not."""
        with suppress(FileNotFoundError):
            self._check(self._send("DELETE", self._object(key)), of_object=True)

    def _post(self, key: str, content: bytes, condition: Mapping[str, str], metadata: Mapping[str, str]) -> "Response":
        """Sends name, metadata and bytes in one request."""
        boundary = secrets.token_hex(16)
        named = json.dumps({"name": key, "contentType": "application/octet-stream", "metadata": metadata})
        body = b"".join(
            (
                f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{named}\r\n".encode(),
                f"--{boundary}\r\nContent-Type: application/octet-stream\r\n\r\n".encode(),
                content,
                f"\r\n--{boundary}--\r\n".encode(),
            )
        )
        headers = {"Content-Type": f"multipart/related; boundary={boundary}"}
        return self._send("POST", self._objects("upload/"), {"uploadType": "multipart", **condition}, headers, body)

    def _begin(self, key: str) -> str:
        body = json.dumps({"name": key, "contentType": "application/octet-stream"}).encode()
        headers = {"Content-Type": "application/json; charset=UTF-8"}
        answer = self._send("POST", self._objects("upload/"), {"uploadType": "resumable"}, headers, body)
        return str(self._check(answer).headers["Location"])

    def _continue(self, address: str, stream: BinaryIO, sent: int, size: int, attempt: int) -> int:
        """Sends the next part and returns how many bytes of the file the service has."""
        if attempt > 1:  # the last attempt may have arrived in part or entirely
            answer = self._send("PUT", address, headers={"Content-Range": f"bytes */{size}"})
            if answer.status_code != 308:
                return self._finished(answer, size)
            sent = _arrived(answer)
        stream.seek(sent)
        part = stream.read(PART_BYTES)
        headers = {"Content-Range": f"bytes {sent}-{sent + len(part) - 1}/{size}"}
        answer = self._send("PUT", address, headers=headers, body=part)
        if answer.status_code != 308:
            return self._finished(answer, size)
        if (arrived := _arrived(answer)) <= sent:
            raise TransientError(f"{self._endpoint} took nothing of a part", answered=True)
        return arrived

    def _finished(self, answer: "Response", size: int) -> int:
        """The size, if the upload has become an object of that size; a smaller object is removed."""
        if answer.status_code in {404, 410}:
            raise _UploadLostError
        found = _info(self._json(self._check(answer)))
        if found.size != size:  # a service without sessions takes a status query for the end of the upload
            self._send("DELETE", self._object(found.path), {"ifGenerationMatch": found.version})
            raise _UploadLostError
        return size

    def _objects(self, service: str = "") -> str:
        return f"{self._endpoint}/{service}storage/v1/b/{self._name}/o"

    def _object(self, key: str, service: str = "") -> str:
        return f"{self._objects(service)}/{quote(key, safe='')}"

    def _send(
        self,
        method: str,
        address: str,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> "Response":
        """Sends one request and translates failures to our errors."""
        try:
            return self._session.request(
                method,
                address,
                params=parameters,
                headers=headers,
                data=body,
                timeout=(CONNECT_SECONDS, ANSWER_SECONDS),
                allow_redirects=False,
            )
        except Exception as error:
            if (known := translated_error(error, self._place, self._endpoint)) is None:
                raise
            raise known from None

    def _missing(self, whole: bool) -> Exception:
        """The meaning of a 404: the object is missing or the whole bucket is, which not every service distinguishes."""
        if not whole and not self._there:
            try:
                whole = self._send("GET", self._objects(), {"maxResults": "1"}).status_code == 404
            except StoreError:
                whole = False
            self._there = not whole
        if whole:
            return no_bucket_error(self._place, self._endpoint, "STORAGE_EMULATOR_HOST")
        return FileNotFoundError(self._place)

    def _json(self, answer: "Response") -> dict[str, Any]:
        try:
            found: dict[str, Any] = answer.json()
        except ValueError:
            raise StoreError(
                f"{self._place}: {self._endpoint} does not speak the JSON interface; check STORAGE_EMULATOR_HOST"
            ) from None
        return found

    def _check(self, answer: "Response", *, of_object: bool = False) -> "Response":
        """Returns the answer if it is a success; `of_object` if the object may be missing."""
        if answer.status_code == 404:
            raise self._missing(not of_object)
        if answer.status_code >= 300:
            raise refused(answer, self._place, self._endpoint)
        self._there = True
        return answer


class _UploadLostError(Exception):
    """The service has lost an upload, which must start again."""


def _info(found: Mapping[str, Any]) -> ObjectInfo:
    return ObjectInfo(str(found["name"]), int(str(found.get("size", 0))), str(found["generation"]))


def _arrived(answer: "Response") -> int:
    last = str(answer.headers.get("Range", "")).rpartition("-")[2]
    return int(last) + 1 if last else 0
