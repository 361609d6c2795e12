"""Stores objects on S3, or on a compatible server, through boto3.

Endpoint, region, profile and credentials come from AWS's standard places: AWS_ENDPOINT_URL_S3,
AWS_ENDPOINT_URL, AWS_REGION, AWS_PROFILE, AWS_ACCESS_KEY_ID and ~/.aws. AWS_NO_SIGN_REQUEST=YES reads a public bucket
without credentials.
"""

import io
import os
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.pipelines.store.buckets.bucket_store import (
    CONNECTIONS,
    MARK,
    Bucket,
    BucketStore,
    Clients,
    Piece,
    sending,
)
from winnow.pipelines.store.buckets.s3_errors import client_error, translated_error
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.errors import StoreError

if TYPE_CHECKING:
    from botocore.client import BaseClient

INSTALL = "pip install 'winnow[s3]'"
PART_BYTES = 16 << 20
UNASKED_BYTES = 1 << 20
MOST_PARTS = 9_000  # S3: 10 000
PAGE = 1_000  # S3's most
BATCH = 1_000  # objects deleted in one request: S3's most
UNKNOWN = {"NotImplemented", "MethodNotAllowed", "MissingContentMD5", "501", "405"}
CONNECT_SECONDS = 5
ANSWER_SECONDS = 30  # without receiving a byte
METADATA_SECONDS = 1  # for the machine's own credentials: not every machine has such a service

_clients = Clients(("AWS_", "BOTO_", "HOME"))


@dataclass(frozen=True)
class S3Store(BucketStore):
    """Objects under a prefix of an S3 bucket."""

    scheme = "s3"
    names = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
    names_said = "3 to 63 of a-z, 0-9, '-' and '.'"

    @property
    def _bucket(self) -> Bucket:
        return _clients.get(self.name, lambda: S3Bucket(self.name))


class S3Bucket(Bucket):
    """One bucket through boto3, with its retries turned off."""

    whole_bytes = 16 << 20

    def __init__(self, name: str) -> None:
        self._name = name
        super().__init__(f"s3://{name}")
        self._s3 = _client(name)
        self._there = False  # whether the bucket is known to exist
        self._batches = True  # whether the service deletes several objects in one request, as far as known

    def get(self, key: str, start: int, stop: int | None, version: str | None) -> Piece:
        """Sends one GET; the body is read whole, so that a broken connection is detected here."""
        condition = {} if version is None else {"IfMatch": version}
        if stop is not None or start:
            condition["Range"] = f"bytes={start}-{'' if stop is None else stop - 1}"
        try:
            answer = self._ask("get_object", Key=key, **condition)
        except _OutOfRangeError:
            info = self.describe(key)[0]
            return Piece(b"", info.size, info.version)
        whole = answer.get("ContentRange", "").rpartition("/")[2] or answer["ContentLength"]
        return Piece(answer["Body"], int(whole), answer["ETag"])

    def describe(self, key: str) -> tuple[ObjectInfo, str | None]:
        """Sends one HEAD; if refused, also a GET, because the answer to a HEAD has no body with the reason."""
        try:
            answer = self._ask("head_object", Key=key)
        except FileNotFoundError:
            if not self._there:
                self._hear(key)
            raise
        except StoreError:
            self._hear(key)
            raise
        return ObjectInfo(key, answer["ContentLength"], answer["ETag"].strip('"')), answer["Metadata"].get(MARK)

    def put_at(self, key: str) -> float:
        """Sends one HEAD."""
        found: datetime = self._ask("head_object", Key=key)["LastModified"]
        return found.timestamp()

    def _hear(self, key: str) -> None:
        with suppress(_OutOfRangeError):
            self._ask("get_object", Key=key, Range="bytes=0-0")

    def page(self, prefix: str, after: str | None) -> tuple[list[ObjectInfo], str | None]:
        """Reads one page of a listing, in UTF-8 order, which is that of Python's strings."""
        token = {} if after is None else {"ContinuationToken": after}
        answer = self._ask("list_objects_v2", Prefix=prefix, MaxKeys=PAGE, **token)
        found = [ObjectInfo(one["Key"], one["Size"], one["ETag"].strip('"')) for one in answer.get("Contents", ())]
        return found, answer["NextContinuationToken"] if answer["IsTruncated"] else None

    def put(self, key: str, content: bytes) -> None:
        """Sends one PUT."""
        self._ask("put_object", Key=key, Body=content)

    def put_parts(self, key: str, file: Path) -> None:
        """Uploads in parts from several threads; aborts the upload if a part fails."""
        size = file.stat().st_size
        step = max(PART_BYTES, -(-size // MOST_PARTS))
        upload = self.trying(lambda _: self._ask("create_multipart_upload", Key=key))["UploadId"]
        try:
            parts = [
                sending().submit(self._put_part, key, upload, file, number, start, step)
                for number, start in enumerate(range(0, size, step), 1)
            ]
            failed = next((part for part in wait(parts, return_when=FIRST_EXCEPTION).done if part.exception()), None)
            if failed is not None:
                for part in parts:
                    part.cancel()
                wait(parts)  # a part still being sent would outlive its upload
                failed.result()
            tags = [{"ETag": part.result(), "PartNumber": number} for number, part in enumerate(parts, 1)]
            self.trying(lambda attempt: self._complete(key, upload, tags, size, attempt))
        except BaseException:
            self._abort(key, upload)
            raise

    def put_new(self, key: str, content: bytes, mark: str) -> bool:
        """Sends one PUT with If-None-Match."""
        try:
            self._ask("put_object", Key=key, Body=content, IfNoneMatch="*", Metadata={MARK: mark})
        except _RefusedError:
            return False
        return True

    def delete(self, key: str) -> None:
        """Sends one DELETE, which succeeds without an object as well."""
        with suppress(FileNotFoundError):  # other services than S3 may raise it
            self._ask("delete_object", Key=key)

    @property
    def batch(self) -> int:
        """A thousand, or one once the service has shown that it does not know such requests."""
        return BATCH if self._batches else 1

    def delete_batch(self, keys: Sequence[str]) -> None:
        """Sends one DeleteObjects; one DELETE for each object if the service does not know that."""
        if len(keys) > 1 and self._batches:
            try:
                answer = self._ask("delete_objects", Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True})
            except _UnknownError:
                self._batches = False
            else:
                self._require_deleted(answer.get("Errors", ()))
                return
        super().delete_batch(keys)

    def _require_deleted(self, refused: Sequence[dict[str, str]]) -> None:
        """Raises the error of the first object that is still there; a batch is answered as a whole if some are."""
        for one in refused:
            answer = {"Error": one, "ResponseMetadata": {}}
            error = client_error(
                answer, "DeleteObjects", self._name, self._s3.meta.endpoint_url, signed=not _unsigned()
            )
            if not isinstance(error, FileNotFoundError):
                raise error

    def clear_uploads(self, prefix: str) -> int:
        """Aborts every multipart upload under the prefix."""
        dropped = 0
        after: dict[str, str] = {}
        while True:
            answer = self.trying(partial(self._uploads, prefix, after))
            for upload in answer.get("Uploads", ()):
                self._abort(upload["Key"], upload["UploadId"])
                dropped += 1
            if not answer.get("IsTruncated"):
                return dropped
            after = {"KeyMarker": answer["NextKeyMarker"], "UploadIdMarker": answer["NextUploadIdMarker"]}

    def _uploads(self, prefix: str, after: dict[str, str], _: int) -> dict[str, Any]:
        return self._ask("list_multipart_uploads", Prefix=prefix, **after)

    def _put_part(self, key: str, upload: str, file: Path, number: int, start: int, step: int) -> str:
        with open(file, "rb") as stream:
            stream.seek(start)
            content = stream.read(step)
        part = partial(self._ask, "upload_part", Key=key, UploadId=upload, PartNumber=number, Body=content)
        return str(self.trying(lambda _: part())["ETag"])

    def _complete(self, key: str, upload: str, tags: list[dict[str, object]], size: int, attempt: int) -> None:
        try:
            self._ask("complete_multipart_upload", Key=key, UploadId=upload, MultipartUpload={"Parts": tags})
        except FileNotFoundError:  # no such upload: an earlier attempt completed it and its answer was lost
            if attempt == 1 or self.describe(key)[0].size != size:
                raise StoreError(
                    f"s3://{self._name}: the upload of {key} was dropped while it was made; run again"
                ) from None

    def _abort(self, key: str, upload: str) -> None:
        with suppress(StoreError, FileNotFoundError):  # else clear_unfinished, or the bucket's own rule, drops it
            self.trying(lambda _: self._ask("abort_multipart_upload", Key=key, UploadId=upload))

    def _ask(self, operation: str, **arguments: object) -> dict[str, Any]:
        """Sends one request, reads its body whole and translates failures to our errors."""
        from botocore.exceptions import BotoCoreError, ClientError
        from urllib3.exceptions import HTTPError

        try:
            answer: dict[str, Any] = getattr(self._s3, operation)(Bucket=self._name, **arguments)
            if "Body" in answer:
                answer["Body"] = answer["Body"].read()
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            self._there = self._there or code == "NoSuchKey"
            if operation == "delete_objects" and code in UNKNOWN:
                raise _UnknownError from None
            if code in {"InvalidRange", "416"}:
                raise _OutOfRangeError from None
            if code in {"PreconditionFailed", "412"}:
                raise _RefusedError(f"s3://{self._name}: an object was replaced while it was read; run again") from None
            raise self._translated(error) from None
        except (BotoCoreError, HTTPError, OSError) as error:
            raise self._translated(error) from None
        self._there = True
        return answer

    def _translated(self, error: Exception) -> Exception:
        return translated_error(error, self._name, self._s3.meta.endpoint_url, signed=not _unsigned())


class _OutOfRangeError(Exception):
    """The object ends before the range begins."""


class _UnknownError(Exception):
    """The service does not know this kind of request: some that are like S3 do not delete several objects at once."""


class _RefusedError(StoreError):
    """A condition of the request does not hold."""


def _unsigned() -> bool:
    return os.environ.get("AWS_NO_SIGN_REQUEST", "").upper() in {"YES", "TRUE", "1"}


def _unasked(params: dict[str, Any], **_: object) -> None:
    """Sends small bodies without asking for permission first, which takes another round trip."""
    body = params.get("body")
    if isinstance(body, io.BytesIO) and body.getbuffer().nbytes <= UNASKED_BYTES:
        params["headers"].pop("Expect", None)


def _client(name: str) -> "BaseClient":
    try:
        import boto3
        from botocore import UNSIGNED
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError:
        raise StoreError(f"s3://{name}: reading and writing S3 needs the package boto3; {INSTALL}") from None
    try:
        session = boto3.session.Session()
        session._session.set_config_variable("metadata_service_timeout", METADATA_SECONDS)
        session._session.set_config_variable("metadata_service_num_attempts", 1)
        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=ANSWER_SECONDS,
            retries={"total_max_attempts": 1, "mode": "standard"},
            max_pool_connections=CONNECTIONS,
            user_agent_extra="winnow",
            signature_version=UNSIGNED if _unsigned() else None,
        )
        client: BaseClient = session.client("s3", config=config)
        client.meta.events.register_last("before-call.s3", _unasked)
        return client
    except (BotoCoreError, ValueError) as error:
        raise translated_error(error, name, "the service", signed=not _unsigned()) from None
