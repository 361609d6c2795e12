"""What `winnow reference` takes."""

from typing import Any


def add_reference(commands: Any) -> None:
    """Add the command."""
    reference = commands.add_parser("reference", help="make the weights that scores point to: train, or merge")
    verbs = reference.add_subparsers(dest="verb", required=True, metavar="VERB")
    train = verbs.add_parser("train", help="train the reference of a recipe's score on the samples that it trusts")
    train.add_argument("recipe", metavar="RECIPE", help="a recipe file")
    train.add_argument("--score", metavar="NAME", help="of which score; needed where the recipe has several")
    train.add_argument("--output", metavar="FILE", help="also write the weights here, as safetensors")
    merge = verbs.add_parser("merge", help="one set of weights of several: their mean, or task arithmetic")
    merge.add_argument("files", nargs="+", metavar="WEIGHTS", help="safetensors files of one model")
    merge.add_argument("--output", required=True, metavar="FILE", help="where to write the merged weights")
    merge.add_argument(
        "--base", metavar="FILE", help="weights that all began from: what each learnt beyond them is added"
    )
    merge.add_argument(
        "--scale", type=float, default=1.0, help="how much of what was learnt is added (default: %(default)s)"
    )
