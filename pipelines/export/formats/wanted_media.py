"""The media that a format writes with each sample: which, how many, what is done to pictures; and the captions.

A format whose config is a `MediaOptions` gets the bytes of media with its rows, if the options want any.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.image.changes.change import require_changers, resolved
from winnow.filters.image.changes.options import PictureChanges
from winnow.filters.video.clips.cutting import cutting_identity
from winnow.filters.video.clips.options import ClipFile
from winnow.pipelines.export.formats.columns import identity_of
from winnow.schemas.identity import Json

_Picture: TypeAlias = Literal["image", "images", "jpg", "png", "webp", "gif"]
_Other: TypeAlias = Literal["video", "mp4", "mov", "webm", "mp3", "m4a", "flac", "ogg", "wav"]

MediaKind: TypeAlias = Literal["none", _Picture, _Other]

IMAGES: Final = "images"
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Kind:
    """Media that may be asked for."""

    suffix: str
    mimes: tuple[str, ...]  # one that ends in a slash stands for all types with that prefix
    feature: str  # as Hugging Face's readers call it


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        # image readers detect the type from the bytes; the name only says "image"
        "image": Kind("jpg", ("image/",), "Image"),
        IMAGES: Kind("jpg", ("image/",), "Image"),
        "jpg": Kind("jpg", ("image/jpeg",), "Image"),
        "png": Kind("png", ("image/png",), "Image"),
        "webp": Kind("webp", ("image/webp",), "Image"),
        "gif": Kind("gif", ("image/gif",), "Image"),
        "video": Kind("mp4", ("video/",), "Video"),  # likewise: the name only says "video"
        "mp4": Kind("mp4", ("video/mp4", "video/x-m4v"), "Video"),
        "mov": Kind("mov", ("video/quicktime",), "Video"),
        "webm": Kind("webm", ("video/webm",), "Video"),
        "mp3": Kind("mp3", ("audio/mpeg",), "Audio"),
        "m4a": Kind("m4a", ("audio/mp4",), "Audio"),
        "flac": Kind("flac", ("audio/flac",), "Audio"),
        "ogg": Kind("ogg", ("audio/ogg",), "Audio"),
        "wav": Kind("wav", ("audio/wav", "audio/x-wav", "audio/vnd.wave"), "Audio"),
    }
)


@dataclass(frozen=True)
class MediaOptions:
    """Options that formats with media share."""

    # The one medium of each sample by its type: image is any picture. images: one or more pictures.
    media: MediaKind = "none"
    # The caption that a sample without text gets as its text; first, if media are written, and none otherwise.
    caption: Literal["first", "longest", "shortest", "none"] | None = None
    caption_languages: tuple[str, ...] = ()  # captions in the earliest of these are preferred, as their source has it
    caption_origins: tuple[str, ...] = ()  # only captions of these origins are taken, those of the earliest first
    pictures: PictureChanges | None = None  # what is done to each picture; nothing: the files' own bytes
    clips: ClipFile | None = None  # how parts of videos are written; whole videos keep their bytes

    def __post_init__(self) -> None:
        if self.pictures is not None and (self.media == "none" or KINDS[self.media].feature != "Image"):
            raise ValueError(f"'pictures' changes pictures, but media is {self.media}: write media: image")
        if self.clips is not None and (self.kind is None or self.kind.feature != "Video"):
            raise ValueError(f"'clips' writes parts of videos, but media is {self.media}: write media: video")
        if self.clips is not None and (said := self.clip_problem):
            raise ValueError(said)

    @property
    def documents(self) -> bool:
        """Whether samples are documents: texts and pictures in reading order."""
        return False

    @property
    def wants_media(self) -> bool:
        """Whether the bytes of media are written."""
        return self.media != "none"

    @property
    def changes(self) -> PictureChanges:
        """What is done to pictures."""
        return self.pictures or PictureChanges()

    @property
    def clip_file(self) -> ClipFile | None:
        """How parts of videos are written; None where no videos are."""
        if self.kind is None or self.kind.feature != "Video":
            return None
        return self.clips or ClipFile(format="webm" if self.media == "webm" else "mp4")

    @property
    def clip_problem(self) -> str:
        """Why parts of videos cannot be of the type that `media` says; empty where they can."""
        if (clips := self.clip_file) is None or self.media in ("video", clips.format):
            return ""
        return f"clips are written as {clips.format}, but media is {self.media}: write media: video"

    @property
    def kind(self) -> Kind | None:
        """The media that are asked for."""
        return KINDS[self.media] if self.wants_media else None

    @property
    def column(self) -> str:
        """The name of the column that holds the media in tables: image, images, video or audio."""
        return "" if self.kind is None else IMAGES if self.many else self.kind.feature.lower()

    @property
    def suffix(self) -> str:
        """The suffix of a medium's name."""
        if self.kind is None:
            return ""
        if self.clips is not None:
            return self.clips.format
        return self.changes.encoding.format if self.changes.encodes else self.kind.suffix

    @property
    def many(self) -> bool:
        """Whether a sample may have several."""
        return self.media == IMAGES

    @property
    def caption_rule(self) -> str:
        """Which caption stands for a missing text."""
        return self.caption or ("first" if self.wants_media else "none")

    def require_packages(self) -> None:
        """Raise RecipeError, with the line that installs them, if packages are missing."""
        require_changers(self.changes)

    def identity(self) -> dict[str, Json]:
        """What the bytes depend on; empty where neither media nor captions are written."""
        found: dict[str, Json] = {}
        if self.caption_rule != "none":
            found |= {"caption": self.caption_rule, "caption_languages": list(self.caption_languages)}
            found |= {"caption_origins": list(self.caption_origins)} if self.caption_origins else {}
        if self.wants_media:
            found |= {"media": self.media, "pictures": resolved(self.changes)}
        if (clips := self.clip_file) is not None:
            found |= {"clips": cutting_identity(clips)}
        return found

    def wanted(self, *, same_number: bool = False) -> "WantedMedia | None":
        """The requirement on every sample; with `same_number`, for a format without lists."""
        if self.kind is None:
            return None
        return WantedMedia(self.media, self.kind.mimes, self.many, same_number and self.many)


@dataclass(frozen=True, slots=True)
class WantedMedia:
    """The requirement of a format on every sample (its `wanted_media(config)`), checked before anything is moved."""

    kind: str  # as in the recipe's `media`
    mimes: tuple[str, ...]
    many: bool = False
    same_number: bool = False  # all samples have equally many
    fixed: bool = False  # the format takes no other media, and not none

    def misfits(self, media: pa.ListArray) -> NDArray[np.int64]:
        """The rows whose media, each with a `mime`, do not meet the requirement; numbers are not compared."""
        counts = np.asarray(pc.list_value_length(media), np.int64)
        mimes = pc.struct_field(media.flatten(), "mime")
        known = np.zeros(len(mimes), np.bool_)
        for mime in self.mimes:
            same = pc.starts_with(mimes, mime) if mime.endswith("/") else pc.equal(mimes, mime)
            known |= np.asarray(pc.fill_null(same, False))
        total = np.concatenate([[0], np.cumsum(known)])
        ends = np.cumsum(counts)
        all_known = total[ends] - total[ends - counts] == counts
        return np.flatnonzero(~(all_known & (counts >= 1 if self.many else counts == 1)))

    @property
    def where(self) -> str:
        """A condition of a mixture that only samples meet whose media, as their sources give them, are those wanted."""
        types = " OR ".join(
            f"samples.mime LIKE '{one}%'" if one.endswith("/") else f"samples.mime = '{one}'" for one in self.mimes
        )
        count = "array_length(samples.media) >= 1" if self.many else "array_length(samples.media) = 1"
        return f"{count} AND {types}" if len(self.mimes) == 1 else f"{count} AND ({types})"

    def has(self, media: pa.ListScalar) -> str:
        """What a row has instead."""
        held = media.as_py()
        return f"a medium of type {held[0]['mime']}" if len(held) == 1 else f"{len(held)} media"

    @property
    def expected(self) -> str:
        """The requirement, for a message."""
        types = " or ".join(f"{mime}*" if mime.endswith("/") else mime for mime in self.mimes)
        return f"media: {self.kind} expects {'only' if self.many else 'exactly one'} {types} per sample"

    @property
    def remedy(self) -> str:
        """What to do, for a message."""
        choose = f"choose such samples under 'mix' with where: \"{self.where}\""
        if self.fixed:
            return choose
        several = "" if self.many or not self.mimes[0].startswith("image/") else "media: images for all of each, or "
        others = "drop the others by rules of `items`, " if self.many else ""
        return f"{others}{choose}, or write {several}media: none"


def contents(items: pa.StructArray) -> pa.LargeBinaryArray:
    """The bytes of media (`winnow.schemas.rows.draws.MEDIUM`), with large ones; one that is alone is mapped."""
    held = pc.struct_field(items, "bytes")
    if not held.null_count:
        return held
    if len(held) == 1:
        with pa.memory_map(pc.struct_field(items, "file")[0].as_py()) as mapped:
            whole = mapped.read_buffer()
        ends = pa.py_buffer(np.array([0, len(whole)], np.int64))
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, [None, ends, whole])
    files = pc.struct_field(items, "file").to_pylist()
    values = [Path(file).read_bytes() if file else value for value, file in zip(held.to_pylist(), files, strict=True)]
    return pa.array(values, pa.large_binary())


def sizes_of_media(items: pa.StructArray) -> list[int]:
    """The bytes of each medium, with large ones."""
    held = pc.binary_length(pc.struct_field(items, "bytes")).to_pylist()
    files = pc.struct_field(items, "file").to_pylist()
    return [Path(file).stat().st_size if file else size for size, file in zip(held, files, strict=True)]


def large_rows(media: pa.ListArray) -> NDArray[np.bool_]:
    """The rows with a medium that is not in memory."""
    counts = np.asarray(pc.list_value_length(media), np.int64)
    large = np.asarray(pc.struct_field(media.flatten(), "file").is_valid())
    total = np.concatenate([[0], np.cumsum(large)])
    ends = np.cumsum(counts)
    found: NDArray[np.bool_] = total[ends] > total[ends - counts]
    return found


def large_apart(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows in parts, in which each with a medium that is not in memory stands alone: one is read at a time."""
    large = large_rows(batch.column("media"))
    bounds = np.flatnonzero(large[1:] | large[:-1]) + 1
    for start, end in zip([0, *bounds.tolist()], [*bounds.tolist(), len(batch)], strict=True):
        yield batch.slice(start, end - start)


FACTS: Final[Mapping[str, str | int]] = MappingProxyType(
    {"sha256": "", "width": 0, "height": 0, "original_width": 0, "original_height": 0}
)
"""What is told of each medium, and the value of what is unknown."""


def media_facts(block: pa.RecordBatch, options: MediaOptions) -> dict[str, pa.Array]:
    """What is known of the media that are written: a value for each sample, or a list for many."""
    media = block.column("media")
    items = media.flatten()
    each = {name: pc.fill_null(pc.struct_field(items, name), unknown) for name, unknown in FACTS.items()}
    return {name: listed(values, media) if options.many else values for name, values in each.items()}


def listed(values: pa.Array, media: pa.ListArray) -> pa.ListArray:
    """A value of each medium, in one list for each row."""
    counts = pc.list_value_length(media).to_numpy(zero_copy_only=False)
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)), values)


def media_names(block: pa.RecordBatch, options: MediaOptions) -> list[str]:
    """The name of each medium: the id and copy of its sample, its place among several, and its suffix."""
    names: list[str] = []
    counts = pc.list_value_length(block.column("media")).to_pylist()
    for name, copy, count in zip(*identity_of(block), counts, strict=True):
        places = [f".{place}" for place in range(count)] if options.many else [""] * count
        names += [f"{name}-{copy}{place}.{options.suffix}" for place in places]
    return names


def in_pieces(file: str) -> Iterator[bytes]:
    """The bytes of a large medium, a few at a time."""
    with open(file, "rb") as stream:
        while piece := stream.read(_PIECE):
            yield piece


def filled_texts(block: pa.RecordBatch, options: MediaOptions) -> pa.LargeStringArray:
    """The text of each sample, or the caption that stands for it; null if it has neither."""
    texts = block.column("text")
    if options.caption_rule == "none" or not texts.null_count:
        return texts
    # Row by row: where captions are the training text, the bytes of the media outweigh them.
    chosen = [_caption(said, options) for said in block.column("captions").to_pylist()]
    return pc.coalesce(texts, pa.array(chosen, pa.large_string()))


def _caption(captions: Sequence[Mapping[str, str | None]], options: MediaOptions) -> str | None:
    """One of a sample's captions; the first of equally good ones. Its origin counts before its language."""
    for origin in options.caption_origins:
        if some := [caption for caption in captions if caption["origin"] == origin]:
            captions = some
            break
    else:
        captions = () if options.caption_origins else captions
    ranks = {language: rank for rank, language in enumerate(options.caption_languages)}
    least = min((ranks.get(caption["language"] or "", len(ranks)) for caption in captions), default=0)
    texts = [str(caption["text"]) for caption in captions if ranks.get(caption["language"] or "", len(ranks)) == least]
    if not texts:
        return None
    if options.caption_rule == "longest":
        return max(texts, key=len)
    return min(texts, key=len) if options.caption_rule == "shortest" else texts[0]
