"""Processes many objects concurrently: on an object store each request waits for the network and is billed."""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.store.buckets.bucket_store import BucketStore
from winnow.pipelines.store.facade import ObjectStore

AT_ONCE = 16  # for small objects
TABLES_AT_ONCE = 8  # for tables of which some columns are read

Item = TypeVar("Item")
T = TypeVar("T")


def map_in_order(work: Callable[[Item], T], items: Iterable[Item], threads: int) -> Iterator[T]:
    """The results of the work in the order of the items; bounded prefetching. CancelledError if it is given up."""
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[T]] = deque()
        try:
            for item in items:
                check_cancelled()
                ahead.append(pool.submit(copy_context().run, work, item))
                if len(ahead) > 2 * threads:
                    yield ahead.popleft().result()
            while ahead:
                check_cancelled()
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


def map_objects(
    objects: ObjectStore, work: Callable[[Item], T], items: Iterable[Item], at_once: int = AT_ONCE
) -> Iterator[T]:
    """The results of reading something of the store for each item, in order."""
    return map_in_order(work, items, at_once) if isinstance(objects, BucketStore) else _one_by_one(work, items)


def _one_by_one(work: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    for item in items:
        check_cancelled()
        yield work(item)


def table_threads(objects: ObjectStore, alone: int) -> int:
    """How many threads should read tables: `alone` on a disk, more on a network."""
    return TABLES_AT_ONCE if isinstance(objects, BucketStore) else alone


def cached_reader(objects: ObjectStore, prefix: str) -> Callable[[str], bytes]:
    """A function that reads whole objects under a prefix, always in their current version.

    The steps of a process read the same commits repeatedly. On an object store each version is fetched once: a
    listing gives the versions of a thousand objects in one request, so replaced or removed objects are noticed.
    """
    if not isinstance(objects, BucketStore):
        return objects.read
    cache = objects.remembered
    known = cache.begin(f"{objects.root}/{prefix}")
    versions = {info.path: info.version for info in objects.list(prefix)} if known else {}

    def read(path: str) -> bytes:
        address = f"{objects.root}/{path}"
        held = cache.get(address, versions.get(path))
        if held is not None:
            return held
        content, version = objects.read_version(path)
        cache.keep(address, version, content)
        return content

    return read


def delete_objects(objects: ObjectStore, paths: Iterable[str]) -> int:
    """Removes objects, in any order; returns their number. On S3, a thousand go in one request."""
    if not isinstance(objects, BucketStore):
        return sum(1 for _ in map(objects.delete, list(paths)))

    def delete(some: list[str]) -> int:
        objects.delete_batch(some)
        return len(some)

    return sum(map_in_order(delete, _batches(paths, objects.batch), AT_ONCE))  # the first error is raised here


def _batches(paths: Iterable[str], size: int) -> Iterator[list[str]]:
    left = iter(paths)
    while some := list(itertools.islice(left, size)):
        yield some
