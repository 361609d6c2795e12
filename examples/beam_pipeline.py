"""A Beam pipeline of your own with winnow's measurements in it: English texts of some length, each only once.

    python examples/beam_pipeline.py --input 'texts/*.jsonl' --output kept     # lines with "id" and "text"
    python examples/beam_pipeline.py --input … --output … --runner FlinkRunner …

What follows `--output` goes to Beam.
"""

import argparse
import json
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import PCollection

from winnow.pipelines.transforms import Annotate, FromBatches, NearDuplicates, ToBatches


def kept_texts(rows: PCollection[dict[str, Any]], partitions: int = 8) -> PCollection[dict[str, Any]]:
    """Mappings with `id` and `text` to those that are kept, with their language and length."""
    kept: PCollection[dict[str, Any]] = (
        rows
        | ToBatches()
        | Annotate(["text.language", "text.length"])
        | beam.Map(english_and_long).with_output_types(pa.RecordBatch)
        | NearDuplicates({"min_similarity": 0.8}, keep="representatives", partitions=partitions)
        | beam.Map(_shown).with_output_types(pa.RecordBatch)
        | FromBatches()
    )
    return kept


def english_and_long(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Null is not measured, and so not kept."""
    english = pc.equal(batch["text.language.code"], "eng_Latn")
    return batch.filter(pc.and_(english, pc.greater_equal(batch["text.length.characters"], 200)))


def _shown(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(["id", "text", "text.language.code", "text.length.characters", "duplicate.size"])


def main(arguments: list[str] | None = None) -> None:
    """Run the pipeline."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--input", required=True, help="a pattern of JSONL files")
    parser.add_argument("--output", required=True, help="the beginning of the names of the files that are written")
    known, of_beam = parser.parse_known_args(arguments)
    with beam.Pipeline(options=PipelineOptions(of_beam)) as pipeline:
        rows = pipeline | beam.io.ReadFromText(known.input) | beam.Map(json.loads).with_output_types(dict[str, Any])
        lines = kept_texts(rows) | beam.Map(json.dumps, ensure_ascii=False, sort_keys=True).with_output_types(str)
        _ = lines | beam.io.WriteToText(known.output, ".jsonl")


if __name__ == "__main__":
    main()
