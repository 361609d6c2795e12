"""The rights and origin of a picture, as its file states them: EXIF, IPTC, XMP and C2PA.

Reservations: PLUS data mining (IPTC's property for it), TDM reservations in XMP, and C2PA's assertions about training
and mining. An unreadable one counts as a refusal, and so does a condition that no program can check, unless the
configuration says otherwise. The absence of any statement is not a permission.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import pyarrow as pa

from winnow.filters.extras import required_package
from winnow.filters.image.metadata.blocks import READ, BlockLimits
from winnow.filters.image.metadata.reading import facts_of
from winnow.filters.image.metadata.statements import ALLOWED, CONSTRAINED, MALFORMED, NOT_ALLOWED, Facts, Purpose
from winnow.filters.operators import STATUS, Assets, Kernel, PictureOperator
from winnow.schemas.recipe.checks import Between

NOT_READ = "unsupported"

GENERATED = frozenset(  # IPTC's terms for pictures that were made or composed by a trained model
    ("trainedAlgorithmicMedia", "compositeWithTrainedAlgorithmicMedia", "compositeSynthetic")
)

STATEMENTS = pa.list_(
    pa.field("item", pa.struct([pa.field(name, pa.string()) for name in ("where", "name", "value", "use")]))
)

WRITES = pa.schema(
    [
        STATUS,
        pa.field(
            "opted_out", pa.bool_()
        ),  # for a purpose that counts; null if metadata are incomplete and those read do not opt out
        pa.field("training", pa.string()),  # not_allowed, constrained, malformed or allowed; null without a statement
        pa.field("generated", pa.bool_()),  # by a model, according to `source_type`; null without one
        pa.field("source_type", pa.string()),
        pa.field("creator", pa.string()),
        pa.field("copyright", pa.string()),
        pa.field("credit", pa.string()),
        pa.field("licence", pa.string()),  # an address
        pa.field("usage_terms", pa.string()),
        pa.field("marked", pa.bool_()),  # as protected; False: public domain
        pa.field("location", pa.bool_()),  # whether the file says where it was taken
        pa.field("c2pa", pa.bool_()),  # whether it has a manifest
        pa.field("signer", pa.string()),  # of the manifest: the subject of its certificate, which anyone can make
        pa.field("signature", pa.string()),  # its algorithm, such as ES256; it is not checked
        pa.field("intact", pa.bool_()),  # whether the manifest's hashes match the file; null if undetermined
        pa.field("statements", STATEMENTS),  # the evidence
        pa.field("complete", pa.bool_()),  # whether all metadata were read; False for a cut file, or beyond a limit
    ]
)
_STRENGTH = (NOT_ALLOWED, MALFORMED, CONSTRAINED, ALLOWED)


@dataclass(frozen=True, slots=True)
class RightsConfig:
    """Which purposes opt a picture out, and how much metadata is read."""

    purposes: tuple[Purpose, ...] = ("data_mining", "ai_training", "ai_generative_training")
    constrained: bool = True  # a use under conditions counts as a refusal
    max_block_bytes: Annotated[int, Between(1, 64 << 20)] = 1 << 20  # of EXIF, IPTC or XMP; larger blocks are not read
    max_manifest_bytes: Annotated[int, Between(1, 256 << 20)] = 16 << 20  # of C2PA, which contains thumbnails
    max_statements: Annotated[int, Between(0, 1_000)] = 16


def rights(batch: pa.RecordBatch, config: RightsConfig) -> pa.RecordBatch:
    """The rights facts of every file of `winnow.filters.operators.FILES`."""
    limits = BlockLimits(config.max_block_bytes, config.max_manifest_bytes)
    files = zip(batch.column("mime").to_pylist(), batch.column("content"), strict=True)
    rows = [
        _row(facts_of(content.as_buffer().to_pybytes(), mime, limits), config) if mime in READ else {"status": NOT_READ}
        for mime, content in files
    ]
    return pa.RecordBatch.from_pylist(rows, schema=WRITES)


def _row(facts: Facts, config: RightsConfig) -> dict[str, object]:
    counted = [one for one in facts.statements if not set(config.purposes).isdisjoint(one.purposes)]
    uses = {one.use for one in counted}
    refusing = {NOT_ALLOWED, MALFORMED, *((CONSTRAINED,) if config.constrained else ())}
    shown = facts.statements[: config.max_statements]
    return {
        "status": "ok",
        "opted_out": True if not uses.isdisjoint(refusing) else False if facts.complete else None,
        "training": next((use for use in _STRENGTH if use in uses), None),
        "generated": None if facts.source_type is None else facts.source_type in GENERATED,
        "source_type": facts.source_type,
        "creator": facts.creator,
        "copyright": facts.copyright,
        "credit": facts.credit,
        "licence": facts.licence,
        "usage_terms": facts.usage_terms,
        "marked": facts.marked,
        "location": facts.location,
        "c2pa": facts.c2pa,
        "signer": facts.signer,
        "signature": facts.signature,
        "intact": facts.intact,
        "statements": [{"where": one.where, "name": one.name, "value": one.value, "use": one.use} for one in shown],
        "complete": facts.complete,
    }


def _load(config: RightsConfig, _assets: Assets) -> Kernel:
    required_package("image.rights", "cbor2", "image")
    return partial(rights, config=config)


OPERATOR = PictureOperator(
    name="image.rights",
    version=2,  # 2: the signer of a manifest, and whether its hashes match; compressed manifests are read
    summary="what each picture's file says of its maker, licence, origin and use for training",
    config=RightsConfig,
    files=True,
    writes=lambda _: WRITES,
    load=_load,
    reasons=(NOT_READ,),
)
