"""Resolves an address from a recipe to an object store."""

from pathlib import Path

from winnow.pipelines.store.buckets.gcs import GcsStore
from winnow.pipelines.store.buckets.s3 import S3Store
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import StoreError


def open_location(address: str, base: Path | None = None) -> ObjectStore:
    """The objects under an address.

    A folder (relative to `base`), `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, or `memory://NAME` within one process.
    """
    scheme, separator, rest = address.partition("://")
    if not separator:
        return LocalStore((base or Path()) / address)
    if scheme == "file":
        return LocalStore(Path("/" + rest.lstrip("/")))
    if scheme == "memory":
        return MemoryStore(rest)
    if scheme == "s3":
        return S3Store.of(address)
    if scheme == "gs":
        return GcsStore.of(address)
    raise StoreError(
        f"{address}: {scheme}:// is not supported; expected a folder, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX"
    )


def open_store_at(address: str | Path) -> Store:
    """Opens the store at an address for reading; raises StoreError if there is none."""
    return open_store(open_location(str(address)))
