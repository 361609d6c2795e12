"""What is kept of a source's texts, and which language in which script they are in."""

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from tools.language_model.sources import Source
from winnow.filters.language.identification.codes import written_in
from winnow.filters.language.identification.heads import heads_of
from winnow.filters.language.identification.scripts import script_names
from winnow.schemas.languages import read_label

_TAG = re.compile(r"<[^<>]{0,300}>")
_ADDRESS = re.compile(r"(?:https?|ftp)://\S+|www\.\S+|\S+@\S+\.\S+")
_PLACEHOLDER = re.compile(
    r"\{\{[^{}]*\}\}|\[\[[^\[\]]*?\||\[\[|\]\]|\[https?\S* ?|%[-+ #0-9.$]*(?:hs|ls|ld|lu|l?l?[sdiufxXcgpnq@S])(?![a-z])"
    r"|%\([a-z_]+\)[sd]|\$\{?[A-Za-z0-9_]+\}?|\{[^{}]{0,60}\}|%[A-Z_a-z]+%|%[0-9]|\\[nrt]|&[a-zA-Z0-9#]+;"
    r"|\bPRODUCTNAME\b|<[^>]*>"
)
_CODE = re.compile(
    r"\S*[/\\=|<>{}\[\]_*#~^]\S*|\b\w+\.(?:js|php|css|html?|xml|txt|ini|py|svg|png)\b|--?[a-z][a-z-]+\b(?=\s)"
)
_MENU_KEY = re.compile(r"(?<=\w)[_&~](?=\w)|[_&~](?=\w)|\([A-Z]\)")
_SPACE = re.compile(r"\s+")
_LINES = re.compile(r"\n+|\\n")
_EDGES = " .,:;-–—()\"'"

_LOCALES = {
    locale: None if code == "-" else code
    for locale, code in (
        line.split("\t")
        for line in Path(__file__).with_name("locales.tsv").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    )
}
_ENGLISH_WORDS = frozenset((
    "an", "and", "are", "as", "be", "by", "can", "for", "from", "has", "have", "in", "is", "it", "not", "of", "on",
    "or", "that", "the", "this", "to", "was", "will", "with", "you", "your",
))  # fmt: skip
_NEAR_ENGLISH = frozenset({"eng", "sco", "pcm", "tpi", "bis", "jam", "gpe", "aig", "pih", "kri", "srn"})
_MIXED_SCRIPTS = frozenset({"Jpan", "Hang", "Hani"})
_ALSO_WRITTEN = frozenset({"rif_Latn", "shi_Latn"})
_CHINESE = frozenset({"cmn", "yue", "wuu", "lzh", "jpn"})
"""Languages that are learned from texts in Chinese characters: interfaces in the others read like Mandarin."""
_LEAST_LETTERS = 5
_LEAST_LETTER_SHARE = 0.55
_LEAST_SCRIPT_SHARE = 0.7  # of a text's letters
_LEAST_OF_LANGUAGE = 0.05  # a script that fewer texts of a language are in is a mistake
_MOST_CHARACTERS = 4_000


def language_of(locale: str) -> str | None:
    """The language of a locale such as `pt_BR` or `zh-min-nan`."""
    locale = locale.strip()
    for name in (locale, re.split(r"[-_@.]", locale)[0]):
        if name in _LOCALES:
            return _LOCALES[name]
    label = read_label(re.split(r"[-_@.]", locale)[0], "wikipedia")
    return None if label is None or _LOCALES.get(label.code, "") is None else label.code


def cleaned(text: str, marks: bool) -> str:
    """A text without markup, addresses, placeholders and names of files."""
    text = html.unescape(text)
    for _ in range(2):
        text = _PLACEHOLDER.sub(" ", _TAG.sub(" ", _ADDRESS.sub(" ", text)))
    if marks:
        text = _MENU_KEY.sub("", text)
    return _SPACE.sub(" ", _CODE.sub(" ", text).replace("''", " ")).strip(_EDGES)


def texts_by_label(source: Source, found: Iterable[tuple[str, str]], english: set[str]) -> dict[str, list[str]]:
    """The texts of a source by label, such as `srp_Cyrl`, each once, sorted.

    Args:
        source: Where they are from.
        found: Locales and texts.
        english: Texts in lower case that are English wherever they stand; those of the source are added.
    """
    by_language: dict[str, set[str]] = defaultdict(set)
    for locale, text in found:
        code = language_of(locale)
        if code is None or len(text) > _MOST_CHARACTERS:
            continue
        for line in _LINES.split(text):
            line = cleaned(line, source.marks)
            if len(line) >= _LEAST_LETTERS + 1:
                by_language[code].add(line)
    english |= {text.lower() for text in by_language.get("eng", ())}
    labelled: dict[str, list[str]] = {}
    for code, texts in sorted(by_language.items()):
        kept = [text for text in sorted(texts) if code in _NEAR_ENGLISH or not _is_english(text, english)]
        labelled |= _by_script(code, kept)
    return labelled


def _is_english(text: str, english: set[str]) -> bool:
    if text.lower() in english:
        return True
    words = text.lower().split()
    hits = sum(word in _ENGLISH_WORDS for word in words)
    return hits >= 2 and hits > 0.2 * len(words)


def _by_script(code: str, texts: list[str]) -> dict[str, list[str]]:
    if not texts:
        return {}
    scripts = heads_of(pa.array(texts, pa.large_string()), 1 << 20).scripts
    names = script_names()
    dense = np.array([len(text.replace(" ", "")) for text in texts])
    fit = (scripts.letters >= _LEAST_LETTERS) & (scripts.letters >= _LEAST_LETTER_SHARE * dense)
    fit &= scripts.own_letters >= _LEAST_SCRIPT_SHARE * scripts.letters
    counts = Counter(names[number] for number in scripts.numbers[fit].tolist())
    total = sum(counts.values())
    found: dict[str, list[str]] = defaultdict(list)
    for text, number, good in zip(texts, scripts.numbers.tolist(), fit.tolist(), strict=True):
        script = names[number] if number >= 0 else ""
        usual = counts[script] >= _LEAST_OF_LANGUAGE * total or script in _MIXED_SCRIPTS
        if good and usual and (label := _label(code, script)) is not None:
            found[label].append(text)
    return dict(found)


def _label(code: str, script: str) -> str | None:
    """The label of a language in a script; None where the language is not written so."""
    if (script == "Jpan" and code != "jpn") or (script == "Hani" and code not in _CHINESE):
        return None
    if script == "Hani" and code == "jpn":
        return "jpn_Jpan"
    label, known = f"{code}_{script}", written_in(code)
    if known and script not in known and label not in _ALSO_WRITTEN:
        return None
    return label
