"""The arguments of `winnow mix`; nothing of Beam is imported for `--help`."""

import argparse


def add_export(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> argparse.ArgumentParser:
    """Declare `winnow export`."""
    parser = commands.add_parser(
        "export", help="write the mixture in the formats that the recipe names; what stands is left as it is"
    )
    parser.add_argument("recipe", metavar="RECIPE", help="a recipe file with a 'mix' and an 'export'")
    parser.add_argument(
        "--sample",
        default="100%",
        metavar="SHARE",
        help="export a share of the plan, such as 1%% (default: %(default)s)",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="write over exports of another plan, and over those that are damaged or lack samples, once the new ones "
        "are whole",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="write nothing: read every export that the recipe names, and compare its files with their hashes",
    )
    parser.add_argument(
        "--id-list",
        metavar="FILE",
        help="write, alone, the ids that the stages give as a .npy: each once, sorted, as two numbers of 64 bits; "
        "validation is not in it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of text")
    return parser


def add_mix(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> argparse.ArgumentParser:
    """Declare `winnow mix`."""
    parser = commands.add_parser(
        "mix",
        help="plan the mixture: what each stratum is asked for and gives, and which samples those are; moves no data",
    )
    parser.add_argument("recipe", metavar="RECIPE", help="a recipe file with a 'mix'")
    parser.add_argument("--plan-only", action="store_true", help="write the plan and show it; draw nothing")
    parser.add_argument("--output", metavar="FILE", help="write the plan to this file (--plan-only: plan.json)")
    parser.add_argument(
        "--sample", default="100%", metavar="SHARE", help="draw a share of the plan, such as 1%% (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print the plan as one JSON object in place of tables")
    return parser
