"""From an address in a recipe to the objects behind it."""

from pathlib import Path

from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import StoreError


def open_location(address: str, base: Path | None = None) -> ObjectStore:
    """The objects under an address: a folder (relative to `base`), or `memory://NAME` within one process."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        return LocalStore((base or Path()) / address)
    if scheme == "file":
        return LocalStore(Path("/" + rest.lstrip("/")))
    if scheme == "memory":
        return MemoryStore(rest)
    raise StoreError(f"{address}: no support for {scheme}:// yet; use a folder")


def open_store_at(address: str | Path) -> Store:
    """The store at an address, to read; a StoreError where there is none."""
    return open_store(open_location(str(address)))
