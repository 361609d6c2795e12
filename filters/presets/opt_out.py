"""Rules on sites' opt-outs; the strict preset also follows statements to search engines."""

from winnow.filters.presets import Preset, preset_rule

_O = "page.opt_out"
_R = "url.robots"
_RULES = (
    preset_rule("opt_out_ai", f"{_O}.noai OR {_O}.train_ai_no"),
    preset_rule("opt_out_tdm", f"{_O}.tdm"),
    preset_rule("opt_out_malformed", f"{_O}.malformed"),
)
_NOTES = (
    "pages from sources without responses are kept, as nothing is known; set `when_null: drop` to drop them",
    "statements to a crawler count if it is one of the operator's `agents`",
)

PRESETS = (
    Preset(
        name="opt_out",
        summary="pages that refuse training (noai, train-ai=n, ai-train=no) or reserve mining, even if malformed",
        operators={_O: {}},
        rules=_RULES,
        notes=(*_NOTES, "noindex addresses search engines and does not count, as in datadiligence"),
    ),
    Preset(
        name="opt_out@strict",
        summary="also pages that must not be indexed, archived, quoted or used any more",
        operators={
            _O: {
                "counts": ["noai", "tdm", "train_ai_no", "malformed", "noindex", "noarchive", "nosnippet", "expired"],
            }
        },
        rules=(
            *_RULES,
            preset_rule("opt_out_noindex", f"{_O}.noindex"),
            preset_rule("opt_out_noarchive", f"{_O}.noarchive"),
            preset_rule("opt_out_nosnippet", f"{_O}.nosnippet"),
            preset_rule("opt_out_expired", f"{_O}.expired"),
        ),
        notes=(
            *_NOTES,
            "img2dataset also respects noindex; Microsoft states that it does not train on pages with noarchive",
        ),
    ),
    Preset(
        name="opt_out@robots",
        summary="pages that current robots.txt or tdmrep.json files, stored separately from the crawl, refuse",
        operators={_R: {}},
        rules=(
            preset_rule("robots_disallowed", f"{_R}.disallowed"),
            preset_rule("robots_train_ai", f"{_R}.train_ai_no"),
            preset_rule("robots_tdm", f"{_R}.tdm"),
        ),
        notes=(
            "set `rules` of url.robots to a file that `winnow robots` writes",
            "pages of hosts without such a file are kept, as nothing is known; set `when_null: drop` to drop them",
        ),
    ),
)
