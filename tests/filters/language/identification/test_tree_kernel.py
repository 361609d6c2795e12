"""A quantised model with a tree of labels is read by a kernel of ours, which gives fastText's own numbers."""

import random
from collections.abc import Sequence
from pathlib import Path

import fasttext.FastText
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.filters.language.identification.fasttext_tree import FastTextTree, fasttext_tree
from winnow.filters.language.identification.lid_176 import LID_176
from winnow.filters.language.identification.tree_kernel import best_labels
from winnow.filters.models.fasttext_files import check_fasttext
from winnow.pipelines.assets.cached import asset_path

PLAIN = ["the", "house", "straße", "дом", "家", "בית", "ไทย"]
WORDS = [*PLAIN, "__label__en", "__label__", "</s>", "<", ">", "a", "é", "e\u0301"]
SPACES = [b" ", b"\t", b"\0", b"\r", b"\x0b"]
PIECES = st.one_of(st.sampled_from([word.encode() for word in WORDS] + SPACES), st.binary(max_size=6))


class Both:
    """A model as fastText reads it, and as the kernel does."""

    def __init__(self, path: str) -> None:
        header = check_fasttext(path)
        tree = fasttext_tree(path, header)
        assert tree is not None
        self.tree: FastTextTree = tree
        self.labels = header.labels
        self._model = fasttext.FastText.load_model(path)

    def assert_equal(self, lines: Sequence[bytes], most: int, least: float = 0.0) -> int:
        """Both say the same of each line that the kernel answers; returns how many it leaves to fastText."""
        counts, labels, scores = (one.tolist() for one in best_labels(self.tree, lines, most, least))
        left = 0
        for line, count, numbers, likely in zip(lines, counts, labels, scores, strict=True):
            if count < 0:
                left += 1
                continue
            told = [(likely[at], self.labels[numbers[at]]) for at in range(count)]
            assert told == self._model.f.predict(line, most, least, "replace"), line
        return left


@pytest.fixture(scope="module")
def lid() -> Both:
    return Both(asset_path(LID_176))


@given(st.lists(PIECES, max_size=30), st.sampled_from([1, 3, 176]), st.sampled_from([0.0, 0.001, 0.5]))
def test_the_kernel_says_of_any_bytes_what_fasttext_says(
    lid: Both, pieces: list[bytes], most: int, least: float
) -> None:
    lid.assert_equal([b"".join(pieces).replace(b"\n", b" ") + b"\n"], most, least)


def test_few_lines_are_left_to_fasttext(lid: Both) -> None:
    drawn = random.Random(7)
    lines = [" ".join(drawn.choices(PLAIN, k=drawn.randint(1, 60))).encode() + b"\n" for _ in range(500)]
    assert lid.assert_equal(lines, 3) < 5
    assert lid.assert_equal([b"\n", b" \n", b"</s> word\n", b"__label__de\n"], 1) == 0
    assert lid.assert_equal([], 3) == 0


@pytest.mark.parametrize("settings", [{"qnorm": True}, {"qnorm": False, "dsub": 3}, {"qout": True}])
def test_models_that_users_train_are_read_too(tmp_path: Path, settings: dict[str, object]) -> None:
    drawn = random.Random(3)
    rows = [f"__label__{drawn.randrange(300)} {' '.join(drawn.choices(PLAIN, k=9))}" for _ in range(3000)]
    (tmp_path / "rows.txt").write_text("\n".join(rows) + "\n")
    trained = fasttext.FastText.train_supervised(
        str(tmp_path / "rows.txt"), dim=16, loss="hs", minn=2, maxn=4, bucket=2000, epoch=2, thread=1, verbose=0
    )
    trained.quantize(str(tmp_path / "rows.txt"), cutoff=300, retrain=False, **settings)
    trained.save_model(str(tmp_path / "model.ftz"))
    if "qout" in settings:
        assert fasttext_tree(str(tmp_path / "model.ftz"), check_fasttext(str(tmp_path / "model.ftz"))) is None
        return
    both = Both(str(tmp_path / "model.ftz"))
    both.assert_equal([row.partition(" ")[2].encode() + b"\n" for row in rows], 2)


def test_other_models_are_left_to_fasttext(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("__label__a one two\n__label__b three four\n" * 50)
    for loss in ("hs", "softmax"):
        path = str(tmp_path / f"{loss}.bin")
        fasttext.FastText.train_supervised(
            str(tmp_path / "rows.txt"), dim=4, loss=loss, minn=2, maxn=3, bucket=100, epoch=1, thread=1, verbose=0
        ).save_model(path)
        assert fasttext_tree(path, check_fasttext(path)) is None
