"""Pictures count by the language of their captions: in plans, in alarms and in mixtures, as texts do by their own."""

from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

RECIPE = """
version: 1
store: {path: store, seed: 7}
sources:
  pictures: {root: pictures, files: ["*.png"], format: image_folder, class: public}
annotate: [caption.language, caption.length]
keep: [{drop: list_max(caption.length.spaced_words) < 20, reason: few_words, when_null: drop}]
mix: {unit: samples, languages: {temperature: 1}}
"""
ENGLISH = "The old harbour of the town in the evening light, with many small boats beside each other on the quiet water"
JAPANESE = "夕方の光に照らされた古い港町の風景、静かな水面に並んで浮かぶたくさんの小さな船"


def test_what_a_rule_takes_of_a_captions_language_is_an_alarm(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    for number in range(48):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / "pictures" / f"{number}.png")
        caption = f"{ENGLISH if number % 2 else JAPANESE} {number}"
        (tmp_path / "pictures" / f"{number}.txt").write_text(caption)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    out = ended(run_here(tmp_path, "run", "recipe.yaml", "--workers", "1"))
    assert "LOSS  few_words drops 100 % of Japanese (24)" in out
    plan = ended(run_here(tmp_path, "plan", "recipe.yaml"))
    for language in ("eng_Latn", "jpn_Jpan"):
        assert language in plan
