"""Writes a recipe for proposed sources: commented, and complete enough to run as it is."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.runners.first_look.proposal import Medium, ProposedSource
from winnow.runners.tables.quantities import byte_size
from winnow.schemas.recipe.render import scalar_text


def recipe_text(sources: Sequence[ProposedSource], folder: Path, name: str, notes: Sequence[str] = ()) -> str:
    """The recipe for sources of one medium, for a file in this folder; `name` tells its store from others'."""
    here = f"{_data_folder(sources, folder)}/{name}"
    parts = (_head(notes), _store(here), _sources(sources, folder), _measures(sources), _outputs(sources, here))
    return "\n".join(line for part in parts for line in part) + "\n"


def measuring_recipe_text(sources: Sequence[ProposedSource]) -> str:
    """The part of the recipe that judges rows one by one, with absolute folders: what a first look evaluates."""
    lines = ["version: 1", "store: {path: store}", *_sources(sources, None), *_measures(sources, rows_only=True)]
    return "\n".join(lines) + "\n"


def _head(notes: Sequence[str]) -> Iterator[str]:
    yield "# Written by `winnow init`. docs/reference/recipe.md describes every key; what is not here has its default."
    yield "#"
    yield "#     winnow plan THIS_FILE     what would be done, and what it would cost"
    yield "#     winnow run THIS_FILE      every stage; if it is stopped, the same command continues"
    yield "#     winnow report THIS_FILE   one page about the result"
    if notes:
        yield "#"
        yield from (f"# {_one_line(note)}" for note in notes)
    yield "version: 1"
    yield ""


def _store(here: str) -> Iterator[str]:
    yield "# Where samples and their measurements are kept. Sources are never changed."
    yield f"store: {{path: {_text(f'{here}/store')}}}"
    yield ""
    yield "# `class` and `licence` say where samples come from: free words that rules, mixtures and cards can use."


def _sources(sources: Sequence[ProposedSource], folder: Path | None) -> Iterator[str]:
    yield "sources:"
    for source in sources:
        count = len(source.group.files)
        yield f"  {source.name}:  # {count:,} file{'s' if count != 1 else ''}, {byte_size(source.group.bytes)}"
        if source.addresses:
            yield f"    addresses: {{file: {_text(_root(source.addresses, folder))}}}"
        else:
            yield f"    root: {_text(_root(source.group.root, folder))}"
            yield f"    files: [{', '.join(_text(pattern) for pattern in source.group.patterns)}]"
        if source.format != "auto":
            yield f"    format: {source.format}"
        yield f"    class: {'web' if source.group.format.is_of_web else 'own'}"
        yield "    licence: unknown"
        if source.columns is not None:
            yield from _columns(source.columns)
    yield ""
    if any(source.addresses for source in sources):
        yield "# Who asks these sites: an address of yours, where they can reach you, is required. docs/howto/fetch.md"
        yield "# has what else can be said: how often a site is asked, how large a page may be."
        yield "# fetch: {contact: 'mailto:you@example.org'}"
        yield ""


def _columns(columns: ColumnMapping) -> Iterator[str]:
    if columns.key is not None:
        yield f"    key: {_text(columns.key)}  # tells rows apart, also when a file grows"
    named = {
        role: column
        for role, column in columns.roles()
        if role != "key" and not (role == column or (role == "text" and columns.media is not None))
    }
    if columns.media is not None and columns.text not in ("text", columns.captions):
        named["text"] = columns.text
    if named:
        pairs = ", ".join(f"{role}: {_text(column)}" for role, column in named.items())
        yield f"    columns: {{{pairs}}}  # other columns are kept as metadata"


def _measures(sources: Sequence[ProposedSource], *, rows_only: bool = False) -> Iterator[str]:
    medium = sources[0].medium
    described = any(one.is_captioned for one in sources)
    archives = any(one.group.format.has_captures for one in sources)
    if any(one.has_pages for one in sources):
        yield "# The main content of web pages."
        yield "extract: {main: {}}"
        yield "text: coalesce(extract.main.text, samples.text)"
        yield ""
    yield "# What is measured. `winnow operators` lists all that there is."
    opt_out = ["page.opt_out  # what headers and pages say against training and mining"] if archives else []
    slower = [] if rows_only else _SLOWER[medium]
    measures = [*_ROWS[medium], *(_CAPTIONS[medium] if described else ()), *opt_out, *slower]
    yield "annotate:" if measures else "annotate: []"
    yield from (f"  - {one}" for one in measures)
    yield ""
    if not rows_only:
        yield "# Of samples that are alike, one stays. Nothing is deleted: `winnow plan` shows what would be dropped."
        yield f"dedupe: {{{_alike(sources)}}}"
        yield ""
    if archives and medium in _OTHERS:
        yield "# What else the archives hold."
        yield f"eligible: [{_OTHERS[medium]}]"
        yield ""
    yield "# What is dropped, each with its reason. After a change, `winnow plan` shows its effect at once."
    if medium == "videos" and rows_only:  # its rules read what takes every frame
        yield "keep: []"
    else:
        yield "keep:"
        rules = [*_RULES[medium], *((_CAPTIONED,) if medium == "pictures" and described else ())]
        yield from (f"  - {one}" for one in rules)
        yield from ("  - preset: opt_out",) if archives else ()
    yield ""


def _alike(sources: Sequence[ProposedSource]) -> str:
    if sources[0].medium == "captions" and all(one.columns is not None and one.columns.url for one in sources):
        return "url: {}"  # many media have the same caption
    return _ALIKE[sources[0].medium]


_ROWS: Final[Mapping[Medium, Sequence[str]]] = {
    "texts": ("{text.language: {model: winnow}}", "text.length", "text.fineweb", "text.fineweb2", "text.controls"),
    "captions": ("text.language", "text.length"),
    "pictures": ("image.geometry", "image.quality"),
    "videos": (),
}
"""What is measured row by row, also by a first look."""
_CAPTIONS: Final[Mapping[Medium, Sequence[str]]] = {
    "texts": (),
    "captions": (),
    "pictures": ("caption.length", "caption.language", "caption.overlap"),
    "videos": ("caption.length", "caption.language"),
}
"""And of media that have captions."""
_OTHERS: Final[Mapping[Medium, str]] = {
    "pictures": "{drop: samples.modality <> 'image', reason: no_picture, when_null: keep}",
    "videos": "{drop: samples.modality <> 'video', reason: no_video, when_null: keep}",
}

_SLOWER: Final[Mapping[Medium, Sequence[str]]] = {
    "texts": (),
    "captions": (),
    "pictures": ("image.pdq  # what copies of a picture have in common",),
    "videos": (
        "video.streams  # sizes, rates, exact seconds",
        "video.shots",
        "video.static  # black and frozen parts",
        "video.motion",
        "video.clarity",
    ),
}
_ALIKE: Final[Mapping[Medium, str]] = {
    "texts": "exact: {}, near: {preset: fineweb, min_similarity: 0.75}",
    "captions": "exact: {}",
    "pictures": "image_bytes: {}, pdq: {}",
    "videos": "vpdq: {}",
}
_RULES: Final[Mapping[Medium, Sequence[str]]] = {
    "texts": (
        "preset: multilingual@winnow  # FineWeb's thresholds for English, FineWeb-2's for every other language",
        "{drop: text.controls.stray_ratio > 0.01, reason: control_characters, when_null: keep}  # badly read",
    ),
    "pictures": (
        "{drop: samples.modality = 'image' AND list_min(image.quality.contrast) IS NULL, reason: undecodable, "
        "when_null: keep}",
        "{drop: list_min(image.geometry.shorter) < 64, reason: small, when_null: keep}",
    ),
    "captions": ("{drop: text.length.characters < 3, reason: short, when_null: keep}",),
    "videos": (
        "{drop: list_max(video.streams.longest_frame) > 600, reason: stalled, when_null: keep}  # damaged times",
        "preset: video@winnow  # mostly black, frozen, unmoved, blurred or tiny",
    ),
}
_CAPTIONED: Final = (
    "preset: captions@short  # three letters, or two where a sign is a syllable or a word: alike in all languages"
)
_MIX: Final[Mapping[Medium, str]] = {
    "texts": "{unit: tokens, tokenizer: bytes, split: {validation: 0.01}}",
    "captions": "{unit: samples}",
    "pictures": "{unit: samples}",
    "videos": "{unit: seconds}",
}


def _outputs(sources: Sequence[ProposedSource], here: str) -> Iterator[str]:
    if sources[0].medium == "texts":
        yield "# What is removed from texts when they are exported: terminal escapes and other control characters."
        yield "edits: [text.controls]"
        yield ""
    yield "# The mixture: all that is kept, once. `budget`, `sources` and `languages` set how much of what is given."
    yield f"mix: {_MIX[sources[0].medium]}"
    yield ""
    if sources[0].medium in ("texts", "captions"):
        yield f"export: [{{parquet: {{path: {_text(f'{here}/parquet')}}}}}]"
    else:
        media = "image" if sources[0].medium == "pictures" else "video"
        yield f"export: [{{webdataset: {{path: {_text(f'{here}/webdataset')}, media: {media}}}}}]"


def _data_folder(sources: Sequence[ProposedSource], folder: Path) -> str:
    """A folder beside the recipe, or outside if a source's patterns would find what is written there."""
    inside = any(
        "://" not in source.group.root
        and any(pattern.startswith("**/") for pattern in source.group.patterns)
        and folder.resolve().is_relative_to(Path(source.group.root).resolve())
        for source in sources
    )
    return f"../winnow-{folder.resolve().name}" if inside else "winnow-data"


def _root(root: str, folder: Path | None) -> str:
    if "://" in root:
        return root
    absolute = Path(root).resolve()
    return str(absolute) if folder is None else os.path.relpath(absolute, folder.resolve())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _text(text: str) -> str:
    """A text that a recipe reads as it is: nothing in it is a variable."""
    return scalar_text(text.replace("${", "$${"))
