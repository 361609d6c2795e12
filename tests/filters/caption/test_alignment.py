"""Vectors of captions by the text tower of a dual encoder, and how well they fit a picture's."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("tokenizers", reason="needs the extra `embeddings`")

from tests.filters.caption.rows import batch
from tests.filters.models.static_models import VECTORS, write_model
from tests.messages import assert_refused
from winnow.filters.caption.alignment import OPERATOR as ALIGNMENT
from winnow.filters.caption.alignment import AlignmentConfig
from winnow.filters.caption.embedding import OPERATOR, CaptionEmbeddingConfig
from winnow.filters.presets import find_preset
from winnow.pipelines.assets import AssetFiles
from winnow.schemas.errors import RecipeError
from winnow.scoring.torch_models.layouts import LAYOUTS

FOLDER = Path(__file__).parent / "golden"
LISTS = pa.list_(pa.list_(pa.float32()))
DRAW = np.random.default_rng(4)


class Files:
    def path(self, name: str) -> str:
        return name


def vectors(tmp_path: Path, *rows: list[str]) -> pa.RecordBatch:
    config = CaptionEmbeddingConfig(**write_model(tmp_path))
    found = OPERATOR.load(config, Files())(batch(*((row, "a.jpg", None) for row in rows)))
    assert found.schema.equals(OPERATOR.writes(config))
    found.validate(full=True)
    return found


def test_each_caption_has_the_vector_of_a_text(tmp_path: Path) -> None:
    found = vectors(tmp_path, ["you kind", "", "kind"], [], ["zzz"]).to_pylist()
    golden = {"operator": OPERATOR.name, "version": OPERATOR.version, "rows": found}
    _compare("embedding", golden)
    assert [row["status"] for row in found] == ["ok", "no_captions", "ok"]
    assert [one is None for one in found[0]["vector"]] == [False, True, False]
    np.testing.assert_allclose(found[0]["vector"][0], np.array([1, 2, 0]) / 5**0.5, atol=1e-3)
    assert found[1]["vector"] is None
    assert VECTORS.shape[1] == len(found[0]["vector"][2])


def _compare(name: str, golden: dict[str, Any]) -> None:
    path = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert golden == json.loads(path.read_text(encoding="utf-8"))


def aligned(pictures: list[Any], captions: list[Any]) -> pa.RecordBatch:
    given = pa.RecordBatch.from_pydict(
        {"image.embedding.vector": pa.array(pictures, LISTS), "caption.embedding.vector": pa.array(captions, LISTS)}
    )
    kernel = ALIGNMENT.load(AlignmentConfig(), AssetFiles())
    found = kernel(given)
    assert found.schema.equals(ALIGNMENT.writes(AlignmentConfig()))
    found.validate(full=True)
    assert kernel(given.slice(1)).to_pylist() == found.to_pylist()[1:]
    for row in range(len(given)):
        assert kernel(given.slice(row, 1)).to_pylist() == found.to_pylist()[row : row + 1]
    return found


def unit(*numbers: float) -> list[float]:
    found = np.array(numbers) / np.linalg.norm(numbers)
    return [float(one) for one in np.round(found * 4096) / 4096]


ROWS: tuple[tuple[Any, Any], ...] = (
    ([unit(3, 4)], [unit(4, 3), unit(3, 4), None]),
    ([None, unit(1, 0)], [unit(1, 1)]),  # the first medium is a video
    ([None], [unit(1, 1)]),
    ([unit(1, 1)], [None, unit(1, 1)]),
    ([unit(1, 1)], []),
    (None, None),
)


def test_values_of_version_1_never_change() -> None:
    found = aligned(*map(list, zip(*ROWS, strict=True))).to_pylist()
    _compare("alignment", {"operator": ALIGNMENT.name, "version": ALIGNMENT.version, "rows": found})
    assert [row["status"] for row in found] == [
        "ok",
        "ok",
        "no_picture_vector",
        "no_caption_vector",
        "no_caption_vector",
        "no_picture_vector",
    ]
    assert found[0]["cosines"] == [pytest.approx(0.96, abs=1e-4), pytest.approx(1.0), None]
    assert found[0]["cosine"] == found[0]["cosines"][0]
    assert found[3]["cosines"] == [None, pytest.approx(1.0)]
    assert found[5]["cosines"] is None
    assert [row["vector"] is None for row in found] == [False, False, True, True, True, True]
    assert np.linalg.norm(found[0]["vector"]) == pytest.approx(1, abs=1e-3)


def test_a_cosine_is_that_of_float64_and_the_pairs_vector_has_products() -> None:
    pictures, captions = ([[unit(*DRAW.normal(size=9))] for _ in range(40)] for _ in range(2))
    found = aligned(pictures, captions)
    ours, theirs = (np.array(one)[:, 0] for one in (pictures, captions))
    wanted = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    np.testing.assert_allclose(found["cosine"].to_numpy(), wanted, atol=1e-6)
    joint = np.concatenate([ours, theirs, ours * theirs * 3], axis=1)
    joint /= np.linalg.norm(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(np.array(found["vector"].to_pylist()), joint, atol=3e-4)


def test_vectors_of_different_length_have_no_cosine_but_one_for_heads() -> None:
    (row,) = aligned([[unit(1, 0, 0)]], [[unit(0, 1)]]).to_pylist()
    assert (row["status"], row["cosine"], row["cosines"]) == ("ok", None, [None])
    np.testing.assert_allclose(row["vector"], np.array([1, 0, 0, 0, 1]) / 2**0.5, atol=1e-3)


def test_presets_say_what_the_layouts_of_scores_say() -> None:
    for name, layout in LAYOUTS.items():
        preset = find_preset(f"encoder@{name}")
        framing: Any = preset.operators["image.embedding"]["framing"]
        assert (framing["side"], framing["fit"]) == (layout.size, layout.fit)
        for key in ("mean", "deviation"):
            wanted = getattr(layout, key)
            assert tuple(framing.get(key, (0.5,) * 3)) == (wanted * 3)[:3]
        assert preset.operators["caption.embedding"] == {"max_tokens": layout.max_tokens}


@pytest.mark.parametrize("key", ["model", "tokenizer"])
def test_a_missing_file_is_one_line(tmp_path: Path, key: str) -> None:
    given = write_model(tmp_path)
    del given[key]
    with assert_refused(RecipeError, f"caption.embedding: `{key}` is not set"):
        OPERATOR.load(CaptionEmbeddingConfig(**given), Files())
