"""What is planted into clean texts, so that it is known what there is to find.

What is planted in a text depends on its name alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec

from benchmarks.safety_parity.known import Known, passages
from benchmarks.safety_parity.listed_words import ASSET, listed_words
from benchmarks.safety_parity.made_up import EXTRAS, MADE_UP, Planted, Planter
from winnow.pipelines.assets import AssetError, AssetFiles
from winnow.schemas.identity import digest

__all__ = ["Planting", "all_planters"]

_VULGAR = "language.vulgar"


@dataclass(frozen=True, slots=True)
class Planting:
    """Planters by subcategory, and why there is none for others."""

    planters: Mapping[str, Planter]
    left_out: Mapping[str, str]  # what would have to be done

    def __call__(self, clean: Known, wanted: frozenset[str]) -> Iterator[Known]:
        """Copies of a clean text with one thing in each; of those subcategories that are wanted and can be made."""
        document = clean.document
        language = (document.language or "und").partition("_")[0]
        number = int.from_bytes(digest("planted", document.id)[:4], "big")
        for subcategory in sorted(wanted & self.planters.keys()):
            for found in self.planters[subcategory](language, number):
                yield _copy(clean, subcategory, found)


def all_planters() -> Planting:
    """Everything that can be planted here."""
    planters: dict[str, Planter] = {**MADE_UP, **{name: _passages_of(name) for name in _written()}}
    left_out = {}
    for subcategory, (package, remedy) in EXTRAS.items():
        if find_spec(package) is None:
            del planters[subcategory]
            left_out[subcategory] = remedy
    try:
        AssetFiles().path(ASSET)
        planters[_VULGAR] = listed_words
    except AssetError:
        left_out[_VULGAR] = f"winnow assets fetch {ASSET}"
    return Planting(planters, left_out)


def _copy(clean: Known, subcategory: str, found: Planted) -> Known:
    document = replace(clean.document, id=f"{clean.document.id} + {subcategory}, {found.variant}")
    if found.url:
        document = replace(document, url=found.text)
    else:
        document = replace(document, text=found.text if found.alone else _inserted(document.text, found.text))
    return replace(clean, document=document, planted=subcategory, variant=found.variant, alone=found.alone)


def _inserted(text: str, piece: str) -> str:
    """The text with a line of its own in its middle."""
    lines = text.split("\n")
    middle = (len(lines) + 1) // 2
    return "\n".join([*lines[:middle], piece, *lines[middle:]])


def _written() -> list[str]:
    return sorted({name for texts in passages()["planted"].values() for name in texts})


def _passages_of(subcategory: str) -> Planter:
    def planter(language: str, _number: int) -> Iterator[Planted]:
        for text in passages()["planted"].get(language, {}).get(subcategory, ()):
            yield Planted(text, "in a text")
            yield Planted(text, "nothing else", alone=True)

    return planter
