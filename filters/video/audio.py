"""The sound of a video: whether it has any, how loud it is, and how much of it is silent.

Loudness is the integrated loudness of ITU-R BS.1770-4 with its two gates, as measured by FFmpeg's `ebur128`: blocks of
400 ms, one every 100 ms; those below -70 LUFS are ignored, then those more than 10 LU below the mean of the rest.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.decode.signals import BLOCK_SECONDS
from winnow.schemas.recipe.checks import Between

WRITES: Final = pa.schema(
    [
        pa.field("present", pa.bool_()),  # whether some sound can be decoded
        pa.field("seconds", pa.float64()),  # of sound
        pa.field("loudness", pa.float64()),  # integrated, LUFS; null if all is below -70
        pa.field("silent", pa.float64()),  # share of the video's time without sound, or with sound below `silence`
        pa.field("longest_silence", pa.float64()),  # seconds within the sound
        pa.field("peak", pa.float64()),  # dB of full scale, of samples; null for digital silence
    ]
)

_ABSOLUTE_GATE: Final = -70.0  # BS.1770
_RELATIVE_GATE: Final = -10.0
_GATING_BLOCKS: Final = 4  # of 100 ms: 400 ms with an overlap of three quarters
_OFFSET: Final = -0.691


@dataclass(frozen=True, slots=True)
class AudioConfig:
    """The threshold of silence."""

    silence: Annotated[float, Between(-120, 0)] = -60.0  # dB of full scale; FFmpeg's silencedetect: noise


class AudioWatcher:
    """Keeps six numbers per tenth of a second."""

    def __init__(self, config: AudioConfig) -> None:
        self._config = config
        self._blocks: list[NDArray[np.float64]] = []

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Take the next blocks."""
        assert signal == _sound(self._config)
        rate = batch.column("rate").to_numpy()
        seconds = [batch.column(name).to_numpy() / rate for name in ("samples", "quiet_start", "quiet_end")]
        measures = [batch.column(name).to_numpy() for name in ("weighted", "power", "peak")]
        self._blocks.append(np.stack([*seconds, *measures], axis=1))

    def end(self, facts: VideoFacts) -> pa.RecordBatch:
        """The row of measures."""
        if not self._blocks:
            none = {"present": False, "seconds": 0.0, "silent": 1.0, "longest_silence": 0.0}
            return pa.RecordBatch.from_pylist([none], schema=WRITES)
        lengths, quiet_start, quiet_end, weighted, power, peaks = np.concatenate(self._blocks).T
        runs = silences(power <= 10 ** (self._config.silence / 10), lengths, quiet_start, quiet_end)
        heard = float(lengths.sum() - runs.sum())
        lasting = max(facts.seconds, float(lengths.sum()), 1e-9)
        peak = float(peaks.max())
        row: dict[str, object] = {
            "present": True,
            "seconds": float(lengths.sum()),
            "loudness": loudness(weighted, lengths),
            "silent": min(max(1 - heard / lasting, 0.0), 1.0),
            "longest_silence": float(runs.max(initial=0)),
            "peak": 20 * np.log10(peak) if peak > 0 else None,
        }
        return pa.RecordBatch.from_pylist([row], schema=WRITES)


def silences(
    silent: NDArray[np.bool_],
    lengths: NDArray[np.float64],
    quiet_start: NDArray[np.float64],
    quiet_end: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The seconds of each run of silent blocks, extended to the sample by the quiet ends of the neighbouring blocks.

    The quiet end of one block and the quiet beginning of the next are a run, too, if together as long as a block.

    Args:
        silent: Whether the power of each block is that of silence.
        lengths: Their seconds.
        quiet_start: Seconds of each block before its first loud sample.
        quiet_end: Seconds of each block after its last loud sample.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], silent, [False]]).astype(np.int8))).reshape(-1, 2)
    sums = np.concatenate([[0.0], np.cumsum(lengths)])
    before, behind = np.concatenate([[0.0], quiet_end]), np.concatenate([quiet_start, [0.0]])
    runs = sums[edges[:, 1]] - sums[edges[:, 0]] + before[edges[:, 0]] + behind[edges[:, 1]]
    between = (quiet_end[:-1] + quiet_start[1:])[~(silent[:-1] | silent[1:])]
    found: NDArray[np.float64] = np.concatenate([runs, between[between >= BLOCK_SECONDS - 1e-9]])
    return found


def loudness(weighted: NDArray[np.float64], lengths: NDArray[np.float64]) -> float | None:
    """Integrated loudness in LUFS; None if everything is below the absolute gate.

    Args:
        weighted: K-weighted power of blocks of 100 ms, summed over channels.
        lengths: Their seconds; the last may be shorter.
    """
    if len(weighted) < _GATING_BLOCKS:
        return None
    shape = np.ones(_GATING_BLOCKS)
    spans = np.convolve(lengths, shape, "valid")
    powers = np.convolve(weighted * lengths, shape, "valid") / spans
    powers = powers[np.isclose(spans, spans.max(), rtol=0.01)]  # without a shorter last one
    loud = powers[powers > 10 ** ((_ABSOLUTE_GATE - _OFFSET) / 10)]
    if not len(loud):
        return None
    kept = loud[loud > loud.mean() * 10 ** (_RELATIVE_GATE / 10)]
    return float(_OFFSET + 10 * np.log10(kept.mean()))


def _sound(config: AudioConfig) -> Signal:
    return Signal("sound", level=config.silence)


OPERATOR = VideoOperator(
    name="video.audio",
    version=2,
    summary="presence, loudness, silence and peak of each video's sound",
    config=AudioConfig,
    writes=lambda _: WRITES,
    wants=lambda config: frozenset({_sound(config)}),
    load=lambda config, _assets: lambda: AudioWatcher(config),
)
