"""`winnow mix` and `winnow plan --diff`: a plan is a value, is shown before anything moves, and is made once."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.messages import assert_told
from tests.runners.mixtures.tiny import RECIPE, Tiny, tree, winnow
from winnow.schemas.mixture import plan_name

BALANCED = "{unit: tokens, tokenizer: bytes, budget: 60_000, sources: {web: 0.7, books: 0.3}, languages: {unimax: 2}}"


def test_a_plan_is_a_file_whose_name_is_the_hash_of_the_rest(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.write(BALANCED)
    before = tree(tiny.folder / "store")
    monkeypatch.chdir(tiny.folder)
    shown = tiny.run("mix", "--plan-only")
    plan = json.loads((tiny.folder / "plan.json").read_bytes())
    name, asked = plan.pop("plan"), plan.pop("asked")
    assert name == plan_name(plan)
    assert (asked["mix.budget"], asked["mix.sources.web"], asked["mix.max_epochs"]) == ("60000", "0.7", "4.0")
    assert str(tiny.folder) not in json.dumps(asked)
    assert f"plan    {name}" in shown
    assert "train: 60,000 tokens asked" in shown
    assert str(tiny.folder) not in json.dumps(plan)
    assert tree(tiny.folder / "store") == before  # it draws nothing


def test_the_table_says_what_is_there_asked_given_and_how_often(tiny: Tiny) -> None:
    tiny.write(
        "{tokenizer: bytes, languages: {weights: {deu_Latn: 0.75, fra_Latn: 0.25}}, sources: {books: 1}, budget: 40}"
    )
    shown = tiny.run("mix", "--plan-only", "--output", tiny.folder / "p.json")
    rows = [line.split() for line in shown.splitlines() if line.startswith("printed")]
    # what there is, asked, given, share, epochs, samples, repeated
    assert rows[0][4:] == ["20", "30", "30", "75.0", "%", "1.50", "30", "10"]
    assert rows[1][4:] == ["20", "10", "10", "25.0", "%", "0.50", "10", "0"]


def test_json_is_the_plan_and_nothing_else(tiny: Tiny) -> None:
    tiny.write(BALANCED)
    printed = tiny.run("mix", "--plan-only", "--json", "--output", tiny.folder / "p.json")
    assert printed.encode() == (tiny.folder / "p.json").read_bytes()


def test_a_second_mix_makes_nothing(tiny: Tiny) -> None:
    tiny.write(BALANCED)
    first = tiny.run("mix")
    before = tree(tiny.folder)
    assert tiny.run("mix") == first
    assert tree(tiny.folder) == before


def test_a_draw_gives_what_the_plan_says(tiny: Tiny) -> None:
    tiny.write(BALANCED)
    record, drawn = tiny.mix()
    rows = tiny.rows
    for one in record.plan.output("train").strata:
        copies = [
            (rows[identity], copy)
            for identity, copy in drawn["train"]
            if (rows[identity].source, rows[identity].language) == (one.stratum.source, one.stratum.language)
        ]
        assert len(copies) == one.given.samples
        assert sum(row.size for row, _ in copies) == one.given.units
        assert 2 * abs(one.given.units - one.target) <= max(row.size for row in rows.values()) or len(copies) == 1
        assert sum(row.size for row, copy in copies if copy == 0) == one.unique.units
    assert sum(one.target for one in record.plan.output("train").strata) == 60_000
    assert drawn["train"].total() == record.plan.output("train").given.samples


def test_a_sample_of_a_plan_is_a_part_of_it_and_the_beginning_of_each_stratum(tiny: Tiny) -> None:
    tiny.write(BALANCED)
    whole, all_drawn = tiny.mix()
    part, drawn = tiny.mix("--sample", "10%")
    assert part.plan.name != whole.plan.name
    assert part.plan.sample == "1/10"
    assert drawn["train"] < all_drawn["train"]
    longest = max(row.size for row in tiny.rows.values())
    for small, large in zip(part.plan.outputs[0].strata, whole.plan.outputs[0].strata, strict=True):
        assert small.stratum == large.stratum
        assert small.target == large.target
        assert 2 * abs(small.given.units - Fraction(large.target, 10)) <= longest + 2 or small.given.samples == 1
        assert (small.level, small.cut) <= (large.level, large.cut)


@pytest.mark.parametrize("share", ["0%", "101%", "-1%", "1e9", "ten", "1/0"])
def test_no_share_of_a_plan(tiny: Tiny, share: str) -> None:
    assert_told(tiny.complaint("mix", f"--sample={share}"), "above 0", "100%")


def test_samples_of_one_source_by_a_condition(tiny: Tiny) -> None:
    tiny.write("{where: samples.source.name = 'books'}")
    _, drawn = tiny.mix()
    assert {tiny.rows[identity].source for identity, _ in drawn["train"]} == {"books"}
    assert drawn["train"].total() == 40
    assert "source.name" in tiny.run("stats")  # where a reader finds the column


def test_what_follows_a_sample_is_the_export_of_it(tiny: Tiny) -> None:
    tiny.write("{}")
    assert tiny.run("mix").endswith(f"next    winnow export {tiny.recipe}\n")
    assert tiny.run("mix", "--sample", "1%").endswith(f"next    winnow export {tiny.recipe} --sample 1%\n")


@pytest.mark.parametrize("command", ["mix", "run", "export"])
def test_what_a_reader_should_know_of_a_plan_is_said_by_every_command_that_makes_it(tiny: Tiny, command: str) -> None:
    tiny.write("{unit: tokens, tokenizer: bytes, budget: 2}", "{jsonl: {path: out}}")
    said = tiny.run(command)
    assert said.count("note    train: ") == 1
    assert " more than requested" in said
    assert command == "mix" or " more than requested" in tiny.run(command)  # also when all of it stands


def test_a_budget_of_bytes_is_a_size_and_any_budget_a_number_with_an_exponent(tiny: Tiny) -> None:
    tiny.write("{unit: bytes, tokenizer: bytes, budget: 2 KiB}")
    whole = tiny.mix()[0].plan
    assert whole.outputs[0].budget == 2048
    tiny.write("{unit: bytes, tokenizer: bytes, budget: 2_048}")
    assert tiny.mix()[0].plan == whole
    tiny.write("{budget: 1e2}")
    assert tiny.mix()[0].plan.outputs[0].budget == 100


def plan_file(tiny: Tiny, mix: str, name: str) -> Path:
    tiny.write(mix)
    file = tiny.folder / name
    tiny.run("mix", "--plan-only", "--output", file)
    return file


def test_two_plans_that_are_the_same(tiny: Tiny) -> None:
    old = plan_file(tiny, BALANCED, "old.json")
    new = plan_file(
        tiny, BALANCED.replace("{unit: tokens, tokenizer: bytes", "{tokenizer: bytes, unit: tokens"), "new.json"
    )
    shown = winnow("plan", "--diff", old, new)
    assert shown == f"the plans are identical: {json.loads(old.read_bytes())['plan']}\n"


def test_what_became_of_each_stratum(tiny: Tiny) -> None:
    old = plan_file(tiny, "{tokenizer: bytes, sources: {books: 1}, budget: 20}", "old.json")
    new = plan_file(tiny, "{tokenizer: bytes, sources: {books: 1}, budget: 30, max_epochs: 3}", "new.json")
    shown = winnow("plan", "--diff", old, new)
    changed = [line.split() for line in shown.splitlines() if line.startswith("train")]
    assert [row[-5:] for row in changed] == [["10", "15", "+5", "50.00%", "50.00%"]] * 2
    told = [line.split() for line in shown.splitlines() if line.startswith("mix.")]
    assert told == [["mix.budget", "20", "30"], ["mix.max_epochs", "4.0", "3.0"]]
    found = json.loads(winnow("plan", "--diff", old, new, "--json"))
    assert {one["name"]: (one["old"], one["new"]) for one in found["settings"]} == {
        "mix.budget": ("20", "30"),
        "mix.max_epochs": ("4.0", "3.0"),
    }
    assert [(one["old"], one["new"]) for one in found["strata"]] == [(10, 15), (10, 15)]


def without_asked(file: Path) -> Path:
    """The plan as it was written before plans said what was asked for."""
    value = json.loads(file.read_bytes())
    del value["asked"]
    older = file.with_stem(f"{file.stem}-older")
    older.write_text(json.dumps(value))
    return older


def test_a_plan_that_does_not_say_what_was_asked_is_compared_by_what_it_says(tiny: Tiny) -> None:
    old = plan_file(tiny, "{tokenizer: bytes, sources: {books: 1}, budget: 20}", "old.json")
    new = plan_file(tiny, "{tokenizer: bytes, sources: {books: 1}, budget: 30, max_epochs: 3}", "new.json")
    found = json.loads(winnow("plan", "--diff", without_asked(old), new, "--json"))
    assert [one["name"] for one in found["settings"]] == ["budget of train", "max_epochs", "request"]


def test_shares_rules_and_stages_that_changed_are_told_by_their_paths(tiny: Tiny) -> None:
    old = plan_file(tiny, "{budget: 60, sources: {web: 0.7, books: 0.3}}", "old.json")
    new = plan_file(tiny, "{sources: {web: 0.5, books: 0.5}, stages: {core: {budget: 60}}}", "new.json")
    found = json.loads(winnow("plan", "--diff", old, new, "--json"))["settings"]
    assert {one["name"]: (one["old"], one["new"]) for one in found if one["name"][:17] != "mix.stages.core.f"} == {
        "mix.budget": ("60", "null"),
        "mix.sources.web": ("0.7", "0.5"),
        "mix.sources.books": ("0.3", "0.5"),
        "mix.stages": ("{}", "-"),
        "mix.stages.core.budget": ("-", "60"),
        **{f"mix.stages.core.{name}": ("-", "null") for name in ("where", "classes", "sources", "languages", "bands")},
    }


def test_what_plans_are_made_of_beside_the_recipe_is_told_by_the_request(tiny: Tiny) -> None:
    (tiny.folder / "low.csv").write_text("code,least\ndeu_Latn,1\n")
    rules = (
        "thresholds: {mine: {file: low.csv, key: text.language.code}}\n"
        "keep: [{drop: text.length.bytes < thresholds.mine.least, reason: short, when_null: keep}]\n"
    )
    files = []
    for name, least in (("old.json", 1), ("new.json", 2)):
        (tiny.folder / "low.csv").write_text(f"code,least\ndeu_Latn,{least}\n")
        tiny.write("{}", base=RECIPE + rules)
        tiny.run("mix", "--plan-only", "--output", tiny.folder / name)
        files.append(tiny.folder / name)
    found = json.loads(winnow("plan", "--diff", *files, "--json"))
    assert [one["name"] for one in found["settings"]] == ["request"]


def test_plans_of_other_stores(tiny: Tiny) -> None:
    old = plan_file(tiny, "{tokenizer: bytes}", "old.json")
    value = json.loads(old.read_bytes()) | {"store": "another", "seed": 8}
    asked = {key: value.pop(key) for key in ("plan", "asked")}
    (tiny.folder / "new.json").write_text(json.dumps({**value, **asked, "plan": plan_name(value)}))
    found = json.loads(winnow("plan", "--diff", old, tiny.folder / "new.json", "--json"))
    assert {one["name"]: (one["old"], one["new"]) for one in found["settings"]} == {
        "store": ("store", "another"),
        "seed": ("7", "8"),
    }
    assert found["strata"] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        ("not JSON", "not JSON"),
        ("[1]", "schema 1 … found None"),
        ('{"schema": 2}', "schema 1 … found 2"),
        ('{"schema": 1, "outputs": 7}', "(outputs: … expected"),
        ('{"schema": 1, "outputs": "none"}', "(outputs: … got text"),
        ('{"schema": 1, "outputs": ["train"]}', "outputs[0] … got text"),
        ('{"schema": 1, "outputs": [{"budget": "1"}]}', "outputs[0].budget … got text"),
        ('{"schema": 1, "kept": {"samples": 1.5}}', "kept.samples"),
        ('{"schema": 1, "outputs": [{"bugdet": 1}]}', "(outputs[0]: missing required field name)"),
        ('{"schema": 1}', "plan"),
        ("\u0000", "not JSON"),
    ],
)
def test_what_is_no_plan(tiny: Tiny, content: str | None, said: str) -> None:
    file = tiny.folder / "other.json"
    if content is not None:
        file.write_text(content)
    complaint = winnow("plan", "--diff", file, file, status=1)
    assert_told(complaint, said)
    assert str(file) in complaint
    assert complaint.count("\n") == 1


def test_a_plan_that_somebody_edited_is_known_by_its_hash(tiny: Tiny) -> None:
    old = plan_file(tiny, "{tokenizer: bytes}", "old.json")
    value = json.loads(old.read_bytes())
    value["seed"] = 8
    (tiny.folder / "new.json").write_text(json.dumps(value))
    complaint = winnow("plan", "--diff", old, tiny.folder / "new.json", status=1)
    assert_told(complaint, "changed after", f"{json.loads(old.read_bytes())['plan']!r}")


def test_neither_a_recipe_nor_two_plans_or_both(tiny: Tiny) -> None:
    assert_told(winnow("plan", status=1), "--diff", "OLD", "NEW")
    assert_told(tiny.run("plan", "--diff", "a", "b", status=1), "--diff", "OLD", "NEW")


def test_the_draw_hangs_on_what_samples_are_called_alone(tiny: Tiny) -> None:
    """Not on where the store lies, nor on where its sources lie or in which formats exports are written."""
    tiny.write(BALANCED)
    here = tiny.mix()
    other = tiny.moved(tiny.folder.parent / "elsewhere")
    (other.folder / "web").rename(other.folder / "pages")
    other.write(BALANCED, "{parquet: {path: out}}")
    other.recipe.write_text(other.recipe.read_text().replace("root: web", "root: pages"))
    (path,) = (other.folder / "store").glob(f"plans/{here[0].plan.request}/plan.json")
    path.unlink()
    assert other.mix() == here
