"""What the detectors find in texts, as strings, for tests to compare."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from winnow.filters.language.kernels.spans import Texts, texts_of
from winnow.filters.private.personal.candidates import DigitGroups, digit_groups
from winnow.filters.private.personal.detections import Detections
from winnow.filters.private.personal.national_ids import national_ids
from winnow.filters.private.personal.phones import phones
from winnow.filters.private.personal.regions import Regions

Detector = Callable[[Texts, DigitGroups, Regions], Detections]


def spans(detector: Detector, texts: Sequence[str], regions: Sequence[str]) -> list[tuple[list[str], bool]]:
    """Of every text what is found in it, and whether it was searched; countries are given as `DE AT`."""
    column = texts_of(pa.array(texts, pa.large_string()))
    choices = sorted(set(regions))
    chosen = np.array([choices.index(one) for one in regions], np.int64)
    found = detector(column, digit_groups(column), Regions(tuple(tuple(one.split()) for one in choices), chosen))
    rows: list[tuple[list[str], bool]] = [([], bool(looked)) for looked in found.searched]
    before = 0
    for document, start, end in zip(found.documents, found.starts, found.ends, strict=True):
        assert max(before, column.offsets[document]) <= start < end <= column.offsets[document + 1]
        rows[document][0].append(column.buffer[start:end].tobytes().decode())  # fails inside a code point
        before = int(end)
    return rows


def phones_in(text: str, regions: str = "") -> list[str]:
    """The telephone numbers of one text."""
    return spans(phones, [text], [regions])[0][0]


def ids_in(text: str, regions: str = "") -> list[str]:
    """The national ids of one text."""
    return spans(national_ids, [text], [regions])[0][0]
