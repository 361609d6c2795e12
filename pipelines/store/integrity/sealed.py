"""Records that prove themselves: canonical JSON with a checksum over the record's store, path and content.

A record that lies under another path, as one of another shard, or in another store does not verify. What a record
names is checked by its name, which holds the hash of its content; so a chain of hashes leads from a generation to
every value. `store.json` says which store this is: all other records hold its identity.
"""

from dataclasses import asdict
from typing import Any, TypeVar

import orjson

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.damage import damaged, foreign, missing
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import Json, canonical_json, digest
from winnow.schemas.typed_json import read_value

CHECKSUM = "checksum"
OWNER = "of"  # the store
_BYTES = 8

T = TypeVar("T")


def sealed(owner: str, path: str, record: Any) -> bytes:  # Any: dataclass instances have no common type
    """The bytes of a record that is to be put under this path of a store."""
    return _sealed(path, {**asdict(record), **_owned(owner, path)})


def unsealed(objects: ObjectStore, path: str, raw: bytes) -> dict[str, Json]:
    """The verified content of a record, as parsed JSON; DamagedError if it was not sealed for this path of this
    store."""
    root = objects.root
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise damaged(root, path, "it is not JSON") from None
    if not isinstance(value, dict) or CHECKSUM not in value:
        raise damaged(root, path, "it has no checksum")
    del value[CHECKSUM]
    try:
        verified = _sealed(path, value) == raw
    except TypeError:  # nested deeper than any record
        verified = False
    if not verified:
        raise damaged(root, path, "its checksum is that of other content")
    owned = _owned(objects.owner, path)
    if {name: value.pop(name, None) for name in owned} != owned:
        raise foreign(root, path)
    return value


def parse_record(kind: type[T], objects: ObjectStore, path: str, raw: bytes) -> T:
    """A verified record of this type; DamagedError as in `unsealed`, StoreError if another version of winnow wrote
    it."""
    try:
        return read_value(kind, unsealed(objects, path, raw))
    except ValueError as error:
        where = f"{objects.root}/{path}"
        raise StoreError(f"{where}: not a {kind.__name__} that this version of winnow reads ({error})") from None


def find_record(objects: ObjectStore, kind: type[T], path: str) -> T | None:
    """The record under a path, or None if there is none."""
    try:
        raw = objects.read(path)
    except FileNotFoundError:
        return None
    return parse_record(kind, objects, path, raw)


def read_record(objects: ObjectStore, kind: type[T], path: str) -> T:
    """The record under a path; MissingError if there is none."""
    found = find_record(objects, kind, path)
    if found is None:
        raise missing(objects.root, path)
    return found


def check_record(objects: ObjectStore, path: str) -> None:
    """DamagedError if a record of any type differs from what was put under this path; MissingError if it is gone."""
    try:
        raw = objects.read(path)
    except FileNotFoundError:
        raise missing(objects.root, path) from None
    unsealed(objects, path, raw)


def is_first_format(raw: bytes) -> bool:
    """Whether this is the `store.json` of a store from before records had checksums."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return False
    return isinstance(value, dict) and CHECKSUM not in value and value.get("format_version") == 1


def put_record(objects: ObjectStore, path: str, record: Any) -> None:
    """Puts a record in place of any of that name."""
    objects.put(path, sealed(objects.owner, path, record))


def put_record_if_absent(objects: ObjectStore, path: str, record: Any) -> bool:
    """Puts a record only if the name is free; exactly one of several racing callers gets True."""
    return objects.put_if_absent(path, sealed(objects.owner, path, record))


def _owned(owner: str, path: str) -> dict[str, Json]:
    """The store that a record belongs to."""
    return {} if path == layout.STORE_RECORD else {OWNER: owner}


def _sealed(path: str, value: dict[str, Json]) -> bytes:
    checksum = digest(path, canonical_json(value), size=_BYTES).hex()
    return canonical_json({**value, CHECKSUM: checksum}).encode()
