"""A model of names by lists: first names in front of any capitalised word, streets behind a number or before one."""

import re

FIRST_NAMES = {"deu": ("Jürgen", "Zoë"), "ell": ("Ελένη",), "jpn": ("山田",), "eng": ("Ada", "Mary")}
STREET = re.compile(r"\b\w+(?:straße|strasse) \d{1,4}\b|\b\d{1,4} \w+ Street\b")


class Gazetteer:
    """Names and streets, in four languages."""

    languages = frozenset(FIRST_NAMES)
    kinds = frozenset({"name", "address"})

    def __call__(self, texts: list[str], language: str) -> list[list[tuple[int, int, str]]]:
        """Each text's spans, in characters."""
        name = re.compile(rf"(?:{'|'.join(FIRST_NAMES[language])})\s?\w+")
        return [
            [(found.start(), found.end(), "name") for found in name.finditer(text)]
            + [(found.start(), found.end(), "address") for found in STREET.finditer(text)]
            for text in texts
        ]
