"""The names of the engines, and the parser of `--workers`. Does not import Beam."""

from winnow.schemas.errors import WinnowError

BACKENDS = {
    "local": ("local", "LOCAL"),
    "portable": ("local", "PORTABLE"),
    "spark": ("java.spark", "SPARK"),
    "flink": ("java.flink", "FLINK"),
    "prism": ("prism", "PRISM"),
    "dataflow": ("dataflow.dataflow", "DATAFLOW"),
}
"""The module and class of each engine's backend, so that only the selected engine is imported."""

RUNNERS = tuple(BACKENDS)


def parse_workers(text: str | None) -> int:
    """Parse the number of workers from the command line; 0, which is one per core, if it is not given."""
    if text is None:
        return 0
    if not text.isdigit() or not 0 < int(text) <= 1024:
        raise WinnowError(f"--workers {text}: expected a number from 1 to 1024; leave it out for one per core")
    return int(text)
