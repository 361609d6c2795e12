"""Says when a source gets new files while some that were ingested are gone: their rows stay, beside the new ones.

That is what becomes of a recipe whose `root` was moved to other data, or of two recipes with one name for two sources.
"""

from collections.abc import Iterator

from winnow.pipelines.preflight.check import Check, NewInput
from winnow.schemas.counts import count_of


def _vanished(about: NewInput) -> Iterator[str]:
    for plan in about.plans:
        gone = plan.intake.vanished
        if gone and len(plan.intake.added):
            named = f"{gone[0]} and others" if len(gone) > 1 else gone[0]
            yield (
                f"source {plan.name}: has new files, and {count_of(len(gone), 'file')} that the store has rows of "
                f"({named}) are not there now; their rows stay beside the new ones: give other data another source or "
                "another store"
            )


CHECKS = (Check("vanished-files", NewInput, _vanished, order=6),)
