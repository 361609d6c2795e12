"""The benchmark of alignment: captions as stamps carry them, and ranks over captions that differ."""

import numpy as np

from benchmarks.inputs.stamps import captions_of
from benchmarks.pictures.alignment import Embedded, recalls, told


def test_the_first_line_is_english_and_empty_captions_are_none() -> None:
    content = b"A cat.\nfr.utf8=Un chat.\nde.utf8= \nje ne sais quoi\n"
    assert captions_of(content) == {"en": "A cat.", "fr": "Un chat."}
    assert captions_of(b"") == {}


def test_a_caption_that_two_images_share_is_one_and_another_is_never_the_same() -> None:
    captions = np.array(["cat", "cat", "dog"], object)
    texts = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    of = Embedded(captions, np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]), texts)
    assert recalls(of) == (2 / 3, 1.0, 2)
    found = told("en", of)
    assert (found.pairs, found.true, found.others) == (3, (1 + 0.6 + 1) / 3, 0.0)
    assert found.auc == 1.0
