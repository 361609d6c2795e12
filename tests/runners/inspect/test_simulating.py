"""The simulator, compared with `winnow plan` on the recipe that it saves."""

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.property_sizes import scaled
from tests.runners.inspect.opened_stores import ask, opened, plan, write_store
from winnow.pipelines.processes.cancelling import CancelledError, cancellable
from winnow.runners.inspect.frame import fill_frame, frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.trials import simulation
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.schemas.errors import WinnowError

REASONS = {"short": [0], "long": [], "lines": [0], "site": [0]}
NEW = [
    "text.length.lines = 2",
    "text.length.characters between 20 and 30 and samples.source.name = 'pages'",
    "text.length.bytes > 1.5 * text.length.characters",
    "samples.text like '%pears%' or text.length.characters < thresholds.limits.most - 50",
    "regexp_matches(samples.url, '[13579]$')",
    "array_length(text.pii.spans) > 1",
]


@pytest.fixture(scope="module")
def with_duplicates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("inspected") / "made")


@pytest.fixture(scope="module")
def without_duplicates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_store(tmp_path_factory.mktemp("inspected") / "made", dedupe="")


def random_changes(chance: random.Random) -> list[dict[str, Any]]:
    """One to three changes, each of another rule."""
    kinds = chance.sample(["short", "long", "lines", "site", "new", "gone"], chance.randint(1, 3))
    changes: list[dict[str, Any]] = []
    for kind in kinds:
        if kind == "new":
            condition, section = chance.choice(NEW), chance.choice(["eligible", "keep"])
            changes.append({"reason": "new", "list": section, "drop": condition, "when_null": "keep"})
        elif kind == "gone":
            gone = chance.choice([reason for reason in REASONS if reason not in kinds])
            changes.append({"reason": gone, "remove": True})
        elif kind == "long":
            source = chance.choice(["lines", "pages"])
            changes.append({"reason": "long", "cut": 0, "value": chance.randint(5, 90), "language": source})
        else:
            value = chance.choice([chance.randint(0, 60), round(chance.uniform(0, 60), 2)])
            changes.append({"reason": kind, "cut": 0, "value": value})
    return changes


@pytest.mark.parametrize("dedupe", [True, False])
def test_what_is_simulated_is_what_a_plan_of_the_saved_recipe_decides(
    dedupe: bool, request: pytest.FixtureRequest
) -> None:
    file: Path = request.getfixturevalue("with_duplicates" if dedupe else "without_duplicates")
    shown, chance, exact = opened(file), random.Random(3), Counter[bool]()
    for number in range(scaled(60)):
        changes = random_changes(chance)
        quick = ask(shown, "simulate", changes=changes, samples=0)
        settled = ask(shown, "simulate", changes=changes, settle=True, samples=0)
        exact[quick["exact"]] += 1
        assert settled["exact"]
        if quick["exact"]:
            assert settled == quick
        name = f"saved-{number}.yaml"
        (file.parent / name).unlink(missing_ok=True)
        saved = ask(shown, "patch", changes=changes, save=name)
        assert saved["saved"] == str(file.parent / name)
        found = plan(file.parent / name)
        kept = {"rows": found.kept.rows, "bytes": found.kept.bytes}
        assert settled["kept"]["after"] == kept, changes
        for key, what in (("by_language", "language"), ("by_source", "source")):
            of_group: Counter[str] = Counter()
            for group in found.groups:
                of_group[getattr(group, what)] += group.kept.rows
            names = {one.get("code", one.get("name")): one["after"] for one in settled[key]}
            assert {name: rows for name, rows in names.items() if rows} == +of_group
    assert exact[True]
    assert (exact[False] > 0) == dedupe  # others may stand for duplicates


def test_an_eligible_rule_that_moves_changes_who_stands_for_duplicates(with_duplicates: Path) -> None:
    shown = opened(with_duplicates)
    changes = [{"reason": "source", "list": "eligible", "drop": "samples.source.name = 'lines'"}]
    quick = ask(shown, "simulate", changes=changes)
    settled = ask(shown, "simulate", changes=changes, settle=True)
    assert not quick["exact"]
    assert settled["kept_now"] > 0 == quick["kept_now"]  # pages that now stand for what lines had


def test_samples_cross_the_line_nearest_first(without_duplicates: Path) -> None:
    shown = opened(without_duplicates)
    found = ask(shown, "simulate", changes=[{"reason": "short", "cut": 0, "value": 30}], samples=50)
    values = [one["value"] for one in found["samples"]["dropped"]]
    assert values == sorted(values, reverse=True)
    assert all(12 <= value < 30 for value in values)
    assert len(values) == min(50, found["dropped_now"])
    assert found["samples"]["kept"] == []
    fewer = ask(shown, "simulate", changes=[{"reason": "short", "cut": 0, "value": 5}], samples=50)
    assert fewer["dropped_now"] == 0
    assert all(one["reason"] == "short" for one in fewer["samples"]["kept"])


def test_a_filter_counts_only_its_rows(without_duplicates: Path) -> None:
    shown, changes = opened(without_duplicates), [{"reason": "short", "cut": 0, "value": 30}]
    whole = ask(shown, "simulate", changes=changes, samples=0)
    parts = [ask(shown, "simulate", changes=changes, samples=0, filter={"source": one}) for one in ("lines", "pages")]
    for side in ("before", "after"):
        assert sum(part["kept"][side]["rows"] for part in parts) == whole["kept"][side]["rows"]
    assert [part["by_source"] for part in parts] == [
        [one for one in whole["by_source"] if one["name"] == name] for name in ("lines", "pages")
    ]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown reason": ({"reason": "shortt", "cut": 0, "value": 3}, "did you mean 'short'"),
    "no such threshold": ({"reason": "short", "cut": 4, "value": 3}, "thresholds 0 to 0"),
    "no number": ({"reason": "short", "cut": 0, "value": "3"}, "expected a number"),
    "not finite": ({"reason": "short", "cut": 0, "value": float("nan")}, "expected a number"),
    "no finite number": ({"reason": "short", "cut": 0, "value": 10**400}, "expected a number"),
    "an unknown column": ({"reason": "new", "drop": "text.length.charcters < 3"}, "did you mean"),
    "no SQL": ({"reason": "new", "drop": "text.length.characters <"}, "not a SQL expression"),
    "null is not said": ({"reason": "new", "drop": "text.length.characters < 3"}, "set when_null"),
    "a wrong reason": ({"reason": "New One", "drop": "text.length.lines < 3", "when_null": "keep"}, "a-z"),
    "a column of duplicates": (
        {"reason": "new", "list": "eligible", "drop": "dedupe.exact.size > 3", "when_null": "keep"},
        "move the rule to `keep`",
    ),
    "a rule of duplicates": ({"reason": "duplicate_exact", "remove": True}, "follows from `dedupe`"),
    "no list": ({"reason": "new", "list": "dedupe", "drop": "true"}, "expected one of eligible, items, keep"),
    "an edit of a table without its key": ({"reason": "long", "cut": 0, "value": 3}, "language: expected a text"),
    "null where that is an error": (
        {"reason": "new", "drop": "samples.url IS NULL OR samples.source.fetched_at > TIMESTAMP '2024-01-01'"}
        | {"when_null": "error"},
        "null",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_change_that_cannot_be_made_is_told_in_a_line(with_duplicates: Path, what: str) -> None:
    change, told = WRONG[what]
    with pytest.raises(WinnowError, match=re.escape(told)) as error:
        ask(opened(with_duplicates), "simulate", changes=[change])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("changes", [None, "x", [3], {"reason": "short"}])
def test_changes_are_a_list_of_objects(with_duplicates: Path, changes: object) -> None:
    with pytest.raises(AskedError):
        ask(opened(with_duplicates), "simulate", changes=changes)


def test_a_store_without_a_recipe_says_what_to_run(with_duplicates: Path) -> None:
    shown: Opened = opened(with_duplicates.parent / "store")
    for view in ("rules", "simulate", "patch", "heatmap"):
        with pytest.raises(UnavailableError, match="winnow inspect RECIPE"):
            ask(shown, view, changes=[])
    assert ask(shown, "samples", filter={})["total"] == 240


SLIDING: dict[str, dict[str, Any]] = {
    "alone": {"reason": "short", "cut": 0},
    "a table's cell": {"reason": "long", "cut": 0, "language": "pages"},
    "with an alternative": {"reason": "lines", "cut": 0},
    "with another condition": {"reason": "site", "cut": 0},
    "of fractions": {"reason": "words", "cut": 0},
    "turned round": {"reason": "not_words", "cut": 0},
    "at least": {"reason": "at_least", "cut": 0},
}
MORE_RULES = """\
  - {drop: text.gopher.mean_word_length < 4.2, reason: words, when_null: drop}
  - {drop: "NOT (5.9 >= text.gopher.mean_word_length)", reason: not_words, when_null: keep}
  - {drop: text.gopher.words >= 21, reason: at_least, when_null: keep}
"""


@pytest.fixture(scope="module")
def sliding(without_duplicates: Path) -> Path:
    file = without_duplicates.with_name("sliding.yaml")
    file.write_text(without_duplicates.read_text().replace("edits:\n", f"{MORE_RULES}edits:\n"))
    return file


@pytest.mark.parametrize("what", SLIDING)
def test_a_threshold_slides_to_what_its_rule_decides_anew(
    sliding: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    anew, slid, chance, change = opened(sliding), opened(sliding), random.Random(what), SLIDING[what]
    limits = [-3, 17, 21, 41, 4.5, 5, 1e9, *(round(chance.uniform(0, 9), 3) for _ in range(scaled(15)))]
    filters: list[dict[str, Any]] = [{}, {"source": "pages"}]
    for wanted in filters:
        for limit in limits:
            asked = {"changes": [change | {"value": limit}], "filter": wanted, "samples": 8}
            monkeypatch.setattr(simulation, "SLIDING_ROWS", 1 << 60)
            expected = ask(anew, "simulate", **asked)
            monkeypatch.setattr(simulation, "SLIDING_ROWS", 0)
            ask(slid, "simulate", **asked | {"samples": 0})
            slid.kept.wait()
            found = ask(slid, "simulate", **asked)
            for answer in (expected, found):
                for side in ("dropped", "kept"):  # as many of equally near rows may be others
                    answer["samples"][side] = [abs(one["value"] - limit) for one in answer["samples"][side]]
            assert found == expected, (wanted, limit)
    assert all(made.slider is not None for key, made in slid.kept.items() if key[0] == "slider")
    assert sum(key[0] == "slider" for key, _ in slid.kept.items()) == len(filters)


SHARED = "  - {drop: text.length.bytes > thresholds.limits.most + 9, reason: wide, when_null: keep}\n"


@pytest.mark.parametrize("section", ["eligible", "keep"])
def test_a_cell_that_two_rules_read_moves_both(
    with_duplicates: Path, section: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "SLIDING_ROWS", 0)
    file = with_duplicates.with_name(f"shared-{section}.yaml")
    file.write_text(with_duplicates.read_text().replace(f"{section}:\n", f"{section}:\n{SHARED}"))
    shown = opened(file)
    asked = {"changes": [{"reason": "long", "cut": 0, "value": 20, "language": "pages"}], "samples": 0}
    for _ in range(2):
        found = ask(shown, "simulate", **asked)
        shown.kept.wait()
        assert found["exact"] == (section == "keep")
        settled = found if found["exact"] else ask(shown, "simulate", settle=True, **asked)
        saved = file.with_name(f"saved-shared-{section}.yaml")
        saved.unlink(missing_ok=True)
        ask(shown, "patch", changes=asked["changes"], save=saved.name)
        assert settled["kept"]["after"]["rows"] == plan(saved).kept.rows
    assert all(key[0] != "slider" for key, _ in shown.kept.items())


def test_a_frame_that_nobody_waits_for_is_not_filled(without_duplicates: Path) -> None:
    pinned = frame_of(opened(without_duplicates)).pinned
    with cancellable(lambda: True), pytest.raises(CancelledError):
        fill_frame(pinned)
