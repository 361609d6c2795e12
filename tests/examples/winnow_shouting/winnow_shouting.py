"""Operators of a third party: capitals in a text, one that reads those, and one that brings an asset."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, TextOperator
from winnow.schemas.assets import Asset
from winnow.schemas.recipe import Between


@dataclass(frozen=True)
class ShoutingConfig:
    """What counts."""

    least_letters: Annotated[int, Between(1, 1_000_000)] = 1
    deadly: str | None = None  # a text that holds this kills the process, as a fault in a native library would


def _load(config: ShoutingConfig, _assets: Assets) -> Kernel:
    def measure(batch: pa.RecordBatch) -> pa.RecordBatch:
        text = batch.column(TEXT)
        if config.deadly and pc.any(pc.match_substring(text, config.deadly)).as_py():
            os.kill(os.getpid(), signal.SIGKILL)
        letters = pc.count_substring_regex(text, r"\p{L}").cast(pa.int64())
        capitals = pc.count_substring_regex(text, r"\p{Lu}").cast(pa.float64())
        enough = pc.greater_equal(letters, config.least_letters)
        status = pc.if_else(enough, "ok", "few_letters")
        share = pc.if_else(enough, pc.divide(capitals, letters.cast(pa.float64())), pa.scalar(None, pa.float64()))
        return pa.RecordBatch.from_arrays([status, share], names=[STATUS.name, "capitals"])

    return measure


def _load_twice(_config: object, _assets: Assets) -> Kernel:
    def measure(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pc.multiply(batch.column("text.shouting.capitals"), 2.0)], names=["twice"])

    return measure


@dataclass(frozen=True)
class TwiceConfig:
    """Nothing to set."""


OPERATOR = TextOperator(
    name="text.shouting",
    version=1,
    summary="the share of letters that are capitals",
    config=ShoutingConfig,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: pa.schema([STATUS, pa.field("capitals", pa.float64())]),
    load=_load,
    reasons=("few_letters",),
)

TWICE = TextOperator(
    name="text.twice",
    version=1,
    summary="twice the share of capitals",
    config=TwiceConfig,
    reads=lambda _config: ("text.shouting.capitals",),
    writes=lambda _config: pa.schema([pa.field("twice", pa.float64())]),
    load=_load_twice,
    needs=("text.shouting.capitals",),
)

LIST = Asset(
    name="acronyms",
    summary="words that are written in capitals",
    registry="pip",
    package="acronym-list==1.0",
    member="acronym_list/words.txt",
    size_bytes=10,
    sha256="ec5805442b23a0e4f2ec519ec7b055a5f17214a0382ba74c36ce1568d03153e1",
    licence="CC0-1.0",
)


@dataclass(frozen=True)
class AcronymsConfig:
    """Which words."""

    list: str = LIST.name  # an asset, or the path of a file: one word a line


def _load_acronyms(config: AcronymsConfig, assets: Assets) -> Kernel:
    words = Path(assets.path(config.list)).read_text().split()

    def measure(batch: pa.RecordBatch) -> pa.RecordBatch:
        found = pc.count_substring_regex(batch.column(TEXT), rf"\b(?:{'|'.join(words)})\b")
        return pa.RecordBatch.from_arrays([found.cast(pa.int64())], names=["acronyms"])

    return measure


ACRONYMS = TextOperator(
    name="text.acronyms",
    version=1,
    summary="how many acronyms there are",
    config=AcronymsConfig,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: pa.schema([pa.field("acronyms", pa.int64())]),
    load=_load_acronyms,
    assets=lambda config: (config.list,),
    declares=(LIST,),
)
