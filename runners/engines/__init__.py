"""The engines that stages run on, and what they have in common."""

from winnow.runners.engines.backend import Build
from winnow.runners.engines.engine import RUNNERS, Engine, named_engine, parse_workers
from winnow.runners.engines.failures import WorkerLostError

__all__ = ["RUNNERS", "Build", "Engine", "WorkerLostError", "named_engine", "parse_workers"]
