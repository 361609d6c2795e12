"""What sites say against the use of their pages, as rules; strict also heeds what is said to search engines."""

from winnow.filters.presets import Preset, PresetRule

_O = "page.opt_out"
_R = "url.robots"
_RULES = (
    PresetRule("opt_out_ai", f"{_O}.noai OR {_O}.train_ai_no"),
    PresetRule("opt_out_tdm", f"{_O}.tdm"),
    PresetRule("opt_out_malformed", f"{_O}.malformed"),
)
_NOTES = (
    "a page whose source keeps no response is kept: nothing is known of it; set `when_null: drop` to heed that",
    "statements to one crawler count where it is one of the operator's `agents`",
)

PRESETS = (
    Preset(
        name="opt_out",
        summary="pages that refuse training (noai, train-ai=n, ai-train=no), reserve mining, or say so illegibly",
        operators={_O: {}},
        rules=_RULES,
        notes=(*_NOTES, "noindex is a word to search engines and does not count, as in datadiligence"),
    ),
    Preset(
        name="opt_out@strict",
        summary="also pages that are not to be indexed, archived, quoted or used any more",
        operators={
            _O: {
                "counts": ["noai", "tdm", "train_ai_no", "malformed", "noindex", "noarchive", "nosnippet", "expired"],
            }
        },
        rules=(
            *_RULES,
            PresetRule("opt_out_noindex", f"{_O}.noindex"),
            PresetRule("opt_out_noarchive", f"{_O}.noarchive"),
            PresetRule("opt_out_nosnippet", f"{_O}.nosnippet"),
            PresetRule("opt_out_expired", f"{_O}.expired"),
        ),
        notes=(
            *_NOTES,
            "img2dataset heeds noindex, too; Microsoft says that it does not train on pages with noarchive",
        ),
    ),
    Preset(
        name="opt_out@robots",
        summary="pages that robots.txt or tdmrep.json refuse by now, read from files that are kept beside the crawl",
        operators={_R: {}},
        rules=(
            PresetRule("robots_disallowed", f"{_R}.disallowed"),
            PresetRule("robots_train_ai", f"{_R}.train_ai_no"),
            PresetRule("robots_tdm", f"{_R}.tdm"),
        ),
        notes=(
            "give url.robots its `rules`, a file that `winnow robots` writes",
            "a page of a host without such a file is kept: nothing is known of it; set `when_null: drop` to heed that",
        ),
    ),
)
