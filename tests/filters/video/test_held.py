"""What watchers keep of a video's frames are a few numbers each, not the batches that these came in."""

import numpy as np
import pyarrow as pa
import pytest

from winnow.filters.operators import find_operator
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.decode.signals import SCHEMAS

FRAMES = 256


def batches(kind: str, count: int) -> "list[pa.RecordBatch]":
    """Batches of a signal as another process sends them: all columns lie in one buffer."""
    schema = SCHEMAS[kind]  # type: ignore[index]
    random = np.random.default_rng(7)
    found = []
    for number in range(count):
        at = np.arange(number * FRAMES, (number + 1) * FRAMES)
        columns = []
        for field in schema:
            if field.name == "seconds":
                columns.append(pa.array(at / 25))
            elif pa.types.is_fixed_size_binary(field.type):
                cells = random.integers(0, 256, (FRAMES, field.type.byte_width), np.uint8)
                columns.append(pa.array([one.tobytes() for one in cells], field.type))
            elif pa.types.is_fixed_size_list(field.type):
                values = pa.array(random.random(FRAMES * field.type.list_size, np.float32))
                columns.append(pa.FixedSizeListArray.from_arrays(values, type=field.type))
            else:
                columns.append(pa.array(at + 1).cast(field.type, safe=False))
        raw = pa.RecordBatch.from_arrays(columns, schema=schema).serialize()
        found.append(pa.ipc.read_record_batch(raw, schema))
    return found


@pytest.mark.parametrize(
    ("name", "kind"),
    [("video.shots", "frames"), ("video.static", "frames"), ("video.motion", "frames"), ("video.motion", "vectors")],
)
def test_batches_are_let_go(name: str, kind: str) -> None:
    operator = find_operator(name)
    watcher = operator.load(operator.config(), None)()  # type: ignore[arg-type]
    before = pa.total_allocated_bytes()
    for batch in batches(kind, 8):
        size = batch.get_total_buffer_size()
        watcher.see(Signal(kind), batch)  # type: ignore[arg-type]
    del batch
    assert size > 100 * FRAMES
    assert pa.total_allocated_bytes() - before < 2 * size  # a watcher may hold the last one
