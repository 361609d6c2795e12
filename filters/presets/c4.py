"""C4: the paper's thresholds as applied by datatrove, and those of the builder of the published data set."""

from winnow.filters.presets import ENGLISH, Preset, preset_rule

_PAGES = (
    preset_rule("lorem_ipsum", "text.c4.has_lorem_ipsum"),
    preset_rule("curly_bracket", "text.c4.has_curly"),
)

_EDITS = "removed lines are the column text.c4.removed: name text.c4 under `edits` to export pages without them"
_WORDS = "the list of bad words is not included"

PRESETS = (
    Preset(
        name="c4@paper",
        summary="C4QualityFilter of datatrove 0.10.1 with its defaults: 3 words per line, 5 sentences per page",
        languages=ENGLISH,
        operators={"text.c4": {}},
        rules=(*_PAGES, preset_rule("too_few_sentences", "text.c4.sentences < 5")),
        notes=(
            _EDITS,
            _WORDS,
            "as in datatrove, an apostrophe counts as an end mark, too, and words are counted before citations are "
            "removed; the paper and its builder do neither",
            "if a page has both lorem ipsum and a curly bracket, datatrove reports the first one, this preset lorem "
            "ipsum",
        ),
    ),
    Preset(
        name="c4@fineweb",
        summary="C4 as FineWeb runs it: c4@paper without the rule on end marks",
        languages=ENGLISH,
        operators={"text.c4": {"require_end_mark": False}},
        rules=(*_PAGES, preset_rule("too_few_sentences", "text.c4.sentences < 5")),
        notes=(_EDITS, _WORDS),
    ),
    Preset(
        name="c4@tfds",
        summary="clean_page of tensorflow_datasets/text/c4_utils.py: 5 words per line, 3 sentences per page",
        languages=ENGLISH,
        operators={
            "text.c4": {"min_line_words": 5, "count_words": "after_citations", "end_marks": '.?!"'},
        },
        rules=(*_PAGES, preset_rule("too_few_sentences", "text.c4.sentences < 3")),
        notes=(
            _EDITS,
            _WORDS,
            "the builder splits sentences with NLTK's trained English Punkt model, which is not part of winnow; "
            "spaCy's rules replace it",
            "the builder also drops pages of more than 190,000 characters, and pages that langdetect does not classify "
            "as English with 0.99; afterwards it drops lines seen on earlier pages and requires 3 sentences again",
        ),
    ),
)
