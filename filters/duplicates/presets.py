"""Published settings of bands, rows and shingles, by name.

A preset adopts a peer's curve and its kind and length of shingle; the text is normalised our way, and the note gives
the differences. Here the units are words of any script (each Han or Kana character, and each cluster of Thai, Lao,
Khmer or Burmese letters, is one), in lower case and compatibility-decomposed; punctuation is not a unit, digits and
combining marks count, and a text shorter than a shingle is one shingle. Signatures cannot be compared with a peer's,
whatever the seed, since each has its own hash functions.
"""

from dataclasses import dataclass
from typing import Final, Literal

from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import shown, suggestion


@dataclass(frozen=True, slots=True)
class NearPreset:
    """Settings of a near-duplicate search: its shingles and bands."""

    name: str
    shingle: Literal["words", "characters"]
    size: int  # units in a shingle
    bands: int
    rows: int  # hashes in a band
    seed: int
    note: str  # its source, and how the peer's normal form differs from ours

    @property
    def hashes(self) -> int:
        """The number of hashes in a signature."""
        return self.bands * self.rows


def near_presets() -> tuple[NearPreset, ...]:
    """All presets, in the order of their families."""
    return tuple(_PRESETS.values())


def near_preset(name: str) -> NearPreset:
    """The preset with this name; the error for an unknown name suggests the nearest."""
    found = _PRESETS.get(name)
    if found is None:
        raise RecipeError(f"unknown preset of near duplicates {shown(name)}{suggestion(name, _PRESETS)}")
    return found


def _rpv2(threshold: float, bands: int, rows: int) -> NearPreset:
    note = (
        f"RedPajama-Data-v2 for a similarity of {threshold}, chosen as best_bands(128, {threshold}) does; its words "
        "are separated by white space after ASCII punctuation is removed, so a line of Chinese is one word; it signs "
        "no text of fewer than 13 words"
    )
    return NearPreset(f"rpv2@{threshold}", "words", 13, bands, rows, seed=1, note=note)


_ALL: Final = (
    NearPreset(
        "fineweb",
        shingle="words",
        size=5,
        bands=14,
        rows=8,
        seed=1,
        note="datatrove's defaults, as FineWeb ran them and data-prep-kit does; datatrove replaces every number by 0, "
        "removes combining marks (é is e; many vowel signs of Indic scripts are lost), splits words with an English "
        "tokenizer by default, and signs no text of fewer than 5 words",
    ),
    NearPreset(
        "fineweb2",
        shingle="words",
        size=5,
        bands=14,
        rows=8,
        seed=1,
        note="the curve of fineweb, over one language at a time; datatrove's normal form as there, with a word "
        "tokenizer of each language, which finds words in Chinese, Japanese and Thai where we take characters and "
        "clusters",
    ),
    NearPreset(
        "nemotron-cc",
        shingle="characters",
        size=24,
        bands=20,
        rows=13,
        seed=42,
        note="NeMo Curator's default curve with the shingles of Nemotron-CC; it hashes the text unchanged, so case, "
        "punctuation and line breaks count there but not here",
    ),
    NearPreset(
        "duplodocus",
        shingle="words",
        size=5,
        bands=26,
        rows=11,
        seed=1,
        note="the configuration in duplodocus's README; it counts tokens of cl100k_base, several per long word or "
        "Han character, so its shingles are shorter than our 5 words",
    ),
    _rpv2(0.7, 14, 9),
    _rpv2(0.8, 9, 13),
    _rpv2(0.9, 5, 25),
    NearPreset(
        "refinedweb",
        shingle="words",
        size=5,
        bands=450,
        rows=20,
        seed=1,
        note="9 000 hashes in 450 bands of 20, as in Lee et al. 2021 and RefinedWeb's appendix (its main text says 20 "
        "of 450); RefinedWeb counts GPT-2 tokens and removes accents",
    ),
    NearPreset(
        "data-juicer",
        shingle="words",
        size=5,
        bands=32,
        rows=8,
        seed=1,
        note="Data-Juicer 2.0 (its operator alone chooses 25 × 10, by best_bands(256, 0.7)); its words are "
        "separated by white space, in lower case, with their punctuation",
    ),
    NearPreset(
        "hplt",
        shingle="words",
        size=1,
        bands=17,
        rows=15,
        seed=1,
        note="HPLT for a similarity of 0.8, chosen as best_bands(256, 0.8) does; it compares sets of single words, "
        "in any order, separated by white space, in lower case, with their punctuation",
    ),
)
_PRESETS: Final = {preset.name: preset for preset in _ALL}
