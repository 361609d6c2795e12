"""The head of the report of an unfinished run: the stage that failed, why, and what exists nevertheless."""

from winnow.runners.facts.examples import Examples
from winnow.runners.report.block import Block
from winnow.runners.report.markup import crawled, element, join, marked, plain
from winnow.schemas.counts import count_of
from winnow.schemas.summary import StoreSummary

NOTHING = "Nothing is ingested yet, so there are no counts to show."


def unfinished(summary: StoreSummary, examples: Examples) -> Block | None:
    """Only where the run failed or was interrupted."""
    run = examples.unfinished
    if run is None:
        return None
    stopped = f"The run stopped in {run.stage}: " if run.stage else "The run stopped at its start: "
    done = f"Stages done before: {', '.join(run.done)}." if run.done else "No stage was done before."
    if not summary.generation and run.unread is None:
        tasks = f" {count_of(run.tasks, 'task')} of ingest done; they are not run again." if run.tasks else ""
        done += f" {NOTHING}{tasks}"
    elif summary.generation:
        done += f" The counts below are of generation {summary.generation}, the last that is complete."
    parts = [
        element("p", plain(stopped), element("bdi", marked(run.why), dir="auto"), class_="verdict bad"),
        element("p", plain(done)),
        element("p", plain("The same command continues where this run stopped."), class_="note"),
    ]
    if run.unread is not None:
        less = "Without rules and examples" if summary.generation else "Without counts"
        why = plain("the store cannot be read.") if run.unread == run.why else crawled(run.unread)
        parts.insert(1, element("p", plain(f"{less}: "), why, class_="note"))
    return Block("unfinished", "This run did not finish", join(parts))
