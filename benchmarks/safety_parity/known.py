"""Texts whose truth is known: clean ones that naive filters hit, and what is planted into them.

`passages.json` holds short pieces written for this: health, law, sex education, addiction and history, in words that
word lists and classifiers trip over. The declarations of human rights that the demo brings are clean in every language.
A user's own data are taken to be clean.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

import pyarrow as pa

from benchmarks.parity.documents import Document
from winnow.filters.language.identification.codes import coded
from winnow.filters.language.identification.scripts import dominant_scripts, script_names
from winnow.filters.language.words import texts_of
from winnow.filters.operators import TEXT, Kernel, find_operator
from winnow.pipelines.assets import AssetFiles
from winnow.runners.demo.texts import declarations
from winnow.schemas.languages import UNKNOWN, Label, read_label

DECLARATION = "declaration"
OWN = "documents"


@dataclass(frozen=True, slots=True)
class Known:
    """A document and what is in it: nothing, or one subcategory of harm."""

    document: Document  # its language is a code such as `deu_Latn`
    topic: str
    planted: str | None = None  # the subcategory
    variant: str = "plain"  # how it was written
    alone: bool = False  # there is nothing in the document but what was planted


@cache
def passages() -> Mapping[str, Mapping[str, Mapping[str, list[str]]]]:
    """Clean pieces by language and topic, and planted ones by language and subcategory; languages as ISO 639-3."""
    raw = resources.files("benchmarks.safety_parity").joinpath("passages.json").read_text("utf-8")
    found: Mapping[str, Mapping[str, Mapping[str, list[str]]]] = json.loads(raw)
    return found


def bundled() -> Iterator[Known]:
    """Every clean text that comes with winnow, in the order of languages."""
    for key, declaration in declarations().items():
        for number, part in enumerate((*declaration.pages, *declaration.spares, *declaration.books)):
            document = Document(f"declaration {key} {number}", part.body, declaration.language.iso)
            yield Known(document, DECLARATION)
    for language, topics in passages()["clean"].items():
        for topic, texts in topics.items():
            for number, text in enumerate(texts):
                yield Known(Document(f"{topic} {language} {number}", text, language), topic)


def own(documents: Iterable[Document]) -> Iterator[Known]:
    """A user's documents, which are clean."""
    return (Known(document, OWN) for document in documents)


def with_codes(batch: list[Known]) -> list[Known]:
    """Languages as codes with the script that each text is written in; found where none is declared."""
    texts = texts_of(pa.array([one.document.text for one in batch], pa.large_string()))
    scripts = dominant_scripts(texts.buffer, texts.offsets[:-1], texts.offsets[1:])
    names = script_names()
    unknown = [number for number, one in enumerate(batch) if one.document.language is None]
    found = dict(zip(unknown, _found([batch[number].document.text for number in unknown]), strict=True))
    return [
        replace(one, document=replace(one.document, language=language))
        for number, (one, script) in enumerate(zip(batch, scripts.numbers, strict=True))
        for language in [found[number] if number in found else _code(one.document.language, int(script), names)]
    ]


def _found(texts: list[str]) -> list[str | None]:
    """What `text.language` takes texts for."""
    if not texts:
        return []
    codes: list[str | None] = _detector()(pa.record_batch([pa.array(texts, pa.large_string())], [TEXT]))[
        "code"
    ].to_pylist()
    return codes


@cache
def _detector() -> Kernel:
    operator = find_operator("text.language")
    return operator.load(operator.config(), AssetFiles())


def _code(declared: str | None, script: int, names: tuple[str, ...]) -> str | None:
    if declared is None:
        return None
    tag = declared.replace("-", "_").split("_")[0].lower()
    label = read_label(tag, "wikipedia") or Label(UNKNOWN)
    return coded(label, names[script] if script >= 0 else "Zyyy").code
