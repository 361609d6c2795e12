"""Pictures without text in a mixture by pixels: shares and budgets of two stages, found again by hand."""

import struct
import zlib
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.faults.winnow import assert_clean
from tests.runners.mixtures.test_strata import place
from tests.runners.mixtures.tiny import Tiny

SHARES = {"scans": Fraction(3, 4), "photos": Fraction(1, 4)}
FIRST, SECOND = 40_000, 24_000
BASE = """
version: 1
store: {path: store, seed: 7}
sources:
  scans: {root: scans, files: ["*.png"], class: public}
  photos: {root: photos, files: ["*.png"], class: web}
annotate: [image.geometry]
keep:
  - {drop: list_min(image.geometry.shorter) < 20, reason: small, when_null: drop}
"""
MIX = (
    "{unit: pixels, max_epochs: 3, stages: {"
    f"first: {{budget: {FIRST}, sources: {{scans: 0.75, photos: 0.25}}}}, "
    f"second: {{budget: {SECOND}, where: samples.source.name = 'scans'}}}}}}"
)


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    random = np.random.default_rng(3)
    for source in SHARES:
        (tmp_path / source).mkdir()
        for number in range(20):
            width, height = random.integers(12, 60, 2).tolist()
            colour = tuple(random.integers(0, 256, 3).tolist())
            Image.new("RGB", (width, height), colour).save(tmp_path / source / f"{number:02d}.png")
    whole = (tmp_path / "scans/00.png").read_bytes()
    (tmp_path / "scans/cut.png").write_bytes(whole[:20])  # its size cannot be read: it has no pixels
    tiny = Tiny(tmp_path)
    tiny.write(MIX, "{folder: {path: files}}", BASE)
    tiny.run("run")
    return tiny


def test_every_stratum_gives_the_first_copies_that_come_nearest_to_its_pixels(tiny: Tiny) -> None:
    record, drawn = tiny.mix()
    assert record.plan.unit == "pixels"
    pixels: dict[str, dict[str, int]] = {source: {} for source in SHARES}
    for row in tiny.layer("samples"):
        (medium,) = row["media"]
        if min(medium["width"] or 0, medium["height"] or 0) >= 20:
            pixels[row["source"]["name"]][row["id"].hex()] = medium["width"] * medium["height"]
    before: Counter[str] = Counter()
    for output, budget, shares in zip(
        record.plan.outputs, (FIRST, SECOND), (SHARES, {"scans": Fraction(1)}), strict=True
    ):
        assert output.budget == budget
        expected: Counter[tuple[str, int]] = Counter()
        for one in output.strata:
            held = pixels[one.stratum.source]
            assert (one.available.samples, one.available.units) == (len(held), sum(held.values()))
            assert one.target == budget * shares[one.stratum.source]
            assert one.exposed == sum(before[identity] * size for identity, size in held.items())
            left = one.target
            for copy, _, identity in sorted(
                (before[identity] + more, place(identity, 7), identity) for identity in held for more in range(5)
            ):
                if left <= 0 or (left < one.target and 2 * left < held[identity]):
                    break
                expected[identity, copy] += 1
                left -= held[identity]
        assert drawn[output.name] == expected
        before.update(identity for identity, _ in drawn[output.name].elements())


def test_what_is_drawn_is_what_is_exported_and_every_row_is_in_the_books(tiny: Tiny) -> None:
    _, drawn = tiny.mix()
    for name, copies in drawn.items():
        files = sorted(path.stem for path in (tiny.folder / "files" / name).rglob("*.jpg"))
        assert files == sorted(f"{identity}-{copy}" for identity, copy in copies)
    assert_clean(tiny.folder)


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def test_pictures_that_claim_more_pixels_than_are_ever_decoded_have_none(tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    Image.new("RGB", (30, 20), (9, 200, 70)).save(tmp_path / "scans/real.png")
    side = 2**31 - 1  # the sum of three such pictures is above 2**63
    for number in range(4):
        header = struct.pack(">IIBBBBB", side, side - number, 8, 2, 0, 0, 0)
        content = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(99))) + chunk(b"IEND", b"")
        (tmp_path / f"scans/lie{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + content)
    tiny = Tiny(tmp_path)
    sources = BASE[: BASE.index("keep:")].replace('  photos: {root: photos, files: ["*.png"], class: web}\n', "")
    tiny.write("{unit: pixels}", "{folder: {path: files}}", sources)
    tiny.run("run")
    (one,) = tiny.mix()[0].plan.outputs[0].strata
    assert (one.available.samples, one.available.units) == (1, 600)
    assert max(row["media"][0]["width"] for row in tiny.layer("samples")) == side
    assert_clean(tiny.folder)
