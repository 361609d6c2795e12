"""Checks the codes of languages that a recipe names: texts have those with a script, such as `deu_Latn`."""

import re

from winnow.schemas.languages import language
from winnow.schemas.languages.table import table
from winnow.schemas.problems import shown

_CODE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")


def why_no_code(value: str, what: str) -> str:
    """Why no text's language has this code, and what to write instead; empty if one may.

    Args:
        value: The code.
        what: What has the codes, such as `text.language.code`.
    """
    code, _, _ = value.partition("_")
    known = language(table().by_two_letters.get(code, code))
    if value in ("unknown", "und") or (_CODE.fullmatch(value) and (known is not None or code == "und")):
        return ""
    if known is None:
        return f"no language has the code {shown(value)}; write it as plans show it, such as deu_Latn"
    written = f"{known.code}_{known.script or 'Latn'}"
    return f"{what} is never {shown(value)}, as codes have a script: write {written!r}"
