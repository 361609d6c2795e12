"""`winnow mix` and `winnow plan --diff`: a plan is a value, is shown before anything moves, and is made once."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.runners.mixture.tiny import Tiny, tree
from winnow.schemas.identity import fingerprint_of

BALANCED = "{unit: tokens, tokenizer: bytes, budget: 60_000, sources: {web: 0.7, books: 0.3}, languages: {unimax: 2}}"


def test_a_plan_is_a_file_whose_name_is_the_hash_of_the_rest(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.write(BALANCED)
    before = tree(tiny.folder / "store")
    monkeypatch.chdir(tiny.folder)
    shown = tiny.run("mix", "--plan-only")
    plan = json.loads((tiny.folder / "plan.json").read_bytes())
    name = plan.pop("plan")
    assert name == fingerprint_of(plan)
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
        assert 0 <= one.given.units - one.target < max(row.size for row in rows.values())
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
        assert 0 <= small.given.units - Fraction(large.target, 10) < longest
        assert (small.level, small.cut) <= (large.level, large.cut)


@pytest.mark.parametrize("share", ["0%", "101%", "-1%", "1e9", "ten", "1/0"])
def test_no_share_of_a_plan(tiny: Tiny, share: str) -> None:
    assert "expected a share above 0 and up to 100%" in tiny.complaint("mix", f"--sample={share}")


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
    shown = tiny.say("plan", "--diff", old, new)
    assert shown == f"the plans are the same: {json.loads(old.read_bytes())['plan']}\n"


def test_what_became_of_each_stratum(tiny: Tiny) -> None:
    old = plan_file(tiny, "{tokenizer: bytes, sources: {books: 1}, budget: 20}", "old.json")
    new = plan_file(tiny, "{tokenizer: bytes, sources: {books: 1}, budget: 30, max_epochs: 3}", "new.json")
    shown = tiny.say("plan", "--diff", old, new)
    changed = [line.split() for line in shown.splitlines() if line.startswith("train")]
    assert [row[-5:] for row in changed] == [["10", "15", "+5", "50.00%", "50.00%"]] * 2
    assert ["max_epochs", "4.0", "3.0"] in [line.split() for line in shown.splitlines()]
    found = json.loads(tiny.say("plan", "--diff", old, new, "--json"))
    assert {one["name"] for one in found["settings"]} == {"max_epochs", "request"}
    assert [(one["old"], one["new"]) for one in found["strata"]] == [(10, 15), (10, 15)]


def test_plans_of_other_stores(tiny: Tiny) -> None:
    old = plan_file(tiny, "{tokenizer: bytes}", "old.json")
    value = json.loads(old.read_bytes()) | {"store": "another", "seed": 8}
    del value["plan"]
    (tiny.folder / "new.json").write_text(json.dumps({"plan": fingerprint_of(value), **value}))
    found = json.loads(tiny.say("plan", "--diff", old, tiny.folder / "new.json", "--json"))
    assert {one["name"]: (one["old"], one["new"]) for one in found["settings"]} == {
        "store": ("store", "another"),
        "seed": ("7", "8"),
    }
    assert found["strata"] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such plan"),
        ("not JSON", "not JSON"),
        ("[1]", "no plan of schema 1 (found None)"),
        ('{"schema": 2}', "no plan of schema 1 (found 2)"),
        ('{"schema": 1, "outputs": 7}', "plan"),
        ('{"schema": 1}', "plan"),
        ("\u0000", "not JSON"),
    ],
)
def test_what_is_no_plan(tiny: Tiny, content: str | None, said: str) -> None:
    file = tiny.folder / "other.json"
    if content is not None:
        file.write_text(content)
    complaint = tiny.say("plan", "--diff", file, file, status=1)
    assert said in complaint
    assert str(file) in complaint
    assert complaint.count("\n") == 1


def test_a_plan_that_somebody_edited_is_known_by_its_hash(tiny: Tiny) -> None:
    old = plan_file(tiny, "{tokenizer: bytes}", "old.json")
    value = json.loads(old.read_bytes())
    value["seed"] = 8
    (tiny.folder / "new.json").write_text(json.dumps(value))
    complaint = tiny.say("plan", "--diff", old, tiny.folder / "new.json", status=1)
    assert "was changed" in complaint


def test_neither_a_recipe_nor_two_plans_or_both(tiny: Tiny) -> None:
    assert "expected a recipe, or --diff OLD NEW" in tiny.say("plan", status=1)
    assert "expected a recipe, or --diff OLD NEW" in tiny.run("plan", "--diff", "a", "b", status=1)


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
