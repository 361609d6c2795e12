"""Operators of a third party: how much of a text is in capitals, and a second one that reads the first."""

import os
import signal
from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.operators import STATUS, TEXT, Assets, Kernel, Operator
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


OPERATOR = Operator(
    name="text.shouting",
    version=1,
    summary="the share of letters that are capitals",
    config=ShoutingConfig,
    reads=lambda _config: (TEXT,),
    writes=lambda _config: pa.schema([STATUS, pa.field("capitals", pa.float64())]),
    load=_load,
    reasons=("few_letters",),
)

TWICE = Operator(
    name="text.twice",
    version=1,
    summary="twice the share of capitals",
    config=TwiceConfig,
    reads=lambda _config: ("text.shouting.capitals",),
    writes=lambda _config: pa.schema([pa.field("twice", pa.float64())]),
    load=_load_twice,
    needs=("text.shouting.capitals",),
)
