"""What lies beside media says something of them: captions, metadata as JSON, labels; in tars and in folders."""

from collections.abc import Sequence
from contextlib import closing
from typing import Final

from winnow.pipelines.ingest.files import read_range
from winnow.pipelines.ingest.records import Caption, Record
from winnow.pipelines.ingest.tables.columns import ABSENT, ColumnMapping, find, languages_of, moment
from winnow.pipelines.ingest.tables.jsonl import Fault, parse_row
from winnow.pipelines.store.facade import ObjectStore

SIDECAR_BYTES: Final = 1 << 20
BESIDE: Final = (".txt", ".json")  # the sidecars of a file in a folder
CAPTION: Final = "caption"  # the key of captions in JSON, as img2dataset writes it
UNREAD: Final = "unread"  # metadata: sidecars that say nothing usable, and why

_NOT_THERE: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
_BOM: Final = b"\xef\xbb\xbf"


def take_sidecar(mapping: ColumnMapping, suffix: str, body: bytes, record: Record, captions: list[Caption]) -> str:
    """Adds what a sidecar says to a record, and its captions to the list.

    Args:
        mapping: The keys of the source's JSON.
        suffix: The sidecar's name after that of the medium: `txt`, `meta.json`.
        body: Its content.
        record: Gets the metadata, the address and the time.
        captions: Gets the captions.

    Returns:
        Why it says nothing usable; empty if it does.
    """
    if not body:
        return "empty"
    kind = suffix.lower().rpartition(".")[2]
    if kind == "json":
        return _take_json(mapping, suffix, body, record, captions)
    try:
        text = body.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        return f"byte {error.start} is not UTF-8"
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


def read_beside(objects: ObjectStore, path: str, record: Record, mapping: ColumnMapping) -> None:
    """Adds to the record of a file what the files beside it say: to `a/b.jpg`, `a/b.txt` and `a/b.json`.

    Raises:
        OSError: One is there and cannot be read, perhaps temporarily.
    """
    stem = path.rpartition(".")[0] if "." in path.rpartition("/")[2] else path
    captions: list[Caption] = []
    unread = {}
    for ending in BESIDE:
        suffix = ending[1:]
        try:
            stream = objects.open(stem + ending)
        except _NOT_THERE:
            continue
        with closing(stream):
            size = stream.seek(0, 2)
            large = size > SIDECAR_BYTES
            body = b"" if large else read_range(stream, 0, size)
        why = f"{size} bytes" if large else take_sidecar(mapping, suffix, body, record, captions)
        if why:
            unread[suffix] = why
    if unread:
        record.metadata[UNREAD] = {**unread}
    record.captions = distinct(captions)


def _take_json(mapping: ColumnMapping, suffix: str, body: bytes, record: Record, captions: list[Caption]) -> str:
    said = parse_row(body.removeprefix(_BOM))
    if isinstance(said, Fault):
        return f"{said.reason}: {said.detail}"
    record.metadata[suffix] = said
    wanted = mapping.captions or CAPTION
    found = find(said, wanted)
    texts = found if isinstance(found, list) else [found]
    languages = languages_of(ABSENT if mapping.language is None else find(said, mapping.language), len(texts))
    captions += [
        Caption(one, f"{suffix}:{wanted}", language)
        for one, language in zip(texts, languages, strict=True)
        if isinstance(one, str) and one.strip()
    ]
    url = ABSENT if mapping.url is None else find(said, mapping.url)
    if isinstance(url, str) and url and record.url is None:
        record.url = url
    if mapping.fetched_at is not None and record.fetched_at is None:
        record.fetched_at = moment(find(said, mapping.fetched_at))
    return ""
