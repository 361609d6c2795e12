"""Published rules on documents of texts and pictures, over `page.interleaved`.

Under `items` they judge each picture of a document, and a picture that they drop leaves its place; under `keep` they
judge documents. A recipe names a preset in both lists.
"""

from winnow.filters.presets import Preset, preset_rule
from winnow.schemas.recipe import Rule

_I = "page.interleaved"
_WORDS = "text.gopher.words"
_NOTES = (
    "write it under `items` for its rules on pictures and under `keep` for those on documents; add `items.kept > 30` "
    "to `keep`, which counts the pictures that are left",
    "a document that loses all its pictures is dropped with their reasons; `no_items_left: keep` keeps its text",
    "rules on NSFW scores, on languages and on texts are presets of their own",
)
_MOST_PAGES = "pages that show a picture are counted in the store, so the number depends on how much of a crawl that is"


def _small(family: str, side: int) -> Rule:
    return preset_rule(f"{family}_small", f"{_I}.shorter < {side}")


def _large(family: str, side: int) -> Rule:
    return preset_rule(f"{family}_large", f"{_I}.longer > {side}")


def _aspect(family: str, most: float) -> Rule:
    return preset_rule(f"{family}_aspect", f"{_I}.aspect > {most}")


def _repeated(family: str, most: int) -> Rule:
    return preset_rule(f"{family}_repeated", f"{_I}.pages > {most}")


def _address(family: str, words: str) -> Rule:
    return preset_rule(f"{family}_address", f"regexp_matches({_I}.urls, '(?i)({words})')")


def _pictures(family: str) -> tuple[Rule, Rule]:
    return (
        preset_rule(f"{family}_no_picture", f"{_I}.pictures = 0"),
        preset_rule(f"{family}_pictures", f"{_I}.pictures > 30"),
    )


_OBELICS = Preset(
    name="obelics@documents",
    summary="OBELICS's rules on documents (Laurençon et al. 2023): 1 to 30 images of sides 150 to 20,000, aspect <= 2, "
    "on <= 10 pages, no logos, 10 to 2,000 words",
    operators={_I: {}, "text.gopher": {}},
    rules=(
        *_pictures("obelics"),
        preset_rule("obelics_few_words", f"{_I}.pictures > 0 AND {_WORDS} < 10"),
        preset_rule("obelics_many_words", f"{_I}.pictures > 0 AND {_WORDS} > 2000"),
    ),
    items=(
        _small("obelics", 150),
        _large("obelics", 20_000),
        _aspect("obelics", 2.0),
        _repeated("obelics", 10),
        _address("obelics", "logo|button|icon|plugin|widget"),
    ),
    notes=(
        "OBELICS counts words in paragraphs too (4 to 1,000); here only documents are counted, as rows are",
        "its words in addresses are looked for anywhere in them",
        _MOST_PAGES,
        *_NOTES,
    ),
)

_OMNICORPUS = Preset(
    name="omnicorpus@documents",
    summary="OmniCorpus's rules on images of documents (Li et al. 2024): sides >= 150, aspect 0.5 to 2, <= 10 times",
    operators={_I: {}},
    rules=(_pictures("omnicorpus")[0],),
    items=(_small("omnicorpus", 150), _aspect("omnicorpus", 2.0), _repeated("omnicorpus", 10)),
    notes=(
        "OmniCorpus counts pictures by two perceptual hashes, this preset by their addresses",
        _MOST_PAGES,
        *_NOTES,
    ),
)

_MINT = Preset(
    name="mint@like",
    summary="after MINT-1T's rules on HTML (Awadalla et al. 2024): 1 to 30 images of sides 150 to 20,000, aspect <= 2",
    operators={_I: {}},
    rules=_pictures("mint"),
    items=(
        _small("mint", 150),
        _large("mint", 20_000),
        _aspect("mint", 2.0),
        _address("mint", "logo|avatar|porn|xxx"),
    ),
    notes=(
        "winnow's own: of its numbers only 1 to 30 pictures was checked against the paper; it also compares texts and "
        "pictures of documents",
        *_NOTES,
    ),
)

PRESETS = (_OBELICS, _OMNICORPUS, _MINT)
