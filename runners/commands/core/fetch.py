"""`winnow fetch`: fetch the sources that are queries of an archive or lists of addresses, as WARC files."""

import argparse
from typing import TYPE_CHECKING

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import engine_arguments, recipe_argument
from winnow.runners.stages.opening import begin, bound_recipe, open_engine
from winnow.schemas.errors import RecipeError, WinnowError
from winnow.schemas.problems import suggestion

if TYPE_CHECKING:
    from winnow.pipelines.fetch.outcome import Reason

LEFT = 3
"""The exit status if some addresses failed in a way that may pass."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    recipe_argument(parser)
    parser.add_argument("--plan", action="store_true", help="print what would be fetched and what it costs, and stop")
    parser.add_argument(
        "--source", action="append", default=[], metavar="NAME", help="fetch only this source; may be repeated"
    )
    parser.add_argument(
        "--refetch",
        action="append",
        default=[],
        metavar="reason=REASON",
        help="ask again for addresses of lists that ended so, such as reason=robots; may be repeated",
    )
    parser.add_argument(
        "--limit", metavar="N", help="fetch at most N addresses of each list, which a hash chooses; a larger N goes on"
    )
    engine_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Fetch; the exit status is 3 if addresses are left that another run may get."""
    console = begin("fetch", options.recipe)
    from winnow.pipelines.preflight.check import WholeRecipe, preflight
    from winnow.runners.stages.fetching import Wanted, fetch, fetching_part, without_records
    from winnow.runners.terminal.tables import print_remarks

    wanted = Wanted(tuple(options.source), frozenset(map(_reason, options.refetch)), _limit(options.limit))
    recipe = fetching_part(bound_recipe(options.recipe))
    print_remarks(console, preflight(WholeRecipe(recipe=recipe, last="ingest")))
    if not any(source.is_fetched for source in recipe.config.sources):
        raise RecipeError(
            f"{options.recipe}: no source is fetched; give one 'commoncrawl' or 'addresses' (docs/howto/fetch.md)"
        )
    done = fetch(recipe, open_engine(options), console, wanted, plan_only=options.plan)
    later = sum(one.later for one in done)
    if later:
        console.print(f"later   {later:,} addresses may be had by another run: winnow fetch {options.recipe}")
    elif not options.plan and (empty := without_records(recipe)):
        names = ", ".join(source.source for source in empty)
        console.print(
            f"next    {names}: no address gave a record, which winnow run needs; correct the list or the query, or ask "
            f"again: winnow fetch {options.recipe} --refetch reason=REASON"
        )
    elif not options.plan:
        console.print(f"next    winnow run {options.recipe}")
    return LEFT if later else 0


def _reason(text: str) -> "Reason":
    from winnow.pipelines.fetch.outcome import REASONS

    name = text.removeprefix("reason=")
    if not text.startswith("reason=") or name not in REASONS:
        raise WinnowError(f"--refetch {text}: expected reason=REASON{suggestion(name, REASONS)}")
    return REASONS[name]


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.replace("_", "").isdigit() or not int(text):
        raise WinnowError(f"--limit {text}: expected how many addresses, such as 1000")
    return int(text)


COMMAND = Command(
    "fetch sources that are queries of an archive or lists of addresses, as WARC files",
    arguments,
    run,
    place=4,
    beam=True,
    epilog="Exit status: 0 every address has its end; 3 some failed in a way that may pass, and another run asks for "
    "them again; 1 an error.",
)
