"""Language codes such as `eng_Latn`, common to all models, from a model's label and the text's script.

Chinese characters are `Hani` and Hangul is `Hang`, as in GlotLID and FineWeb-2, unless the label says otherwise. A text
in a script that no label of the model uses is `und_Scrp`: models of character n-grams give some answer even there.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from winnow.schemas.languages import NO_LANGUAGE, UNKNOWN, Label, language

_PLAIN = {"Hans": "Hani", "Hant": "Hani", "Kore": "Hang"}
_EAST_ASIAN = frozenset({"Hani", "Hang", "Jpan", "Hira", "Kana", "Bopo"})


@dataclass(frozen=True, slots=True)
class Coded:
    """A language in a script."""

    label: str  # ISO 639-3, `und` or `zxx`
    script: str
    code: str  # both, as FineWeb-2 writes them


def coded(label: Label, text_script: str) -> Coded:
    """The code for a label and a text in this script."""
    script = label.script or _written(label.code, text_script)
    return Coded(label.code, script, f"{label.code}_{script}")


def scripts_of(labels: Iterable[Label]) -> frozenset[str]:
    """The scripts of a model's labels."""
    found: set[str] = set()
    for label in labels:
        if label.code in (UNKNOWN, NO_LANGUAGE):
            continue
        known = language(label.code)
        script = label.script or (known.script if known else None)
        if script is not None:
            found.add(_PLAIN.get(script, script))
    return frozenset(found | {"Hira", "Kana"} if "Jpan" in found else found)


def _written(code: str, text_script: str) -> str:
    """The text's script, with one name for the scripts that East Asian languages mix."""
    if text_script not in _EAST_ASIAN:
        return text_script
    known = language(code)
    usual = _PLAIN.get(known.script, known.script) if known and known.script else None
    return usual if usual in _EAST_ASIAN else text_script
