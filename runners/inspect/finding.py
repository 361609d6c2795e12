"""Finds a sample by its id: the first words of all ids are kept, so that only the first search reads them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.query.find_sample import Place
from winnow.pipelines.query.search_tasks import ID_BYTES
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.reading.items import ROW_DIGITS, item_of_id
from winnow.pipelines.store import layout
from winnow.pipelines.store.tables import read_rows
from winnow.runners.inspect.frame import Frame
from winnow.runners.inspect.measures import map_blocks
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.parts import Block
from winnow.runners.inspect.view import AskedError
from winnow.schemas.uint128 import words_of

_ID = Column(layout.SAMPLES, "id")


@dataclass(frozen=True)
class _Ids:
    """The first half of each row's id."""

    high: NDArray[np.uint64]

    @property
    def nbytes(self) -> int:
        """Eight bytes a row."""
        return int(self.high.nbytes)


def place_of(opened: Opened, frame: Frame, identity: object, row: object = None) -> Place:
    """The place of a sample; AskedError if there is none with this id, or it is forgotten.

    `row`: its number in the frame, if the page knows it, so that no id is searched for.
    """
    if not isinstance(identity, str) or len(identity) != 2 * ID_BYTES or set(identity) - set("0123456789abcdef"):
        raise AskedError(f"id: expected {2 * ID_BYTES} hexadecimal digits, found {identity!r}")
    known = isinstance(row, int) and not isinstance(row, bool) and 0 <= row < frame.rows
    rows = [row] if known else _rows_with(opened, frame, int(identity[:ID_BYTES], 16))
    for number in rows:
        assert isinstance(number, int)
        shard, at = frame.place(number)
        found = read_rows(opened.store.objects, shard.objects[layout.SAMPLES], [at], ["id"])["id"][0].as_py()
        if found.hex() == identity and frame.seen[number]:
            return Place(opened.store.manifest(opened.generation, layout.SAMPLES).by_shard[shard.shard], at, identity)
    if known:
        return place_of(opened, frame, identity)
    raise AskedError(f"no sample has the id {identity}")


def place_of_item(opened: Opened, frame: Frame, identity: str) -> tuple[Place, int | None]:
    """The place of a sample by its id, or of the sample that has an item with this id, and the item's number."""
    try:
        return place_of(opened, frame, identity), None
    except AskedError:
        for number in _rows_with(opened, frame, int(identity[:ID_BYTES], 16)):
            shard, at = frame.place(number)
            own = read_rows(opened.store.objects, shard.objects[layout.SAMPLES], [at], ["id"])["id"][0].as_py()
            if own.hex()[:ROW_DIGITS] == identity[:ROW_DIGITS]:
                return place_of(opened, frame, own.hex(), number), item_of_id(bytes.fromhex(identity), own)
        raise


def _rows_with(opened: Opened, frame: Frame, high: int) -> list[int]:
    ids = opened.kept.get("ids", lambda: _read(opened, frame))
    rows: list[int] = np.flatnonzero(ids.high == np.uint64(high)).tolist()
    return rows


def _read(opened: Opened, frame: Frame) -> _Ids:
    high = np.zeros(frame.rows, np.uint64)

    def read(at: int, block: Block) -> None:
        words, _ = words_of(block[_ID.name])
        high[at : at + len(words)] = words

    for _ in map_blocks(opened, frame, [_ID], read):
        pass
    return _Ids(high)
