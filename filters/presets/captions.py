"""Published rules on pictures with captions and on the pictures of documents, and winnow's own rules on captions.

Under `keep`, a row is dropped if none of its pictures, or none of its captions, meets a condition. For rows with one
picture and one caption, like those of the published sets, this is the published rule. Rules on the pictures of
documents apply to single pictures: under `items` they are exactly those of their papers.
"""

from winnow.filters.presets import ENGLISH, Preset, preset_rule

_G = "image.geometry"
_LENGTH = "caption.length"

_NOTES = (
    "of a row with several pictures or captions, each condition must be met by one of them, not all by the same",
    "rows without pictures, such as pages, are kept",
)
_UNDECODABLE_PICTURE = f"{_G}.status = 'ok' AND {_G}.width IS NULL AND samples.media.mime LIKE 'image/%'"
_UNDECODABLE = f"{_G}.status = 'ok' AND list_max({_G}.width) IS NULL"
_UNCAPTIONED = f"{_LENGTH}.status = 'no_captions'"

_DATACOMP = Preset(
    name="datacomp@basic",
    summary="DataComp's basic filter (Gadre et al. 2023): English, > 2 words, > 5 characters, side >= 200, aspect <= 3",
    operators={"caption.language": {"model": "lid.176"}, _LENGTH: {}, _G: {}},
    rules=(
        preset_rule("datacomp_no_caption", _UNCAPTIONED),
        preset_rule("datacomp_undecodable", _UNDECODABLE),
        preset_rule("datacomp_language", "NOT list_contains(caption.language.model_label, 'en')"),
        preset_rule("datacomp_words", f"list_max({_LENGTH}.words) <= 2"),
        preset_rule("datacomp_characters", f"list_max({_LENGTH}.characters) <= 5"),
        preset_rule("datacomp_side", f"list_max({_G}.shorter) < 200"),
        preset_rule("datacomp_aspect", f"list_min({_G}.aspect) > 3.0"),
    ),
    notes=(
        "DataComp ran lid.176.bin; the default model here is its compressed form, lid.176.ftz. For the same labels set "
        "`model` of caption.language to that file",
        "sizes are those of the stored file; DataComp's are of the original, before its download shrank it",
        *_NOTES,
    ),
    languages=ENGLISH,
)

_LAION = Preset(
    name="laion@pre-filter",
    summary="LAION's filter before CLIP (Schuhmann et al. 2021): alt text of < 5 characters, files of < 5 kB",
    operators={_LENGTH: {}, _G: {}},
    rules=(
        preset_rule("laion_no_caption", _UNCAPTIONED),
        preset_rule("laion_undecodable", _UNDECODABLE),
        preset_rule("laion_characters", f"list_max({_LENGTH}.characters) < 5"),
        preset_rule("laion_bytes", f"list_max({_G}.bytes) < 5000"),
    ),
    notes=(
        "5 kB are 5,000 bytes, as in the code that made LAION-400M",
        "pictures that are too large to decode have no size here and are dropped as laion_undecodable",
        *_NOTES,
    ),
)

_OBELICS = Preset(
    name="obelics@images",
    summary="OBELICS's rules on images (Laurençon et al. 2023): sides 150 to 20,000, aspect <= 2, <= 30 a document",
    operators={_G: {}},
    rules=(
        preset_rule("obelics_undecodable", _UNDECODABLE),
        preset_rule("obelics_small", f"list_max({_G}.shorter) < 150"),
        preset_rule("obelics_large", f"list_min({_G}.longer) > 20000"),
        preset_rule("obelics_aspect", f"list_min({_G}.aspect) > 2.0"),
        preset_rule("obelics_count", f"array_length({_G}.width) > 30"),
    ),
    items=(
        preset_rule("obelics_undecodable", _UNDECODABLE_PICTURE),
        preset_rule("obelics_small", f"{_G}.shorter < 150"),
        preset_rule("obelics_large", f"{_G}.longer > 20000"),
        preset_rule("obelics_aspect", f"{_G}.aspect > 2.0"),
    ),
    notes=(
        "under `items` as OBELICS: a document loses the picture, and is dropped without any; add to `keep` "
        "`items.kept > 30`, which counts those that are left, as OBELICS does",
        "its rules on file names, on addresses that occur more than 10 times and on NSFW scores are not part of this; "
        "by bytes, under `items`: `dedupe.image_bytes.size > 10`",
        *_NOTES,
    ),
)

_OMNICORPUS = Preset(
    name="omnicorpus@images",
    summary="OmniCorpus's rules on the shape of images (Li et al. 2024): sides >= 150, aspect 0.5 to 2",
    operators={_G: {}},
    rules=(
        preset_rule("omnicorpus_undecodable", _UNDECODABLE),
        preset_rule("omnicorpus_small", f"list_max({_G}.shorter) < 150"),
        preset_rule("omnicorpus_aspect", f"list_min({_G}.aspect) > 2.0"),
    ),
    items=(
        preset_rule("omnicorpus_undecodable", _UNDECODABLE_PICTURE),
        preset_rule("omnicorpus_small", f"{_G}.shorter < 150"),
        preset_rule("omnicorpus_aspect", f"{_G}.aspect > 2.0"),
    ),
    notes=(
        "under `items` as OmniCorpus: a document loses the picture",
        "its rules on aesthetics (< 3.7), NSFW scores (> 0.8) and images seen more than 10 times, by two perceptual "
        "hashes, are not part of this; by one of them, under `items`: `dedupe.pdq.size > 10`",
        *_NOTES,
    ),
)

_MM1 = Preset(
    name="mm1@like",
    summary="after what is reported of MM1's images (McKinzie et al. 2024): 5 kB to 20 MB, side >= 70, aspect <= 3",
    operators={_G: {}},
    rules=(
        preset_rule("mm1_undecodable", _UNDECODABLE),
        preset_rule("mm1_light", f"list_max({_G}.bytes) < 5000"),
        preset_rule("mm1_heavy", f"list_min({_G}.bytes) > 20000000"),
        preset_rule("mm1_small", f"list_max({_G}.shorter) < 70"),
        preset_rule("mm1_aspect", f"list_min({_G}.aspect) > 3.0"),
        preset_rule("mm1_count", f"array_length({_G}.width) > 30"),
        preset_rule(
            "mm1_address",
            f"{_G}.status = 'ok' AND regexp_matches(samples.url, '(?i)(logo|button|icon|plugin|widget)')",
        ),
    ),
    items=(
        preset_rule("mm1_undecodable", _UNDECODABLE_PICTURE),
        preset_rule("mm1_light", f"{_G}.bytes < 5000"),
        preset_rule("mm1_heavy", f"{_G}.bytes > 20000000"),
        preset_rule("mm1_small", f"{_G}.shorter < 70"),
        preset_rule("mm1_aspect", f"{_G}.aspect > 3.0"),
    ),
    notes=(
        "winnow's own: the numbers are told second-hand and were not checked against the paper; read as 5,000 and "
        "20,000,000 bytes, and words anywhere in a picture's address",
        "under `items` each picture is judged alone, but for words in addresses, which a row has, not a picture; add "
        "`items.kept > 30` to `keep`",
        "MM1 also drops images that occur more than 10 times: under `items` `dedupe.image_bytes.size > 10`, else "
        "`list_min(dedupe.image_bytes.size) > 10`",
        *_NOTES,
    ),
)

_FILE_NAME = preset_rule("caption_file_name", "NOT list_contains(caption.overlap.is_file_name, false)")
_NO_MEDIA = "rows without media, such as pages, are kept"

_CAPTIONS = Preset(
    name="captions",
    summary="captions in any language: two words, or four letters in scripts without spaces, that are no file's name",
    operators={_LENGTH: {}, "caption.overlap": {}},
    rules=(
        preset_rule("caption_missing", _UNCAPTIONED),
        preset_rule(
            "caption_short",
            f"{_LENGTH}.status = 'ok' AND coalesce(list_max({_LENGTH}.spaced_words), 0) < 2 "
            f"AND coalesce(list_max({_LENGTH}.unspaced_letters), 0) < 4",
        ),
        preset_rule("caption_few_letters", f"list_max({_LENGTH}.letters) < 4"),
        _FILE_NAME,
    ),
    notes=(
        "a caption without letters has no script and counts as short",
        "three English words are often two of Korean, Finnish or Turkish; for more words, override caption_short",
        "`A cat.` is two words, but one where nouns have no article: where pictures are captioned by nouns, this costs "
        "Russian or Finnish half of what it costs English nothing of; captions@short does not",
        _NO_MEDIA,
    ),
)

_SHORT = Preset(
    name="captions@short",
    summary="captions as short as a noun, in any language: three letters, or two of syllables or words",
    operators={_LENGTH: {}, "caption.overlap": {}},
    rules=(
        preset_rule("caption_missing", _UNCAPTIONED),
        preset_rule(
            "caption_short",
            f"{_LENGTH}.status = 'ok' AND list_max({_LENGTH}.letters) < 3 AND (list_max({_LENGTH}.letters) < 2 "
            f"OR (list_max({_LENGTH}.unspaced_letters) IS NULL "
            f"AND NOT list_has_any({_LENGTH}.script, ['Hang', 'Ethi'])))",
        ),
        _FILE_NAME,
    ),
    notes=(
        "`image` and its like are kept in every language: what is said of many pictures is found by "
        "`list_min(dedupe.captions.size) > 10`",
        _NO_MEDIA,
    ),
)

PRESETS = (_DATACOMP, _LAION, _OBELICS, _OMNICORPUS, _MM1, _CAPTIONS, _SHORT)
