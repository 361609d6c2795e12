"""All rules that winnow recommends for the safety of texts.

Each was measured by `python -m benchmarks.safety_parity` on clean texts; docs/explanation/safety.md has the numbers
and says what was tuned.
"""

from winnow.filters.presets import Preset, preset_rule, spam, urls, wordlists

_PII = "text.pii"
_SECRETS = "text.secrets"
_TOO_MANY = "too_many_spans"  # the status of the longest lists, which are not counted to the end
_PERSONS = " + ".join(f"coalesce({_PII}.{kind}, 0)" for kind in ("email", "phone", "card", "iban", "national_id"))
_PARTS = (
    next(preset for preset in urls.PRESETS if preset.name == "urls@ut1-adult"),
    next(preset for preset in wordlists.PRESETS if preset.name == "wordlists"),
    *spam.PRESETS,
)

PRESETS = (
    Preset(
        name="safety",
        summary="adult sites, vulgar pages, adverts for betting and paid sex, lists of personal data or credentials",
        operators={
            **{name: settings for part in _PARTS for name, settings in part.operators.items()},
            _PII: {},
            _SECRETS: {},
        },
        rules=(
            *(rule for part in _PARTS for rule in part.rules),
            preset_rule(
                "personal_data_list", f"{_PII}.density >= 0.3 AND {_PERSONS} >= 20 OR {_PII}.status = '{_TOO_MANY}'"
            ),
            preset_rule("credential_list", f"{_SECRETS}.credentials >= 10 OR {_SECRETS}.status = '{_TOO_MANY}'"),
        ),
        notes=(
            "it includes the presets urls@ut1-adult, wordlists and spam: name those instead for a selection",
            "personal data and secrets in other pages should be replaced by `edits`, not dropped by rules",
            "null is kept, and counted as not examined: a missing detector does not mean safe",
            "the preset toxicity complements it: a network, only for English",
        ),
    ),
)
