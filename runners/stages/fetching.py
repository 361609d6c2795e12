"""Runs `winnow fetch`: sources that are fetched become WARC files in the store, with a log of every address."""

import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console

from winnow.filters.extras import required_package
from winnow.filters.page.opt_out import OPERATOR as OPT_OUT
from winnow.filters.web.rights.opt_outs import OptOutConfig
from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.binding.sources import source_root, store_record, unfetched_source
from winnow.pipelines.fetch.archives.references import RangedObjects
from winnow.pipelines.fetch.facts import FetchedSource, fetched_source
from winnow.pipelines.fetch.host_files import gather_host_files
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.fetch.progress import Progress
from winnow.pipelines.running.worker import heartbeat_seconds
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store, create_or_open
from winnow.pipelines.store.hiding.matching import Matcher
from winnow.pipelines.store.hiding.scans import load_hiding
from winnow.pipelines.store.layout import FETCHED_WARCS
from winnow.pipelines.store.leases.command_lease import one_command, writing_lease
from winnow.pipelines.store.location import open_location
from winnow.runners.engines.engine import Engine
from winnow.runners.facts.fetched import ended, planned_archive, planned_list
from winnow.runners.stages.running.stage_run import StageRun
from winnow.runners.tables.table import Table
from winnow.runners.terminal.progress.fetching import FetchProgress
from winnow.runners.terminal.progress.status_line import waiting
from winnow.runners.terminal.tables import print_line, print_tables
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.identity import Json
from winnow.schemas.problems import suggestion
from winnow.schemas.recipe import AddressList, ArchiveQuery, Recipe, SourceConfig

if TYPE_CHECKING:
    from winnow.pipelines.fetch.archives.plan import ArchiveAsk, ArchivePlan, ArchiveTask
    from winnow.pipelines.fetch.live.names import LookUp
    from winnow.pipelines.fetch.live.planning import LiveAsk, LivePlan

Forgotten = Callable[[str], bool]
Fetch = Callable[[Callable[[Progress], None]], object]
"""Fetches what is planned, and tells how far it is."""

_PACKAGES = ("aiohttp", "aiodns", "h11", "fastwarc")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a command fetches of a recipe."""

    sources: tuple[str, ...] = ()  # by name; none: all that are fetched
    refetch: frozenset[Reason] = frozenset()  # addresses of lists that ended so are asked for again
    limit: int | None = None  # the most addresses of a list, chosen by a hash
    look_up: "LookUp | None" = None  # how hosts are found; None: by the name servers of the system
    tls: ssl.SSLContext | None = None  # whom to trust; None: whom the system trusts


ALL = Wanted()


@one_command()
def fetch(
    recipe: BoundRecipe, engine: Engine, console: Console, wanted: Wanted = ALL, *, plan_only: bool = False
) -> list[FetchedSource]:
    """Fetch the sources, one after the other; returns how the addresses of those with any left to fetch have ended.

    What earlier runs have fetched is not asked for again. `plan_only`: only print what would be fetched.
    """
    sources = _chosen(recipe.config, wanted)
    if not sources:
        return []
    for package in _PACKAGES:
        required_package("winnow fetch", package, "fetch")
    with _fetching(recipe) as (store, forgotten):
        one = _Command(recipe, store, engine, console, wanted, forgotten)
        planned = {source.name: one.plan(source) for source in sources}
        left = [source for source in sources if planned[source.name].is_any_left]
        for name, plan in planned.items():
            if plan.is_any_left or plan_only:
                print_tables(console, plan.costs)
            else:
                print_line(console, f"fetched {name}: nothing is left to fetch")
        if plan_only:
            return []
        for source in sources:
            if planned[source.name].is_any_left:
                one.run(source, planned[source.name])
            else:  # a run that was killed may have ended before it did so
                gather_host_files(one.objects(source))
        return [one.ended(source) for source in left]


def fetching_part(recipe: BoundRecipe) -> BoundRecipe:
    """What fetches the sources of a recipe whose operators read files that are yet to be fetched; else the recipe."""
    config = recipe.config
    named = (config.located(text) for entry in config.annotate for text in _texts(entry.options.plain()))
    if not any(unfetched_source(config, path) for path in named):
        return recipe
    opt_out = tuple(replace(entry, where=None) for entry in config.annotate if entry.name == OPT_OUT.name)
    return bind(
        Recipe(
            version=config.version,
            store=config.store,
            sources=config.sources,
            fetch=config.fetch,
            annotate=opt_out,
            file=config.file,
        )
    )


def _texts(options: Json) -> Iterator[str]:
    """The texts of an operator's options."""
    if isinstance(options, str):
        yield options
    elif isinstance(options, Mapping | list | tuple):
        for one in options.values() if isinstance(options, Mapping) else options:
            yield from _texts(one)


def without_records(recipe: BoundRecipe) -> list[FetchedSource]:
    """The sources that were fetched and gave no record, so that the next stage would stop."""
    places = (
        (source.name, open_location(source_root(recipe.config, source))) for source in _chosen(recipe.config, ALL)
    )
    empty = [
        (name, objects) for name, objects in places if next(RangedObjects(objects).list(FETCHED_WARCS), None) is None
    ]
    return [found for name, objects in empty if (found := fetched_source(objects, name)).addresses]


def _chosen(recipe: Recipe, wanted: Wanted) -> Sequence[SourceConfig]:
    """The sources that are fetched; RecipeError for a name that is none of them."""
    fetched = {source.name: source for source in recipe.sources if source.is_fetched}
    for name in wanted.sources:
        if name not in fetched:
            raise RecipeError(f"--source {name}: not a source that is fetched{suggestion(name, fetched)}")
    return [source for name, source in fetched.items() if not wanted.sources or name in wanted.sources]


@contextmanager
def _fetching(recipe: BoundRecipe) -> Iterator[tuple[Store, Forgotten]]:
    """The store, whose lease is held, and the addresses that must stay out of it."""
    store = create_or_open(open_location(recipe.store_address), store_record(recipe.config))
    with writing_lease(store.objects):
        hiding = load_hiding(store.objects)
        yield store, Matcher(hiding.selectors).address if hiding else _nothing


def _nothing(_address: str) -> bool:
    """No address is kept out."""
    return False


@dataclass(frozen=True, slots=True)
class _Planned:
    """What is to be fetched for a source."""

    costs: Table
    is_any_left: bool  # or a later run has nothing to do
    fetch: Fetch
    poll: Callable[[], Progress] | None = None  # how far it is, where workers on an engine fetch


def _done_of(left: "Sequence[ArchiveTask]", plan: "ArchivePlan", asked: "ArchiveAsk") -> Progress:
    """How far an engine is, by the tasks that were left and are done."""
    from winnow.pipelines.fetch.archives.stage import pending_tasks

    pending = {task.name for task in pending_tasks(plan, asked)}
    done = [task for task in left if task.name not in pending]
    records = sum(task.records for task in done)
    return Progress(records, sum(task.records for task in left), sum(task.bytes for task in done), 0, 0, {})


@dataclass(frozen=True)
class _Command:
    """What is the same for all sources of a command."""

    bound: BoundRecipe
    store: Store
    engine: Engine
    console: Console
    wanted: Wanted
    forgotten: Forgotten

    @property
    def recipe(self) -> Recipe:
        """The recipe as written."""
        return self.bound.config

    def plan(self, source: SourceConfig) -> _Planned:
        """Plan a source; errors name it."""
        try:
            if source.commoncrawl is not None:
                return self._plan_archive(source, source.commoncrawl)
            assert source.addresses is not None
            return self._plan_list(source, source.addresses)
        except (RecipeError, SourceError) as error:
            said = str(error).removeprefix(f"sources.{source.name}: ")
            place = f"{source.place}: " if source.place.file else ""
            raise type(error)(f"{place}sources.{source.name}: {said}") from None

    def run(self, source: SourceConfig, planned: _Planned) -> None:
        """Fetch a source."""
        objects = self.objects(source)
        objects.clear_unfinished(elsewhere=False)
        progress = FetchProgress(self.console, source.name, planned.poll)
        with progress.shown(heartbeat_seconds(objects)):
            planned.fetch(progress)
        progress.say_end()

    def ended(self, source: SourceConfig) -> FetchedSource:
        """How the addresses of a source have ended, printed."""
        objects = self.objects(source)
        found = fetched_source(objects, source.name)
        print_tables(self.console, ended([found]))
        print_line(self.console, f"fetched {objects.root}")
        return found

    def objects(self, source: SourceConfig) -> ObjectStore:
        """The folder of a source."""
        return open_location(source_root(self.recipe, source))

    def _opt_out(self) -> OptOutConfig:
        """What counts as an opt-out, as the rules of the recipe will see it."""
        measured = (one.config for one in self.bound.measurements if isinstance(one.config, OptOutConfig))
        return next(measured, OptOutConfig())

    def _located(self, path: str | None) -> str | None:
        return None if path is None else self.recipe.located(path)

    def _plan_archive(self, source: SourceConfig, query: ArchiveQuery) -> _Planned:
        from winnow.pipelines.fetch.archives.stage import (
            ArchiveAsk,
            fetch_archive,
            has_ended,
            pending_tasks,
            plan_archive,
        )

        located = replace(
            query,
            addresses=self._located(query.addresses),
            domains=self._located(query.domains),
            cdxj=self._located(query.cdxj),
            index=self._located(query.index),
            data=self.recipe.located(query.data),
        )
        asked = ArchiveAsk(
            query=located,
            objects=self.objects(source),
            source=source.name,
            seed=self.store.record.seed,
            config=self.recipe.fetch,
            forgotten=self.forgotten,
            refetch=self.wanted.refetch,
        )
        with waiting(self.console, "fetch", f"{source.name}  reading the index"):
            plan = plan_archive(asked)
        if not (plan.records or plan.not_in_index or plan.unplaced):
            raise SourceError("no record of the index is asked for; correct 'where', or the list beside it")
        left = pending_tasks(plan, asked)
        is_any_left = bool(left) or not has_ended(asked)
        costs = planned_archive(source.name, plan)
        if self.engine.name == "local" and not self.engine.workers:  # this process fills a line
            return _Planned(costs, is_any_left, partial(fetch_archive, plan, asked))
        asked = replace(asked, workers=self.engine.processes)
        polled = partial(_done_of, left, plan, replace(asked, refetch=frozenset()))
        return _Planned(costs, is_any_left, partial(self._run_archive, plan, asked, left), polled)

    def _run_archive(
        self, plan: "ArchivePlan", asked: "ArchiveAsk", left: "Sequence[ArchiveTask]", tell: Callable[[Progress], None]
    ) -> None:
        """Fetch on the engine."""
        from winnow.pipelines.fetch.archives.stage import RunArchiveTasks, finish_archive

        run = StageRun(self.console, self.engine, self.store, recipe=self.bound)
        run.job("fetch", lambda pipeline: pipeline | RunArchiveTasks(plan, asked), len(left))
        finish_archive(asked)
        tell(_done_of(left, plan, replace(asked, refetch=frozenset())))

    def _plan_list(self, source: SourceConfig, listed: AddressList) -> _Planned:
        from winnow.pipelines.fetch.live.crawl import LiveAsk, fetch_addresses, plan_addresses

        asked = LiveAsk(
            addresses=replace(listed, file=self.recipe.located(listed.file)),
            objects=self.objects(source),
            config=self.recipe.fetch,
            seed=self.store.record.seed,
            forgotten=self.forgotten,
            refetch=self.wanted.refetch,
            limit=self.wanted.limit,
            opt_out=self._opt_out(),
            look_up=self.wanted.look_up,
            tls=self.wanted.tls,
        )
        with waiting(self.console, "fetch", f"{source.name}  reading the list"):
            plan = plan_addresses(asked)
        costs = planned_list(source.name, plan)
        is_here = self.engine.name == "local" and not self.engine.workers
        if is_here or asked.tls is not None:  # which no worker can be sent
            return _Planned(costs, plan.is_any_left, partial(fetch_addresses, plan, asked))
        from winnow.pipelines.fetch.live.stage import LanesProgress

        return _Planned(costs, plan.is_any_left, partial(self._run_list, plan, asked), LanesProgress(plan, asked))

    def _run_list(self, plan: "LivePlan", asked: "LiveAsk", tell: Callable[[Progress], None]) -> None:
        """Fetch on the engine, each registered domain by one worker; what it tells is of all lanes together."""
        from winnow.pipelines.fetch.live.stage import RunLanes, begin_lanes, finish_lanes

        run = StageRun(self.console, self.engine, self.store, recipe=self.bound)
        lanes, tally = begin_lanes(plan, asked, self.engine.processes)
        if lanes:
            run.job("fetch", lambda pipeline: pipeline | RunLanes(lanes, asked), len(lanes))
        tally.merge(finish_lanes(asked, tell))
        tell(tally.progress(tally.addresses))
