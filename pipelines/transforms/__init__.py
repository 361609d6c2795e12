"""winnow's stages as Beam transforms for other people's pipelines: no store, rows in Arrow batches from end to end.

    rows | ToBatches() | Annotate(["text.language", "text.length"]) | NearDuplicates(keep="representatives")

A store remembers what is done, decides by rules, and can be audited; these transforms do none of that.
"""

from winnow.pipelines.transforms.annotate import Annotate
from winnow.pipelines.transforms.batches import FromBatches, ToBatches
from winnow.pipelines.transforms.near_duplicates import NearDuplicates
from winnow.pipelines.transforms.read_samples import ReadSamples, SamplesRead

__all__ = ["Annotate", "FromBatches", "NearDuplicates", "ReadSamples", "SamplesRead", "ToBatches"]
