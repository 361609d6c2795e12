"""A page's language is what its package says by the name of a file or a folder."""

from pathlib import Path

import pytest

from benchmarks.inputs.documents import language_of


@pytest.mark.parametrize(
    ("page", "language"),
    [
        ("share/libreoffice/help/zh-TW/text/scalc/01/a.html", "zh-TW"),
        ("share/libreoffice/help/ca-valencia/text/a.html", "ca-valencia"),
        ("share/doc/debian-handbook/html/de-DE/index.html", "de"),
        ("share/doc/installation-guide-amd64/zh_CN/ch01.html", "zh-CN"),
        ("share/doc/debian-handbook/html/pt-BR/index.html", "pt-BR"),
        ("share/debian-reference/ch01.pt-br.html", "pt-BR"),
        ("share/debian-reference/ch01.en.html", "en"),
        ("share/doc/maint-guide-vi/html/start.html", "vi"),
        ("share/doc/anarchism/html/secA1.html", "en"),
    ],
)
def test_the_declared_language(page: str, language: str) -> None:
    assert language_of(Path(page)) == language
