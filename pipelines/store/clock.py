"""What time it is where a store lies, by when an object was put: workers on other machines have clocks of their own."""

from winnow.pipelines.store.buckets.bucket_store import BucketStore
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore


def put_at(objects: ObjectStore, path: str) -> float | None:
    """When an object was put, in seconds since 1970 by the clock of the service or the disk; None if it has none."""
    if isinstance(objects, BucketStore):
        return objects.put_at(path)
    if isinstance(objects, LocalStore):
        return (objects.folder / path).stat().st_mtime
    return None
