"""What a model's label means for a text in given scripts: a code such as `eng_Latn`, common to all models.

Chinese characters are `Hani` and Hangul is `Hang`, as in GlotLID and FineWeb-2, and a label that names a language
otherwise than these do, such as OpenLID's `zho_Hans`, is their `cmn_Hani`: thresholds and words are found by it. Latin
letters get into pages of every language, as names, addresses and code, so a text that is mostly Latin is still in the
language's own script if a tenth of its letters are. A language that is not written in the text's script is no language
of the text: its code is `und_Scrp`, and `mismatch` holds what the model said. So there is no Korean without Hangul, and
no Japanese without kana except in a heading.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from winnow.filters.language.identification.scripts import EITHER
from winnow.filters.language.thresholds.fineweb2 import fineweb2_languages
from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN, USUAL_MEMBER, Label, language

_PLAIN = {"Hans": "Hani", "Hant": "Hani", "Kore": "Hang"}
_EAST_ASIAN = frozenset({"Hani", "Hang", "Jpan", "Hira", "Kana", "Bopo"})
_EVERYWHERE = "Latn"
_SHARED = frozenset({_EVERYWHERE, "Hani", "Jpan"})  # beside which the text's second script may be the language's own
_NO_TEXT_LANGUAGE = (UNKNOWN, NO_LANGUAGE)

_OTHERWISE = {**USUAL_MEMBER, "pes": "fas", "prs": "fas", "tgl": "fil"}
"""Languages that FineWeb-2 has under another code."""

_ALSO = {
    # Scripts that CLDR lists for languages of everyday models, in addition to the usual one and to FineWeb-2's.
    **dict.fromkeys(("azj", "ckb", "kaz", "kir", "kmr", "tgk", "uzn"), ("Arab", "Cyrl", "Latn")),
    **dict.fromkeys(("hau", "ind", "som", "swh", "wol"), ("Arab", "Latn")),
    **dict.fromkeys(("bos", "cnr", "hbs"), ("Cyrl", "Latn")),
    **dict.fromkeys(("cre", "ike", "iku"), ("Cans", "Latn")),
    "ban": ("Bali",),
    "jav": ("Java",),
    "khk": ("Mong",),
    "pan": ("Arab",),
    "sun": ("Sund",),
    "zha": ("Hani",),
}


@dataclass(frozen=True, slots=True)
class CodedLanguage:
    """A language in a script."""

    label: str  # ISO 639-3, `und` or `zxx`
    script: str  # as the label names it, such as `Hant`
    code: str  # both, as FineWeb-2 writes them
    mismatch: str | None = None  # the label with the text's script, such as `jpn_Latn`, if they disagree
    of_second: bool = False  # whether it is the text's second script


def coded(label: Label, text_script: str, second_script: str | None = None) -> CodedLanguage:
    """The code for a label and a text.

    Args:
        label: What the model says.
        text_script: The script of most of the text's letters.
        second_script: The script of most other letters, if it has a notable share; or `EITHER`.
    """
    script = _script(label, text_script, second_script)
    if script is None:
        return CodedLanguage(UNKNOWN, text_script, f"{UNKNOWN}_{text_script}", f"{label.code}_{text_script}")
    plain = _PLAIN.get(script, script)
    of_second = text_script == _EVERYWHERE != plain or (text_script, plain) == ("Hani", "Hang")
    named = common_code(label.code, script)
    return CodedLanguage(named.partition("_")[0], script, named, of_second=of_second)


def common_code(code: str, script: str) -> str:
    """The code of a language in a script as FineWeb-2 has it, such as `cmn_Hani` for `zho` in `Hans`."""
    script = _PLAIN.get(script, script)
    other = _OTHERWISE.get(code)
    if other is not None and script not in _scripts().get(code, ()) and script in _scripts().get(other, ()):
        code = other
    return f"{code}_{script}"


def scripts_of(labels: Iterable[Label]) -> frozenset[str]:
    """The scripts of a model's labels."""
    found: set[str] = set()
    for label in labels:
        if label.code in _NO_TEXT_LANGUAGE:
            continue
        known = language(label.code)
        script = label.script or (known.script if known else None)
        if script is not None:
            found.add(_PLAIN.get(script, script))
    return frozenset(found | {"Hira", "Kana"} if "Jpan" in found else found)


def written_in(code: str) -> frozenset[str]:
    """The scripts that a language is written in; empty if none is known."""
    return _scripts().get(code, frozenset()) | _usual(code)


def _script(label: Label, text_script: str, second_script: str | None) -> str | None:
    """The script that the label means for the text; None if the language is not written in the text's scripts."""
    if label.code in _NO_TEXT_LANGUAGE:
        return label.script or text_script
    own = _usual(label.code) if label.script is None else frozenset({_PLAIN.get(label.script, label.script)})
    known = written_in(label.code) if label.script is None else own
    beside = {"Hani", "Jpan"} if second_script == EITHER else {second_script}
    if text_script in _SHARED and (there := own & beside):
        return label.script or next(iter(there))
    if not known or text_script in known or (text_script == "Bopo" and "Hani" in known):
        return label.script or _written(label.code, text_script)
    return None


def _usual(code: str) -> frozenset[str]:
    known = language(code)
    return frozenset({_PLAIN.get(known.script, known.script)}) if known and known.script else frozenset()


@lru_cache(maxsize=1)
def _scripts() -> dict[str, frozenset[str]]:
    found = {code: set(scripts) for code, scripts in _ALSO.items()}
    for configured in fineweb2_languages():
        code, _, script = configured.partition("_")
        found.setdefault(code, set()).add(script)
    return {code: frozenset(scripts) for code, scripts in found.items()}


def _written(code: str, text_script: str) -> str:
    """The text's script, with one name for the scripts that East Asian languages mix."""
    if text_script not in _EAST_ASIAN:
        return text_script
    return next((usual for usual in _usual(code) if usual in _EAST_ASIAN), text_script)
