"""Grades in the answers of language models, and the prompts that ask for them."""

import pytest

from winnow.filters.models.training.grades import PROMPT_CHARACTERS, RUBRIC, grade_of, in_range, prompt


@pytest.mark.parametrize(
    ("answer", "grade"),
    [
        ("It is a lesson.\nGrade: 4", 4),
        ("Educational score: 3", 3),
        ("**Grade:** 2", 2),
        ("I would give it a score of 3.", 3),
        ('{"reason": "2 pages", "score": 5}', 5),
        ('{"grade": "1"}', 1),
        ("rating is 3,5", 3.5),
        ("4/5", 4),
        ("It deserves 2 out of 5.", 2),
        ("0", 0),
        ("**3**", 3),
        ("A score of 1 would be low; Grade: 4", 4),
        ("Step 1 holds, step 2 does not.\n\n1", 1),
        ("Grade: 7", 7),
        ("Score: -1", -1),
        ("", None),
        ("No grade can be given.", None),
        ("I cannot help with that.", None),
        ("Written in 2024 by 3 people", None),
        ("1/2/2024", None),
    ],
)
def test_the_last_grade_of_an_answer_counts(answer: str, grade: float | None) -> None:
    assert grade_of(answer) == grade


def test_long_answers_are_read_in_linear_time() -> None:
    for answer in ("grade " * 50_000, "*" * 200_000, "1" * 200_000, "grade:" + " *" * 100_000):
        grade_of(answer)


def test_a_grade_is_from_0_to_5() -> None:
    assert [in_range(grade) for grade in (0, 5, -0.1, 5.1, float("nan"), float("inf"))] == [True, True] + [False] * 4


def test_a_prompt_holds_the_beginning_of_a_text_as_it_is() -> None:
    found = prompt(RUBRIC, "{language} {text}" + "x" * 10_000, "deu_Latn")
    assert "{language} {text}" + "x" * (PROMPT_CHARACTERS - 17) + "\n" in found
    assert "deu_Latn" in found
    assert prompt("Q: {text}", "abc", "") == "Q: abc"
