"""The files beside media: captions, subtitles, metadata as JSON, labels; in tars and folders."""

from collections.abc import Sequence
from contextlib import closing
from typing import Final

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.files import NOT_THERE
from winnow.pipelines.ingest.records import Caption, Record
from winnow.pipelines.ingest.subtitles import ENDINGS, UndecodableTextError, decoded, language_of_name, read_subtitles
from winnow.pipelines.ingest.tables.columns import ABSENT, ColumnMapping, find, languages_of, moment
from winnow.pipelines.ingest.tables.jsonl import Fault, parse_row
from winnow.pipelines.ingest.unusable_media import with_unread
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore

SIDECAR_BYTES: Final = 1 << 20
TEXTS: Final = frozenset(("txt", "json", *ENDINGS))  # the last parts of names that sidecars have, whatever they hold
BESIDE: Final = (".txt", ".json", *(f".{ending}" for ending in ENDINGS))  # the sidecars of a file in a folder
CUE_TIMES: Final = "cue_times"
"""The key of a row's metadata that has the times of each subtitle's lines, by its origin."""
CAPTION: Final = "caption"  # the key of captions in JSON, as img2dataset writes it

_BOM: Final = b"\xef\xbb\xbf"


def take_sidecar(mapping: ColumnMapping, suffix: str, body: bytes, record: Record, captions: list[Caption]) -> str:
    """Adds a sidecar's content to a record, and its captions to `captions`; returns why it has none, or "".

    `mapping`: the keys of the source's JSON. `suffix`: the sidecar's name after that of the medium: `txt`, `meta.json`.
    """
    if not body:
        return "empty"
    kind = suffix.lower().rpartition(".")[2]
    if kind == "json":
        return _take_json(mapping, suffix, body, record, captions)
    if kind in ENDINGS:
        found = read_subtitles(body)
        if isinstance(found, str):
            return found
        captions.append(Caption(found.text, suffix, language_of_name(suffix) or found.language))
        known = record.metadata.get(CUE_TIMES)
        record.metadata[CUE_TIMES] = {**(known if isinstance(known, dict) else {}), suffix: list(found.times)}
        return ""
    try:
        text = decoded(body).rstrip("\r\n")
    except UndecodableTextError as error:
        return str(error)
    if kind != "txt":
        record.metadata[suffix] = text
    elif text.strip():
        captions.append(Caption(text, suffix))
    return ""


def distinct(captions: Sequence[Caption]) -> tuple[Caption, ...]:
    """The captions without those whose text came before."""
    found: dict[str, Caption] = {}
    for caption in captions:
        found.setdefault(caption.text, caption)
    return tuple(found.values())


class SidecarFiles:
    """The sidecars of media in folders: of `a/b.mp4` the files `a/b.txt`, `a/b.json`, `a/b.srt` and `a/b.de.srt`.

    `mapping`: the keys of the source's JSON.
    """

    def __init__(self, objects: ObjectStore, mapping: ColumnMapping) -> None:
        self._objects, self._mapping = objects, mapping
        self._folder: str | None = None
        self._subtitles: dict[str, list[str]] = {}  # of the last folder: their suffixes, by the name before them

    def read(self, path: str, record: Record) -> None:
        """Adds the content of the files beside it to the record of a file; OSError if one cannot be read, perhaps
        temporarily."""
        stem = path.rpartition(".")[0] if "." in path.rpartition("/")[2] else path
        captions: list[Caption] = []
        unread = {}
        for suffix in ("txt", "json", *self._subtitles_of(stem)):
            try:
                stream = self._objects.open(f"{stem}.{suffix}")
            except NOT_THERE:
                continue
            with closing(stream):
                size = stream.seek(0, 2)
                large = size > SIDECAR_BYTES
                body = b"" if large else read_range(stream, 0, size)
            why = f"{size} bytes" if large else take_sidecar(self._mapping, suffix, body, record, captions)
            if why:
                unread[suffix] = why
        with_unread(record.metadata, unread)
        record.captions = distinct(captions)

    def _subtitles_of(self, stem: str) -> list[str]:
        """The suffixes of the subtitles of a file, each with its language or without, sorted."""
        if not isinstance(self._objects, LocalStore):  # one request per file, as a listing may be endless
            others = [one.path[len(stem) + 1 :] for one in self._objects.list(f"{stem}.")]
            return [one for one in others if "/" not in one and one.rpartition(".")[2].lower() in ENDINGS]
        folder, _, name = stem.rpartition("/")
        if folder != self._folder:
            self._folder, self._subtitles = folder, {}
            names = (path.rpartition("/")[2] for path in self._objects.entries(folder))
            for found in (name for name in names if name.lower().endswith(BESIDE[2:])):
                pieces = found.split(".")
                for at in range(max(1, len(pieces) - 3), len(pieces)):
                    self._subtitles.setdefault(".".join(pieces[:at]), []).append(".".join(pieces[at:]))
        return self._subtitles.get(name, [])


def _take_json(mapping: ColumnMapping, suffix: str, body: bytes, record: Record, captions: list[Caption]) -> str:
    parsed = parse_row(body.removeprefix(_BOM))
    if isinstance(parsed, Fault):
        return f"{parsed.reason}: {parsed.detail}"
    record.metadata[suffix] = parsed
    wanted = mapping.captions or CAPTION
    found = find(parsed, wanted)
    texts = found if isinstance(found, list) else [found]
    languages = languages_of(ABSENT if mapping.language is None else find(parsed, mapping.language), len(texts))
    captions += [
        Caption(one, f"{suffix}:{wanted}", language)
        for one, language in zip(texts, languages, strict=True)
        if isinstance(one, str) and one.strip()
    ]
    url = ABSENT if mapping.url is None else find(parsed, mapping.url)
    if isinstance(url, str) and url and record.url is None:
        record.url = url
    if mapping.fetched_at is not None and record.fetched_at is None:
        record.fetched_at = moment(find(parsed, mapping.fetched_at))
    return ""
