"""Parses the flags after `--`, which are Beam's own. Beam only warns of unknown flags; winnow rejects them."""

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TypeVar, cast

from apache_beam.options.pipeline_options import PipelineOptions, _BeamArgumentParser

from winnow.schemas.errors import WinnowError

View = TypeVar("View", bound=PipelineOptions)


class Options(PipelineOptions):
    """Beam's options, with each view cached.

    Beam requests a hundred views per pipeline and builds a new argument parser for each. That took 3.1 of the 20.4 s of
    CPU of a whole recipe on 200 short texts in one process.
    """

    def __init__(self, flags: Sequence[str], **settings: object) -> None:
        super().__init__(flags, **settings)
        vars(self)["_views"] = {}

    def view_as(self, cls: type[View]) -> View:
        """A view of the options; all views share their values."""
        views: dict[type[PipelineOptions], PipelineOptions] = vars(self)["_views"]
        if cls not in views:
            views[cls] = super().view_as(cls)
        return cast(View, views[cls])

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = super().__getstate__()
        return {**state, "_views": {}}


def beam_options(flags: Sequence[str], **settings: object) -> PipelineOptions:
    """Beam's options from the user's flags and the runner's own settings; the user's flags win."""
    if flags:
        _refuse_unknown(flags)
    given = {flag.lstrip("-").partition("=")[0] for flag in flags if flag.startswith("--")}
    return Options(list(flags), **{name: value for name, value in settings.items() if name not in given})


def _refuse_unknown(flags: Sequence[str]) -> None:
    parser = _parser()
    try:
        _, unknown = parser.parse_known_args(list(flags))
    except argparse.ArgumentError as error:
        raise WinnowError(f"Beam's flag {error.argument_name}: {error.message}") from None
    stray = [flag for flag in unknown if flag.startswith("--")] or unknown
    if stray:
        name = stray[0].partition("=")[0]
        known = sorted(parser._option_string_actions)
        near = get_close_matches(name, known, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise WinnowError(f"Beam has no flag {name}{hint}; flags after '--' go to Beam")


def _parser() -> _BeamArgumentParser:
    parser = _BeamArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for options in sorted(PipelineOptions.__subclasses__(), key=lambda kind: kind.__name__):
        if "_add_argparse_args" in vars(options):
            try:
                options._add_argparse_args(parser)
            except argparse.ArgumentError:  # a test or a plug-in defines a class twice
                continue
    return parser
