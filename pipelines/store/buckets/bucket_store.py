"""Implements the facade over a bucket of an object store; S3 and GCS differ only in their `Bucket`.

A store is an address. Each process makes its client from its own environment, once, so no
credential is ever in a pickle; a forked process makes its own. Small objects that were read are cached with their
versions.
"""

import os
import re
import secrets
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, ClassVar, Self, TypeVar

from winnow.pipelines.processes.run_folder import run_folder
from winnow.pipelines.store.buckets.ranged import RangedReader, buffered
from winnow.pipelines.store.buckets.retries import Retries
from winnow.pipelines.store.facade import ObjectInfo
from winnow.pipelines.store.names import key_of_name, name_of_key
from winnow.schemas.errors import StoreError

MOST_BYTES = 64 << 20


class Remembered:
    """Cached objects by address; evicts the least recently used."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._prefixes: set[str] = set()
        self._bytes = 0

    def begin(self, prefix: str) -> bool:
        """Whether objects under a prefix were read before."""
        with self._lock:
            known = prefix in self._prefixes
            self._prefixes.add(prefix)
            return known

    def get(self, address: str, version: str | None) -> bytes | None:
        """The object, if this version of it is cached."""
        with self._lock:
            found = self._held.get(address)
            if found is None or found[0] != version:
                return None
            self._held.move_to_end(address)
            return found[1]

    def keep(self, address: str, version: str, content: bytes) -> None:
        """Caches an object in place of another version."""
        with self._lock:
            _, old = self._held.pop(address, ("", b""))
            self._held[address] = version, content
            self._bytes += len(content) - len(old)
            while self._bytes > MOST_BYTES:
                _, (_, gone) = self._held.popitem(last=False)
                self._bytes -= len(gone)


MARK = "winnow-writer"  # the metadata that marks objects written by winnow
HEAD_BYTES = 64 << 10  # first request for an opened object: fetches a small one entirely
CONNECTIONS = 32  # per process: for prefetching threads and callers' threads

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of an object, with the size and version of the whole object."""

    content: bytes
    size: int
    version: str


class Bucket(ABC):
    """One bucket through a service's client. Each call may be repeated after a `TransientError`.

    Keys are full names in the bucket. A missing object raises FileNotFoundError without a message; a failure that
    repeating would not fix raises a StoreError.
    """

    whole_bytes: int  # larger files are sent in parts

    def __init__(self, place: str) -> None:
        self.trying = Retries(place)
        self.remembered = Remembered()

    @abstractmethod
    def get(self, key: str, start: int, stop: int | None, version: str | None) -> Piece:
        """Reads the bytes from `start` to `stop`, or to the end; only of that version, if one is given."""

    @abstractmethod
    def describe(self, key: str) -> tuple[ObjectInfo, str | None]:
        """The object's description without its bytes, and the mark that `put_new` left on it."""

    @abstractmethod
    def put_at(self, key: str) -> float:
        """When the object was put, in seconds since 1970 by the service's clock."""

    @abstractmethod
    def page(self, prefix: str, after: str | None) -> tuple[list[ObjectInfo], str | None]:
        """The next objects under a prefix in key order, and the token for the following page."""

    @abstractmethod
    def put(self, key: str, content: bytes) -> None:
        """Puts the object, replacing any of that name."""

    @abstractmethod
    def put_parts(self, key: str, file: Path) -> None:
        """Puts a large file in parts that appear as one object or never; failed parts are repeated here."""

    @abstractmethod
    def put_new(self, key: str, content: bytes, mark: str) -> bool:
        """Puts the object with a mark, unless the name is taken."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Removes the object, if it exists."""

    @property
    def batch(self) -> int:
        """How many objects `delete_batch` removes in one request."""
        return 1

    def delete_batch(self, keys: Sequence[str]) -> None:
        """Removes as many objects as `batch` says, or fewer; those that do not exist are fine."""
        for key in keys:
            self.delete(key)

    def clear_uploads(self, prefix: str) -> int:  # noqa: ARG002
        """Drops unfinished uploads under a prefix; returns their number. None where the service drops them itself."""
        return 0


@dataclass(frozen=True)
class BucketStore(ABC):
    """Objects of a bucket whose keys begin with a prefix; `of` parses an address. Holds no client."""

    scheme: ClassVar[str]
    names: ClassVar[str]  # the pattern of bucket names
    names_said: ClassVar[str]

    name: str
    prefix: str  # "", or ends with a slash
    owner: str = field(default="", kw_only=True)  # the identity of the store whose records these are

    @classmethod
    def of(cls, address: str) -> Self:
        """The store at SCHEME://BUCKET/PREFIX; sends no request yet."""
        name, _, path = address.partition("://")[2].partition("/")
        if not re.fullmatch(cls.names, name):
            raise StoreError(
                f"{address}: {name!r} is not a bucket name; expected {cls.names_said}: {cls.scheme}://BUCKET/PREFIX"
            )
        parts = [part for part in path.split("/") if part]
        if not {".", ".."}.isdisjoint(parts):
            raise StoreError(f"{address}: '.' and '..' have no meaning in an address; write the prefix without them")
        prefix = "/".join(parts)
        return cls(name, f"{prefix}/" if prefix else "")

    @property
    def root(self) -> str:
        """The address as a user writes it."""
        return f"{self.scheme}://{self.name}/{self.prefix}".rstrip("/")

    def owned_by(self, owner: str) -> Self:
        """The same objects, as those of this store."""
        return replace(self, owner=owner)

    @property
    @abstractmethod
    def _bucket(self) -> Bucket:
        """The process's client."""

    def open(self, path: str) -> BinaryIO:
        """A seekable, prefetching reader; if the object is replaced meanwhile, it raises an error."""
        key, bucket = self._key(path), self._bucket
        head = self._ask(path, lambda _: bucket.get(key, 0, HEAD_BYTES, None))

        def fetch(start: int, stop: int) -> bytes:
            piece = self._ask(path, lambda _: bucket.get(key, start, stop, head.version))
            if piece.version != head.version:  # not every service honours the condition
                raise StoreError(f"{self.root}: {path} was replaced while it was read; run again")
            return piece.content

        return buffered(RangedReader(fetch, head.size, head.content, fetching()))

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Reads a range of the object in one request."""
        key, bucket = self._key(path), self._bucket
        if length == 0:
            self.size(path)
            return b""
        stop = None if length is None else offset + length
        return self._ask(path, lambda _: bucket.get(key, offset, stop, None)).content

    @property
    def remembered(self) -> Remembered:
        """This process's cache of small objects."""
        return self._bucket.remembered

    def read_version(self, path: str) -> tuple[bytes, str]:
        """Reads the whole object, with its version as in a listing."""
        key, bucket = self._key(path), self._bucket
        piece = self._ask(path, lambda _: bucket.get(key, 0, None, None))
        return piece.content, piece.version.strip('"')

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Lists objects whose paths start with the prefix, sorted by path; holds one page at a time in memory."""
        bucket, place = self._bucket, self.prefix + prefix
        after: str | None = None
        while True:
            request = partial(bucket.page, place, after)
            found, after = self._ask(prefix, lambda _: request())  # noqa: B023  # called before the next one is made
            for info in found:
                if not info.path.endswith("/"):  # a placeholder for a folder, made by bucket browsers
                    yield replace(info, path=name_of_key(info.path[len(self.prefix) :]))
            if after is None:
                return

    def exists(self, path: str) -> bool:
        """Whether an object has this name."""
        try:
            self._describe(path)
        except FileNotFoundError:
            return False
        return True

    def size(self, path: str) -> int:
        """The object's size in bytes."""
        return self._describe(path)[0].size

    def put_at(self, path: str) -> float:
        """When an object was put, in seconds since 1970 by the service's clock."""
        key, bucket = self._key(path), self._bucket
        return self._ask(path, lambda _: bucket.put_at(key))

    def put(self, path: str, content: bytes | Path) -> None:
        """Puts the whole object or nothing; large ones go in parts, which are dropped if one fails."""
        key, bucket = self._key(path), self._bucket
        if isinstance(content, Path):
            if content.stat().st_size > bucket.whole_bytes:
                bucket.put_parts(key, content)
                return
            content = content.read_bytes()
        whole = content
        self._ask(path, lambda _: bucket.put(key, whole))

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Puts the object only if the name is free; the service decides between racing callers.

        A connection may break after the service has published but before it could answer. The repeated request is
        then refused because of the caller's own object, which is recognised by a mark that only this call
        knows.
        """
        key, bucket, mark = self._key(path), self._bucket, secrets.token_hex(8)

        def put(attempt: int) -> bool:
            published = bucket.put_new(key, content, mark)
            return published or (attempt > 1 and self._is_own(bucket, key, mark, content))

        return self._ask(path, put)

    def delete(self, path: str) -> None:
        """Removes the object; a missing one is fine."""
        key, bucket = self._key(path), self._bucket
        self._ask(path, lambda _: bucket.delete(key))

    @property
    def batch(self) -> int:
        """How many objects `delete_batch` removes in one request."""
        return self._bucket.batch

    def delete_batch(self, paths: Sequence[str]) -> None:
        """Removes up to `batch` objects in one request; missing ones are fine."""
        keys, bucket = [self._key(path) for path in paths], self._bucket
        self._ask(self.prefix, lambda _: bucket.delete_batch(keys))

    def scratch(self) -> Path:
        """This process's folder on the local disk (TMPDIR); leftovers of killed processes are removed."""
        return run_folder()

    def clear_unfinished(self, *, elsewhere: bool = True) -> int:
        """Drops multipart uploads of dead writers; only the holder of the lease may call this."""
        return self._bucket.clear_uploads(self.prefix) if elsewhere else 0

    def _describe(self, path: str) -> tuple[ObjectInfo, str | None]:
        key, bucket = self._key(path), self._bucket
        return self._ask(path, lambda _: bucket.describe(key))

    def _is_own(self, bucket: Bucket, key: str, mark: str, content: bytes) -> bool:
        try:
            _, found = bucket.describe(key)
            # If the service keeps no marks, compare the bytes.
            return found == mark if found is not None else bucket.get(key, 0, None, None).content == content
        except FileNotFoundError:
            return False

    def _ask(self, path: str, request: Callable[[int], T]) -> T:
        try:
            return self._bucket.trying(request)
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.root}: no object {path!r}") from None

    def _key(self, path: str) -> str:
        if not path or "\0" in path:
            raise StoreError(f"{self.root}: not an object name: {path!r}")
        try:
            return self.prefix + key_of_name(path)
        except UnicodeDecodeError:  # a store or source that was on a disk when the name was recorded
            raise FileNotFoundError(f"{self.root}: no object can have the name {path!r}") from None
        except ValueError:
            raise StoreError(f"{self.root}: not an object name: {path!r}") from None


class Clients:
    """One client per process and settings: creating one reads files and may call a metadata service."""

    def __init__(self, prefixes: tuple[str, ...]) -> None:
        """`prefixes`: of the environment variables that configure clients."""
        self._prefixes = prefixes
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def get(self, name: str, make: Callable[[], Bucket]) -> Bucket:
        """The process's client for a bucket under the current settings."""
        settings = (name, *sorted(item for item in os.environ.items() if item[0].startswith(self._prefixes)))
        with self._lock:
            if settings not in self._made:
                self._made[settings] = make()
            return self._made[settings]

    def _forget(self) -> None:
        """Drops all clients: connections and locks must not be shared with a forked process."""
        self._lock = threading.Lock()
        self._made: dict[tuple[object, ...], Bucket] = {}


_executors: dict[str, ThreadPoolExecutor] = {}
_executors_lock = threading.Lock()


def fetching() -> ThreadPoolExecutor:
    """The threads that prefetch for all readers of this process."""
    return _executor("fetch", 16)


def sending() -> ThreadPoolExecutor:
    """The threads that send the parts of large objects."""
    return _executor("send", 8)


def _executor(name: str, threads: int) -> ThreadPoolExecutor:
    with _executors_lock:
        if name not in _executors:
            _executors[name] = ThreadPoolExecutor(threads, thread_name_prefix=name)
        return _executors[name]


def _forget_executors() -> None:
    global _executors_lock
    _executors_lock = threading.Lock()
    _executors.clear()


os.register_at_fork(after_in_child=_forget_executors)
