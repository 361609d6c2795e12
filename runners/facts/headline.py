"""The head of the report: the way from records to the mixture in one unit, whether the counts reconcile, and, of an
unfinished run, which stage failed and why."""

from winnow.runners.facts.examples import Examples
from winnow.runners.facts.figures import Figures
from winnow.runners.report.block import Block
from winnow.runners.report.markup import Html, crawled, element, join, marked, meter, plain
from winnow.runners.tables.quantities import byte_size, grouped, share
from winnow.schemas.counts import count_of
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.summary import StoreSummary

MEANINGS = {
    "records": "read from the files",
    "samples": "records that could be read and have content",
    "eligible": "samples that pass the rules of eligible",
    "unique": "eligible samples, each cluster of duplicates once",
    "kept": "unique samples that pass the rules of keep: what a mixture may take",
    "drawn": "in the mixture, repeats included",
}
BASES = {"samples": "records", "eligible": "samples", "unique": "samples", "kept": "samples"}
"""What the share of a step is of."""

NOTHING = "Nothing is ingested yet, so there are no counts to show."


def overview(summary: StoreSummary, examples: Examples) -> Block:
    """The funnel, its losses in words, and the verdict of the counts."""
    figures = examples.now
    assert figures is not None
    parts = [
        _funnel(figures, _repeats(examples.plan)),
        *(element("p", crawled(line)) for line in _sentences(summary, examples, figures)),
    ]
    if summary.unbalanced:
        wrong = f"The counts do not reconcile: {', '.join(summary.unbalanced)}. Run winnow audit."
        parts.append(element("p", plain(wrong), class_="verdict bad"))
    else:
        right = "Every record is accounted for: records = samples + dropped + quarantined."
        parts.append(element("p", plain(right), class_="verdict"))
    return Block("overview", "From records to the mixture", join(parts))


def _repeats(plan: MixturePlan | None) -> int:
    """The samples of a mixture that it has more than once, without the first of each."""
    return 0 if plan is None else sum(output.repeated.samples for output in plan.outputs)


def _funnel(figures: Figures, repeats: int) -> Html:
    most = max((step.samples for step in figures.steps), default=0)
    items = []
    counts = {step.name: step.samples for step in figures.steps}
    for step in figures.steps:
        notes = (
            [] if step.name not in BASES else [f"{share(step.samples, counts[BASES[step.name]])} of {BASES[step.name]}"]
        )
        if step.name == "drawn" and repeats:
            notes.append(f"{grouped(repeats)} of them repeats")
        if step.units is not None:
            notes.append(f"{grouped(step.units)} {figures.unit}")
        tone = "tone-1" if step.name in ("records", "drawn") else "kept"
        items.append(
            element(
                "li",
                element("span", plain(step.name), class_="step", title=MEANINGS[step.name]),
                element("strong", plain(grouped(step.samples))),
                meter(step.samples, most, tone),
                element("span", plain(", ".join(notes)), class_="note"),
            )
        )
    return element("ol", *items, class_="funnel")


def _sentences(summary: StoreSummary, examples: Examples, figures: Figures) -> list[str]:
    """The meaning of the figures, in sentences."""
    total, rules, plan = summary.total(), examples.rules, examples.plan
    dropped, quarantined = sum(total.dropped.values()), sum(total.quarantined.values())
    read = f"{count_of(total.files, 'file')} of {byte_size(total.input_bytes)} {'was' if total.files == 1 else 'were'}"
    empty = dropped - total.described
    sentences = [
        f"{read} read. Of {count_of(figures.steps[0].samples, 'record')}, {grouped(empty)} "
        f"{'was' if empty == 1 else 'were'} dropped as no content and {grouped(quarantined)} quarantined."
    ]
    if total.described:
        rows = count_of(total.described, "row of a table describes a sample", "rows of tables describe samples")
        sentences.append(f"{rows}, and {'is' if total.described == 1 else 'are'} not counted here.")
    if examples.undecided is not None:
        sentences.append(f"What the rules keep is not known: {examples.undecided}")
    elif rules is None:
        sentences.append("What the rules keep is not known: there are none, or what they read is not measured yet.")
    else:
        left = f"{grouped(rules.kept.rows)} of {count_of(rules.rows.rows, 'sample')}"
        sentences.append(f"The rules keep {left} ({share(rules.kept.rows, rules.rows.rows)}).")
        if rules.forgotten.rows:
            forgotten = count_of(rules.forgotten.rows, "sample was", "samples were")
            sentences.append(f"{forgotten} forgotten on request, before any rule.")
    if plan is None:
        sentences.append("No mixture of this recipe is drawn yet.")
    else:
        of = "" if plan.sample == "1" else f" ({plan.sample} of the plan)"
        again = f", {grouped(repeats)} of them repeats" if (repeats := _repeats(plan)) else ""
        outputs = ", ".join(f"{output.name} {grouped(output.given.samples)}" for output in plan.outputs)
        sentences.append(f"The mixture{of} has {count_of(figures.steps[-1].samples, 'sample')}{again}: {outputs}.")
    return sentences


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
