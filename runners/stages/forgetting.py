"""`winnow forget`: writes a tombstone and reports hidden rows and copies; and the purge of `winnow gc`."""

import argparse
import contextlib
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from winnow.pipelines.forgetting.effects import Effect, effect_of
from winnow.pipelines.forgetting.fetched import purge_fetched
from winnow.pipelines.forgetting.outputs import AffectedOutput, affected, list_rows, unsearched
from winnow.pipelines.forgetting.purging import Purged, purge
from winnow.pipelines.forgetting.requests import RequestError, Selection, parse_selector, read_list, selectors_of
from winnow.pipelines.forgetting.scanning import NO_IDS, scan_store
from winnow.pipelines.processes.run_folder import left_by_failed_runs, remove_dead_runs
from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import every_hidden_row
from winnow.pipelines.store.hiding.scans import load_tombstones, put_tombstone, store_scans
from winnow.pipelines.store.leases.command_lease import writing_lease
from winnow.runners.tables.escaping import visible
from winnow.runners.tables.quantities import grouped
from winnow.runners.terminal.tables import print_json
from winnow.schemas.counts import count_of
from winnow.schemas.errors import WinnowError
from winnow.schemas.identity import Json
from winnow.schemas.tombstones import KINDS, Selectors

NOTHING_MET = 3
"""The exit status if the request was recorded but matches no row of the store."""

SHOWN = 10
UNKNOWN_COPIES = "winnow does not know of other copies, such as backups, or of models trained on them"


def run_forget(options: argparse.Namespace, store: Store, jobs: Jobs, console: Console) -> int:
    """`winnow forget`. The exit status is 0, 3 if no row matches, or 1 if part of the request is invalid.

    A repeated request succeeds, as its rows may already be purged and can no longer be recognised.
    """
    if options.list:
        return _list(store, jobs, console, as_json=options.json)
    selections, bad = _requests(options)
    if not selections and not bad:
        raise WinnowError("forget: no rows are named; give --url, --domain, --id, --sha256 or --file")
    selectors = selectors_of(selections)
    name, new = "", False
    if selections and not options.dry_run:
        name, new = put_tombstone(store.objects, selectors.tombstone(options.reason))
    effect = effect_of(store, selectors, jobs, ids=list_rows(store.objects)) if selections else Effect()
    if name:
        with contextlib.suppress(FileNotFoundError):  # scans only save time; a collector may be deleting them
            store_scans(store.objects, [(frozenset([name]), scan) for scan in effect.scans])
            if (latest := store.latest_record()) is not None:
                scan_store(store, latest, jobs)
    unmet = [selection for selection in selections if not selection.hashes & effect.met]
    if effect.generations:
        copies = affected(store.objects, NO_IDS if effect.ids is None else effect.ids)
    else:
        copies = unsearched(store) if selections else []
    if options.json:
        found = _json(name, new, selectors, effect, unmet, bad, copies)
        print_json(found)
    elif selections:
        _print(options, console, name, new, selectors, effect, unmet, copies)
    for line in bad:
        print(f"winnow: {visible(line)}", file=sys.stderr)
    if bad:
        return 1
    return 0 if effect.rows or (name and not new) else NOTHING_MET


def run_purge(store: Store, keep: int, jobs: Jobs, console: Console, *, dry_run: bool) -> Purged:
    """`winnow gc --purge`."""
    with writing_lease(store.objects):
        of_fetches = purge_fetched(store, dry_run=dry_run)  # first: a purge that is killed is finished without it
        done = purge(store, keep, dry_run=dry_run, jobs=jobs)
    logs = left_by_failed_runs()
    if not dry_run:
        remove_dead_runs(logs=True)

    def say(word: str, text: str) -> None:
        console.print(f"{word:<14}{text}")

    rows, objects = f"{_rows(done.rows)} of forgotten content", count_of(done.objects, "object")
    say("would purge" if dry_run else "purged", f"{rows}: {objects} {'to rewrite' if dry_run else 'rewritten'}")
    if of_fetches:
        say("would empty" if dry_run else "emptied", f"{_rows(of_fetches)} of fetches, and their records")
    if done.dropped:
        names = ", ".join(map(str, done.dropped))
        say("would drop" if dry_run else "dropped", f"generations {names} despite --keep, as they contain such rows")
    for path in done.removed:
        say("would remove" if dry_run else "removed", f"{path} in the store's folder")
    for log in logs:
        say("would remove" if dry_run else "removed", f"{log}, which a failed run left")
    return done


def _requests(options: argparse.Namespace) -> tuple[list[Selection], list[str]]:
    selections: list[Selection] = []
    bad: list[str] = []
    for kind in KINDS:
        for value in getattr(options, kind):
            try:
                selections.append(parse_selector(kind, value))
            except RequestError as error:
                bad.append(f"--{error}")
    for name in options.file:
        read, unread = read_list(Path(name))
        selections += read
        bad += unread
    return selections, bad


def _print(
    options: argparse.Namespace,
    console: Console,
    name: str,
    new: bool,
    selectors: Selectors,
    effect: Effect,
    unmet: list[Selection],
    copies: list[AffectedOutput],
) -> None:
    def say(word: str, text: str) -> None:
        console.print(f"{word:<12}{visible(text)}")

    if name:
        say("tombstone", f"{name}: {_kinds(selectors)}{'' if new else ' (recorded earlier)'}")
    if effect.generation is None:
        say("hidden", "no rows: nothing is ingested yet")
    elif effect.rows:
        sources = ", ".join(f"{source} {grouped(count)}" for source, count in effect.sources.items())
        word = "would hide" if options.dry_run else "hidden"
        shards = count_of(len(effect.shards), "shard")
        say(word, f"{_rows(effect.rows)} of generation {effect.generation} in {shards}: {sources}")
    else:
        say("hidden", f"no rows of generation {effect.generation} with content")
    for one in unmet[:SHOWN]:
        later = "" if options.dry_run else "; matching rows that are ingested later will be hidden"
        say("unmet", f"{one}: matches no row{later}")
    if len(unmet) > SHOWN:
        say("unmet", f"… and {len(unmet) - SHOWN:,} more")
    if effect.generations:
        say("affected", f"generations that contain such rows: {', '.join(map(str, effect.generations))}")
    for copy in copies:
        say("affected", _copy(copy))
    for log in left_by_failed_runs() if effect.generations else ():
        say("affected", f"{log}, which a failed run left, may quote such rows; the purge removes it")
    if copies and not effect.generations:
        say("note", "the store no longer has the generations of these outputs, so their rows cannot be searched")
    if effect.generations:
        say("note", UNKNOWN_COPIES)
        if not options.dry_run:
            say("next", f"winnow gc --purge {options.place}")


def _kinds(selectors: Selectors) -> str:
    counted = [(kind, len(getattr(selectors, kind))) for kind in KINDS]
    return ", ".join(f"{count:,} {kind}" for kind, count in counted if count)


def _rows(count: int) -> str:
    return count_of(count, "row")


def _copy(copy: AffectedOutput) -> str:
    output = copy.output
    which = f" (generation {output.generation})" if output.generation else ""
    holds = "may contain such rows" if copy.rows is None else f"holds {_rows(copy.rows)} of them"
    then = "; the purge removes it" if copy.inside else "; delete it or write it again"
    return f"{output.kind} {output.path}{which} {holds}{then}"


def _json(
    name: str,
    new: bool,
    selectors: Selectors,
    effect: Effect,
    unmet: list[Selection],
    bad: list[str],
    copies: list[AffectedOutput],
) -> dict[str, Json]:
    return {
        "tombstone": name or None,
        "new": new,
        "selectors": {kind: len(getattr(selectors, kind)) for kind in KINDS},
        "generation": effect.generation,
        "rows": effect.rows,
        "sources": dict(effect.sources),
        "shards": dict(effect.shards),
        "generations": list(effect.generations),
        "unmet": [{"kind": one.kind, "value": one.value} for one in unmet],
        "bad": bad,
        "outputs": [
            {**asdict(copy.output), "inside_store": copy.inside, "rows": copy.rows, "known": copy.rows is not None}
            for copy in copies
        ],
        "note": UNKNOWN_COPIES,
    }


def _list(store: Store, jobs: Jobs, console: Console, *, as_json: bool) -> int:
    """List the tombstones, and how many of their rows are not purged yet."""
    tombstones = load_tombstones(store.objects)
    latest = store.latest_record()
    hidden = {} if latest is None else every_hidden_row(store, latest, scan_store(store, latest, jobs))
    rows = sum(len(found.rows) for found in hidden.values())
    pending = sum(len(found.pending) for found in hidden.values())
    if as_json:
        listed = [
            {"tombstone": name, "reason": one.reason, "selectors": {kind: len(getattr(one, kind)) for kind in KINDS}}
            for name, one in sorted(tombstones.items())
        ]
        found = {"tombstones": listed, "rows": rows, "purged": rows - pending}
        print_json(found)
        return 0
    for name, one in sorted(tombstones.items()):
        console.print(
            f"tombstone   {name}: {_kinds(Selectors.of(one))}{f' ({visible(one.reason)})' if one.reason else ''}"
        )
    console.print(f"hidden      {_rows(rows)}, of which {grouped(rows - pending)} are purged")
    return 0
