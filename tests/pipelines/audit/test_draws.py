"""A draw that is not what its plan says, or names rows that are not the samples', is caught from the files alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from tests.messages import assert_told, assert_told_each
from tests.pipelines.mix.mixtures import Mixing, Text, mixing
from winnow.pipelines.audit.draws import DrawsCheck, plan_records
from winnow.pipelines.audit.findings import Findings
from winnow.pipelines.mix.drawn_objects import DrawnObject, DrawnObjects
from winnow.pipelines.mix.plans import PlanRecord
from winnow.pipelines.running.job_tasks import HERE, TaskFolder
from winnow.pipelines.store import layout
from winnow.pipelines.store.hiding.hidden_rows import every_hidden_row
from winnow.pipelines.store.hiding.scans import load_hiding, put_tombstone
from winnow.pipelines.store.integrity.sealed import put_record
from winnow.pipelines.store.tables import put_table, read_table
from winnow.schemas.identity import Json
from winnow.schemas.mixture import MixturePlan
from winnow.schemas.rows.draws import DRAW
from winnow.schemas.tombstones import Tombstone

Row = dict[str, Any]

TEXTS = [Text("web", ["deu_Latn", "fra_Latn"][number % 2], 100 + number % 7) for number in range(60)]
MIX = (
    "{unit: tokens, tokenizer: bytes, max_epochs: 2, split: {validation: 0.2}, "
    "stages: {core: {}, late: {budget: 1000, where: samples.source.offset >= 0}}}"
)


@pytest.fixture(scope="module")
def honest() -> Mixing:
    made = mixing(TEXTS, MIX, shard_rows=30, name="honest")
    made.draw()
    return made


@pytest.fixture
def mixed(honest: Mixing) -> Iterator[Mixing]:
    """Two shards of thirty rows, of which some are held out, all others are given once and some twice."""
    objects = honest.store.objects
    saved = {info.path: objects.read(info.path) for info in objects.list()}
    yield honest
    for info in list(objects.list()):
        objects.delete(info.path)
    for path, raw in saved.items():
        objects.put(path, raw)


def audited(mixed: Mixing) -> Findings:
    findings = Findings()
    check = DrawsCheck(mixed.store, mixed.generation, findings)
    hidden = every_hidden_row(mixed.store, mixed.store.require_record(), load_hiding(mixed.store.objects))
    with HERE.folder("audit") as steps:
        tasks = TaskFolder(steps)
        check.plan(tasks, {path: found.rows for path, found in hidden.items()})
        tasks.run(HERE, "Checks")
        check.conclude(tasks)
    return findings


def test_the_name_of_a_plan_is_not_made_for_each_shard(mixed: Mixing, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a hash of all strata, of which there may be hundreds of thousands."""
    made: list[str] = []

    def counted(self: MixturePlan) -> dict[str, Json]:
        made.append(self.request)
        return to_json(self)

    to_json = MixturePlan.to_json
    monkeypatch.setattr(MixturePlan, "to_json", counted)
    assert len(the_draws(mixed)) == 2
    assert not audited(mixed).problems
    assert len(made) == 1  # for the line of what is proved


def the_plan(mixed: Mixing) -> PlanRecord:
    (record,) = plan_records(mixed.store.objects, Findings())
    return record


def the_draws(mixed: Mixing) -> list[DrawnObject]:
    return list(DrawnObjects.read(mixed.store.objects, the_plan(mixed).draws))


def put_plan(mixed: Mixing, record: PlanRecord, draws: Sequence[DrawnObject] | None = None) -> None:
    objects, request = mixed.store.objects, record.plan.request
    listed = record.draws if draws is None else DrawnObjects.of(draws).put(objects, request)
    put_record(objects, layout.plan_record(request), replace(record, draws=listed))


def redraw(mixed: Mixing, change: Callable[[list[Row]], object], shard: int = 0) -> None:
    """Write the draw of a shard anew, with the hash that it has now."""
    record, draws = the_plan(mixed), the_draws(mixed)
    one = draws[shard]
    rows: list[Row] = read_table(mixed.store.objects, one.object).to_pylist()
    change(rows)
    table = pa.Table.from_pylist(rows, schema=DRAW)
    request = record.plan.request
    put = put_table(mixed.store.objects, table, lambda content: layout.draw_object(request, one.shard, content))
    draws[shard] = replace(one, object=put.path, rows=len(rows))
    put_plan(mixed, record, draws)


def first(rows: list[Row], output: int) -> Row:
    return next(row for row in rows if row["output"] == output)


def test_an_honest_draw_is_proved(mixed: Mixing) -> None:
    plan = the_plan(mixed).plan
    findings = audited(mixed)
    samples = sum(output.given.samples for output in plan.outputs)
    assert_told_each(findings.proved, (plan.name, f"{samples} samples", "core", "late", "validation"))
    assert findings == Findings(proved=findings.proved)


@pytest.mark.parametrize(
    "mix",
    [
        "{}",
        "{max_epochs: 1.5, budget: 90}",
        "{unit: tokens, tokenizer: bytes, budget: 12_000, languages: {unimax: 2}, max_epochs: 2.5}",
        "{max_epochs: 3, stages: {core: {budget: 90}, late: {budget: 40, where: text.length.bytes > 102}}}",
    ],
)
@pytest.mark.parametrize("sample", [Fraction(1), Fraction(1, 7)])
def test_no_honest_plan_raises_an_alarm(request: pytest.FixtureRequest, mix: str, sample: Fraction) -> None:
    made = mixing(TEXTS, mix, name=request.node.nodeid)
    made.draw(sample)
    assert audited(made).problems == []


def another_id(rows: list[Row]) -> None:
    rows[3]["id"] = b"\1" * 16


def one_less(rows: list[Row]) -> None:
    rows.remove(first(rows, 0))


def another_row(rows: list[Row]) -> None:
    used = {row["row"] for row in rows if row["output"] == 0}
    rows[0]["row"] = next(row for row in range(30) if row not in used)
    rows.sort(key=lambda row: (row["output"], row["row"]))


def more_units(rows: list[Row]) -> None:
    rows[0]["units"] += 1


def another_stratum(rows: list[Row]) -> None:
    rows[0]["stratum"] = 1 - rows[0]["stratum"]


def twice(rows: list[Row]) -> None:
    rows.insert(1, dict(rows[0]))


def a_third_copy(rows: list[Row]) -> None:
    row = max((row for row in rows if row["output"] == 1), key=lambda row: row["first"])
    row["copies"] += 1


def copies_not_numbered_on(rows: list[Row]) -> None:
    first(rows, 1)["first"] = 0


def without_a_copy(rows: list[Row]) -> None:
    rows[0]["copies"] = 0


def held_out_and_given(rows: list[Row]) -> None:
    held = first(rows, 2)
    rows.append({**held, "output": 0})
    rows.sort(key=lambda row: (row["output"], row["row"]))


def held_out_twice(rows: list[Row]) -> None:
    first(rows, 2)["copies"] = 2


def beyond_the_shard(rows: list[Row]) -> None:
    rows[-1]["row"] = 30


def of_no_output(rows: list[Row]) -> None:
    rows[-1]["output"] = 3


def of_no_stratum(rows: list[Row]) -> None:
    rows[0]["stratum"] = 9


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (one_less, "but the plan"),
        (more_units, "but the plan"),
        (another_stratum, "but the plan"),
        (another_id, "1 … different ids"),
        (another_row, "1 … different ids"),
        (twice, "repeated or out"),
        (a_third_copy, "3 times … max_epochs … 2"),
        (copies_not_numbered_on, "copy 0 … used 1"),
        (without_a_copy, "is drawn with no copies"),
        (held_out_and_given, "1 sample … validation"),
        (held_out_twice, "validation contains"),
        (beyond_the_shard, "row 30"),
        (of_no_output, "names output … 3 of 3"),
        (of_no_stratum, "names a stratum"),
    ],
)
def test_a_draw_that_was_made_wrong_is_caught(mixed: Mixing, change: Callable[[list[Row]], None], said: str) -> None:
    redraw(mixed, change)
    findings = audited(mixed)
    assert_told(findings.problems, said)
    assert findings.proved == []


def test_more_than_the_epochs_of_a_stratum_is_caught_where_plan_and_draw_agree(mixed: Mixing) -> None:
    record = the_plan(mixed)
    put_plan(mixed, replace(record, plan=replace(record.plan, max_epochs=1.0)))
    problems = audited(mixed).problems
    assert any("times, but max_epochs is 1" in problem for problem in problems)
    assert any("is used more often than max_epochs 1" in problem for problem in problems)


def damaged(mixed: Mixing, path: str) -> None:
    raw = bytearray(mixed.store.objects.read(path))
    raw[len(raw) // 3] ^= 1
    mixed.store.objects.put(path, bytes(raw))


def test_objects_that_changed_or_are_gone_are_named(mixed: Mixing) -> None:
    changed, gone = (one.object for one in the_draws(mixed))
    damaged(mixed, changed)
    mixed.store.objects.delete(gone)
    problems = audited(mixed).problems
    assert any(f"{changed} is damaged: " in problem for problem in problems)
    assert any(gone in problem for problem in problems)


def edited(mixed: Mixing) -> Iterator[tuple[list[DrawnObject], str]]:
    one, other = the_draws(mixed)
    yield [one, other, one], "is drawn from twice"
    yield [replace(one, shard="web-0009"), other], "has no shard web-0009"
    yield [replace(one, rows=one.rows + 1), other], "rows, but the plan says"
    yield [one], "are drawn, but the plan has"


@pytest.mark.parametrize("number", range(4))
def test_a_record_that_names_other_objects_is_caught(mixed: Mixing, number: int) -> None:
    draws, said = list(edited(mixed))[number]
    put_plan(mixed, the_plan(mixed), draws)
    assert any(said in problem for problem in audited(mixed).problems)


def test_a_list_of_draws_that_is_damaged_is_named(mixed: Mixing) -> None:
    damaged(mixed, the_plan(mixed).draws)
    assert any(f"{the_plan(mixed).draws} is damaged: " in problem for problem in audited(mixed).problems)


def test_a_record_that_cannot_be_read_is_named(mixed: Mixing) -> None:
    path = layout.plan_record(the_plan(mixed).plan.request)
    mixed.store.objects.put(path, b"{}")
    assert any(path in problem for problem in audited(mixed).problems)


def test_a_plan_of_another_generation_is_a_note(mixed: Mixing) -> None:
    record = the_plan(mixed)
    put_plan(mixed, replace(record, plan=replace(record.plan, tree_hash="another")))
    findings = audited(mixed)
    assert_told_each(findings.notes, "generation 1")
    assert findings == Findings(notes=findings.notes)


def test_rows_that_are_forgotten_since_are_counted(mixed: Mixing) -> None:
    ids = read_table(mixed.store.objects, the_draws(mixed)[0].object, ["id"])["id"].to_pylist()
    put_tombstone(mixed.store.objects, Tombstone(1, (), (), (ids[0].hex(), ids[1].hex()), (), (), "asked"))
    findings = audited(mixed)
    assert findings.problems == []
    assert_told(findings.notes, "forgotten since", "winnow mix")


def drops_a_medium(rows: list[Row]) -> None:
    rows[0]["dropped"] = [0]


def test_a_draw_that_drops_a_medium_which_its_row_lacks_is_caught(mixed: Mixing) -> None:
    redraw(mixed, drops_a_medium)
    (problem,) = audited(mixed).problems
    assert_told(problem, "medium 0", "0", "0")
