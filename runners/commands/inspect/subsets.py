"""`winnow subsets`: the mean scores of lists of uids, what they have in common, their intersection as a list, and what
an evaluation of the user's finds of each."""

import argparse
import json
from pathlib import Path

from winnow.runners.commands.command import Command
from winnow.runners.commands.parser import place_argument
from winnow.runners.stages.opening import open_console, open_place


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    place_argument(parser)
    parser.add_argument("lists", nargs="+", metavar="LIST.npy", help="lists of uids, in DataComp's format")
    parser.add_argument(
        "--uid",
        metavar="KEY",
        help="where uids are in samples.metadata, such as json.uid for the .json of a tar (default: winnow's ids)",
    )
    parser.add_argument("--write", metavar="FILE.npy", help="write the uids that all lists have")
    parser.add_argument(
        "--evaluate",
        metavar="COMMAND",
        help="run a program on each list, such as 'python evaluate.py {list}', and keep beside the list the numbers by "
        "name that it prints as a JSON object in its last line; a list that it was run on before is not run again",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    """Print a table of the lists and one of what each two have in common."""
    from winnow.pipelines.export.planning.id_list import write_id_list
    from winnow.pipelines.query.generation import require_latest_for
    from winnow.pipelines.score.evaluations import evaluated, known_evaluation
    from winnow.pipelines.score.subsets import arrow_uids, common, overlaps, read_uids, score_subsets
    from winnow.runners.facts.subsets import overlap_table, score_table
    from winnow.runners.stages.lists.whole_file import require_writable
    from winnow.runners.terminal.tables import print_tables

    if options.write is not None:
        require_writable("--write", Path(options.write))
    lists = {file: read_uids(Path(file)) for file in options.lists}
    shared = common(list(lists.values()))
    if len(lists) > 1:
        lists["in all lists"] = shared
    recipe, store = open_place(options.place)
    found = score_subsets(store, require_latest_for(recipe, store), lists, options.uid)
    written = None if options.write is None else write_id_list([arrow_uids(shared)], Path(options.write))
    files = {name: name for name in options.lists} | ({} if written is None else {"in all lists": options.write})
    evaluations = {
        name: one
        for name, file in files.items()
        if (one := evaluated(Path(file), options.evaluate) if options.evaluate else known_evaluation(Path(file)))
    }
    tables = [
        score_table(found, evaluations),
        overlap_table(overlaps({file: lists[file] for file in dict.fromkeys(options.lists)})),
    ]
    console = open_console()
    if options.json:
        print(json.dumps({"subsets": tables[0].to_json(), "overlaps": tables[1].to_json(), "written": written}))
        return 0
    print_tables(console, *tables[: 1 + (len(lists) > 1)])
    if written is not None:
        console.print(f"{options.write}: {written:,} uids")
    return 0


COMMAND = Command(
    "show the mean scores of lists of uids, and what lists have in common",
    arguments,
    run,
    place=12,
    slow_start=True,
    epilog="The mean score of a subset is Grad-Mimic's estimate of its quality. Lists are compared as they are, "
    "whether or not the store has their samples.",
)
