"""Rules on videos: which of their measures drop a row, at both sides of each threshold."""

import re

import duckdb
import pytest

from winnow.filters.presets import find_preset

GOOD = {
    "video.shots.count": 1.0,
    "video.static.frozen": 0.0,
    "video.static.black": 0.0,
    "video.static.letterbox": 0.0,
    "video.static.pillarbox": 0.0,
    "video.motion.speed": 0.1,
    "video.clarity.sharpness": 90.0,
    "video.aesthetic.score_mean": 6.0,
    "video.text_area.area_mean": 0.0,
}
EDGES = [  # the preset, the measure, a value that is kept, one that is dropped, and why
    ("video@stiv-like", "video.shots.count", 1, 2, "stiv_cut"),
    ("video@stiv-like", "video.motion.speed", 0.005, 0.0049, "stiv_unmoved"),
    ("video@stiv-like", "video.clarity.sharpness", 20, 19.9, "stiv_blurred"),
    ("video@stiv-like", "video.static.frozen", 0.5, 0.51, "stiv_frozen"),
    ("video@koala-like", "video.shots.count", 1, 2, "koala_cut"),
    ("video@koala-like", "video.motion.speed", 0.002, 0.0019, "koala_unmoved"),
    ("video@koala-like", "video.clarity.sharpness", 20, 19.9, "koala_blurred"),
    ("video@koala-like", "video.static.black", 0.2, 0.21, "koala_black"),
    ("video@koala-like", "video.static.letterbox", 0.3, 0.31, "koala_bars"),
    ("video@koala-like", "video.static.pillarbox", 0.3, 0.31, "koala_bars"),
    ("video@open-sora-like", "video.aesthetic.score_mean", 5.0, 4.99, "open_sora_aesthetic"),
    ("video@open-sora-like", "video.text_area.area_mean", 0.1, 0.11, "open_sora_text"),
    ("video@open-sora-like", "video.motion.speed", 0.002, 0.0019, "open_sora_unmoved"),
]


def reasons(preset: str, videos: list[dict[str, float | None]]) -> list[str]:
    """Why a row of these videos is dropped, by the engine that runs rules."""
    names = {name: name.replace(".", "_") for name in GOOD}
    lists = {names[name]: [video[name] for video in videos] for name in GOOD}
    columns = ", ".join(f"CAST({list(values)!r} AS DOUBLE[]) AS {name}" for name, values in lists.items())
    columns = columns.replace("None", "NULL")
    found = []
    with duckdb.connect() as engine:
        for rule in find_preset(preset).rules:
            drop = re.sub(r"video\.\w+\.\w+", lambda match: names[match[0]], rule.drop)
            answer = engine.execute(f"SELECT {drop} FROM (SELECT {columns})").fetchone()
            assert answer is not None
            if answer[0]:
                found.append(rule.reason)
    return found


@pytest.mark.parametrize(("preset", "measure", "kept", "dropped", "reason"), EDGES)
def test_a_row_is_dropped_where_no_video_meets_the_condition(
    preset: str, measure: str, kept: float, dropped: float, reason: str
) -> None:
    assert reasons(preset, [{**GOOD, measure: kept}]) == []
    assert reasons(preset, [{**GOOD, measure: dropped}]) == [reason]
    assert reasons(preset, [{**GOOD, measure: dropped}, {**GOOD}]) == []
    assert reasons(preset, [{**GOOD, measure: None}]) == []  # what was not measured drops nothing


def test_every_rule_of_the_ladders_is_tried() -> None:
    for name in {edge[0] for edge in EDGES}:
        assert {rule.reason for rule in find_preset(name).rules} == {edge[4] for edge in EDGES if edge[0] == name}
