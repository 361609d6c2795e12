"""A worker of the loopback service: runs a staged `pipeline.pb` in the interpreter that runs this file.

Run as a script, by the interpreter of an environment that has winnow from the staged package alone. Its arguments are
the pipeline and the folder which winnow must come from.
"""

import sys
from pathlib import Path

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import python_urns
from apache_beam.portability.api.org.apache.beam.model.pipeline.v1 import beam_runner_api_pb2
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

import winnow


def execute(staged: Path) -> None:
    """To the end, with the functions as they were pickled, and containers replaced by this process."""
    pipeline = beam_runner_api_pb2.Pipeline.FromString(staged.read_bytes())
    for environment in pipeline.components.environments.values():
        environment.urn = python_urns.EMBEDDED_PYTHON
        environment.payload = b""
        del environment.dependencies[:]
    FnApiRunner().run_via_runner_api(pipeline, PipelineOptions([])).wait_until_finish()


if __name__ == "__main__":
    assert winnow.__file__.startswith(sys.argv[2]), f"winnow comes from {winnow.__file__}"
    execute(Path(sys.argv[1]))
