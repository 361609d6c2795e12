"""`edits` of a recipe: what may stand there, and that a key never does."""

import pytest

from tests.messages import assert_told
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import recipe_from_text, resolved_yaml

HEAD = 'version: 1\nstore: {path: s}\nsources: {a: {root: r, files: ["*"], class: web}}\n'
KEYED = HEAD + "environment: {PII_KEY: {}}\n"


def complaint(edits: str, head: str = KEYED, env: dict[str, str] | None = None) -> str:
    with pytest.raises(RecipeError) as caught:
        recipe_from_text(f"{head}edits: {edits}", env=env or {})
    return str(caught.value).removeprefix("recipe.yaml:5: ")


def test_a_name_alone_takes_the_defaults() -> None:
    (entry,) = recipe_from_text(HEAD + "edits: [text.c4.removed]").edits
    assert (entry.name, entry.replace, entry.kinds, entry.key, entry.key_file) == ("text.c4.removed", *[None] * 4)
    assert entry.placeholders.by_kind == {}
    assert entry.when_null == "drop"


def test_what_becomes_of_texts_without_spans_is_shown_in_full() -> None:
    recipe = recipe_from_text(HEAD + "edits: [text.c4, {text.pii: {when_null: error}}]")
    assert [entry.when_null for entry in recipe.edits] == ["drop", "error"]
    assert "when_null: error" in resolved_yaml(recipe)
    assert recipe_from_text(resolved_yaml(recipe)) == recipe


def test_placeholders_are_by_kind() -> None:
    (entry,) = recipe_from_text(HEAD + 'edits: [{text.pii: {placeholders: {email: "[e-mail]", phone: ""}}}]').edits
    assert entry.placeholders.by_kind == {"email": "[e-mail]", "phone": ""}


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ("[text]", "edits[0] … 'text' … text.c4.removed"),
        ("[{text.pii: {replce: delete}}]", "edits[0].text.pii … 'replce' … 'replace'"),
        (
            "[{text.pii: {replace: placehoder}}]",
            "edits[0].text.pii.replace … 'placehoder' … 'placeholder'",
        ),
        (
            "[{text.pii: {replace: pseudonym}}]",
            "edits[0].text.pii … 'key' … ${PII_KEY}",
        ),
        (
            "[{text.pii: {replace: pseudonym, key: hunter2-hunter2-hunter2}}]",
            "edits[0].text.pii.key … ${PII_KEY}",
        ),
        (
            '[{text.pii: {replace: pseudonym, key: "${PII_KEY}x"}}]',
            "edits[0].text.pii.key … ${PII_KEY}",
        ),
        (
            '[{text.pii: {replace: pseudonym, key: "${PI_KEY}"}}]',
            "edits[0].text.pii.key … PI_KEY … `environment`",
        ),
        ("[{text.pii: {key_file: k}}]", "edits[0].text.pii … 'key_file'"),
        (
            "[{text.pii: {replace: delete, placeholders: {email: x}}}]",
            "edits[0].text.pii … 'placeholders'",
        ),
        (
            "[{text.pii: {placeholders: {E-mail: x}}}]",
            "edits[0].text.pii.placeholders … 'E-mail'",
        ),
        (
            "[{text.pii: {placeholders: {email: 7}}}]",
            "edits[0].text.pii.placeholders … integer 7",
        ),
        (
            "[{text.pii: {when_null: kep}}]",
            "edits[0].text.pii.when_null … 'kep' … 'keep'",
        ),
        ("[{text.pii: {kinds: []}}]", "edits[0].text.pii.kinds: must not be empty"),
        ("[text.pii, text.pii]", "edits: … 5 … 5"),
    ],
)
def test_what_is_wrong_is_said(edits: str, message: str) -> None:
    assert_told(complaint(edits), message, whole=True)


def test_a_variable_with_a_key_has_no_default_and_stands_nowhere_else() -> None:
    keyed = '[{text.pii: {replace: pseudonym, key: "${PII_KEY}"}}]'
    assert_told(
        complaint(keyed, HEAD + "environment: {PII_KEY: {default: abc}}\n"),
        "edits[0].text.pii.key",
        "PII_KEY",
        whole=True,
    )
    elsewhere = (
        '[{text.pii: {replace: pseudonym, key: "${PII_KEY}"}}, {text.names: {placeholders: {name: "${PII_KEY}"}}}]'
    )
    assert_told(
        complaint(elsewhere, env={"PII_KEY": "k" * 16}), "edits[1].text.names.placeholders.name", "PII_KEY", whole=True
    )


def test_the_key_itself_is_no_part_of_a_recipe() -> None:
    text = KEYED + 'edits: [{text.pii: {replace: pseudonym, key: "${PII_KEY}"}}]'
    recipe = recipe_from_text(text, env={"PII_KEY": "sixteen-bytes-of-it"})
    assert "sixteen" not in repr(recipe)
    assert 'key: "${PII_KEY}"' in resolved_yaml(recipe)
    assert recipe_from_text(resolved_yaml(recipe)) == recipe == recipe_from_text(text)  # set or not
