"""Where archives and their indexes are: a folder, a bucket or a web server."""

from winnow.pipelines.store.buckets.http import HttpStore
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.location import open_location


def is_web(address: str) -> bool:
    """Whether an address is a web server's, which lists no files."""
    return address.startswith(("http://", "https://"))


def open_place(address: str) -> ObjectStore:
    """The objects under an address, which may be a web server's."""
    return HttpStore.of(address) if is_web(address) else open_location(address)


def open_file(address: str) -> tuple[ObjectStore, str]:
    """The objects that a file is among, and its name there."""
    folder, _, name = address.rpartition("/")
    return open_place(folder or "."), name
