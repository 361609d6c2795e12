"""robots.txt by its RFC and by Google's documented examples, held against two parsers that others maintain."""

import time
from urllib.robotparser import RobotFileParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.filters.web.rights.paths import one_spelling, pattern_of
from winnow.filters.web.rights.robots_txt import MAX_RULES, pack, relevant_lines, unpack

OURS = frozenset(("ccbot", "gptbot"))


def refused(body: str, path: str, agent: str = "ccbot", *, training: bool = False) -> bool:
    groups = unpack(pack(relevant_lines(body, OURS)))
    group = groups.get(agent, groups.get("*"))
    if group is None:
        return False
    return (group.training if training else group.access)(one_spelling(path)).refused


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        # https://developers.google.com/search/docs/crawling-indexing/robots/robots_txt
        ("/", ["/", "/any"], []),
        (
            "/fish",
            ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.php?id=x"],
            ["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"],
        ),
        ("/fish*", ["/fish", "/fish.html", "/fishheads/yummy.html"], ["/Fish.asp", "/catfish"]),
        (
            "/fish/",
            ["/fish/", "/fish/?id=anything", "/fish/salmon.htm"],
            ["/fish", "/fish.html", "/animals/fish/", "/Fish/Salmon.asp"],
        ),
        (
            "/*.php",
            [
                "/index.php",
                "/folder/filename.php",
                "/folder/filename.php?parameters",
                "/folder/any.php.file.html",
                "/filename.php/",
            ],
            ["/", "/windows.PHP"],
        ),
        (
            "/*.php$",
            ["/filename.php", "/folder/filename.php"],
            ["/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP"],
        ),
        ("/fish*.php", ["/fish.php", "/fishheads/catfish.php?parameters"], ["/Fish.PHP"]),
        # RFC 9309, 2.2.2 and 2.2.3
        ("/foo/bar?baz=http://foo.bar", ["/foo/bar?baz=http://foo.bar"], ["/foo/bar?baz=http"]),
        ("/foo/bar/ツ", ["/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", "/foo/bar/ツ"], ["/foo/bar/"]),
        ("/foo/bar/%62%61%7A", ["/foo/bar/baz"], ["/foo/bar/%"]),
        ("/path/file-with-a-%2A.html", ["/path/file-with-a-*.html"], ["/path/file-with-a-x.html"]),
        ("/path/foo-%24", ["/path/foo-$"], ["/path/foo-"]),
        ("/a$b", ["/a$b", "/a$bc"], ["/a"]),
        ("***/x**$", ["/x", "/a/x/b"], ["/y"]),
        ("/x$", ["/x"], ["/x/", "/xx"]),
    ],
)
def test_patterns(pattern: str, matching: list[str], others: list[str]) -> None:
    made = pattern_of(pattern)
    assert [path for path in matching + others if made.matches(one_spelling(path))] == matching


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        # Google: order of precedence
        ("User-agent: *\nAllow: /p\nDisallow: /", "/page", False),
        ("User-agent: *\nAllow: /folder\nDisallow: /folder", "/folder/page", False),
        ("User-agent: *\nAllow: /page\nDisallow: /*.htm", "/page.htm", True),
        ("User-agent: *\nAllow: /page\nDisallow: /*.ph", "/page.php5", False),
        ("User-agent: *\nAllow: /$\nDisallow: /", "/", False),
        ("User-agent: *\nAllow: /$\nDisallow: /", "/page.htm", True),
        # Groups
        ("User-agent: ccbot\nDisallow: /", "/x", True),
        ("user-agent:CCBot/2.0\r\ndisallow:/\r\n", "/x", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: ccbot\nDisallow:", "/x", False),
        ("User-agent: googlebot\nDisallow: /", "/x", False),
        ("User-agent: a\nUser-agent: ccbot\nDisallow: /x", "/x", True),
        ("User-agent: a\nCrawl-delay: 5\nUser-agent: ccbot\nDisallow: /x", "/x", True),  # it ends no group
        ("User-agent: ccbot\nDisallow: /a\nUser-agent: b\nDisallow: /b\nUser-agent: ccbot\nDisallow: /c", "/c", True),
        ("User-agent: ccbot\nSitemap: /s\nUser-agent: b\nDisallow: /x", "/x", True),
        ("Disallow: /", "/x", False),
        ("\ufeffUser-agent: *\rDisallow: /x # why", "/x", True),
        ("User agent: *\nDisalow /x", "/x", True),
        # What was meant to refuse
        ("User-agent: *\nDisallow: admin", "/admin/x", True),
        ("User-agent: *\nDisallow: https://example.org/a?b", "/a?bc", True),
        ("User-agent: *\nAllow: public\nDisallow: /", "/public", True),
        ("<html>not found</html>", "/x", False),
        ("", "/x", False),
    ],
)
def test_files(body: str, path: str, expected: bool) -> None:
    assert refused(body, path) is expected


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        # draft-ietf-aipref-attach, the example of its section on robots.txt
        (
            "User-Agent: *\nAllow: /\nDisallow: /never/\nContent-Usage: train-ai=n\nContent-Usage: /ai-ok/ train-ai=y",
            "/test",
            True,
        ),
        (
            "User-Agent: *\nAllow: /\nDisallow: /never/\nContent-Usage: train-ai=n\nContent-Usage: /ai-ok/ train-ai=y",
            "/ai-ok/test",
            False,
        ),
        (
            "User-Agent: *\nContent-Usage: train-ai=n\n\nUser-Agent: ccbot\nAllow: /\nContent-Usage: train-ai=y",
            "/",
            False,
        ),
        ("User-agent: *\nContent-Signal: search=yes,ai-train=no,use=reference\nAllow: /", "/", True),
        ("User-agent: *\nContent-Signal: search=yes\nAllow: /", "/", False),
        ("Content-Signal: ai-train=no\nUser-agent: *\nAllow: /", "/", True),
        ("User-agent: googlebot\nContent-Signal: ai-train=no", "/", False),
        ("User-agent: *\nContent-Usage: /x train-ai=y\nContent-Usage: /x train-ai=n", "/x", True),
        ("User-agent: *\nContent-Usage: train-ai=maybe", "/", True),
        ("User-agent: *\nDisallow: /", "/", False),
    ],
)
def test_preferences_for_training(body: str, path: str, expected: bool) -> None:
    assert refused(body, path, training=True) is expected


PATHS = st.text(st.sampled_from("/ab.?c"), max_size=8).map(lambda text: f"/{text}")
RULES = st.tuples(
    st.sampled_from(["Allow", "Disallow"]),
    PATHS | PATHS.map(lambda path: path.replace("b", "*")) | PATHS.map(lambda path: f"{path}$"),
)
GROUPS = st.lists(
    st.tuples(st.sampled_from(["*", "ccbot", "gptbot", "otherbot"]), st.lists(RULES, max_size=4)), max_size=4
)


def written(groups: list[tuple[str, list[tuple[str, str]]]]) -> str:
    return "\n".join(
        f"User-agent: {agent}\n" + "".join(f"{key}: {path}\n" for key, path in rules) for agent, rules in groups
    )


@given(GROUPS, PATHS, st.sampled_from(["ccbot", "gptbot"]))
@settings(max_examples=scaled(500), deadline=None)
def test_protego_says_the_same(groups: list[tuple[str, list[tuple[str, str]]]], path: str, agent: str) -> None:
    protego = pytest.importorskip("protego", reason="protego is an oracle only: pip install protego")
    # An agent without any rule before the next agent shares that one's group here, as in RFC 9309 and in Google.
    body = written([(name, rules or [("Allow", "/")]) for name, rules in groups])
    theirs = protego.Protego.parse(body).can_fetch(f"https://example.org{path}", agent)
    if path.startswith("//"):  # an authority to urllib
        return
    assert refused(body, path, agent) is not theirs, body


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ccbot", "otherbot"]),
            st.lists(st.tuples(st.just("Disallow"), PATHS), min_size=1, max_size=3),
        ),
        max_size=1,
    ),
    PATHS,
)
@settings(max_examples=scaled(200), deadline=None)
def test_the_standard_library_says_the_same_of_plain_files(
    groups: list[tuple[str, list[tuple[str, str]]]], path: str
) -> None:
    body = written(groups)
    if "?" in body + path or "//" in body + path:  # it looks at no query, and takes `//` for a host
        return
    theirs = RobotFileParser()
    theirs.parse(body.splitlines())
    assert refused(body, path) is not theirs.can_fetch("ccbot", f"https://example.org{path}")


@given(
    st.text(max_size=200) | st.text(st.sampled_from("user-agent: *\ndisallow: /%$?[]#\r\0"), max_size=200),
    st.text(max_size=30),
)
@settings(max_examples=scaled(300), deadline=None)
def test_any_file_is_read_and_any_path_is_asked(body: str, path: str) -> None:
    refused(body, path)
    refused("User-agent: *\nDisallow: " + body, path, training=True)


@pytest.mark.parametrize(
    "body",
    [
        "".join(f"User-agent: a{number}\n" for number in range(20_000)) + "User-agent: *\n" + "Disallow: /a*\n" * 9_000,
        "User-agent: *\nDisallow: /" + "*a" * 200_000,
        "User-agent: *\n" + "".join(f"Disallow: /{number}*x\n" for number in range(30_000)),
        "User-agent: *\nDisallow: " + "%" * 400_000,
        "\r" * 500_000,
        "#" * 10_000_000,
    ],
)
def test_hostile_files_cost_little(body: str) -> None:
    start = time.process_time()
    refused(body, "/" + "a" * 50_000)
    assert time.process_time() - start < 10
    assert all(len(lines) <= MAX_RULES for lines in relevant_lines(body, OURS).values())
