"""The engines by name, and how many workers they get; imports nothing of Beam."""

from winnow.schemas.errors import WinnowError

BACKENDS = {
    "local": ("local", "LOCAL"),
    "portable": ("local", "PORTABLE"),
    "spark": ("java.spark", "SPARK"),
    "flink": ("java.flink", "FLINK"),
    "prism": ("prism", "PRISM"),
    "dataflow": ("dataflow.dataflow", "DATAFLOW"),
}
"""The module and the name of each engine's backend: what one needs is imported for it alone."""

RUNNERS = tuple(BACKENDS)


def parse_workers(text: str) -> int:
    """A number of workers from the command line."""
    if not text.isdigit() or int(text) > 1024:
        raise WinnowError(f"--workers {text}: expected a number from 1 to 1024, or 0 for one a core")
    return int(text)
