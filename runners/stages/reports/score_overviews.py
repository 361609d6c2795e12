"""The scores of a store for the terminal, for `--json` and for the report."""

from collections.abc import Sequence

import orjson

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.score.overview import SHOWN, ScoreComparison, ScoreOverview, read_scores
from winnow.pipelines.store.generations import Store
from winnow.runners.facts.scores import SCORES
from winnow.runners.stages.rule_decisions import RuleDecisions
from winnow.runners.tables.table import table
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.records import Generation
from winnow.schemas.summary import StoreSummary


def scores_if_bound(
    recipe: BoundRecipe | None, store: Store, generation: Generation, summary: StoreSummary, *, shown: int = SHOWN
) -> ScoreComparison | None:
    """The current scores; None if there are none or a file is missing (`winnow score` reports which)."""
    try:
        return (
            None
            if recipe is None or not recipe.config.score
            else read_scores(recipe, store, generation, summary, shown=shown)
        )
    except RecipeError:
        return None


def overviews(
    scores: ScoreComparison | None, recipe: BoundRecipe | None, decisions: RuleDecisions | None
) -> tuple[ScoreOverview, ...]:
    """The overview of every score. `recipe`: that of the rules; `decisions`: of the rules, if there are any."""
    if scores is None or recipe is None:
        return ()
    overlaps = () if decisions is None else decisions.overlaps
    if decisions is not None and decisions.summary_if_decided is not None:
        return scores.overviews(overlaps, decisions.asked.pinned.program.rules)
    config = recipe.config
    dedupe = config.dedupe is not None and config.dedupe.representative
    return scores.overviews(overlaps, undecided=bool(config.eligible or config.keep or dedupe))


def with_scores(summary: bytes, found: Sequence[ScoreOverview]) -> bytes:
    """A summary's JSON with the scores added, if there are any."""
    if not found:
        return summary
    return orjson.dumps({**orjson.loads(summary), "scores": [_json(one) for one in found]})


def _json(overview: ScoreOverview) -> dict[str, Json]:
    return {
        **table("", SCORES, [overview]).without("filter", "share").to_json()[0],
        "fits": [
            {
                "by": fit.name,
                "votes": fit.how,
                "rows": fit.quality.rows,
                "kept": fit.quality.kept if fit.quality.rows else None,
                "quality": fit.quality.share if fit.quality.method == "clusters" else None,
                "low": fit.quality.low,
                "high": fit.quality.high,
                "estimate": fit.quality.method,
            }
            for fit in overview.fits
        ],
    }
