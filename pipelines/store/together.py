"""Many small objects: on an object store each request waits for the network, not for this machine, and is billed."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from winnow.pipelines.store.buckets import BucketStore
from winnow.pipelines.store.facade import ObjectStore

AT_ONCE = 16


def reader_below(objects: ObjectStore, prefix: str) -> Callable[[str], bytes]:
    """What reads whole objects below a prefix, as they are now or later.

    The steps of a process read the same commits again and again. On an object store each version is fetched once: a
    listing says the versions of a thousand objects in one request, so whatever replaces or removes one is noticed.
    """
    if not isinstance(objects, BucketStore):
        return objects.read
    remembered = objects.remembered
    known = remembered.begin(f"{objects.root}/{prefix}")
    versions = {info.path: info.version for info in objects.list(prefix)} if known else {}

    def read(path: str) -> bytes:
        address = f"{objects.root}/{path}"
        held = remembered.get(address, versions.get(path))
        if held is not None:
            return held
        content, version = objects.read_version(path)
        remembered.keep(address, version, content)
        return content

    return read


def delete_all(objects: ObjectStore, paths: Iterable[str]) -> int:
    """Remove objects, in any order; says how many there were to remove."""
    named = list(paths)
    if isinstance(objects, BucketStore) and len(named) > 1:
        with ThreadPoolExecutor(min(AT_ONCE, len(named))) as threads:
            for _ in threads.map(objects.delete, named):  # an error ends it here
                continue
    else:
        for path in named:
            objects.delete(path)
    return len(named)
