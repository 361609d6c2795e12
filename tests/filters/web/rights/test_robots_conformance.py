"""The public conformance cases of RFC 9309: those of google/robotstxt (robots_test.cc, Apache-2.0), by name.

Left out are its cases marked GoogleOnly that are no part of the RFC (index.html, lines above 16 kB), and one in which
it compares escapes of unreserved characters as written, where the RFC (2.2.2) decodes them.
"""

import pytest

from winnow.filters.web.rights.paths import one_spelling
from winnow.filters.web.rights.robots_txt import groups_of, read_robots
from winnow.filters.web.rights.site_rules import groups_for, path_rules

GROUPS = """allow: /foo/bar/

user-agent: FooBot
disallow: /
allow: /x/
user-agent: BarBot
disallow: /
allow: /y/


allow: /w/
user-agent: BazBot

user-agent: FooBot
allow: /z/
disallow: /
"""
SITEMAP = "User-agent: BarBot\nSitemap: https://foo.bar/sitemap\nUser-agent: *\nDisallow: /\n"
UNKNOWN = "User-agent: FooBot\nInvalid-Unknown-Line: unknown\nUser-agent: *\nDisallow: /\n"
ONE = "user-agent: FooBot\n"
SPACE = "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n"
X_ALONE = {"/x/y": True, "/a/b": False}
CASES = [
    ("ID_LineSyntax_Line", f"{ONE}disallow: /\n", "FooBot", {"/x/y": False}),
    ("ID_LineSyntax_Line", "foo: FooBot\nbar: /\n", "FooBot", {"/x/y": True}),
    ("ID_LineSyntax_Line", "user-agent FooBot\ndisallow /\n", "FooBot", {"/x/y": False}),
    ("ID_LineSyntax_Groups", GROUPS, "FooBot", {"/x/b": True, "/z/d": True, "/y/c": False, "/foo/bar/": False}),
    ("ID_LineSyntax_Groups", GROUPS, "BarBot", {"/y/c": True, "/w/a": True, "/z/d": False, "/foo/bar/": False}),
    ("ID_LineSyntax_Groups", GROUPS, "BazBot", {"/z/d": True, "/foo/bar/": False}),
    ("ID_LineSyntax_Groups_OtherRules", SITEMAP, "FooBot", {"/": False}),
    ("ID_LineSyntax_Groups_OtherRules", SITEMAP, "BarBot", {"/": False}),
    ("ID_LineSyntax_Groups_OtherRules", UNKNOWN, "FooBot", {"/": False}),
    ("ID_LineSyntax_Groups_OtherRules", UNKNOWN, "BarBot", {"/": False}),
    ("ID_REPLineNamesCaseInsensitive", "USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /\n", "FooBot", X_ALONE),
    ("ID_REPLineNamesCaseInsensitive", "uSeR-aGeNt: FooBot\nAlLoW: /x/\ndIsAlLoW: /\n", "FooBot", X_ALONE),
    ("ID_UserAgentValueCaseInsensitive", "User-Agent: FOO BAR\nAllow: /x/\nDisallow: /\n", "Foo", X_ALONE),
    ("ID_UserAgentValueCaseInsensitive", "User-Agent: foo bar\nAllow: /x/\nDisallow: /\n", "foo", X_ALONE),
    ("GoogleOnly_AcceptUserAgentUpToFirstSpace", SPACE, "Foo", X_ALONE),
    ("ID_GlobalGroups_Secondary", "", "FooBot", {"/x/y": True}),
    ("ID_GlobalGroups_Secondary", f"user-agent: *\nallow: /\n{ONE}disallow: /\n", "FooBot", {"/x/y": False}),
    ("ID_GlobalGroups_Secondary", f"user-agent: *\nallow: /\n{ONE}disallow: /\n", "BarBot", {"/x/y": True}),
    ("ID_GlobalGroups_Secondary", f"{ONE}allow: /\nuser-agent: BarBot\ndisallow: /\n", "QuxBot", {"/x/y": True}),
    ("ID_AllowDisallow_Value_CaseSensitive", f"{ONE}disallow: /x/\n", "FooBot", {"/x/y": False}),
    ("ID_AllowDisallow_Value_CaseSensitive", f"{ONE}disallow: /X/\n", "FooBot", {"/x/y": True}),
    ("ID_LongestMatch", f"{ONE}disallow: /x/page.html\nallow: /x/\n", "FooBot", {"/x/page.html": False}),
    ("ID_LongestMatch", f"{ONE}allow: /x/page.html\ndisallow: /x/\n", "FooBot", {"/x/page.html": True, "/x/": False}),
    ("ID_LongestMatch", f"{ONE}disallow: \nallow: \n", "FooBot", {"/x/page.html": True}),
    ("ID_LongestMatch", f"{ONE}disallow: /\nallow: /\n", "FooBot", {"/x/page.html": True}),
    ("ID_LongestMatch", f"{ONE}disallow: /x\nallow: /x/\n", "FooBot", {"/x": False, "/x/": True}),
    ("ID_LongestMatch", f"{ONE}disallow: /x/page.html\nallow: /x/page.html\n", "FooBot", {"/x/page.html": True}),
    ("ID_LongestMatch", f"{ONE}allow: /page\ndisallow: /*.html\n", "FooBot", {"/page.html": False, "/page": True}),
    ("ID_LongestMatch", f"{ONE}allow: /x/page.\ndisallow: /*.html\n", "FooBot",
     {"/x/page.html": True, "/x/y.html": False}),
    ("ID_LongestMatch", f"User-agent: *\nDisallow: /x/\n{ONE}Disallow: /y/\n", "FooBot",
     {"/x/page": True, "/y/page": False}),
    ("ID_Encoding", f"{ONE}Disallow: /\nAllow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par\n", "FooBot",
     {"/foo/bar?qux=taz&baz=http://foo.bar?tar&par": True}),
    ("ID_Encoding", f"{ONE}Disallow: /\nAllow: /foo/bar/ツ\n", "FooBot", {"/foo/bar/%E3%83%84": True}),
    ("ID_Encoding", f"{ONE}Disallow: /\nAllow: /foo/bar/%E3%83%84\n", "FooBot", {"/foo/bar/%E3%83%84": True}),
    ("ID_Encoding", f"{ONE}Disallow: /\nAllow: /foo/bar/%62%61%7A\n", "FooBot", {"/foo/bar/%62%61%7A": True}),
    ("ID_SpecialCharacters", f"{ONE}Disallow: /foo/bar/quz\nAllow: /foo/*/qux\n", "FooBot",
     {"/foo/bar/quz": False, "/foo/quz": True, "/foo//quz": True, "/foo/bax/quz": True}),
    ("ID_SpecialCharacters", f"{ONE}Disallow: /foo/bar$\nAllow: /foo/bar/qux\n", "FooBot",
     {"/foo/bar": False, "/foo/bar/qux": True, "/foo/bar/": True, "/foo/bar/baz": True}),
    ("ID_SpecialCharacters", f"{ONE}# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n", "FooBot",
     {"/foo/bar": True, "/foo/quz": False}),
    ("KeyMaxLength_BOM", "\ufeffUser-Agent: foo\nDisallow: /AnyValue\n", "foo", {"/AnyValue": False}),
    ("LinesNumbersAreCountedCorrectly", "User-Agent: foo\r\nDisallow: /a\rDisallow: /b\n\r\nDisallow: /c", "foo",
     {"/a": False, "/b": False, "/c": False, "/d": True}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "body", "agent", "expected"), CASES, ids=lambda value: str(value)[:40])
def test_conformance(name: str, body: str, agent: str, expected: dict[str, bool]) -> None:
    own = agent.lower()
    groups = groups_for(groups_of(read_robots(body, frozenset([own])).groups), [own])
    found = {path: not path_rules(groups, None, one_spelling(path)).disallowed for path in expected}
    assert found == expected, name


DELAYS = """User-agent: *
Crawl-delay: 1
Disallow: /y
Sitemap: https://a.example/one.xml
User-agent: ccbot
User-agent: gptbot
Disallow: /x
crawl-delay: 2.5
Crawl-delay: 2
Crawl-delay: soon
Crawl-delay: -3
SITEMAP: /two.xml
"""


def test_delays_and_sitemaps_are_read_and_change_no_rule() -> None:
    protego = pytest.importorskip("protego", reason="protego is an oracle only: pip install protego")
    file = read_robots(DELAYS, frozenset(["ccbot", "other"]))
    assert file.delays == {"*": 1.0, "ccbot": 2.5}
    assert file.sitemaps == ["https://a.example/one.xml", "/two.xml"]
    theirs = protego.Protego.parse(DELAYS)
    assert theirs.crawl_delay("anybody") == file.delays["*"]  # of ours the longest counts, of theirs the last
    assert list(theirs.sitemaps) == file.sitemaps
    without = "\n".join(line for line in DELAYS.splitlines() if "elay" not in line and "itemap" not in line.lower())
    assert read_robots(without, frozenset(["ccbot", "other"])).groups == file.groups


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("User-agent: *\nDisallow: /", "Disallow: /"),
        ("User-agent: *\nDisallow: *", "Disallow: *"),
        ("User-agent: *\nContent-Usage: train-ai=n", "train-ai=n"),
        ("User-agent: *\nDisallow: /\nAllow: /x", None),
        ("User-agent: *\nDisallow: /$", None),
        ("User-agent: *\nDisallow: /x", None),
        ("User-agent: *\nDisallow:", None),
    ],
)
def test_a_group_that_refuses_everything(body: str, line: str | None) -> None:
    found = groups_of(read_robots(body, frozenset()).groups)["*"].everything()
    assert (found.line if found.refused else None) == line
