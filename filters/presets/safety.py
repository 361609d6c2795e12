"""The rules that winnow recommends for the safety of texts, all together.

Each was measured by `python -m benchmarks.safety_parity` on clean texts; docs/explanation/safety.md has the numbers
and says what was tuned.
"""

from winnow.filters.presets import Preset, PresetRule, spam, urls, wordlists

_PII = "text.pii"
_SECRETS = "text.secrets"
_TOO_MANY = "too_many_spans"  # the status of the fullest lists of all: they are not counted to their end
_PERSONS = " + ".join(f"coalesce({_PII}.{kind}, 0)" for kind in ("email", "phone", "card", "iban", "national_id"))
_PARTS = (
    next(preset for preset in urls.PRESETS if preset.name == "urls@ut1-adult"),
    next(preset for preset in wordlists.PRESETS if preset.name == "wordlists"),
    *spam.PRESETS,
)

PRESETS = (
    Preset(
        name="safety",
        summary="adult sites, pages of vulgar words, adverts of betting and sex, lists of personal data or credentials",
        operators={
            **{name: settings for part in _PARTS for name, settings in part.operators.items()},
            _PII: {},
            _SECRETS: {},
        },
        rules=(
            *(rule for part in _PARTS for rule in part.rules),
            PresetRule(
                "personal_data_list", f"{_PII}.density >= 0.3 AND {_PERSONS} >= 20 OR {_PII}.status = '{_TOO_MANY}'"
            ),
            PresetRule("credential_list", f"{_SECRETS}.credentials >= 10 OR {_SECRETS}.status = '{_TOO_MANY}'"),
        ),
        notes=(
            "it takes in the presets urls@ut1-adult, wordlists and spam: name those instead to have some of them",
            "what is personal or secret in other pages is for `edits` to replace, not for rules to drop pages for",
            "null is kept, and counted as not looked at: no detector is no sign of safety",
            "the preset toxicity stands beside it: a network, for English alone",
        ),
    ),
)
