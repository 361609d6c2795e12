"""The card of an export: its sources, planned and drawn amounts, and detector coverage.

Written as `README.md` for people and model hubs, and as `card.json` for programs. Nothing on it depends on when or
where it was made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.export.stage import Written
from winnow.pipelines.mix.plans import layers_read
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.rules.coverage import SafetyCoverage
from winnow.pipelines.rules.summary import RulesSummary
from winnow.pipelines.store.generations import Store
from winnow.runners.facts.card_parts import SHOWN_LANGUAGES, dropped, front_matter, language_word, safety, titled
from winnow.runners.facts.figures import given_by
from winnow.runners.facts.mixture import PARTS, SHOWN_ON_PAGES, exposures, strata
from winnow.runners.facts.store import origins
from winnow.runners.report.markdown import table, text
from winnow.runners.stages.reports.summarise import summarise
from winnow.runners.stages.rule_decisions import rule_decisions
from winnow.runners.tables.quantities import byte_size, grouped
from winnow.runners.tables.table import Share, Table, heads, largest
from winnow.runners.tables.units import COUNT, NAME, SHARE
from winnow.schemas.counts import count_of
from winnow.schemas.environment.version import winnow_version
from winnow.schemas.identity import Json, fingerprint_of
from winnow.schemas.mixture import Amount, MixturePlan, PlannedOutput
from winnow.schemas.recipe import EditEntry, resolved_yaml
from winnow.schemas.records import Generation
from winnow.schemas.summary import StoreSummary

if TYPE_CHECKING:
    from winnow.runners.engines.engine import Engine

README, CARD = "README.md", "card.json"

_AMOUNTS = ("available", "exposed", "asked", "target", "given", "unique")
_READ_BY_HUBS = (".parquet", ".jsonl", ".jsonl.zst", ".jsonl.gz", ".tar")  # not the files beside them, such as indices


@dataclass(frozen=True, slots=True)
class Model:
    """A file that measurements depend on."""

    layer: str
    name: str
    digest: str


@dataclass(frozen=True)
class MixtureFacts:
    """The facts shared by the cards of all exports of one plan."""

    recipe: BoundRecipe
    generation: Generation
    store: StoreSummary
    rules: RulesSummary
    coverage: SafetyCoverage | None
    models: tuple[Model, ...]


def gather_facts(
    recipe: BoundRecipe,
    store: Store,
    generation: Generation,
    engine: "Engine | None" = None,
    console: Console | None = None,
) -> MixtureFacts:
    """What the rules decide, and the layers and models that the mixture depends on."""
    pinned = pinned_rules(recipe, store, generation, more=layers_read(recipe))
    assert pinned is not None  # it reads the layers of the mixture
    found = rule_decisions(recipe, generation, pinned, engine, console)
    models = tuple(
        Model(bound.layer, Path(asset.name).name, asset.digest)
        for bound in recipe.operators
        for asset in bound.assets.assets
    )
    summary = summarise(store, generation, recipe, engine, console)
    return MixtureFacts(recipe, generation, summary, found.summary, found.coverage, models)


def card_of(facts: MixtureFacts) -> Callable[[Written], Mapping[str, bytes]]:
    """A function that writes both cards of an export."""

    def closing(written: Written) -> Mapping[str, bytes]:
        raw = orjson.dumps(_json(facts, written), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        return {README: _readme(facts, written).encode(), CARD: raw}

    return closing


def _readme(facts: MixtureFacts, written: Written) -> str:
    plan = written.plan
    parts = [
        _front_matter(facts, written),
        _overview(facts, written),
        *(_mixture(plan, output) for output in plan.outputs),
        _ledger(plan),
        _sources(facts, plan),
        _languages(plan),
        dropped(facts.rules, facts.recipe),
        _left_out(written),
        _notes(written),
        safety(facts.coverage),
        _models(facts),
        _edits(facts.recipe.config.edits),
    ]
    return "\n".join(part for part in parts if part)


def _front_matter(facts: MixtureFacts, written: Written) -> str:
    """The metadata for model hubs: languages, size, the files of each split, and types that no file states."""
    given = given_by(written.plan, "language")
    more: list[str] = []
    patterns = {output.name: _pattern(written, output.name) for output in written.plan.outputs}
    # An output without a sample has no files; without this list the others would all be one split, `train`.
    if files := {name: pattern for name, pattern in patterns.items() if pattern is not None}:
        more += ["configs:", "- config_name: default", "  data_files:"]
        for name, pattern in files.items():
            more += [f"  - split: {name}", f"    path: {pattern}"]
    dtypes = written.shards[0].facts.get("dtypes") if written.shards else None
    if isinstance(dtypes, list):
        more += ["dataset_info:", "  features:"]
        for name, dtype in dtypes:
            more += [f"  - name: {name}", f"    dtype: {dtype}"]
    rows = sum(output.given.samples for output in written.plan.outputs)
    return front_matter(facts.store.store, (code for code, one in given.items() if one.samples), rows, more)


def _pattern(written: Written, output: str) -> str | None:
    """The files of an output, for model hubs; None if hubs cannot read them."""
    if written.export.format.name not in ("parquet", "jsonl", "webdataset"):
        return None
    paths = (file.path for shard in written.shards if shard.shard.output == output for file in shard.files)
    first = next((path for path in paths if path.endswith(_READ_BY_HUBS)), None)
    if first is None:
        return None
    folder, _, name = first.rpartition("/")
    return f"{f'{folder}/' if folder else ''}{output}-*.{name.partition('.')[2]}"


def _overview(facts: MixtureFacts, written: Written) -> str:
    plan, given = written.plan, sum((output.given for output in written.plan.outputs), Amount())
    files = written.files
    size = byte_size(sum(file.bytes for file in files))
    rows = [
        ("samples", grouped(given.samples)),
        *([(plan.unit, grouped(given.units))] if plan.unit != "samples" else []),
        ("outputs", ", ".join(output.name for output in plan.outputs)),
        ("format", f"{written.export.format.name}, {count_of(len(files), 'file')}, {size}"),
        ("plan", plan.name),
        ("recipe", f"{Path(facts.recipe.file).name}, {recipe_hash(facts.recipe)}"),
        ("store", f"tree {facts.store.tree_hash}"),  # generations of one tree are told apart by how it came about
        *([("tokenizer", plan.tokenizer)] if plan.tokenizer else []),
        *([("drawn", f"a share of {plan.sample} of the plan")] if plan.sample != "1" else []),
        ("made with", f"winnow {winnow_version()}"),
    ]
    return titled(facts.store.store, rows)


def recipe_hash(recipe: BoundRecipe) -> str:
    """A hash of the whole recipe."""
    return fingerprint_of(resolved_yaml(recipe.expanded))


def _mixture(plan: MixturePlan, output: PlannedOutput) -> str:
    shown = replace(strata(plan, output, SHOWN_ON_PAGES), footer=None)
    notes = "".join(f"\n- {text(note)}" for note in output.notes)
    title = f"## {output.name}: planned against given, in {plan.unit}"
    return f"{title}\n\n{table(shown.without(*PARTS, 'samples', 'repeated'))}{notes}{chr(10) if notes else ''}"


def _ledger(plan: MixturePlan) -> str:
    """How often samples are given, over all stages."""
    remark = f"In {plan.unit}; no sample is given more than {plan.max_epochs:g} times over all stages.\n"
    return f"## Exposure ledger\n\n{remark}\n{table(exposures(plan))}"


def _sources(facts: MixtureFacts, plan: MixturePlan) -> str:
    given = given_by(plan, "source")
    amounts = [given.get(source.name, Amount()) for source in facts.store.sources]
    shown = origins(facts.store).beside("samples given", COUNT, [one.samples for one in amounts])
    return "## Sources\n\n" + table(shown.beside(f"{plan.unit} given", COUNT, [one.units for one in amounts]))


def _languages(plan: MixturePlan) -> str:
    families = {one.stratum.language: one.stratum.family for output in plan.outputs for one in output.strata}
    given = given_by(plan, "language")
    whole = sum(amount.units for amount in given.values())
    ordered = [
        (code, language_word(code), families[code], amount)
        for code, amount in sorted(given.items(), key=lambda item: (-item[1].units, item[0]))
    ]
    shown = largest(
        ordered,
        SHOWN_LANGUAGES,
        lambda rest: (f"{len(rest):,} others", "", "", sum((amount for *_, amount in rest), Amount())),
    )
    rows = [
        (code, name, family, amount.samples, amount.units, Share(amount.units, whole))
        for code, name, family, amount in shown
    ]
    columns = heads(
        *((name, NAME) for name in ("code", "language", "family")),
        ("samples", COUNT),
        (plan.unit, COUNT),
        ("share", SHARE),
    )
    return "## Languages and families\n\n" + table(Table("", columns, rows))


def _left_out(written: Written) -> str:
    rows = [(reason, "mixture", amount.samples) for reason, amount in written.plan.left_out.items()]
    rows += [(f"{one.reason}: {one.file}", "export", one.samples) for one in written.left_out]
    if not rows:
        return ""
    columns = heads("reason", "since", ("samples", COUNT))
    return "## Kept by the rules but not exported\n\n" + table(Table("", columns, rows))


def _notes(written: Written) -> str:
    """Notes for readers of the files."""
    if not written.notes:
        return ""
    return "## Notes\n\n" + "".join(f"- {text(note)}\n" for note in written.notes)


def _models(facts: MixtureFacts) -> str:
    if not facts.models:
        return ""
    rows = [(model.layer, model.name, model.digest) for model in facts.models]
    return "## Models and lists\n\n" + table(Table("", heads("measures", "file", "digest"), rows))


def _edits(entries: Sequence[EditEntry]) -> str:
    if not entries:
        return ""
    rows = [
        (entry.name, entry.replace or "default", ", ".join(entry.kinds) if entry.kinds else "all") for entry in entries
    ]
    remark = "Only texts are edited; addresses, captions, metadata and media are unchanged.\n"
    columns = heads("spans of", "replaced by", "kinds")
    return f"## Edits of texts\n\n{table(Table('', columns, rows))}\n{remark}"


def _json(facts: MixtureFacts, written: Written) -> dict[str, Json]:
    plan = written.plan
    shingled = facts.recipe.shingled
    return {
        "store": facts.store.store,
        "tree_hash": facts.store.tree_hash,
        "plan": plan.name,
        "recipe": {"file": Path(facts.recipe.file).name, "hash": recipe_hash(facts.recipe)},
        "winnow_version": winnow_version(),
        "format": written.export.format.name,
        "unit": plan.unit,
        "tokenizer": plan.tokenizer,
        "sample": plan.sample,
        "max_epochs": plan.max_epochs,
        "sources": origins(facts.store).to_json(),
        "outputs": [_output_json(output) for output in plan.outputs],
        "left_out": {
            "mixture": {reason: amount.samples for reason, amount in plan.left_out.items()},
            "export": [asdict(one) for one in written.left_out],
        },
        "notes": list(written.notes),
        "rules": _rules_json(facts.rules),
        "duplicates": None if shingled is None else asdict(shingled.settings),
        "edits": [
            {"spans": edit.name, "replace": edit.replace, "kinds": edit.kinds} for edit in facts.recipe.config.edits
        ],
        "safety": None if facts.coverage is None else facts.coverage.to_json(),
        "models": [asdict(model) for model in facts.models],
        "files": [asdict(file) for file in written.files],
    }


def _rules_json(rules: RulesSummary) -> dict[str, Json]:
    """What the rules drop, without generations and positions in files, which depend on how the store was made."""
    fields = {name: value for name, value in rules.to_json().items() if name != "generation"}
    return fields | {
        "rules": [{name: value for name, value in asdict(rule).items() if name != "place"} for rule in rules.rules]
    }


def _output_json(output: PlannedOutput) -> dict[str, Json]:
    return {
        "name": output.name,
        "budget": output.budget,
        "given": asdict(output.given),
        "notes": output.notes,
        "strata": [
            asdict(one.stratum) | {name: values[name] for name in _AMOUNTS} | {"repeated": asdict(one.repeated)}
            for one, values in zip(output.strata, map(asdict, output.strata), strict=True)
        ],
    }
