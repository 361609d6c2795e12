"""A pipeline of words to their counts, for the engine that its arguments name: `OUTPUT BEAM-FLAGS`."""

import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

LINES = ["the cat sat", "on the mat", "the end"] * 100


def main(output: str, flags: list[str]) -> None:
    """Count, and write one line a word."""
    with beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
        _ = (
            pipeline
            | "Lines" >> beam.Create(LINES)
            | "Words" >> beam.FlatMap(str.split)
            | "Ones" >> beam.Map(lambda word: (word, 1))
            | "Sums" >> beam.CombinePerKey(sum)
            | "Said" >> beam.Map(lambda counted: f"{counted[0]} {counted[1]}")
            | "Written" >> beam.io.WriteToText(output, num_shards=1)
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
