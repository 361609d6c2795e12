"""The recipe's `dedupe` section: kinds of duplicates, which row is kept, and alarms."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from winnow.schemas.problems import Place, shown, suggestion
from winnow.schemas.recipe.checks import NOT_WRITTEN, Between, ByName, Matching, NotEmpty
from winnow.schemas.rows.duplicates import Kind

NEAR_PRESET = Matching(r"[a-z0-9_-]{1,40}(@[a-z0-9._-]{1,20})?", "a preset's name, such as fineweb")
PARAMETER = Matching(r"[^\x00-\x20&=#]{1,100}", "the name of a parameter of an address")
SOURCE = Matching(r"[a-z0-9_-]{1,40}", "a source's name")
LANGUAGE = Matching(r"[A-Za-z0-9_-]{1,40}", "a language as plans name it, such as deu_Latn")
CLUSTER = Matching(r"[0-9a-f]{32}", "the id of a cluster, 32 hexadecimal digits")

MOST_VERIFIED: Mapping[Kind, int] = {"pdq": 10_000, "embedding": 10_000, "vpdq": 1_000, "video_embedding": 10_000}
"""The most different members of a cluster each of which is compared with each; chains of more are not cut."""

Order: TypeAlias = Literal["source", "longest", "shortest", "newest", "oldest", "highest", "lowest", "id"]

_WORDS: tuple[Order, ...] = ("source", "longest", "shortest", "newest", "oldest", "id")
_COLUMN = re.compile(r"(highest|lowest)\s+([A-Za-z_][\w.-]{0,200})")


@dataclass(frozen=True)
class ExactConfig:
    """Equal texts: byte by byte, or ignoring white space and invisible characters."""

    form: Literal["bytes", "spaces"] = "spaces"


@dataclass(frozen=True)
class CanonicalConfig:
    """Which differences between addresses are ignored."""

    scheme: bool = True
    www: bool = True
    slashes: bool = True
    tracking: bool = True
    sessions: bool = True
    sort_query: bool = True
    routes: bool = False
    ignore: Annotated[tuple[Annotated[str, PARAMETER], ...], NotEmpty()] | None = None


@dataclass(frozen=True)
class AddressConfig:
    """Samples with the same address, in any spelling."""

    canonical: CanonicalConfig = CanonicalConfig()


@dataclass(frozen=True)
class NearConfig:
    """Texts that share most of their shingles."""

    preset: Annotated[str, NEAR_PRESET] = "fineweb"
    shingle: Literal["words", "characters"] | None = None
    size: Annotated[int, Between(1, 64)] | None = None
    bands: Annotated[int, Between(1, 10_000)] | None = None
    rows: Annotated[int, Between(1, 1_000)] | None = None
    seed: Annotated[int, Between(0, (1 << 32) - 1)] | None = None
    min_similarity: Annotated[float, Between(0.05, 1.0)] = 0.75
    max_bucket: Annotated[int, Between(2, 1 << 30)] = 10_000
    max_cluster: Annotated[int, Between(2, 1 << 40)] = 10_000


@dataclass(frozen=True)
class ImageBytesConfig:
    """Equal pictures, byte by byte."""


@dataclass(frozen=True)
class PdqConfig:
    """Pictures whose PDQ hashes differ in few bits: resized or recompressed copies."""

    radius: Annotated[int, Between(0, 31)] = 31  # of 256 bits; the reference's threshold
    min_quality: Annotated[int, Between(0, 100)] = 50  # the reference discards 49 and less
    max_bucket: Annotated[int, Between(2, 1 << 30)] = 10_000
    max_cluster: Annotated[int, Between(2, 1 << 40)] = 10_000


@dataclass(frozen=True)
class CosineConfig:
    """Pictures, or videos, whose embeddings point the same way: crops and edits, and other views of the same thing."""

    min_similarity: Annotated[float, Between(0.5, 1.0)] | None = None  # a cosine; 1 - eps of SemDeDup; by the encoder
    max_cluster: Annotated[int, Between(2, 1 << 40)] = 100  # more pictures that differ are seldom copies of one


@dataclass(frozen=True)
class VpdqConfig:
    """Videos that share most of their frames: copies in other containers, sizes and qualities, trimmed or cut out."""

    radius: Annotated[int, Between(0, 31)] = 31  # bits in which a frame of two videos may differ; vPDQ's threshold
    min_quality: Annotated[int, Between(0, 100)] = 50  # of frames; vPDQ's threshold
    min_share: Annotated[float, Between(0.01, 1.0)] = 0.8
    """Of one of two videos' frames, which the other has: python-threatexchange's QUERY_MATCH."""
    min_other_share: Annotated[float, Between(0, 1)] = 0.0  # of the other's frames: its INDEX_MATCH
    min_frames: Annotated[int, Between(1, 1 << 20)] = 3
    """A video with fewer different frames matches only if `min_share` holds both ways."""
    still_radius: Annotated[int, Between(0, 31)] = 10
    """Frames of one video that differ in no more bits than this are one frame, such as those of a title. Our own."""
    max_cluster: Annotated[int, Between(2, 1 << 40)] = MOST_VERIFIED["vpdq"]


@dataclass(frozen=True)
class RepeatedCaptionsConfig:
    """Equal captions, but for white space and invisible characters."""


@dataclass(frozen=True, slots=True)
class Preference:
    """One criterion for choosing the representative of duplicates."""

    order: Order
    column: str | None = None  # the column to compare

    def __str__(self) -> str:
        return self.order if self.column is None else f"{self.order} {self.column}"


@dataclass(frozen=True)
class PreferenceText:
    """`longest`, or `highest text.edu.score`."""

    expects: str = f"{', '.join(_WORDS)}, highest COLUMN or lowest COLUMN"

    def parse(self, text: str) -> Preference:
        """The preference."""
        written = text.strip()
        for word in _WORDS:
            if written == word:
                return Preference(word)
        found = _COLUMN.fullmatch(written)
        if found is None:
            hint = suggestion(written, _WORDS)
            raise ValueError(f"{shown(written)} is not a preference{hint}; expected {self.expects}")
        return Preference("highest" if found[1] == "highest" else "lowest", found[2])

    def render(self, value: object) -> str:
        """The text that parses to the value."""
        return str(value)


@dataclass(frozen=True)
class AcceptedLoss:
    """A source or language that may lose more than the general limit."""

    name: str = field(metadata=NOT_WRITTEN)
    max_loss: Annotated[float, Between(0, 1)]


@dataclass(frozen=True)
class AcceptedCluster:
    """A cluster that may exceed the general limit."""

    name: str = field(metadata=NOT_WRITTEN)  # its id
    max_cluster: Annotated[int, Between(2, 1 << 40)]


@dataclass(frozen=True)
class GuardConfig:
    """The limits above which a loss is an alarm, and accepted exceptions."""

    max_loss: Annotated[float, Between(0, 1)] = 0.75
    max_unequal: Annotated[float, Between(0, 1)] = 0.5
    min_rows: Annotated[int, Between(1, 1 << 40)] = 100
    sources: Annotated[tuple[AcceptedLoss, ...], ByName(SOURCE)] = ()
    languages: Annotated[tuple[AcceptedLoss, ...], ByName(LANGUAGE)] = ()
    clusters: Annotated[tuple[AcceptedCluster, ...], ByName(CLUSTER)] = ()


@dataclass(frozen=True)
class DedupeConfig:
    """The kinds of duplicates to find, each a separate layer, and which row of a cluster is kept."""

    place: Place = field(compare=False)
    exact: ExactConfig | None = None
    url: AddressConfig | None = None
    near: NearConfig | None = None
    image_bytes: ImageBytesConfig | None = None
    pdq: PdqConfig | None = None
    embedding: CosineConfig | None = None
    vpdq: VpdqConfig | None = None
    video_embedding: CosineConfig | None = None
    captions: RepeatedCaptionsConfig | None = None
    representative: tuple[Annotated[Preference, PreferenceText()], ...] = (Preference("source"), Preference("longest"))
    guard: GuardConfig = GuardConfig()

    def __post_init__(self) -> None:
        of_media = (self.image_bytes, self.pdq, self.embedding, self.vpdq, self.video_embedding, self.captions)
        kinds = (self.exact, self.url, self.near, *of_media)
        if all(one is None for one in kinds):
            raise ValueError(
                "names no kind of duplicates; write exact: {}, url: {} or near: {preset: fineweb}; for pictures "
                "image_bytes: {}, pdq: {} or embedding: {}; for videos vpdq: {} or video_embedding: {}; for captions "
                "captions: {}"
            )
        listed = [str(one) for one in self.representative]
        for number, one in enumerate(listed):
            if one in listed[:number]:
                raise ValueError(f"representative: {one} occurs twice")
            if "id" in listed[:number]:
                raise ValueError(f"representative: {one} has no effect, as ids are unique")

    @property
    def max_clusters(self) -> Mapping[Kind, int]:
        """Of the kinds whose clusters chains can grow, the number of different members above which one is an alarm."""
        limited: Mapping[Kind, NearConfig | PdqConfig | CosineConfig | VpdqConfig | None] = {
            "near": self.near,
            "pdq": self.pdq,
            "embedding": self.embedding,
            "vpdq": self.vpdq,
            "video_embedding": self.video_embedding,
        }
        return {kind: one.max_cluster for kind, one in limited.items() if one is not None}
