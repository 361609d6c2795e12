"""How much people would like frames of videos, by the user's own model, like `image.aesthetic`: a head over embeddings,
which are computed from the frames here, or a whole network.
"""

from dataclasses import dataclass, field

import pyarrow as pa

from winnow.filters.image.aesthetic import OPERATOR as OF_PICTURES
from winnow.filters.image.embedding import OPERATOR as EMBEDDING
from winnow.filters.image.embedding import EmbeddingConfig
from winnow.filters.image.models.scores import ScoreConfig
from winnow.filters.operators import STATUS, Assets, Kernel
from winnow.filters.video.stills.frames_operator import FrameChoice, frames_operator


@dataclass(frozen=True, slots=True)
class AestheticOfFrames(FrameChoice):
    """The settings of `image.aesthetic`, the encoder for a head's vectors, and which frames are scored."""

    image: ScoreConfig = field(default_factory=ScoreConfig)
    encoder: EmbeddingConfig = field(default_factory=EmbeddingConfig)


def _reads_vectors(config: AestheticOfFrames) -> bool:
    return bool(config.image.reads == "embedding")


def _assets(config: AestheticOfFrames) -> tuple[str, ...]:
    return (*OF_PICTURES.assets(config.image), *(EMBEDDING.assets(config.encoder) if _reads_vectors(config) else ()))


def _load(config: AestheticOfFrames, assets: Assets) -> Kernel:
    head = OF_PICTURES.load(config.image, assets)
    if not _reads_vectors(config):
        return head
    encoder = EMBEDDING.load(config.encoder, assets)
    writes = pa.schema([STATUS, pa.field("score", pa.float32())])

    def score(batch: pa.RecordBatch) -> pa.RecordBatch:
        """A score for each frame: a head reads lists of vectors, so each vector becomes a list."""
        encoded = encoder(batch)
        vectors = encoded["vector"]
        alone = pa.ListArray.from_arrays(pa.array(range(len(vectors) + 1), pa.int32()), vectors)
        found = head(pa.RecordBatch.from_arrays([alone], ["vectors"]))
        statuses = pa.compute.if_else(
            pa.compute.equal(encoded[STATUS.name], "ok"), found[STATUS.name], encoded["status"]
        )
        return pa.RecordBatch.from_arrays([statuses, found["score"].flatten()], schema=writes)

    return score


OPERATOR = frames_operator(
    "video.aesthetic",
    OF_PICTURES,
    AestheticOfFrames,
    lambda _: {"score": "min"},
    summary="an aesthetic score of frames of each video, by a model of your own",
    load=_load,
    assets=_assets,
    side=lambda config: EMBEDDING.side(config.encoder) if _reads_vectors(config) else OF_PICTURES.side(config.image),
)
