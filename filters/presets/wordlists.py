"""Rules over listed words: C4's, and one that spares texts that only mention such words."""

from winnow.filters.presets import Preset, preset_rule

_W = "text.wordlist"

PRESETS = (
    Preset(
        name="any_listed_word@c4",
        summary="C4 and mC4: one word of the LDNOOBW list of the page's language drops the page",
        operators={_W: {"lists": ["wordlists.ldnoobw"], "inflected": False}},
        rules=(preset_rule("listed_word", f"{_W}.hits > 0"),),
        notes=(
            "it is known to be crude: it drops pages on health, law, sex education and sexual minorities, "
            "and in Japanese every page with the word `insert`; it exists to reproduce C4",
            "winnow counts whole words in every script, where C4 matches substrings in Chinese, Japanese and Thai",
            "C4 keeps one in a thousand of the pages that it would drop; winnow keeps none",
            "the lists come by npm (winnow assets fetch wordlists.ldnoobw)",
        ),
    ),
    Preset(
        name="wordlists",
        summary="pages with at least 1% listed vulgar words and three different ones",
        operators={_W: {}},
        rules=(preset_rule("vulgar_words", f"{_W}.density >= 0.01 AND {_W}.distinct >= 3"),),
        notes=(
            "the limits are winnow's own, set so that none of its clean passages on health, law and sex education is "
            "dropped (docs/explanation/safety.md); they are the same for every language",
            "pages in languages or scripts without a list are null, kept, and counted as not examined",
            "in Chinese, Japanese, Thai and Burmese a `word` of the density is a character or cluster, so the same "
            "density takes more listed words",
        ),
    ),
)
