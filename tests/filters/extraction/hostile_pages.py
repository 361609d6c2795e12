"""Pages that are cheap to write and dear to parse: one generator a kind, of a given number of repetitions."""

from collections.abc import Callable

HOSTILE: dict[str, Callable[[int], str]] = {
    "nested divs": lambda n: "<div>" * n + "x",
    "divs that spans cannot close": lambda n: "<div>" * (n // 2) + "</span>" * (n // 2),
    "open formatting": lambda n: "<b>" * n + "x",
    "formatting copied into paragraphs": lambda n: (
        "<p>" + "".join(f"<font color={i}>" for i in range(n // 2)) + "<p>x" * (n // 2)
    ),
    "formatting across blocks": lambda n: "<b><i><u><div>" * (n // 4),
    "misnested formatting": lambda n: "<a><b><i>x</a>" * (n // 4),
    "links closed around blocks": lambda n: "<a href=x>" + "<div>" * (n // 2) + "</a>" * (n // 2),
    "headings around list items": lambda n: "<h1><li>" * (n // 2),
    "nested tables": lambda n: "<table><tr><td>" * (n // 3) + "x",
    "text in tables": lambda n: "<table>" + "x<b>" * n,
    "rows": lambda n: "<table>" + "<tr><td>x" * (n // 2),
    "nested lists": lambda n: "<ul><li>" * (n // 2) + "x",
    "nested quotes": lambda n: "<blockquote>" * n + "x",
    "options": lambda n: "<select>" + "<option>" * n,
    "forms": lambda n: "<form><i>" * (n // 2),
    "distinct attributes": lambda n: "<div " + " ".join(f"a{i}=b" for i in range(n)) + ">x",
    "one long attribute": lambda n: '<p title="' + "x" * (10 * n) + '">x',
    "long class": lambda n: '<p class="' + "ad-wrap nav " * n + '">x',
    "spaces": lambda n: "<p>" + " " * (10 * n) + "x",
    "line feeds": lambda n: "<pre>" + "\n" * (10 * n) + "x",
    "less-than signs": lambda n: "<" * n,
    "tags cut short": lambda n: "<a " * n,
    "images cut short": lambda n: "<img " * n,
    "quotes never closed": lambda n: '<a href="' * n,
    "comments cut short": lambda n: "<!-- -" * n,
    "scripts cut short": lambda n: "<script " * n,
    "headings": lambda n: "<h1>" * n,
    "line breaks": lambda n: "<p>" + "<br>" * n + "x",
    "images": lambda n: "<p>" + "<img src=a.png alt=x>" * n,
    "images in nested figures": lambda n: "<figure><img src=a.png><figcaption>x" * (n // 3),
    "links": lambda n: "".join(f"<a href=/{i}>x</a>" for i in range(n // 2)),
    "same text": lambda n: "<p>The same paragraph of text again, and again.</p>" * (n // 2),
    "footers": lambda n: "<div><footer>" * (n // 2) + "x",
    "nested svg": lambda n: "<svg>" * n + "x",
    "entities": lambda n: "&ampx&#" * n,
}
