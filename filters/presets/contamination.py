"""What published pipelines drop for containing evaluation sets; a recipe names the sets under `text.contamination`."""

from typing import Final

from winnow.filters.presets import Preset, preset_rule

_NAME: Final = "text.contamination"
_SETS: Final = "name your evaluation sets: text.contamination: {preset: …, sets: {NAME: {file: eval.jsonl}}}"
_WORDS: Final = (
    "words are winnow's: without case, width and punctuation, one for each character of a script without spaces"
)

PRESETS = (
    Preset(
        name="contamination@afm-2024",
        summary="Apple's AFM (2024): any n-gram of 4 to 13 words that fewer than 1,000 documents have",
        operators={_NAME: {"min_item_words": 4, "max_ngram_words": 13, "common_documents": 1000}},
        rules=(preset_rule("contaminated", f"{_NAME}.ngrams > 0"),),
        notes=(
            _SETS,
            _WORDS,
            "the report does not say which length an n-gram has: here that of the item's question, from 4 to 13 words",
            "1,000 of the rows that are measured; for a sample of a corpus, set common_documents in proportion",
        ),
    ),
    Preset(
        name="contamination@datatrove",
        summary="NGramsDecontFilter of datatrove 0.10.1 with its defaults: any 12 words that reach into an answer",
        operators={_NAME: {"min_item_words": 12, "max_ngram_words": 12, "parts": ["answer", "both"]}},
        rules=(preset_rule("contaminated", f"{_NAME}.ngrams > 0"),),
        notes=(
            _SETS,
            _WORDS,
            "datatrove takes all numbers, week days and months for equal and ignores diacritics; this does not",
        ),
    ),
    Preset(
        name="contamination@dclm-like",
        summary="after DCLM (Li et al. 2024): 80 % of an item's 13-grams; there it is a report, not a filter",
        operators={_NAME: {"min_item_words": 4, "max_ngram_words": 13}},
        rules=(preset_rule("contaminated", f"list_max({_NAME}.found) >= 0.8"),),
        notes=(_SETS, _WORDS),
    ),
    Preset(
        name="contamination@llama-2-like",
        summary="after Llama 2 (Touvron et al. 2023): 80 % of a question's words, in runs of more than 10",
        operators={_NAME: {"min_item_words": 11, "max_ngram_words": 11, "parts": ["question"]}},
        rules=(preset_rule("contaminated", f"list_max({_NAME}.covered) >= 0.8"),),
        notes=(
            _SETS,
            _WORDS,
            "Llama 2 counts tokens of its vocabulary, and bridges up to four that differ; and it marks items of the "
            "evaluation, not documents",
        ),
    ),
    Preset(
        name="contamination@dolma-like",
        summary="after Dolma (Soldaini et al. 2024): a whole paragraph of 13 words or more of an evaluation set",
        operators={_NAME: {"min_item_words": 13, "max_ngram_words": 13}},
        rules=(preset_rule("contaminated", f"list_max({_NAME}.found) >= 1"),),
        notes=(
            _SETS,
            _WORDS,
            "give the sets with a paragraph an item, such as a line of a .txt file; Dolma's Bloom filter finds a "
            "paragraph that is one of the document, this also one within a paragraph",
        ),
    ),
    Preset(
        name="contamination@decon-like",
        summary="after decon of OLMo 3: 80 % of a question's 5-grams, where rare ones weigh more",
        operators={_NAME: {"min_item_words": 20, "max_ngram_words": 5, "parts": ["question"]}},
        rules=(preset_rule("contaminated", f"list_max({_NAME}.weighted) >= 0.8"),),
        notes=(
            _SETS,
            _WORDS,
            "decon also looks for the answer nearby, asks for a perfect match of questions of 20 tokens, relaxes this "
            "up to 50, and reads tokens of cl100k by default",
        ),
    ),
)
