"""`winnow mix`: plan the mixture and draw its samples; also `winnow plan --diff`, which compares two plans."""

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, notes_argument
from winnow.runners.stages.opening import begin, open_console, open_engine, ready_recipe
from winnow.schemas.errors import WinnowError

if TYPE_CHECKING:
    from winnow.schemas.mixture import MixturePlan


PLAN_FILE = "plan.json"
_HEAD = b'{\n  "plan": "'  # of `plan_json`


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("recipe", metavar="RECIPE", help="a recipe file with a 'mix'")
    parser.add_argument("--plan-only", action="store_true", help="write and show the plan; draw no samples")
    parser.add_argument(
        "--output", metavar="FILE", help="write the plan to this file (default with --plan-only: plan.json)"
    )
    parser.add_argument(
        "--sample", default="100%", metavar="SHARE", help="draw this share of the plan, such as 1%% (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print the plan as one JSON object instead of tables")
    notes_argument(parser)
    engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Plan, and draw unless `--plan-only`."""
    console = begin("mix", options.recipe, quiet=options.json)
    from winnow.pipelines.mix.plans import WHOLE
    from winnow.runners.facts.mixture import print_mixture
    from winnow.runners.stages.mixing import mix, parse_sample, plan_only

    recipe = ready_recipe(console, options.recipe, "mix")
    sample = parse_sample(options.sample)
    engine = open_engine(options)
    file = Path(options.output or PLAN_FILE) if options.plan_only or options.output else None
    if file is not None:
        _require_plan_or_new(file)
    plan = (
        plan_only(recipe, engine, console, sample)
        if options.plan_only
        else mix(recipe, engine, console, sample, show_notes=False).record.plan
    )
    if file is not None:
        write_plan(plan, file)
    if options.json:
        sys.stdout.write(plan_json(plan).decode() + "\n")
        return 0
    print_mixture(plan, console, options.recipe, all_notes=options.notes)
    if file is not None:
        console.print(f"written {file}")
    elif not options.plan_only:
        share = "" if sample == WHOLE else f" --sample {shlex.quote(options.sample)}"
        console.print(f"next    winnow export {options.recipe}{share}")
    return 0


def run_diff(options: argparse.Namespace) -> int:
    """`winnow plan --diff OLD NEW`."""
    import orjson

    from winnow.runners.facts.plan_difference import difference, print_difference, read_plan

    old, new = (read_plan(name) for name in options.diff)
    found = difference(old, new)
    if options.json:
        sys.stdout.write(orjson.dumps(found.to_json()).decode() + "\n")
    else:
        print_difference(found, open_console())
    return 0


def plan_json(plan: "MixturePlan") -> bytes:
    """The content of a plan file: the plan, its name, which is a hash of the rest, and the request in words."""
    import orjson

    return orjson.dumps({"plan": plan.name} | plan.to_json() | {"asked": plan.asked}, option=orjson.OPT_INDENT_2)


def _require_plan_or_new(file: Path) -> None:
    """Raise if the output file exists and is no plan of winnow."""
    from winnow.runners.stages.lists.whole_file import require_writable

    require_writable("--output", file)
    try:
        with file.open("rb") as stream:
            head = stream.read(len(_HEAD))
    except FileNotFoundError:
        return
    except OSError as error:
        raise WinnowError(f"--output {file}: cannot be read: {error.strerror or error}") from None
    if head and head != _HEAD:  # an empty file may be overwritten
        raise WinnowError(f"{file}: exists and is not a winnow plan; choose another file with --output")


def write_plan(plan: "MixturePlan", file: Path) -> None:
    """Write a plan to a file atomically."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(plan_json(plan) + b"\n")
        os.replace(unfinished, file)
    except OSError as error:
        raise WinnowError(f"--output {file}: cannot be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)


COMMAND = Command(
    "plan the mixture: the share of each stratum and the samples drawn for it; copies no data",
    arguments,
    run,
    place=10,
    beam=True,
)
